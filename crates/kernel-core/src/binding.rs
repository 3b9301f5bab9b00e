//! Safe values over the C functions of `core.h`, `reorder.h` and `frame.h`. Rates are in kb/s,
//! sequence numbers 0 to 4095, windows 1 to 1 024 (the reorder buffer: 1 to 64), the clock of the
//! reorder buffer counts ticks and may wrap.

#![expect(unsafe_code, reason = "foreign functions, here and nowhere else in this crate")]

use std::mem::MaybeUninit;

/// Mirror of the C structure `struct ro_step`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// In force while the smoothed data rate is below this.
    pub below_kbps: u32,
    /// Retransmissions before an MPDU is given up.
    pub retransmissions: u8,
}

/// Mirror of the C structure `struct ro_table`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// In ascending order.
    pub steps: [Step; 4],
    /// Weight of a new data rate, in 256ths.
    pub weight_256: u16,
}

/// `enum ro_decision`, with the count of `struct ro_verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the C header and in Rust's retry_out")]
pub enum Decision {
    Deliver,
    Buffer,
    Old,
    Ignore,
    CountOnly(u8),
    Lost(u8),
}

impl Decision {
    fn from_c(decision: u32, retransmissions: u8) -> Self {
        match decision {
            0 => Self::Deliver,
            1 => Self::Buffer,
            2 => Self::Old,
            3 => Self::Ignore,
            4 => Self::CountOnly(retransmissions),
            5 => Self::Lost(retransmissions),
            _ => panic!("no ro_decision has the number {decision}"),
        }
    }
}

#[repr(C)]
struct Verdict {
    decision: u32,
    retransmissions: u8,
}

/// Mirror of the C structure `struct ro_core`.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// The retry limits by rate: Table I of the paper.
    pub table: Table,
    /// Smoothed data rate in kb/s times 256.
    pub kbps_256: u32,
    /// Sequence numbers that are remembered.
    pub slots: u16,
    /// The greatest sequence number heard of.
    pub newest: u16,
    /// By slot: received without error.
    pub received: [u64; 16],
    /// By slot: marked as lost.
    pub lost: [u64; 16],
    /// By slot: erroneous receptions.
    pub errors: [u8; 1024],
}

/// Mirror of the C structure `struct ro_reorder`.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reorder {
    held: u64,
    skipped: u64,
    since: [u32; 64],
    head: u16,
    size: u16,
    owed_to: u16,
    owed: bool,
}

/// Mirror of the C structure `struct ro_frame`.
#[repr(C)]
struct RawFrame {
    kind: u32,
    content: u32,
    encrypted: bool,
    tid: u8,
    sequence: u16,
    body: u32,
    receiver: [u8; 6],
    transmitter: [u8; 6],
}

/// Mirror of the C enumeration `enum ro_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of no concern to an agreement.
    Other,
    /// A QoS data frame.
    Data,
    /// A compressed Block Ack Request.
    BlockAckRequest,
}

/// The fields that the module reads of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: Kind,
    /// Whether a TCP segment is inside; `None` if that cannot be read.
    pub carries_tcp: Option<bool>,
    /// Whether the body is encrypted.
    pub encrypted: bool,
    /// TID, 0 to 7.
    pub tid: u8,
    /// Sequence number of the MPDU.
    pub sequence: u16,
    /// Bytes behind the MAC header.
    pub body: u32,
    /// Address 1, the receiver.
    pub receiver: [u8; 6],
    /// Address 2, the transmitter.
    pub transmitter: [u8; 6],
}

unsafe extern "C" {
    static ro_table_paper: Table;
    fn ro_core_init(core: *mut Core, table: *const Table, start: u16, window: u16);
    fn ro_core_received(core: *mut Core, sequence: u16, head: u16, kbps: u32) -> u32;
    fn ro_core_errored(
        core: *mut Core,
        sequence: u16,
        head: u16,
        kbps: u32,
        carries_tcp: bool,
    ) -> Verdict;
    fn ro_core_request(core: *mut Core, start: u16);
    fn ro_core_is_lost(core: *const Core, sequence: u16) -> bool;
    fn ro_core_kbps(core: *const Core) -> u32;
    fn ro_table_is_valid(table: *const Table) -> bool;
    fn ro_reorder_init(reorder: *mut Reorder, start: u16, size: u16);
    fn ro_reorder_receive(reorder: *mut Reorder, sequence: u16, now: u32);
    fn ro_reorder_skip(reorder: *mut Reorder, sequence: u16);
    fn ro_reorder_request(reorder: *mut Reorder, start: u16);
    fn ro_reorder_timeout(reorder: *mut Reorder, now: u32, timeout: u32);
    fn ro_reorder_owed(reorder: *mut Reorder, start: *mut u16) -> bool;
    fn ro_frame_read(bytes: *const u8, there: usize, length: usize, cipher: u32) -> RawFrame;
}

// SAFETY of all blocks below: the structures have the layout of their C namesakes, the functions
// write nothing beyond them, keep no pointer, and read `there` bytes of a frame at most.

impl Table {
    /// Table I of the paper.
    pub fn paper() -> Self {
        unsafe { ro_table_paper }
    }

    /// Whether the module takes it.
    pub fn is_valid(&self) -> bool {
        unsafe { ro_table_is_valid(self) }
    }
}

impl Core {
    /// Calls the C function `ro_core_init`.
    pub fn new(table: Table, start: u16, window: u16) -> Self {
        let mut core = MaybeUninit::uninit();
        unsafe {
            ro_core_init(core.as_mut_ptr(), &table, start, window);
            core.assume_init()
        }
    }

    /// Calls the C function `ro_core_received`.
    pub fn received(&mut self, sequence: u16, head: u16, kbps: u32) -> Decision {
        Decision::from_c(unsafe { ro_core_received(self, sequence, head, kbps) }, 0)
    }

    /// Calls the C function `ro_core_errored`.
    pub fn errored(&mut self, sequence: u16, head: u16, kbps: u32, carries_tcp: bool) -> Decision {
        let verdict = unsafe { ro_core_errored(self, sequence, head, kbps, carries_tcp) };
        Decision::from_c(verdict.decision, verdict.retransmissions)
    }

    /// Calls the C function `ro_core_request`.
    pub fn request(&mut self, start: u16) {
        unsafe { ro_core_request(self, start) }
    }

    /// Calls the C function `ro_core_is_lost`.
    pub fn is_lost(&self, sequence: u16) -> bool {
        unsafe { ro_core_is_lost(self, sequence) }
    }

    /// Calls the C function `ro_core_kbps`.
    pub fn kbps(&self) -> u32 {
        unsafe { ro_core_kbps(self) }
    }
}

impl Reorder {
    /// Calls the C function `ro_reorder_init`.
    pub fn new(start: u16, size: u16) -> Self {
        let mut reorder = MaybeUninit::uninit();
        unsafe {
            ro_reorder_init(reorder.as_mut_ptr(), start, size);
            reorder.assume_init()
        }
    }

    /// The number that is delivered next.
    pub fn head(&self) -> u16 {
        self.head
    }

    /// Calls the C function `ro_reorder_receive`.
    pub fn receive(&mut self, sequence: u16, now: u32) {
        unsafe { ro_reorder_receive(self, sequence, now) }
    }

    /// Calls the C function `ro_reorder_skip`.
    pub fn skip(&mut self, sequence: u16) {
        unsafe { ro_reorder_skip(self, sequence) }
    }

    /// Calls the C function `ro_reorder_request`.
    pub fn request(&mut self, start: u16) {
        unsafe { ro_reorder_request(self, start) }
    }

    /// Calls the C function `ro_reorder_timeout`.
    pub fn timeout(&mut self, now: u32, timeout: u32) {
        unsafe { ro_reorder_timeout(self, now, timeout) }
    }

    /// Calls the C function `ro_reorder_owed`.
    pub fn owed(&mut self) -> Option<u16> {
        let mut start = 0;
        unsafe { ro_reorder_owed(self, &mut start) }.then_some(start)
    }
}

/// `ro_frame_read`: of a frame of `length` bytes the first ones, and how its body is to be read
/// (0: as it says, 1: decrypted, 2: decrypted and the cipher's header gone).
pub fn frame(bytes: &[u8], length: usize, cipher: u32) -> Frame {
    let raw = unsafe { ro_frame_read(bytes.as_ptr(), bytes.len(), length, cipher) };
    Frame {
        kind: match raw.kind {
            0 => Kind::Other,
            1 => Kind::Data,
            2 => Kind::BlockAckRequest,
            other => panic!("no ro_kind has the number {other}"),
        },
        carries_tcp: match raw.content {
            0 => None,
            1 => Some(true),
            2 => Some(false),
            other => panic!("no ro_content has the number {other}"),
        },
        encrypted: raw.encrypted,
        tid: raw.tid,
        sequence: raw.sequence,
        body: raw.body,
        receiver: raw.receiver,
        transmitter: raw.transmitter,
    }
}
