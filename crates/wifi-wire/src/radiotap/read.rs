//! Reading of radiotap: iteration over presence words, aligned fields and TLVs, and values of known
//! fields.

use super::{
    AmpduStatus, Channel, Eht, EhtUser, EhtUsers, FlagsField, He, HeMu, HeMuOtherUser, LSig, Mcs,
    Repr, Timestamp, USig, Vht, XChannel, ZeroLengthPsdu, bit, tlv,
};
use crate::Error;
use crate::reader::Reader;

/// A radiotap header and the frame after it as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8],
    frame: &'a [u8],
    /// Offset of the first field, after the presence words.
    fields_start: usize,
}

impl<'a> View<'a> {
    /// Returns a view of a captured frame with its radiotap header.
    ///
    /// # Errors
    /// Returns an error for a version other than 0, a length beyond the buffer, or presence words
    /// beyond that length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, bytes);
        let version = reader.u8("version")?;
        if version != 0 {
            return Err(reader.value("version", 0, u32::from(version), "0"));
        }
        reader.take("pad", 1)?;
        let length = usize::from(reader.u16("length")?);
        if length < MIN_LEN {
            return Err(reader.value("length", 2, length as u32, "at least 8"));
        }
        let header = Reader::new(LAYER, bytes).take("header", length)?;
        let frame = bytes.get(length..).unwrap_or_default();
        let mut reader = Reader::at(LAYER, header, PRESENCE_START);
        while reader.u32("presence word")? & 1 << bit::EXTENDED != 0 {}
        Ok(Self { header, frame, fields_start: reader.offset() })
    }

    /// Length of the header in bytes.
    pub const fn header_len(&self) -> usize {
        self.header.len()
    }

    /// Bytes after the header.
    pub const fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// Iterates over the fields in order.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            words: Reader::at(LAYER, self.header, PRESENCE_START),
            reader: Reader::at(LAYER, self.header, self.fields_start),
            header: self.header,
            state: Some(State {
                word: 0,
                next_bit: 32,
                namespace: Namespace::Radiotap,
                in_tlvs: false,
            }),
        }
    }
}

/// One field of the radiotap namespace, or a skipped vendor namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Field number, see [`bit`] and [`tlv`]; [`bit::VENDOR_NAMESPACE`] for a whole vendor
    /// namespace: OUI, sub-namespace, length and data.
    pub number: u16,
    /// Offset of the field in the header; for a TLV that of its data.
    pub offset: usize,
    /// Bytes of the field; a TLV may have fewer than its field, which then ends in zeros.
    pub bytes: &'a [u8],
}

/// Iterator over the fields of a header. The iterator ends at the first error and at the first
/// field of unknown size.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    words: Reader<'a>,
    reader: Reader<'a>,
    header: &'a [u8],
    /// State of the iteration; `None` at its end.
    state: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    word: u32,
    /// Next bit of `word`; 32 after the last.
    next_bit: u8,
    namespace: Namespace,
    /// Whether the iteration has reached the TLVs, which end the header.
    in_tlvs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespace {
    /// Bits that are field numbers.
    Radiotap,
    /// Bits that are field numbers beyond 31, of which none is defined.
    Beyond,
    /// Bits without a known meaning, whose data was skipped as a whole.
    Vendor,
}

impl<'a> Fields<'a> {
    /// Returns the next field from `state` on; `None` at the end.
    fn advance(&mut self, state: &mut State) -> Result<Option<Field<'a>>, Error> {
        loop {
            if state.in_tlvs {
                return self.tlv();
            }
            if state.next_bit == 32 {
                let first = self.words.offset() == PRESENCE_START;
                if !first && state.word & 1 << bit::EXTENDED == 0 {
                    return Ok(None);
                }
                if !first {
                    state.namespace = namespace_after(*state);
                }
                state.word = self.words.u32("presence word")?;
                state.next_bit = 0;
            }
            let current = state.next_bit;
            state.next_bit += 1;
            if state.word & 1 << current == 0 {
                continue;
            }
            match current {
                bit::RADIOTAP_NAMESPACE | bit::EXTENDED => {}
                bit::VENDOR_NAMESPACE => {
                    self.align(2)?;
                    let offset = self.reader.offset();
                    self.reader.take("vendor namespace OUI", 4)?;
                    let length = self.reader.u16("vendor namespace length")?;
                    self.reader.take("vendor namespace", usize::from(length))?;
                    return Ok(Some(self.field(u16::from(current), offset)));
                }
                _ if state.namespace == Namespace::Vendor => {}
                bit::TLV if state.namespace == Namespace::Radiotap => state.in_tlvs = true,
                _ => {
                    let known = (state.namespace == Namespace::Radiotap).then(|| shape(current));
                    let Some((name, align, size)) = known.flatten() else {
                        return Ok(None);
                    };
                    self.align(align)?;
                    let offset = self.reader.offset();
                    self.reader.take(name, size)?;
                    return Ok(Some(self.field(u16::from(current), offset)));
                }
            }
        }
    }

    /// Returns the next TLV; `None` at the header's end.
    fn tlv(&mut self) -> Result<Option<Field<'a>>, Error> {
        // The last one's padding may be missing.
        let padding = self.reader.offset().next_multiple_of(4) - self.reader.offset();
        if self.reader.left() <= padding {
            return Ok(None);
        }
        self.align(4)?;
        let number = self.reader.u16("TLV type")?;
        let length = self.reader.u16("TLV length")?;
        let offset = self.reader.offset();
        let name = u8::try_from(number).ok().and_then(shape).map(|(name, ..)| name);
        let name = name.unwrap_or(match number {
            tlv::S1G => "S1G",
            tlv::U_SIG => "U-SIG",
            tlv::EHT => "EHT",
            _ => "TLV",
        });
        self.reader.take(name, usize::from(length))?;
        Ok(Some(self.field(number, offset)))
    }

    fn field(&self, number: u16, offset: usize) -> Field<'a> {
        let bytes = self.header.get(offset..self.reader.offset()).unwrap_or_default();
        Field { number, offset, bytes }
    }

    /// Skips to an alignment, counted from the start of the header.
    fn align(&mut self, to: usize) -> Result<(), Error> {
        let padding = self.reader.offset().next_multiple_of(to) - self.reader.offset();
        self.reader.take("padding", padding).map(drop)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut state = self.state?;
        let field = self.advance(&mut state);
        self.state = matches!(field, Ok(Some(_))).then_some(state);
        field.transpose()
    }
}

impl Repr {
    /// Reads the known fields.
    ///
    /// # Errors
    /// Returns an error for a field beyond the header's end.
    pub fn parse(view: &View<'_>) -> Result<Self, Error> {
        let mut repr = Self::default();
        for field in view.fields() {
            let Field { number, bytes, .. } = field?;
            if number == tlv::EHT {
                keep_first(&mut repr.eht, eht(bytes));
            } else if let Ok(bit) = u8::try_from(number)
                && (bit < bit::TLV || bit == U_SIG)
            {
                // The walk has seen to it that the field is whole, but for a TLV's end.
                let mut whole = [0; FIXED_LEN_MAX];
                let length = bytes.len().min(whole.len());
                whole[..length].copy_from_slice(&bytes[..length]);
                repr.read_field(bit, &mut Reader::new(LAYER, &whole))?;
            }
        }
        Ok(repr)
    }

    fn read_field(&mut self, bit: u8, reader: &mut Reader<'_>) -> Result<(), Error> {
        match bit {
            bit::TSFT => keep_first(&mut self.tsft_us, reader.u64("TSFT")?),
            bit::FLAGS => keep_first(&mut self.flags, FlagsField(reader.u8("flags")?)),
            bit::RATE => keep_first(&mut self.rate_500kbps, reader.u8("rate")?),
            bit::CHANNEL => {
                let frequency_mhz = reader.u16("channel frequency")?;
                let flags = reader.u16("channel flags")?;
                keep_first(&mut self.channel, Channel { frequency_mhz, flags });
            }
            bit::ANTENNA_SIGNAL => {
                let signal = i8::from_le_bytes(reader.array("antenna signal")?);
                keep_first(&mut self.antenna_signal_dbm, signal);
            }
            bit::ANTENNA_NOISE => {
                let noise = i8::from_le_bytes(reader.array("antenna noise")?);
                keep_first(&mut self.antenna_noise_dbm, noise);
            }
            bit::ANTENNA => keep_first(&mut self.antenna, reader.u8("antenna")?),
            bit::RX_FLAGS => keep_first(&mut self.rx_flags, reader.u16("RX flags")?),
            bit::XCHANNEL => {
                let xchannel = XChannel {
                    flags: reader.u32("XChannel flags")?,
                    frequency_mhz: reader.u16("XChannel frequency")?,
                    number: reader.u8("XChannel number")?,
                    max_power: reader.u8("XChannel power")?,
                };
                keep_first(&mut self.xchannel, xchannel);
            }
            bit::MCS => {
                let [known, flags, index] = reader.array("MCS")?;
                keep_first(&mut self.mcs, Mcs { known, flags, index });
            }
            bit::AMPDU_STATUS => {
                let reference = reader.u32("A-MPDU reference")?;
                let flags = reader.u16("A-MPDU flags")?;
                let delimiter_crc = reader.u8("A-MPDU delimiter CRC")?;
                keep_first(&mut self.ampdu_status, AmpduStatus { reference, flags, delimiter_crc });
            }
            bit::VHT => {
                let vht = Vht {
                    known: reader.u16("VHT known")?,
                    flags: reader.u8("VHT flags")?,
                    bandwidth: reader.u8("VHT bandwidth")?,
                    mcs_streams: reader.array("VHT MCS")?,
                    coding: reader.u8("VHT coding")?,
                    group_id: reader.u8("VHT group ID")?,
                    partial_aid: reader.u16("VHT partial AID")?,
                };
                keep_first(&mut self.vht, vht);
            }
            bit::TIMESTAMP => {
                let timestamp = Timestamp {
                    timestamp: reader.u64("timestamp")?,
                    accuracy: reader.u16("timestamp accuracy")?,
                    unit_position: reader.u8("timestamp unit")?,
                    flags: reader.u8("timestamp flags")?,
                };
                keep_first(&mut self.timestamp, timestamp);
            }
            bit::HE => {
                let mut data = [0; 6];
                for word in &mut data {
                    *word = reader.u16("HE")?;
                }
                keep_first(&mut self.he, He { data });
            }
            bit::HE_MU => {
                let he_mu = HeMu {
                    flags1: reader.u16("HE-MU flags")?,
                    flags2: reader.u16("HE-MU flags")?,
                    channel1: reader.array("HE-MU channel 1")?,
                    channel2: reader.array("HE-MU channel 2")?,
                };
                keep_first(&mut self.he_mu, he_mu);
            }
            bit::HE_MU_OTHER_USER => {
                let user = HeMuOtherUser {
                    user1: reader.u16("HE-MU other user")?,
                    user2: reader.u16("HE-MU other user")?,
                    position: reader.u8("HE-MU other user's position")?,
                    known: reader.u8("HE-MU other user's known")?,
                };
                keep_first(&mut self.he_mu_other_user, user);
            }
            bit::ZERO_LENGTH_PSDU => {
                let code = reader.u8("zero-length PSDU")?;
                keep_first(&mut self.zero_length_psdu, ZeroLengthPsdu::from_code(code));
            }
            bit::L_SIG => {
                let l_sig = LSig { known: reader.u16("L-SIG")?, data: reader.u16("L-SIG")? };
                keep_first(&mut self.l_sig, l_sig);
            }
            U_SIG => {
                let u_sig = USig {
                    common: reader.u32("U-SIG common")?,
                    value: reader.u32("U-SIG value")?,
                    mask: reader.u32("U-SIG mask")?,
                };
                keep_first(&mut self.u_sig, u_sig);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns the EHT field; missing bytes at the end are zero.
fn eht(bytes: &[u8]) -> Eht {
    let mut words = bytes.chunks(4).map(|word| {
        let mut whole = [0; 4];
        whole[..word.len()].copy_from_slice(word);
        u32::from_le_bytes(whole)
    });
    let known = words.next().unwrap_or_default();
    let data = core::array::from_fn(|_| words.next().unwrap_or_default());
    let mut users = EhtUsers::default();
    for word in words {
        users.push(EhtUser(word));
    }
    Eht { known, data, users }
}

const LAYER: &str = "radiotap";
const U_SIG: u8 = tlv::U_SIG as u8;
/// The longest field of fixed length in bytes.
const FIXED_LEN_MAX: usize = 12;
/// Length of version, pad, length, and one presence word.
const MIN_LEN: usize = 8;
const PRESENCE_START: usize = 4;

fn keep_first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

/// Namespace of the next presence word.
const fn namespace_after(state: State) -> Namespace {
    if state.word & 1 << bit::VENDOR_NAMESPACE != 0 {
        Namespace::Vendor
    } else if state.word & 1 << bit::RADIOTAP_NAMESPACE != 0 {
        Namespace::Radiotap
    } else {
        match state.namespace {
            Namespace::Vendor => Namespace::Vendor,
            Namespace::Radiotap | Namespace::Beyond => Namespace::Beyond,
        }
    }
}

/// Name, alignment and size in bytes of a field of the radiotap namespace.
const fn shape(bit: u8) -> Option<(&'static str, usize, usize)> {
    Some(match bit {
        bit::TSFT => ("TSFT", 8, 8),
        bit::FLAGS => ("flags", 1, 1),
        bit::RATE => ("rate", 1, 1),
        bit::CHANNEL => ("channel", 2, 4),
        4 => ("FHSS", 2, 2),
        bit::ANTENNA_SIGNAL => ("antenna signal", 1, 1),
        bit::ANTENNA_NOISE => ("antenna noise", 1, 1),
        7 => ("lock quality", 2, 2),
        8 => ("TX attenuation", 2, 2),
        9 => ("dB TX attenuation", 2, 2),
        10 => ("dBm TX power", 1, 1),
        bit::ANTENNA => ("antenna", 1, 1),
        12 => ("dB antenna signal", 1, 1),
        13 => ("dB antenna noise", 1, 1),
        bit::RX_FLAGS => ("RX flags", 2, 2),
        15 => ("TX flags", 2, 2),
        16 => ("RTS retries", 1, 1),
        17 => ("data retries", 1, 1),
        bit::XCHANNEL => ("XChannel", 4, 8),
        bit::MCS => ("MCS", 1, 3),
        bit::AMPDU_STATUS => ("A-MPDU status", 4, 8),
        bit::VHT => ("VHT", 2, 12),
        bit::TIMESTAMP => ("timestamp", 8, 12),
        bit::HE => ("HE", 2, 12),
        bit::HE_MU => ("HE-MU", 2, 12),
        bit::HE_MU_OTHER_USER => ("HE-MU other user", 2, 6),
        bit::ZERO_LENGTH_PSDU => ("zero-length PSDU", 1, 1),
        bit::L_SIG => ("L-SIG", 2, 4),
        _ => return None,
    })
}
