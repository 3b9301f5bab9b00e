//! Puts packets of the backlog into symbols, several small ones together or a large
//! one in pieces, and seals them. Lengths are in bytes. Leaves out the choice of
//! packets, which is the backlog's, and coding.

use super::super::Shared;
use crate::backlog::{Backlog, Waiting};
use crate::config::Small;
use crate::headers::{self, Headers};
use crate::keys::Seal;
use crate::order::Numbers;
use crate::symbol::{self, Piece};
use alloc::vec::Vec;
use lasthop_units::Instant;

/// Longest symbol of a sparse flow.
const SPARSE_BYTES: usize = 256;
/// Minimum part of a packet that is worth cutting it for.
const CUT_BYTES: usize = 64;

/// Makes symbols from packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packer {
    seal: Seal,
    numbers: Numbers,
    /// Header compression; `None`: packets are sent whole, as in the paper.
    headers: Option<Headers>,
    /// The rest of a packet that was cut.
    rest: Option<Rest>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rest {
    waiting: Waiting,
    /// Number of its bytes that were sent.
    sent: usize,
}

/// A sealed symbol.
pub(super) struct Packed {
    pub symbol: Vec<u8>,
    /// Whether it is short, and of sparse flows.
    pub is_sparse: bool,
}

impl Packer {
    pub fn new(seal: Seal, shortens: bool) -> Self {
        let headers = shortens.then(Headers::new);
        Self { seal, numbers: Numbers::new(), headers, rest: None }
    }

    /// Whether the rest of a packet waits.
    pub fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// The next symbol of the packets that wait, with records of `bytes_max` bytes at
    /// most, to be sent at the given place of a block. A packet that can never fit
    /// is sent in pieces.
    pub fn pack(
        &mut self,
        shared: &Shared,
        now: Instant,
        backlog: &mut Backlog,
        block: u32,
        index: u16,
        bytes_max: usize,
    ) -> Option<Packed> {
        let cuts = bytes_max < shared.config.inner_mtu() + symbol::RECORD_BYTES;
        let mut records = Vec::with_capacity(usize::from(shared.config.symbol_bytes));
        let mut is_sparse = true;
        let mut last = None;
        while let Some(left) = (bytes_max - records.len()).checked_sub(symbol::RECORD_BYTES + 20) {
            if let Some(rest) = self.rest.take() {
                is_sparse &= rest.waiting.sparse;
                last = Some(self.cut(rest, bytes_max, &mut records));
                if shared.config.small == Small::Alone {
                    break;
                }
                continue;
            }
            let longest = if cuts && left + 20 >= symbol::PIECE_BYTES + CUT_BYTES {
                usize::MAX
            } else {
                left + 20
            };
            let Some(waiting) = backlog.pop(now, longest) else { break };
            if waiting.packet.len() > left + 20 {
                self.rest = Some(Rest { waiting, sent: 0 });
                continue;
            }
            let number = self.numbers.next(waiting.bucket);
            symbol::begin(&mut records, waiting.bucket, number);
            last = Some(records.len());
            match &mut self.headers {
                Some(headers) => {
                    headers.shorten(waiting.bucket, number, &waiting.packet, &mut records);
                }
                None => records.extend(&waiting.packet),
            }
            is_sparse &= waiting.sparse;
            if shared.config.small == Small::Alone {
                break;
            }
        }
        headers::drop_length(&mut records, last?);
        is_sparse &= records.len() <= SPARSE_BYTES;
        self.seal.forget_below(block);
        self.seal.seal(block, index, &mut records);
        Some(Packed { symbol: symbol::frame(&records), is_sparse })
    }

    /// Appends the next piece of a packet to `records`, up to `bytes_max` bytes. Returns
    /// where it starts.
    fn cut(&mut self, mut rest: Rest, bytes_max: usize, records: &mut Vec<u8>) -> usize {
        let Waiting { bucket, ref packet, .. } = rest.waiting;
        let left = bytes_max - records.len() - symbol::RECORD_BYTES - symbol::PIECE_BYTES;
        let end = packet.len().min(rest.sent + left);
        let number = self.numbers.next(bucket);
        symbol::begin(records, bucket, number);
        let start = records.len();
        let is_last = end == packet.len();
        Piece { is_first: rest.sent == 0, is_last, bytes: &packet[rest.sent..end] }.emit(records);
        if is_last {
            if let Some(headers) = &mut self.headers {
                headers.begin_anew(bucket, number, packet);
            }
        } else {
            rest.sent = end;
            self.rest = Some(rest);
        }
        start
    }
}
