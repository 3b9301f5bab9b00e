//! The body of an Authentication frame (IEEE 802.11-2020, 9.3.3.11): fixed fields, and those of
//! SAE (12.4.7), which are read on demand. Keys and proofs are bytes of the caller: nothing is
//! computed.
//!
//! SAE is read with the elliptic curves 19, 20 and 21. Left out: the challenge text of Shared Key,
//! the wrapped data of FILS, and password identifiers without hash-to-element.

use crate::elements::Elements;
use crate::reader::Reader;
use crate::{Error, Reason};
use alloc::vec::Vec;

const LAYER: &str = "authentication";

/// Fields of an Authentication frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authentication<'a> {
    /// Authentication Algorithm Number (9.4.1.1).
    pub algorithm: u16,
    /// Authentication transaction sequence number, from 1.
    pub sequence: u16,
    /// Status code (9.4.1.9).
    pub status: u16,
    /// Bytes after the fixed fields: elements, or first the fields of SAE.
    pub rest: &'a [u8],
}

impl<'a> Authentication<'a> {
    /// Algorithm of Open System authentication.
    pub const OPEN_SYSTEM: u16 = 0;
    /// Algorithm of Shared Key authentication (WEP).
    pub const SHARED_KEY: u16 = 1;
    /// Algorithm of fast BSS transitions.
    pub const FAST_BSS_TRANSITION: u16 = 2;
    /// Algorithm of SAE: sequence number 1 for a commit message, 2 for a confirm message.
    pub const SAE: u16 = 3;
    /// Status code of SAE without hash-to-element, and of all other algorithms: success.
    pub const SUCCESS: u16 = 0;
    /// Status code of a commit message that requires a token.
    pub const ANTI_CLOGGING_TOKEN_REQUIRED: u16 = 76;
    /// Status code of SAE with hash-to-element.
    pub const SAE_HASH_TO_ELEMENT: u16 = 126;
    /// Status code of SAE with a public key.
    pub const SAE_PK: u16 = 127;

    /// Length of the fixed fields.
    pub(super) const FIXED_LEN: usize = 6;

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            algorithm: reader.u16("authentication algorithm number")?,
            sequence: reader.u16("authentication transaction sequence number")?,
            status: reader.u16("status code")?,
            rest: reader.rest(),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        for field in [self.algorithm, self.sequence, self.status] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(self.rest);
    }

    /// Elements of Open System authentication and of fast BSS transitions; none with SAE.
    pub const fn elements(&self) -> Elements<'a> {
        match self.algorithm {
            Self::OPEN_SYSTEM | Self::FAST_BSS_TRANSITION => Elements::new(self.rest),
            _ => Elements::new(&[]),
        }
    }

    /// Returns the fields of a commit message of SAE; `None` for other frames.
    ///
    /// # Errors
    /// Returns an error for a message that is too short, or another group than 19, 20 and 21; the
    /// offset is relative to [`rest`](Self::rest).
    pub fn sae_commit(&self) -> Result<Option<SaeCommit<'a>>, Error> {
        match (self.algorithm, self.sequence) {
            (Self::SAE, 1) => SaeCommit::parse(self.status, self.rest).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the fields of a confirm message of SAE; `None` for other frames, and for a refusal,
    /// which has none.
    ///
    /// # Errors
    /// Returns an error for a message that is too short; the offset is relative to
    /// [`rest`](Self::rest).
    pub fn sae_confirm(&self) -> Result<Option<SaeConfirm<'a>>, Error> {
        match (self.algorithm, self.sequence, self.status) {
            (Self::SAE, 2, Self::SUCCESS) => SaeConfirm::parse(self.rest).map(Some),
            _ => Ok(None),
        }
    }
}

/// Fields of a commit message of SAE (12.4.7.4). A refusal has the group, and with status code 76
/// the required token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaeCommit<'a> {
    /// Finite Cyclic Group: 19 for the curve P-256.
    pub group: u16,
    /// Anti-Clogging Token; empty without, and with hash-to-element, where it is an element.
    pub token: &'a [u8],
    /// Scalar: 32 octets in group 19, 48 in 20, 66 in 21.
    pub scalar: &'a [u8],
    /// Two coordinates of a point, each as long as the scalar.
    pub element: &'a [u8],
    /// Elements of hash-to-element.
    pub elements: Elements<'a>,
}

impl<'a> SaeCommit<'a> {
    /// Length of a scalar of group 19 in octets.
    pub const SCALAR_LEN: usize = 32;
    /// Length of an element of group 19 in octets.
    pub const ELEMENT_LEN: usize = 64;

    fn parse(status: u16, bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, bytes);
        let group = reader.u16("finite cyclic group")?;
        let none =
            Self { group, token: &[], scalar: &[], element: &[], elements: Elements::default() };
        let hashed = matches!(status, Authentication::SAE_HASH_TO_ELEMENT | Authentication::SAE_PK);
        if status == Authentication::ANTI_CLOGGING_TOKEN_REQUIRED {
            return Ok(Self { token: reader.rest(), ..none });
        }
        if status != Authentication::SUCCESS && !hashed {
            return Ok(Self { elements: Elements::new(reader.rest()), ..none });
        }
        let length = match group {
            19 => 32,
            20 => 48,
            21 => 66,
            _ => {
                let (found, allowed) = (u32::from(group), "19, 20 or 21");
                let reason = Reason::Value { found, allowed };
                return Err(Error {
                    layer: LAYER,
                    field: "finite cyclic group",
                    offset: 0,
                    reason,
                });
            }
        };
        // Without hash-to-element no element follows: more octets are the token.
        let token = if hashed { 0 } else { reader.left().saturating_sub(3 * length) };
        Ok(Self {
            group,
            token: reader.take("anti-clogging token", token)?,
            scalar: reader.take("scalar", length)?,
            element: reader.take("finite field element", 2 * length)?,
            elements: Elements::new(reader.rest()),
        })
    }

    /// Appends the fields.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.group.to_le_bytes());
        for field in [self.token, self.scalar, self.element, self.elements.as_bytes()] {
            out.extend_from_slice(field);
        }
    }
}

/// Fields of a confirm message of SAE (12.4.7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaeConfirm<'a> {
    /// Send-Confirm: number of confirm messages sent.
    pub send_confirm: u16,
    /// Confirm: 32 octets with SHA-256, and elements behind it, if any.
    pub confirm: &'a [u8],
}

impl<'a> SaeConfirm<'a> {
    /// Length of Confirm with SHA-256 in octets.
    pub const CONFIRM_LEN: usize = 32;

    fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, bytes);
        Ok(Self { send_confirm: reader.u16("send-confirm")?, confirm: reader.rest() })
    }

    /// Appends the fields.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.send_confirm.to_le_bytes());
        out.extend_from_slice(self.confirm);
    }
}
