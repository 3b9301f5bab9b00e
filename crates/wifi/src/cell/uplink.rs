//! Uplink OFDMA (IEEE 802.11ax-2021, 26.5.2 and 26.5.5): an access point that gains the channel
//! asks several stations with Trigger frames, and they send at once, each on a resource unit of
//! its own, in HE trigger-based PPDUs. Here: the configuration and the state of such an exchange.
//! `reports` is what an access point knows of its stations' queues, `build` whom it asks and
//! what a station answers, `exchange` what happens on the air, `mu_edca` how a station contends
//! afterwards.
//!
//! | frame | from | |
//! |---|---|---|
//! | BSRP Trigger, with `buffer_reports` | access point | |
//! | QoS Null frames | stations, together | Queue Size of each access category |
//! | Basic Trigger | access point | to those with a backlog |
//! | A-MPDUs, Block Ack Request, or QoS Null | stations, together | one duration, RUs of one size |
//! | Multi-STA Block Ack | access point | if data or a request was decoded |
//!
//! SIFS lies between them. They are one exchange also where the TXOP limit is zero. A station
//! sends only MPDUs of the access category that gained the channel, under a Block Ack agreement.
//! Its MCS is what its own rate control chooses for the whole channel: the access point runs
//! that algorithm for it, from the same receptions. Left out: users that share an RU (MU-MIMO),
//! RUs of several sizes, random access (UORA), several access categories in a PPDU, the BSR
//! Control field, Target RSSI (a station is heard at the SNR of the whole channel), MU-RTS,
//! MPDUs without an agreement. Lengths are in bytes.

mod build;
mod exchange;
mod mu_edca;
mod record;
mod reports;

use super::content::Exchange;
use super::multi_user::Channel;
use crate::mac::block_ack::Bitmap;
use crate::phy::{HeGuardInterval, MuUser, Rate, Ru};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant, SeqNo12};
pub(super) use mu_edca::Timer;
pub(super) use reports::Reports;

/// The code of a Queue Size subfield.
pub(super) fn queue_size_code(bytes: u64) -> u8 {
    reports::QueueSize::of(bytes).0
}

/// How an access point lets several stations send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkConfig {
    /// A BSRP Trigger frame goes ahead of each Basic one; where no backlog is known, one is sent
    /// when this time has passed since the last. None is ever sent if `None`: the access point
    /// knows what stations' QoS frames say.
    pub buffer_reports: Option<Duration>,
    /// MU EDCA parameters by [`AccessCategory`](lasthop_packet::AccessCategory) index; `None`
    /// if stations contend as ever.
    pub mu_edca: [Option<MuEdcaParameters>; 4],
}

/// How a station contends in an access category after the access point acknowledged data of it
/// in a trigger-based PPDU (IEEE 802.11ax-2021, 9.4.2.251 and 26.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuEdcaParameters {
    /// Arbitration interframe space in slots after SIFS, 2 to 15; 0: it does not contend.
    pub aifsn: u8,
    /// Smallest contention window in slots, 2^n - 1.
    pub cw_min: u16,
    /// Largest contention window in slots, 2^n - 1.
    pub cw_max: u16,
    /// For how long, from each such acknowledgement on: 1 to 255 times 8.192 ms.
    pub timer: Duration,
}

/// An access point's uplink exchange.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Uplink {
    pub phase: Phase,
    pub edcaf: usize,
    pub opportunity_end: Instant,
    /// The Trigger frame: its rate, length and duration.
    pub trigger: (Rate, u32, Duration),
    /// Of the trigger-based PPDUs, to the end of the HE-LTFs.
    pub header: Duration,
    pub duration: Duration,
    pub guard_interval: HeGuardInterval,
    /// What they are overheard at.
    pub rate: Rate,
    /// SIFS and the Multi-STA Block Ack, if all is decoded.
    pub acknowledged_in: Duration,
    /// The end of the exchange.
    pub until: Instant,
    /// Trigger-based PPDUs that have not ended.
    pub answers_due: usize,
    pub users: Vec<Asked>,
}

/// What the access point asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// BSRP: buffer status reports.
    Reports,
    /// Basic: data.
    Data,
}

/// A station that a Trigger frame asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    pub station: StationId,
    /// Its RU, MCS and streams, and the length of the PSDU that fills the duration.
    pub user: MuUser,
    /// As rate control chose it for the whole channel, in what is idle of it.
    pub rate: Rate,
    /// Bits in a bitmap of its agreement.
    pub bits: u16,
    /// It answered, and the access point decoded something.
    pub is_heard: bool,
    /// What the Multi-STA Block Ack says of its MPDUs, if it has a record for it.
    pub record: Option<StationRecord>,
}

/// A record of a Multi-STA Block Ack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StationRecord {
    /// Bit n: pending MPDU n is acknowledged.
    pub acked: Bitmap,
    /// As on the air: the first sequence number, and its bitmap.
    pub start: SeqNo12,
    pub bitmap: Bitmap,
}

/// What a station sends in answer to a Trigger frame. What is in it is the [`Exchange`] that it
/// is in meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Answer {
    /// Whose Trigger frame it answers.
    pub to: StationId,
    pub ru: Ru,
    /// From the start of the PPDU to the end of the HE-LTFs.
    pub header: Duration,
    /// To the end of its last MPDU.
    pub data_end: Duration,
    /// Length of the MPDUs with their delimiters, without what follows the last one.
    pub data_bytes: u32,
    /// Least length of an A-MPDU subframe.
    pub spacing_bytes: u32,
    /// Its share of the channel: the duration by the number of stations.
    pub share: Duration,
    /// The rate at which it is overheard.
    pub overheard: Rate,
    /// The end of the whole exchange.
    pub until: Instant,
    /// Its Queue Size fields: bytes that it holds, by access category.
    pub buffered: [u64; 4],
}

impl Uplink {
    /// The station is one of those that are asked.
    pub fn has(&self, station: StationId) -> bool {
        self.users.iter().any(|user| user.station == station)
    }

    fn user(&mut self, station: StationId) -> &mut Asked {
        let user = self.users.iter_mut().find(|user| user.station == station);
        user.expect("only those answer that were asked")
    }
}

impl Answer {
    /// QoS Null frames in it, if it is made of such: one for each access category, or for the
    /// one of a Basic Trigger frame.
    const fn nulls(phase: Phase) -> u32 {
        match phase {
            Phase::Reports => 4,
            Phase::Data => 1,
        }
    }
}

impl Channel {
    /// From the HE-LTFs to the end of a trigger-based PPDU, if there were one user only.
    fn triggered_data_time(&self, user: &MuUser) -> Duration {
        let (header, duration) = self.triggered(core::slice::from_ref(user));
        duration - header
    }

    /// The longest PSDU of up to `bytes_max` that takes `user` at most `time` in such a PPDU.
    fn triggered_within(&self, user: &MuUser, time: Duration, bytes_max: u32) -> u32 {
        let (mut fits, mut too_long) = (0, bytes_max + 1);
        while too_long - fits > 1 {
            let middle = fits + (too_long - fits) / 2;
            match self.triggered_data_time(&MuUser { psdu_bytes: middle, ..*user }) <= time {
                true => fits = middle,
                false => too_long = middle,
            }
        }
        fits
    }
}

/// The station's part of its exchange: how long a frame of it is.
fn is_data(exchange: &Exchange) -> bool {
    matches!(exchange.content, super::content::Content::Data { .. })
}
