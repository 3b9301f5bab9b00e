//! Fast parsing of radiotap headers. Headers of one receiver have one of a few combinations of
//! fields (data at HT rates, answers at others). The positions of fields are computed once for each
//! combination, and a rate is converted once as long as it stays the same. Headers with rare fields
//! (802.11ac and later, vendor fields) are parsed by [`radiotap::Repr`]; a test checks that both
//! give the same result.

use super::{Ampdu, Radio, of_radiotap};
use crate::rate::Rate;
use lasthop_wifi_wire::Error;
use lasthop_wifi_wire::radiotap::{self, AmpduStatus, Channel, FlagsField, Mcs, bit};

/// Parser of radiotap headers.
#[derive(Debug, Default)]
pub struct Headers {
    /// Latest combinations of fields, the latest one first.
    places: [Option<Places>; KNOWN],
    rate: Option<(RateKey, Option<Rate>)>,
}

/// Largest number of combinations of fields remembered.
const KNOWN: usize = 4;

/// Version, padding, length and presence word.
type RadiotapHead = [u8; 8];
/// Bytes that determine a rate: flags, rate, flags of the channel, MCS.
type RateKey = (u8, u8, [u8; 2], [u8; 3]);

/// Positions of fields in bytes from the start of the header; 0 for absent fields.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    head: RadiotapHead,
    length: usize,
    tsft: usize,
    flags: usize,
    rate: usize,
    channel: usize,
    signal: usize,
    noise: usize,
    rx_flags: usize,
    mcs: usize,
    ampdu: usize,
}

/// Fields that the fast parser supports: up to A-MPDU status.
const SHORT_WAY: u32 = (1 << (bit::AMPDU_STATUS + 1)) - 1;

impl Headers {
    /// Returns the metadata of the receiver, and the length of the header.
    ///
    /// # Errors
    ///
    /// The same as [`radiotap::View::new`] and [`radiotap::Repr::parse`].
    pub fn parse(&mut self, bytes: &[u8]) -> Result<(Radio, usize), Error> {
        let head = bytes.first_chunk();
        for index in 0..KNOWN {
            let Some(places) = self.places[index] else { break };
            if head == Some(&places.head)
                && let Some(header) = bytes.get(..places.length)
            {
                // Two combinations alternate most often, so the latest one is tried first.
                if index > 1 {
                    self.places[..=index].rotate_right(1);
                }
                return Ok((self.read(header, &places), places.length));
            }
        }
        let view = radiotap::View::new(bytes)?;
        let radio = of_radiotap(&radiotap::Repr::parse(&view)?);
        if let Some(places) = Places::find(bytes, &view) {
            self.places.rotate_right(1);
            self.places[0] = Some(places);
        }
        Ok((radio, view.header_len()))
    }

    fn read(&mut self, header: &[u8], places: &Places) -> Radio {
        let byte = |place: usize| if place > 0 { Some(header[place]) } else { None };
        let flags = FlagsField(byte(places.flags).unwrap_or_default());
        let channel = array::<4>(header, places.channel);
        let mcs = array::<3>(header, places.mcs);
        let [.., c0, c1] = channel.unwrap_or_default();
        let key =
            (flags.0, byte(places.rate).unwrap_or_default(), [c0, c1], mcs.unwrap_or_default());
        let rate = match self.rate {
            Some((known, rate)) if known == key => rate,
            _ => {
                let rate = Rate::of_radiotap(&radiotap::Repr {
                    flags: (places.flags > 0).then_some(flags),
                    rate_500kbps: byte(places.rate),
                    channel: channel.map(channel_of),
                    mcs: mcs.map(|[known, flags, index]| Mcs { known, flags, index }),
                    ..radiotap::Repr::default()
                });
                self.rate = Some((key, rate));
                rate
            }
        };
        let rx_flags = array(header, places.rx_flags).map(u16::from_le_bytes);
        let ampdu = array::<8>(header, places.ampdu).map(|[r0, r1, r2, r3, f0, f1, ..]| {
            ampdu_of(u32::from_le_bytes([r0, r1, r2, r3]), u16::from_le_bytes([f0, f1]))
        });
        Radio {
            tsft_us: array(header, places.tsft).map(u64::from_le_bytes),
            rate,
            frequency_mhz: channel.map(|bytes| channel_of(bytes).frequency_mhz),
            signal_dbm: byte(places.signal).map(u8::cast_signed),
            noise_dbm: byte(places.noise).map(u8::cast_signed),
            bad_fcs: flags.bad_fcs() || rx_flags.is_some_and(|flags| flags & super::BAD_PLCP != 0),
            layout: flags.layout(),
            ampdu,
            radiotap: true,
            has_mcs: places.mcs > 0,
            ..Radio::default()
        }
    }
}

impl Places {
    /// Returns the positions of a header; `None` if the fast parser does not support it.
    fn find(bytes: &[u8], view: &radiotap::View<'_>) -> Option<Self> {
        let head: RadiotapHead = *bytes.first_chunk()?;
        let [.., p0, p1, p2, p3] = head;
        if u32::from_le_bytes([p0, p1, p2, p3]) & !SHORT_WAY != 0 {
            return None;
        }
        let mut places = Self { head, length: view.header_len(), ..Self::default() };
        for field in view.fields() {
            let field = field.ok()?;
            let place = match u8::try_from(field.number).unwrap_or(u8::MAX) {
                bit::TSFT => &mut places.tsft,
                bit::FLAGS => &mut places.flags,
                bit::RATE => &mut places.rate,
                bit::CHANNEL => &mut places.channel,
                bit::ANTENNA_SIGNAL => &mut places.signal,
                bit::ANTENNA_NOISE => &mut places.noise,
                bit::RX_FLAGS => &mut places.rx_flags,
                bit::MCS => &mut places.mcs,
                bit::AMPDU_STATUS => &mut places.ampdu,
                _ => continue,
            };
            *place = field.offset;
        }
        Some(places)
    }
}

/// Converts an A-MPDU status field.
pub(super) fn ampdu_of(reference: u32, flags: u16) -> Ampdu {
    let last = flags & AmpduStatus::LAST_KNOWN != 0;
    Ampdu { reference, last: last.then_some(flags & AmpduStatus::LAST != 0) }
}

fn channel_of([m0, m1, f0, f1]: [u8; 4]) -> Channel {
    Channel { frequency_mhz: u16::from_le_bytes([m0, m1]), flags: u16::from_le_bytes([f0, f1]) }
}

fn array<const N: usize>(header: &[u8], place: usize) -> Option<[u8; N]> {
    if place == 0 { None } else { header.get(place..)?.first_chunk().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Of two headers with the same fields, the second takes the fast path, with the same
        /// result.
        #[test]
        fn both_ways_give_the_same(
            present in any::<u32>(),
            few in any::<bool>(),
            first in proptest::collection::vec(any::<u8>(), 0..80),
            second in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let present = if few { present & SHORT_WAY } else { present };
            let header = |fields: &[u8]| {
                let mut bytes = vec![0, 0];
                bytes.extend_from_slice(&88u16.to_le_bytes());
                bytes.extend_from_slice(&present.to_le_bytes());
                bytes.extend_from_slice(fields);
                bytes.resize(100, 0);
                bytes
            };
            let mut headers = Headers::default();
            for fields in [&first, &second] {
                let bytes = header(fields);
                let long = radiotap::View::new(&bytes).and_then(|view| {
                    Ok((of_radiotap(&radiotap::Repr::parse(&view)?), view.header_len()))
                });
                prop_assert_eq!(headers.parse(&bytes), long);
            }
        }
    }
}
