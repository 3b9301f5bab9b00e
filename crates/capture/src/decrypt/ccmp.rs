//! CCMP-128 decryption and authentication of data frames (IEEE 802.11-2020, 12.5.3). Lengths are in
//! octets. Replay is not checked, since a monitor hears retransmissions. CCMP-256 and protected
//! management frames are not supported.
//!
//! Two stations agree whether the A-MSDU Present bit is authenticated (SPP A-MSDU, 12.5.3.3.3). For
//! a frame with this bit, both readings are tried.

use super::keys::Secret;
use crate::frame::Frame;
use aes::Aes128Enc;
use ccm::Ccm;
use ccm::aead::AeadInOut;
use ccm::consts::{U8, U13};
use ctr::Ctr32BE;
use ctr::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherSeek};
use std::fmt;

/// Length of the CCMP header before the data.
pub const HEADER_LEN: usize = 8;
/// Length of the MIC behind the data.
pub const MIC_LEN: usize = 8;

/// Longest AAD: Frame Control, three addresses, Sequence Control, Address 4, QoS Control.
const AAD_LEN_MAX: usize = 30;
/// Frame Control: subtype bits of data frames but the QoS bit, Retry, Power Management, More Data
/// (not authenticated).
const FRAME_CONTROL_MASK: u16 = !(0x0070 | 1 << 11 | 1 << 12 | 1 << 13);
/// Frame Control, bit 15: not authenticated where there is a QoS Control field.
const FRAME_CONTROL_HTC: u16 = 1 << 15;
/// QoS Control, bit 7.
const AMSDU_PRESENT: u8 = 1 << 7;

/// A temporal key.
#[derive(Clone)]
pub struct Key(Aes128Enc);

impl Key {
    /// Creates the key of these octets.
    pub fn new(key: &Secret<16>) -> Self {
        Self(Aes128Enc::new(key.as_bytes().into()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Fields of a protected data frame.
#[derive(Clone, Copy, Debug)]
pub struct Protected<'a> {
    /// Number of the key: 0 to 3 for a group; for a pair, most often 0.
    pub key_id: u8,
    nonce: [u8; 13],
    aad: [u8; AAD_LEN_MAX],
    aad_len: usize,
    /// Position of the QoS Control field in the AAD, if the frame is an A-MSDU.
    amsdu: Option<usize>,
    /// Captured part of the ciphertext.
    data: &'a [u8],
    /// MIC of the frame; `None` if a snap length has cut it off.
    mic: Option<[u8; MIC_LEN]>,
    is_first_fragment: bool,
}

/// Reason why the body of a protected frame cannot be CCMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The body has no Extended IV: it is WEP.
    Wep,
    /// The body is shorter than a CCMP header and a MIC.
    Short,
    /// A snap length has cut off everything behind the CCMP header.
    Cut,
}

impl<'a> Protected<'a> {
    /// Reads the fields of a protected data frame with a body.
    ///
    /// # Errors
    ///
    /// Fails for a frame that is not CCMP, or too short for it.
    pub fn new(frame: &Frame<'a>) -> Result<Self, Refused> {
        let body = frame.body();
        let on_air = frame.body_bytes() as usize;
        let is_cut = frame.cut && body.len() < on_air;
        let short = if is_cut { Refused::Cut } else { Refused::Short };
        let Some((header, rest)) = body.split_first_chunk::<HEADER_LEN>() else {
            return Err(short);
        };
        let [pn0, pn1, _, flags, pn2, pn3, pn4, pn5] = *header;
        if flags & EXTENDED_IV == 0 {
            return Err(Refused::Wep);
        }
        let (data, mic) = if is_cut {
            // The MIC is missing, or only a part of it is there.
            let length = on_air.checked_sub(HEADER_LEN + MIC_LEN).ok_or(Refused::Short)?;
            (rest.get(..length).unwrap_or(rest), None)
        } else {
            let (data, mic) = rest.split_last_chunk::<MIC_LEN>().ok_or(short)?;
            (data, Some(*mic))
        };
        let view = &frame.view;
        let header = view.as_bytes();
        let qos = view.qos_control();
        let mut aad = Aad { bytes: [0; AAD_LEN_MAX], len: 0 };
        let mut control = frame.control.bits() & FRAME_CONTROL_MASK;
        if qos.is_some() {
            control &= !FRAME_CONTROL_HTC;
        }
        aad.push(&control.to_le_bytes());
        aad.push(header.get(4..22).ok_or(short)?);
        let fragment = view.sequence_control().ok_or(short)?.fragment;
        aad.push(&[fragment, 0]);
        if let Some(address) = view.address_4() {
            aad.push(&address.0);
        }
        let at = aad.len;
        if let Some(qos) = qos {
            aad.push(&[qos.tid, 0]);
        }
        let mut nonce = [0; 13];
        nonce[0] = qos.map_or(0, |qos| qos.tid);
        nonce[1..7].copy_from_slice(header.get(10..16).ok_or(short)?);
        nonce[7..].copy_from_slice(&[pn5, pn4, pn3, pn2, pn1, pn0]);
        Ok(Self {
            key_id: flags >> 6,
            nonce,
            aad: aad.bytes,
            aad_len: aad.len,
            amsdu: qos.filter(|qos| qos.amsdu_present).map(|_| at),
            data,
            mic,
            is_first_fragment: fragment == 0,
        })
    }

    /// Whether a snap length has cut off the MIC, so that the data is not authenticated.
    pub const fn is_cut(&self) -> bool {
        self.mic.is_none()
    }

    /// Deciphers the data into `out` and replaces its content. Returns `false` if the key is wrong:
    /// the MIC does not fit, or the data of a frame without MIC does not begin with a SNAP header.
    pub fn open(&self, key: &Key, out: &mut Vec<u8>) -> bool {
        if self.mic.is_none() {
            return self.decipher(key, out);
        }
        if self.authenticate(key, &self.aad, out) {
            return true;
        }
        let Some(at) = self.amsdu else { return false };
        let mut aad = self.aad;
        aad[at] |= AMSDU_PRESENT;
        self.authenticate(key, &aad, out)
    }

    fn authenticate(&self, key: &Key, aad: &[u8; AAD_LEN_MAX], out: &mut Vec<u8>) -> bool {
        let (Some(mic), Some(aad)) = (self.mic, aad.get(..self.aad_len)) else { return false };
        out.clear();
        out.extend_from_slice(self.data);
        let cipher = Ccm::<&Aes128Enc, U8, U13>::from(&key.0);
        let (nonce, buffer) = (&self.nonce.into(), out.as_mut_slice().into());
        cipher.decrypt_inout_detached(nonce, aad, buffer, &mic.into()).is_ok()
    }

    /// Deciphers without a MIC: only the key stream, from its second block on (RFC 3610, section
    /// 2.3).
    fn decipher(&self, key: &Key, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.extend_from_slice(self.data);
        let mut block = [0; 16];
        block[0] = 1;
        block[1..14].copy_from_slice(&self.nonce);
        let mut stream = Ctr32BE::from_core(ctr::CtrCore::inner_iv_init(&key.0, &block.into()));
        stream.seek(block.len());
        stream.apply_keystream(out);
        let at = if self.amsdu.is_some() { lasthop_wifi_wire::amsdu::HEADER_LEN } else { 0 };
        self.is_first_fragment && out.get(at..).is_some_and(|msdu| msdu.starts_with(&SNAP))
    }
}

/// Authenticated fields in their order.
struct Aad {
    bytes: [u8; AAD_LEN_MAX],
    len: usize,
}

impl Aad {
    fn push(&mut self, field: &[u8]) {
        self.bytes[self.len..self.len + field.len()].copy_from_slice(field);
        self.len += field.len();
    }
}

/// Key ID octet, bit 5.
const EXTENDED_IV: u8 = 1 << 5;
/// First octets of an MSDU of IP (LLC and SNAP, RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Radio;
    use lasthop_wifi_wire::frame::{Layout, View};

    /// The only vector of CCMP in IEEE 802.11-2020, J.6.4. The frame has the Retry bit.
    const KEY: [u8; 16] = [
        0xc9, 0x7c, 0x1f, 0x67, 0xce, 0x37, 0x11, 0x85, 0x51, 0x4a, 0x8a, 0x19, 0xf2, 0xbd, 0xd5,
        0x2f,
    ];
    const FRAME: [u8; 64] = [
        0x08, 0x48, 0xc3, 0x2c, 0x0f, 0xd2, 0xe1, 0x28, 0xa5, 0x7c, 0x50, 0x30, 0xf1, 0x84, 0x44,
        0x08, 0xab, 0xae, 0xa5, 0xb8, 0xfc, 0xba, 0x80, 0x33, 0x0c, 0xe7, 0x00, 0x20, 0x76, 0x97,
        0x03, 0xb5, 0xf3, 0xd0, 0xa2, 0xfe, 0x9a, 0x3d, 0xbf, 0x23, 0x42, 0xa6, 0x43, 0xe4, 0x32,
        0x46, 0xe8, 0x0c, 0x3c, 0x04, 0xd0, 0x19, 0x78, 0x45, 0xce, 0x0b, 0x16, 0xf9, 0x76, 0x23,
        0x1d, 0x99, 0xf0, 0x66,
    ];
    const DATA: [u8; 20] = [
        0xf8, 0xba, 0x1a, 0x55, 0xd0, 0x2f, 0x85, 0xae, 0x96, 0x7b, 0xb6, 0x2f, 0xb6, 0xcd, 0xa8,
        0xeb, 0x7e, 0x78, 0xa0, 0x50,
    ];

    fn frame(mpdu: &[u8], cut: Option<usize>) -> Frame<'_> {
        let layout = Layout { fcs: cut.is_none(), padded: false };
        let view = View::new(&mpdu[..cut.unwrap_or(mpdu.len())], layout).unwrap();
        Frame {
            number: 1,
            at_ns: 0,
            radio: Radio { layout, ..Radio::default() },
            control: view.frame_control(),
            view,
            mpdu_bytes: mpdu.len() as u32,
            cut: cut.is_some(),
        }
    }

    #[test]
    fn the_vector_of_the_standard_is_opened() {
        let protected = Protected::new(&frame(&FRAME, None)).unwrap();
        let key = Key::new(&Secret::new(KEY));
        let mut out = vec![7];
        assert!(protected.open(&key, &mut out));
        assert_eq!((out, protected.key_id), (DATA.to_vec(), 0));
    }

    /// Only masked bits may change on the air.
    #[test]
    fn every_bit_but_those_that_are_masked_is_authenticated() {
        let key = Key::new(&Secret::new(KEY));
        let masked = |octet: usize, bit: u8| match octet {
            // Subtype bits 4 to 6 are masked, but make it another kind of frame.
            0 => (4..7).contains(&bit),
            1 => (3..6).contains(&bit),
            // Duration, sequence number, the reserved octet of the header, bits of Key ID that
            // are not the number of a key.
            2 | 3 | 23 | 26 => true,
            22 => bit >= 4,
            27 => bit != 5,
            _ => false,
        };
        let mut out = Vec::new();
        for octet in 0..FRAME.len() - 4 {
            for bit in 0..8 {
                let mut changed = FRAME;
                changed[octet] ^= 1 << bit;
                // Another version, type or set of fields.
                if octet == 0 || octet == 1 && [0, 1, 7].contains(&bit) {
                    continue;
                }
                let opened = Protected::new(&frame(&changed, None))
                    .is_ok_and(|protected| protected.open(&key, &mut out));
                assert_eq!(opened, masked(octet, bit), "octet {octet}, bit {bit}");
            }
        }
    }

    /// A cut frame is deciphered, and accepted if it begins like an MSDU. This frame does not.
    #[test]
    fn a_cut_frame_is_deciphered_but_not_authenticated() {
        let key = Key::new(&Secret::new(KEY));
        let mut out = Vec::new();
        for length in 33..60 {
            let protected = Protected::new(&frame(&FRAME, Some(length))).unwrap();
            assert!(protected.is_cut() && !protected.open(&key, &mut out));
            assert_eq!(out, DATA[..(length - 32).min(20)]);
        }
        // Only the FCS is missing.
        assert!(!Protected::new(&frame(&FRAME, Some(60))).unwrap().is_cut());
        // The data begins like a SNAP header of IP.
        let mut snap = FRAME;
        for (at, octet) in [0xaa, 0xaa, 0x03, 0, 0, 0].into_iter().enumerate() {
            snap[32 + at] ^= DATA[at] ^ octet;
        }
        let protected = Protected::new(&frame(&snap, Some(40))).unwrap();
        assert!(protected.open(&key, &mut out));
        let protected = Protected::new(&frame(&snap, Some(37))).unwrap();
        assert!(!protected.open(&key, &mut out), "too little is left");
        for length in 24..32 {
            assert_eq!(Protected::new(&frame(&FRAME, Some(length))).unwrap_err(), Refused::Cut);
        }
    }
}
