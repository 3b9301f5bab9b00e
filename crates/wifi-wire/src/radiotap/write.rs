//! Writing of radiotap: one presence word, the fields of a [`Repr`] in the order of their bits,
//! each aligned from the start of the header, then TLVs.

use super::{Channel, Eht, FlagsField, He, HeFormat, Mcs, Repr, Vht, bit, eht_write, tlv};
use alloc::vec::Vec;
use lasthop_units::{Dbm, Instant};
use lasthop_wifi_phy::{Preamble, Rate, Ru};

impl Repr {
    /// Returns the header of a frame with FCS at a monitor: it arrived `at`, sent at `rate` on
    /// `channel`, with power `signal` (rounded to whole dBm).
    ///
    /// The caller sets [`ampdu_status`](Self::ampdu_status) and [`FlagsField::BAD_FCS`].
    pub fn received(at: Instant, rate: Rate, channel: Channel, signal: Dbm) -> Self {
        let mut flags = FlagsField::FCS_AT_END;
        // At most 108: the fastest rate without MCS is 54 Mb/s.
        let legacy = (rate.bitrate().as_bps() / 500_000) as u8;
        let (mut vht, mut he, mut eht) = (None, None, None);
        let (rate_500kbps, mcs, modulation) = match rate {
            Rate::Dsss { preamble, .. } => {
                if preamble == Preamble::Short {
                    flags |= FlagsField::SHORT_PREAMBLE;
                }
                (Some(legacy), None, Channel::CCK)
            }
            Rate::Ofdm(_) | Rate::ErpOfdm(_) => (Some(legacy), None, Channel::OFDM),
            Rate::Ht { mcs, width, guard_interval } => {
                (None, Some(Mcs::ht_mixed(mcs, width, guard_interval)), Channel::OFDM)
            }
            Rate::Vht { mcs, streams, width, guard_interval } => {
                vht = Some(Vht::single_user(mcs, streams, width, guard_interval));
                (None, None, Channel::OFDM)
            }
            Rate::He { .. } | Rate::HeExtendedRange { .. } => {
                he = He::single_user(rate);
                (None, None, Channel::OFDM)
            }
            Rate::Eht { .. } => {
                eht = eht_write::of_rate(rate);
                (None, None, Channel::OFDM)
            }
        };
        Self {
            tsft_us: Some(at.as_nanos() / 1000),
            flags: Some(FlagsField(flags)),
            rate_500kbps,
            channel: Some(channel.with_flags(modulation)),
            // A cast to an integer saturates.
            antenna_signal_dbm: Some(libm::round(signal.0) as i8),
            mcs,
            vht,
            he,
            u_sig: eht.map(|it| it.0),
            eht: eht.map(|it| it.1),
            ..Self::default()
        }
    }

    /// Returns the header of a frame in a VHT MU PPDU, for the user at `place`, 0 to 3. A header
    /// without a VHT field stays as it is.
    pub fn of_several(mut self, place: usize) -> Self {
        self.vht = self.vht.map(|vht| vht.of_several(place));
        self
    }

    /// Returns the header of a frame on `ru`, in a PPDU to several stations or one that answers a
    /// Trigger frame. A header without HE or EHT fields stays as it is.
    pub fn on_unit(mut self, format: HeFormat, ru: Ru) -> Self {
        self.he = self.he.map(|he| he.on_unit(format, ru.size()));
        self.on_eht_unit(format, ru)
    }

    /// Length in bytes.
    pub fn buffer_len(&self) -> usize {
        let mut length = HEADER_LEN;
        self.each_field(|_, align, bytes| length = length.next_multiple_of(align) + bytes.len());
        length
    }

    /// Appends the header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut present = 0u32;
        self.each_field(|bit, _, _| present |= 1 << bit);
        // At most 220 bytes: all fields and their padding.
        let length = self.buffer_len() as u16;
        out.extend_from_slice(&[VERSION, 0]);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&present.to_le_bytes());
        self.each_field(|_, align, bytes| {
            out.resize(start + (out.len() - start).next_multiple_of(align), 0);
            out.extend_from_slice(bytes);
        });
    }

    /// Calls `field` with presence bit, alignment and bytes, in order.
    fn each_field(&self, mut field: impl FnMut(u8, usize, &[u8])) {
        if let Some(tsft) = self.tsft_us {
            field(bit::TSFT, 8, &tsft.to_le_bytes());
        }
        if let Some(flags) = self.flags {
            field(bit::FLAGS, 1, &[flags.0]);
        }
        if let Some(rate) = self.rate_500kbps {
            field(bit::RATE, 1, &[rate]);
        }
        if let Some(channel) = self.channel {
            let [f0, f1] = channel.frequency_mhz.to_le_bytes();
            let [b0, b1] = channel.flags.to_le_bytes();
            field(bit::CHANNEL, 2, &[f0, f1, b0, b1]);
        }
        if let Some(signal) = self.antenna_signal_dbm {
            field(bit::ANTENNA_SIGNAL, 1, &signal.to_le_bytes());
        }
        if let Some(noise) = self.antenna_noise_dbm {
            field(bit::ANTENNA_NOISE, 1, &noise.to_le_bytes());
        }
        if let Some(antenna) = self.antenna {
            field(bit::ANTENNA, 1, &[antenna]);
        }
        if let Some(rx_flags) = self.rx_flags {
            field(bit::RX_FLAGS, 2, &rx_flags.to_le_bytes());
        }
        if let Some(xchannel) = self.xchannel {
            let [b0, b1, b2, b3] = xchannel.flags.to_le_bytes();
            let [f0, f1] = xchannel.frequency_mhz.to_le_bytes();
            let bytes = [b0, b1, b2, b3, f0, f1, xchannel.number, xchannel.max_power];
            field(bit::XCHANNEL, 4, &bytes);
        }
        if let Some(mcs) = self.mcs {
            field(bit::MCS, 1, &[mcs.known, mcs.flags, mcs.index]);
        }
        if let Some(status) = self.ampdu_status {
            let [r0, r1, r2, r3] = status.reference.to_le_bytes();
            let [b0, b1] = status.flags.to_le_bytes();
            field(bit::AMPDU_STATUS, 4, &[r0, r1, r2, r3, b0, b1, status.delimiter_crc, 0]);
        }
        if let Some(vht) = self.vht {
            let [k0, k1] = vht.known.to_le_bytes();
            let [m0, m1, m2, m3] = vht.mcs_streams;
            let [a0, a1] = vht.partial_aid.to_le_bytes();
            let bytes = [
                k0,
                k1,
                vht.flags,
                vht.bandwidth,
                m0,
                m1,
                m2,
                m3,
                vht.coding,
                vht.group_id,
                a0,
                a1,
            ];
            field(bit::VHT, 2, &bytes);
        }
        if let Some(timestamp) = self.timestamp {
            let mut bytes = [0; 12];
            bytes[..8].copy_from_slice(&timestamp.timestamp.to_le_bytes());
            bytes[8..10].copy_from_slice(&timestamp.accuracy.to_le_bytes());
            bytes[10..].copy_from_slice(&[timestamp.unit_position, timestamp.flags]);
            field(bit::TIMESTAMP, 8, &bytes);
        }
        if let Some(he) = self.he {
            let mut bytes = [0; 12];
            put(&mut bytes, he.data.iter().map(|word| word.to_le_bytes()));
            field(bit::HE, 2, &bytes);
        }
        if let Some(he_mu) = self.he_mu {
            let mut bytes = [0; 12];
            bytes[..2].copy_from_slice(&he_mu.flags1.to_le_bytes());
            bytes[2..4].copy_from_slice(&he_mu.flags2.to_le_bytes());
            bytes[4..8].copy_from_slice(&he_mu.channel1);
            bytes[8..].copy_from_slice(&he_mu.channel2);
            field(bit::HE_MU, 2, &bytes);
        }
        if let Some(user) = self.he_mu_other_user {
            let [a0, a1] = user.user1.to_le_bytes();
            let [b0, b1] = user.user2.to_le_bytes();
            let bytes = [a0, a1, b0, b1, user.position, user.known];
            field(bit::HE_MU_OTHER_USER, 2, &bytes);
        }
        if let Some(reason) = self.zero_length_psdu {
            field(bit::ZERO_LENGTH_PSDU, 1, &[reason.code()]);
        }
        if let Some(l_sig) = self.l_sig {
            let [k0, k1] = l_sig.known.to_le_bytes();
            let [d0, d1] = l_sig.data.to_le_bytes();
            field(bit::L_SIG, 2, &[k0, k1, d0, d1]);
        }
        self.each_tlv(field);
    }

    /// Calls `field` with the TLVs, type and length first, none of which needs padding.
    fn each_tlv(&self, mut field: impl FnMut(u8, usize, &[u8])) {
        if let Some(u_sig) = self.u_sig {
            let mut bytes = [0; TLV_HEADER_LEN + 12];
            let words = [u_sig.common, u_sig.value, u_sig.mask].map(u32::to_le_bytes);
            put(&mut bytes, [tlv_header(tlv::U_SIG, 12)].into_iter().chain(words));
            field(bit::TLV, 4, &bytes);
        }
        if let Some(eht) = self.eht {
            let users = eht.users.as_slice();
            let length = 4 * (1 + eht.data.len() + users.len());
            let mut bytes = [0; TLV_HEADER_LEN + Eht::LEN_MAX];
            let words = [eht.known].into_iter().chain(eht.data);
            let words = words.chain(users.iter().map(|user| user.0)).map(u32::to_le_bytes);
            put(&mut bytes, [tlv_header(tlv::EHT, length)].into_iter().chain(words));
            field(bit::TLV, 4, &bytes[..TLV_HEADER_LEN + length]);
        }
    }
}

/// Type and length of a TLV; the length is that of a field, which is short.
const fn tlv_header(number: u16, length: usize) -> [u8; TLV_HEADER_LEN] {
    let ([n0, n1], [l0, l1]) = (number.to_le_bytes(), (length as u16).to_le_bytes());
    [n0, n1, l0, l1]
}

/// Writes words one after the other, until `bytes` is full.
fn put<const N: usize>(bytes: &mut [u8], words: impl Iterator<Item = [u8; N]>) {
    for (place, word) in bytes.chunks_exact_mut(N).zip(words) {
        place.copy_from_slice(&word);
    }
}

const VERSION: u8 = 0;
const TLV_HEADER_LEN: usize = 4;
/// Length of version, pad, length, and presence word.
const HEADER_LEN: usize = 8;
