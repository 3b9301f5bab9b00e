//! Puts packets that wait into symbols, and seals them.

use super::super::Shared;
use crate::backlog::Backlog;
use crate::config::Small;
use crate::headers::{self, Headers};
use crate::keys::Seal;
use crate::order::Numbers;
use crate::symbol;
use alloc::vec::Vec;
use lasthop_units::Instant;

/// A sparse flow's symbol has at most so many bytes.
const SPARSE_BYTES: usize = 256;

/// Makes symbols.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packer {
    seal: Seal,
    numbers: Numbers,
    /// `None`: packets are sent whole, as the paper's are.
    headers: Option<Headers>,
}

/// A sealed symbol.
pub(super) struct Packed {
    pub symbol: Vec<u8>,
    /// Short, and of flows that seldom send.
    pub is_sparse: bool,
}

impl Packer {
    pub fn new(seal: Seal, shortens: bool) -> Self {
        Self { seal, numbers: Numbers::new(), headers: shortens.then(Headers::new) }
    }

    /// The next symbol of what waits, to be sent at a place of a block.
    pub fn pack(
        &mut self,
        shared: &Shared,
        now: Instant,
        backlog: &mut Backlog,
        (block, index): (u32, u16),
    ) -> Option<Packed> {
        let room = shared.config.inner_mtu() + symbol::RECORD_BYTES;
        let mut records = Vec::with_capacity(usize::from(shared.config.symbol_bytes));
        let mut is_sparse = true;
        let mut last = None;
        while let Some(left) = (room - records.len()).checked_sub(symbol::RECORD_BYTES + 20) {
            let Some(waiting) = backlog.pop(now, left + 20) else { break };
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
}
