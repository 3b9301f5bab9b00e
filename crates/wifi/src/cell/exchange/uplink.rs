//! Uplink OFDMA (IEEE 802.11ax-2021, 26.5.2 and 26.5.5): an access point that gains the channel
//! solicits several stations by Trigger frames. The stations send at once, each on its resource
//! unit, in trigger-based PPDUs of HE or EHT. This module holds the state of such an
//! exchange. `reports` has the access point's knowledge of its stations' queues, `build` the choice
//! of stations and their answers, `exchange` the procedure on the air, `mu_edca` the contention
//! afterwards.
//!
//! | frame | from | remarks |
//! |---|---|---|
//! | BSRP Trigger, with `buffer_reports` | access point | |
//! | QoS Null frames | stations, together | Queue Size of each access category |
//! | Basic Trigger | access point | to stations with a backlog |
//! | A-MPDUs, Block Ack Request, or QoS Null | stations, together | one duration, RUs of one size |
//! | Multi-STA Block Ack | access point | if data or a request was decoded |
//!
//! SIFS lies between them. The frames are one exchange even if the TXOP limit is zero. A station
//! sends only MPDUs of the access category that gained the channel, under a Block Ack agreement.
//! The station's rate control chooses the MCS for the whole channel: the access point runs that
//! algorithm for it, from the same receptions. Left out: users that share an RU (MU-MIMO), RUs of
//! several sizes, random access (UORA), several access categories in a PPDU, the BSR Control field,
//! Target RSSI (a station is heard at the SNR of the whole channel), MU-RTS, MPDUs without an
//! agreement. Lengths are in bytes.

mod build;
mod exchange;
mod mu_edca;
mod record;
mod reports;

use super::multi_user::{MuChannel, most_bytes};
use super::single::Outline;
use super::single::Sent;
use crate::mac::block_ack::Bitmap;
use crate::phy::{HeGuardInterval, MuUser, Rate, Ru};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
pub(in crate::cell) use exchange::BacklogReport;
use lasthop_units::{Duration, Instant, SeqNo12};
pub(in crate::cell) use reports::Reports;

/// The code of a Queue Size subfield.
pub(in crate::cell) fn queue_size_code(bytes: u64) -> u8 {
    reports::QueueSizeCode::new(bytes).0
}

/// An access point's uplink exchange.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Uplink {
    pub phase: Solicitation,
    /// The exchange by its first Trigger frame.
    pub outline: Outline,
    /// Rate, length and duration of the Trigger frame.
    pub trigger: (Rate, u32, Duration),
    /// Duration of the trigger-based PPDUs' preamble, to the end of the HE-LTFs.
    pub header: Duration,
    pub duration: Duration,
    pub guard_interval: HeGuardInterval,
    /// Rate at which third parties decode HE-SIG-A.
    pub rate: Rate,
    /// Duration of SIFS and the Multi-STA Block Ack, if all PPDUs are decoded.
    pub acknowledged_in: Duration,
    /// The end of the exchange.
    pub until: Instant,
    /// Number of trigger-based PPDUs that have not ended.
    pub answers_due: usize,
    pub users: Vec<Asked>,
}

/// Kind of solicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) enum Solicitation {
    /// Buffer status reports, by a BSRP Trigger frame.
    Reports,
    /// Data, by a Basic Trigger frame.
    Data,
}

/// A station that a Trigger frame asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Asked {
    pub station: StationId,
    /// The station's RU, MCS and streams, and the length of the PSDU that fills the duration.
    pub user: MuUser,
    /// Rate that rate control chose for the whole channel, within its idle part.
    pub rate: Rate,
    /// Number of bits in the bitmap of its agreement.
    pub bits: u16,
    /// Whether the access point decoded a part of its answer.
    pub is_heard: bool,
    /// Record for the station in the Multi-STA Block Ack, if it has one.
    pub record: Option<StationRecord>,
}

/// A record of a Multi-STA Block Ack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct StationRecord {
    /// Acknowledged MPDUs: bit n is pending MPDU n.
    pub acked: Bitmap,
    /// First sequence number, and bitmap, as on the air.
    pub start: SeqNo12,
    pub bitmap: Bitmap,
}

/// Content of an answer to a Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) enum Answered {
    /// The originator's first `mpdus` pending MPDUs.
    Data {
        mpdus: usize,
    },
    BlockAckRequest {
        start: SeqNo12,
    },
    /// QoS Null frames.
    BufferReport,
}

/// Answer of a station to a Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Answer {
    /// Station whose Trigger frame it answers.
    pub to: StationId,
    pub edcaf: usize,
    pub content: Answered,
    /// Rate that rate control chose for the whole channel, within its idle part.
    pub rate: Rate,
    pub psdu_bytes: u32,
    pub duration: Duration,
    /// Rate of the awaited Multi-STA Block Ack.
    pub acknowledged_at: Rate,
    /// Whether the PPDU overlapped with another one at its receiver.
    pub collided: bool,
    pub ru: Ru,
    /// Time from the start of the PPDU to the end of the HE-LTFs.
    pub header: Duration,
    /// Time from the start of the PPDU to the end of its last MPDU.
    pub data_end: Duration,
    /// Length of the MPDUs with their delimiters, without padding after the last one.
    pub data_bytes: u32,
    /// Minimum length of an A-MPDU subframe, in bytes.
    pub spacing_bytes: u32,
    /// Share of the channel: the duration divided by the number of stations.
    pub share: Duration,
    /// Rate at which it is overheard.
    pub overheard: Rate,
    /// The end of the whole exchange.
    pub until: Instant,
    /// Queue Size fields: bytes that the station holds, by access category.
    pub buffered: [u64; 4],
}

/// What a Trigger frame says to all stations that it asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Solicited {
    pub phase: Solicitation,
    pub edcaf: usize,
    pub channel: MuChannel,
    pub header: Duration,
    pub duration: Duration,
    pub guard_interval: HeGuardInterval,
    /// Rate at which the answers are overheard.
    pub overheard: Rate,
    /// Rate of the Trigger frame and of the Multi-STA Block Ack.
    pub rate: Rate,
    pub until: Instant,
    /// Number of stations that it asks.
    pub stations: usize,
}

impl Solicited {
    fn new(uplink: &Uplink, channel: MuChannel) -> Self {
        let &Uplink { phase, outline, header, duration, guard_interval, until, .. } = uplink;
        let (edcaf, rate, stations) = (outline.edcaf, uplink.trigger.0, uplink.users.len());
        let overheard = uplink.rate;
        Self {
            phase,
            edcaf,
            channel,
            header,
            duration,
            guard_interval,
            overheard,
            rate,
            until,
            stations,
        }
    }
}

impl Uplink {
    /// Whether a station is one of those asked.
    pub fn has(&self, station: StationId) -> bool {
        self.users.iter().any(|user| user.station == station)
    }

    fn user(&mut self, station: StationId) -> &mut Asked {
        let user = self.users.iter_mut().find(|user| user.station == station);
        user.expect("only those answer that were asked")
    }
}

impl Answer {
    pub fn peer(&self) -> Address {
        Address::Station(self.to)
    }

    /// The MPDUs that it carries.
    fn sent(&self, mpdus: usize) -> Sent {
        Sent {
            edcaf: self.edcaf,
            peer: self.peer(),
            mpdus,
            aggregated: true,
            rate: self.rate,
            duration: self.duration,
            requesting: false,
            collided: self.collided,
            in_space: false,
        }
    }

    /// Number of QoS Null frames in an answer of such frames: one for each access category, or one
    /// for the category of a Basic Trigger frame.
    const fn nulls(phase: Solicitation) -> u32 {
        match phase {
            Solicitation::Reports => 4,
            Solicitation::Data => 1,
        }
    }
}

impl MuChannel {
    /// The longest PSDU of up to `bytes_max` that lasts at most `time` for `user` in a
    /// trigger-based PPDU.
    fn triggered_within(&self, user: &MuUser, time: Duration, bytes_max: u32) -> u32 {
        most_bytes(bytes_max, |psdu_bytes| {
            self.triggered_data_time(&MuUser { psdu_bytes, ..*user }) <= time
        })
    }
}
