//! Messages of `mac80211_hwsim` over generic netlink, as its own header lists them
//! (drivers/net/wireless/virtual/mac80211_hwsim.h of Linux 6.1 to 6.12; linux/genetlink.h). Pure.
//! Numbers are in the machine's order. A cut or missing part makes a message unreadable.

use lasthop_linux::message::{Message, Received, attributes};
use lasthop_units::{Dbm, MacAddr};
use lasthop_wifi::medium::STAGES;

/// The family's name.
pub const FAMILY: &str = "MAC80211_HWSIM";
/// The family that lists all others, `GENL_ID_CTRL`.
const CONTROLLER: u16 = 0x10;
/// `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`.
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Length of `genlmsghdr`: command, version, reserved.
const GENERIC_HEADER: usize = 4;

/// Commands of the family.
mod command {
    pub const REGISTER: u8 = 1;
    pub const FRAME: u8 = 2;
    pub const TX_INFO_FRAME: u8 = 3;
    pub const NEW_RADIO: u8 = 4;
    pub const ADD_MAC_ADDR: u8 = 7;
    pub const DEL_MAC_ADDR: u8 = 8;
}

/// Attributes of the family.
mod attribute {
    pub const ADDR_RECEIVER: u16 = 1;
    pub const ADDR_TRANSMITTER: u16 = 2;
    pub const FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RX_RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const TX_INFO: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const CHANNELS: u16 = 9;
    pub const DESTROY_RADIO_ON_CLOSE: u16 = 16;
    pub const RADIO_NAME: u16 = 17;
    pub const FREQ: u16 = 19;
    pub const TX_INFO_FLAGS: u16 = 21;
    pub const PERM_ADDR: u16 = 22;
}

/// `HWSIM_TX_CTL_NO_ACK`: the frame asks for no acknowledgement.
pub const NO_ACK: u32 = 1 << 1;
/// Flag of an acknowledged frame, `HWSIM_TX_STAT_ACK`.
pub const STAT_ACK: u32 = 1 << 2;

/// The longest frame that hwsim takes back, without FCS (`IEEE80211_MAX_DATA_LEN`).
pub const FRAME_BYTES_MAX: usize = 2_304;

/// A stage of rate control as hwsim shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// Index of a legacy rate of the band, or MCS; negative for none.
    pub index: i8,
    /// Number of tries.
    pub count: u8,
    /// Flags of `enum hwsim_tx_rate_flags`.
    pub flags: u16,
}

/// A frame that a radio sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<'a> {
    /// Address of the radio, which no frame carries.
    pub radio: MacAddr,
    /// The frame without its FCS.
    pub frame: &'a [u8],
    /// Flags of `enum hwsim_tx_control_flags`.
    pub flags: u32,
    /// Centre frequency of the channel in MHz.
    pub mhz: u32,
    /// Rates to try, in order.
    pub tries: [Try; STAGES],
    /// Name of the frame in the kernel.
    pub cookie: u64,
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A radio sends a frame.
    Sent(Sent<'a>),
    /// A radio receives frames for an address from now on, or no longer.
    Address {
        /// Address of the radio.
        radio: MacAddr,
        /// The address in frames.
        address: MacAddr,
        /// Whether it was added.
        added: bool,
    },
}

impl<'a> Event<'a> {
    /// Reads a message of the family; `None` for other messages, and malformed ones.
    pub fn parse(message: &Received<'a>) -> Option<Self> {
        let (header, rest) = message.payload.split_at_checked(GENERIC_HEADER)?;
        match header[0] {
            command::FRAME => Sent::parse(rest).map(Self::Sent),
            command @ (command::ADD_MAC_ADDR | command::DEL_MAC_ADDR) => Some(Self::Address {
                radio: address(rest, attribute::ADDR_TRANSMITTER)?,
                address: address(rest, attribute::ADDR_RECEIVER)?,
                added: command == command::ADD_MAC_ADDR,
            }),
            _ => None,
        }
    }
}

impl<'a> Sent<'a> {
    fn parse(all: &'a [u8]) -> Option<Self> {
        let info = find(all, attribute::TX_INFO)?;
        let flags = find(all, attribute::TX_INFO_FLAGS);
        let mut tries = [Try { index: -1, count: 0, flags: 0 }; STAGES];
        let pairs = info.chunks_exact(2);
        for (stage, pair) in tries.iter_mut().zip(pairs) {
            stage.index = pair[0].cast_signed();
            stage.count = pair[1];
        }
        let flags = flags.unwrap_or_default().chunks_exact(3);
        for (stage, of_stage) in tries.iter_mut().zip(flags) {
            stage.flags = u16::from_ne_bytes([of_stage[1], of_stage[2]]);
        }
        Some(Self {
            radio: address(all, attribute::ADDR_TRANSMITTER)?,
            frame: find(all, attribute::FRAME)?,
            flags: u32::from_ne_bytes(*find(all, attribute::FLAGS)?.first_chunk()?),
            mhz: u32::from_ne_bytes(*find(all, attribute::FREQ)?.first_chunk()?),
            tries,
            cookie: u64::from_ne_bytes(*find(all, attribute::COOKIE)?.first_chunk()?),
        })
    }
}

fn find(all: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(all).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

fn address(all: &[u8], wanted: u16) -> Option<MacAddr> {
    find(all, wanted)?.first_chunk().copied().map(MacAddr)
}

/// Asks for the number of the family.
pub fn ask_family() -> Message {
    let mut message = generic(CONTROLLER, GET_FAMILY, 0);
    message.text(FAMILY_NAME, FAMILY);
    message
}

/// The number of the family, from the answer.
pub fn family(answer: &Received<'_>) -> Option<u16> {
    let all = answer.payload.get(GENERIC_HEADER..)?;
    Some(u16::from_ne_bytes(*find(all, FAMILY_ID)?.first_chunk()?))
}

/// Takes the medium over.
pub fn register(family: u16) -> Message {
    generic(family, command::REGISTER, libc::NLM_F_ACK)
}

/// Makes a radio with one channel at a time that ends with the socket.
pub fn new_radio(family: u16, name: &str, address: MacAddr) -> Message {
    let mut message = generic(family, command::NEW_RADIO, libc::NLM_F_ACK);
    message.u32(attribute::CHANNELS, 1);
    message.bytes(attribute::DESTROY_RADIO_ON_CLOSE, &[]);
    // Without the zero: its length is counted.
    message.bytes(attribute::RADIO_NAME, name.as_bytes());
    message.bytes(attribute::PERM_ADDR, &address.0);
    message
}

/// The message that delivers a frame to a radio; with `verdict` the kernel reports whether it
/// accepted the frame.
pub fn deliver(family: u16, delivery: &Delivery<'_>, verdict: bool) -> Message {
    let flags = if verdict { libc::NLM_F_ACK } else { 0 };
    let mut message = generic(family, command::FRAME, flags);
    message.bytes(attribute::ADDR_RECEIVER, &delivery.radio.0);
    message.bytes(attribute::FRAME, delivery.frame);
    message.u32(attribute::RX_RATE, delivery.rate_index);
    message.u32(attribute::SIGNAL, whole_dbm(delivery.signal));
    message.u32(attribute::FREQ, delivery.mhz);
    message
}

/// A frame for a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery<'a> {
    /// Address of the radio.
    pub radio: MacAddr,
    /// The frame without its FCS.
    pub frame: &'a [u8],
    /// Index of a legacy rate of the band.
    pub rate_index: u32,
    /// Received signal power.
    pub signal: Dbm,
    /// Centre frequency of its channel in MHz.
    pub mhz: u32,
}

/// The message about the outcome of a frame that a radio sent.
pub fn report(family: u16, report: &Report) -> Message {
    let mut message = generic(family, command::TX_INFO_FRAME, 0);
    message.bytes(attribute::ADDR_TRANSMITTER, &report.radio.0);
    message.u32(attribute::FLAGS, report.flags);
    message.u32(attribute::SIGNAL, whole_dbm(report.signal));
    let mut tries = [0; 2 * STAGES];
    for (pair, stage) in tries.chunks_exact_mut(2).zip(report.tries) {
        pair.copy_from_slice(&[stage.index.cast_unsigned(), stage.count]);
    }
    message.bytes(attribute::TX_INFO, &tries);
    message.u64(attribute::COOKIE, report.cookie);
    message
}

/// The status of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Address of the radio that sent it.
    pub radio: MacAddr,
    /// The frame's own flags, and [`STAT_ACK`] if it was acknowledged.
    pub flags: u32,
    /// Power of the acknowledgement.
    pub signal: Dbm,
    /// Tries that were made, in the places of its series; the rest have no index.
    pub tries: [Try; STAGES],
    /// Name of the frame in the kernel.
    pub cookie: u64,
}

/// The kernel's form of a power: a signed number of 8 bits.
fn whole_dbm(power: Dbm) -> u32 {
    i32::cast_unsigned(power.0.round().clamp(-127.0, 127.0) as i32)
}

fn generic(family: u16, command: u8, flags: i32) -> Message {
    let mut message = Message::new(family, flags);
    message.raw(&[command, 1, 0, 0]);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_linux::message::messages;

    /// A message as Linux 6.1 sends it, by its own structure definitions.
    fn sent() -> Vec<u8> {
        let mut message = generic(30, command::FRAME, 0);
        message.bytes(attribute::ADDR_TRANSMITTER, &[0x42, 0, 0, 0, 1, 0]);
        message.bytes(attribute::FRAME, &[0x88, 1, 0]);
        message.u32(attribute::FLAGS, 1);
        message.u32(attribute::FREQ, 5_180);
        message.bytes(attribute::TX_INFO, &[7, 2, 4, 3, 0xff, 0, 0, 0]);
        message.bytes(attribute::TX_INFO_FLAGS, &[7, 0x48, 0, 4, 8, 0, 0xff, 0, 0, 0, 0, 0]);
        message.u64(attribute::COOKIE, 99);
        message.finish(0)
    }

    #[test]
    fn a_frame_is_read() {
        let bytes = sent();
        let message = messages(&bytes).next().unwrap();
        let Some(Event::Sent(sent)) = Event::parse(&message) else { panic!("unreadable") };
        assert_eq!(sent.radio, MacAddr([0x42, 0, 0, 0, 1, 0]));
        assert_eq!(
            (sent.frame, sent.flags, sent.mhz, sent.cookie),
            (&[0x88, 1, 0][..], 1, 5_180, 99)
        );
        let stages = sent.tries.map(|stage| (stage.index, stage.count, stage.flags));
        assert_eq!(stages, [(7, 2, 0x48), (4, 3, 8), (-1, 0, 0), (0, 0, 0)]);
    }

    /// Without one of its attributes, or cut, a message is refused.
    #[test]
    fn what_is_cut_is_not_read() {
        let bytes = sent();
        for end in 0..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            if let Some(length) = cut.first_chunk_mut() {
                *length = (end as u32).to_ne_bytes();
            }
            // Only the cookie's padding may be missing.
            let whole = messages(&cut).next().and_then(|message| Event::parse(&message));
            assert_eq!(whole, None, "{end} of {}", bytes.len());
        }
    }

    #[test]
    fn powers_are_signed_numbers() {
        assert_eq!(whole_dbm(Dbm(-48.4)), (-48i32).cast_unsigned());
        assert_eq!(whole_dbm(Dbm(f64::NEG_INFINITY)), (-127i32).cast_unsigned());
    }
}
