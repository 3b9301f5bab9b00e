//! EAPOL-Key frames as values that can be written, and key data encapsulations (KDEs). Nonces, MICs
//! and encrypted Key Data are bytes of the caller: nothing is computed.

use super::{HEADER_LEN, Information, KDE_OUI, Key, LAYER, MIC_LEN, MIC_OFFSET, PACKET_TYPE_KEY};
use crate::elements::id;
use crate::{Error, Reason};
use alloc::vec::Vec;

/// An EAPOL-Key frame as values.
///
/// ```
/// use lasthop_wifi_wire::eapol::{Information, Key, Repr};
///
/// let message = Repr {
///     information: Information::of_message(1, 2).expect("messages are 1 to 4"),
///     key_length: 16,
///     replay_counter: 1,
///     nonce: [7; 32],
///     ..Repr::default()
/// };
/// let mut bytes = Vec::new();
/// message.emit(&mut bytes)?;
/// assert_eq!((bytes.len(), Repr::parse(&bytes)), (99, Ok(Some(message))));
/// # Ok::<(), lasthop_wifi_wire::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Protocol version of EAPOL: 1 to 3.
    pub version: u8,
    /// Type of the descriptor: [`Key::RSN`] or [`Key::WPA`].
    pub descriptor: u8,
    /// Purpose of the frame.
    pub information: Information,
    /// Length of the pairwise key in octets; 0 in message 2 and 4 of RSN.
    pub key_length: u16,
    /// Counter of the access point's frames; a station repeats the value that it answers.
    pub replay_counter: u64,
    /// ANonce of the access point, or SNonce of the station; zero in messages without.
    pub nonce: [u8; 32],
    /// Initialisation vector; zero with AES.
    pub iv: [u8; 16],
    /// Receive sequence counter (RSC) of the group key, the lowest octet first.
    pub receive_sequence: [u8; 8],
    /// Message integrity code; zero if there is none.
    pub mic: [u8; MIC_LEN],
    /// Key Data field, encrypted or not.
    pub key_data: &'a [u8],
}

/// A frame of RSN in EAPOL version 2, without a key, nonce or MIC.
impl Default for Repr<'_> {
    fn default() -> Self {
        Self {
            version: 2,
            descriptor: Key::RSN,
            information: Information(0),
            key_length: 0,
            replay_counter: 0,
            nonce: [0; 32],
            iv: [0; 16],
            receive_sequence: [0; 8],
            mic: [0; MIC_LEN],
            key_data: &[],
        }
    }
}

impl<'a> Repr<'a> {
    /// Length of the fields before the Key Data in bytes, EAPOL header included.
    pub const FIXED_LEN: usize = MIC_OFFSET + MIC_LEN + 2;

    /// Reads an EAPOL frame; `None` for another packet type (EAP, Start, Logoff).
    ///
    /// # Errors
    /// Returns an error in the cases of [`Key::parse`].
    pub fn parse(eapol: &'a [u8]) -> Result<Option<Self>, Error> {
        let Some(key) = Key::parse(eapol)? else { return Ok(None) };
        Ok(Some(Self {
            version: key.frame.first().copied().unwrap_or_default(),
            descriptor: key.descriptor,
            information: key.information,
            key_length: key.key_length,
            replay_counter: key.replay_counter,
            nonce: key.nonce,
            iv: octets(key.frame, IV_OFFSET),
            receive_sequence: octets(key.frame, IV_OFFSET + 16),
            mic: key.mic,
            key_data: key.key_data,
        }))
    }

    /// Length in bytes.
    pub const fn buffer_len(&self) -> usize {
        Self::FIXED_LEN + self.key_data.len()
    }

    /// Appends the frame, from the EAPOL header on.
    ///
    /// # Errors
    /// Returns an error for more than 65 440 bytes of Key Data, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let max = usize::from(u16::MAX) - (Self::FIXED_LEN - HEADER_LEN);
        let length = self.key_data.len();
        if length > max {
            let reason = Reason::Long { length, max };
            return Err(Error { layer: LAYER, field: "key data", offset: Self::FIXED_LEN, reason });
        }
        let body = (self.buffer_len() - HEADER_LEN) as u16;
        out.extend_from_slice(&[self.version, PACKET_TYPE_KEY]);
        out.extend_from_slice(&body.to_be_bytes());
        out.push(self.descriptor);
        out.extend_from_slice(&self.information.0.to_be_bytes());
        out.extend_from_slice(&self.key_length.to_be_bytes());
        out.extend_from_slice(&self.replay_counter.to_be_bytes());
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.iv);
        out.extend_from_slice(&self.receive_sequence);
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&self.mic);
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend_from_slice(self.key_data);
        Ok(())
    }
}

/// A KDE as values (12.7.2, table 12-9), for Key Data that is not encrypted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kde<'a> {
    /// Group key.
    Gtk {
        /// Number of the key in its network, 0 to 3.
        id: u8,
        /// Bytes of the key.
        key: &'a [u8],
    },
    /// Identifier of the PMK.
    Pmkid([u8; 16]),
    /// Key of protected group-addressed management frames.
    Igtk {
        /// Number of the key in its network, 4 or 5.
        id: u16,
        /// IGTK packet number, the lowest octet first.
        packet_number: [u8; 6],
        /// Bytes of the key.
        key: &'a [u8],
    },
}

impl<'a> Kde<'a> {
    const GTK: u8 = 1;
    const PMKID: u8 = 4;
    const IGTK: u8 = 9;

    /// Reads the information of a vendor specific element; `None` for another organisation or type,
    /// or too few bytes.
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        let (oui, rest) = data.split_first_chunk::<3>()?;
        if *oui != KDE_OUI {
            return None;
        }
        match rest {
            [Self::GTK, flags, _, key @ ..] if !key.is_empty() => {
                Some(Self::Gtk { id: flags & 3, key })
            }
            [Self::PMKID, pmkid @ ..] => pmkid.first_chunk().copied().map(Self::Pmkid),
            [Self::IGTK, low, high, rest @ ..] => {
                let (packet_number, key) = rest.split_first_chunk()?;
                let id = u16::from_le_bytes([*low, *high]);
                Some(Self::Igtk { id, packet_number: *packet_number, key })
            }
            _ => None,
        }
    }

    /// Appends the KDE.
    ///
    /// # Errors
    /// Returns an error for a key that does not fit into 255 bytes of information, and writes
    /// nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut data = Vec::from(KDE_OUI);
        match *self {
            Self::Gtk { id, key } => {
                data.extend_from_slice(&[Self::GTK, id & 3, 0]);
                data.extend_from_slice(key);
            }
            Self::Pmkid(pmkid) => {
                data.push(Self::PMKID);
                data.extend_from_slice(&pmkid);
            }
            Self::Igtk { id, packet_number, key } => {
                data.push(Self::IGTK);
                data.extend_from_slice(&id.to_le_bytes());
                data.extend_from_slice(&packet_number);
                data.extend_from_slice(key);
            }
        }
        let kde = crate::elements::Repr::Other { id: id::VENDOR_SPECIFIC, data: &data };
        kde.emit(out)
    }
}

/// Octets of a frame that was read to the end of its Key Data.
fn octets<const N: usize>(frame: &[u8], offset: usize) -> [u8; N] {
    frame.get(offset..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// Offset of the initialisation vector in the frame.
const IV_OFFSET: usize = HEADER_LEN + 1 + 2 + 2 + 8 + 32;

#[cfg(test)]
mod tests {
    use super::super::Kdes;
    use super::*;
    use proptest::prelude::*;

    fn some_repr<'a>(octets: &[u8; 32], number: u64, key_data: &'a [u8]) -> Repr<'a> {
        Repr {
            version: octets[0],
            descriptor: octets[1],
            information: Information(number as u16),
            key_length: (number >> 16) as u16,
            replay_counter: number,
            nonce: *octets,
            iv: core::array::from_fn(|at| octets[at]),
            receive_sequence: core::array::from_fn(|at| octets[at] ^ 0x55),
            mic: core::array::from_fn(|at| octets[at] ^ 0xaa),
            key_data,
        }
    }

    /// The Key Information of each message as IEEE 802.11-2020, 12.7.6.2 to 12.7.6.5 list its bits,
    /// with descriptor version 2.
    #[test]
    fn messages_have_their_bits() {
        let expected = [0x008a, 0x010a, 0x13ca, 0x030a];
        for (number, bits) in (1..).zip(expected) {
            let information = Information::of_message(number, 2).expect("1 to 4");
            assert_eq!(information, Information(bits));
            assert_eq!(information.version(), 2);
            assert_eq!(information.has_install(), number == 3);
            assert_eq!(information.is_secure(), number > 2);
            assert_eq!(information.has_ack(), number % 2 == 1);
        }
        assert_eq!([0, 5].map(|number| Information::of_message(number, 2)), [None; 2]);
    }

    #[test]
    fn kdes_are_written_as_they_are_read() {
        let key: [u8; 16] = core::array::from_fn(|at| at as u8);
        let kdes = [
            Kde::Gtk { id: 2, key: &key },
            Kde::Pmkid([7; 16]),
            Kde::Igtk { id: 4, packet_number: [1, 2, 3, 4, 5, 6], key: &key },
        ];
        let mut data = Vec::new();
        for kde in &kdes {
            kde.emit(&mut data).expect("they are short");
        }
        assert_eq!(data.len(), 24 + 22 + 30);
        assert!(Kdes::new(&data).iter().eq(kdes));
        assert_eq!(Kdes::new(&data).gtk().map(|gtk| (gtk.id, gtk.key)), Some((2, &key[..])));
        let long = [0; 250];
        assert!(Kde::Gtk { id: 1, key: &long }.emit(&mut data).is_err());
    }

    proptest! {
        #[test]
        fn frames_come_back(
            octets: [u8; 32], number: u64, data in prop::collection::vec(any::<u8>(), 0..80),
            padding in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let repr = some_repr(&octets, number, &data);
            let mut bytes = Vec::new();
            repr.emit(&mut bytes).expect("the data is short");
            prop_assert_eq!(bytes.len(), repr.buffer_len());
            bytes.extend_from_slice(&padding);
            prop_assert_eq!(Repr::parse(&bytes), Ok(Some(repr)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut eapol = Vec::from([2, PACKET_TYPE_KEY]);
            eapol.extend_from_slice(&bytes);
            match Repr::parse(&eapol) {
                Ok(Some(repr)) => {
                    let mut again = Vec::new();
                    repr.emit(&mut again).expect("it was no longer when it was read");
                    prop_assert_eq!(Repr::parse(&again), Ok(Some(repr)));
                }
                Ok(None) => prop_assert!(false, "the packet type is that of EAPOL-Key"),
                Err(error) => prop_assert!(error.offset <= eapol.len()),
            }
            let _ = Kdes::new(&bytes).iter().count();
        }
    }
}
