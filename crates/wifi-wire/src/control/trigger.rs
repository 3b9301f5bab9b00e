//! Trigger frames (IEEE 802.11ax-2021, 9.3.1.22; IEEE 802.11be-2024 gives reserved bits a meaning):
//! solicitations of several stations at once, with the parameters of their answers.
//!
//! Common Info and User Info are raw words with accessors for the fields of HE. Ranging and
//! reserved kinds keep their bytes after the first eight of Common Info. Another module has the EHT
//! variants.

use super::request::BlockAckRequest;
use crate::Error;
use crate::reader::Reader;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi_phy::{ChannelWidth, HeGuardInterval, Ru, RuSize};

/// A Trigger frame after its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger<'a> {
    /// First eight octets of Common Info.
    pub common: CommonInfo,
    /// Remaining bytes: common information of this kind, User Info fields, padding.
    pub rest: &'a [u8],
}

/// Kind of answer that a Trigger frame solicits (table 9-30c).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TriggerKind {
    /// Basic: solicits data.
    Basic,
    /// BFRP: solicits beamforming reports.
    BeamformingReportPoll,
    /// MU-BAR: solicits Block Acks.
    BlockAckRequest,
    /// MU-RTS: solicits CTS.
    RequestToSend,
    /// BSRP: solicits buffer status reports.
    BufferStatusReportPoll,
    /// GCR MU-BAR: solicits Block Acks of frames to a group.
    GroupBlockAckRequest,
    /// BQRP: solicits bandwidth queries.
    BandwidthQueryReportPoll,
    /// NFRP: asks whether stations have frames to send.
    NdpFeedbackReportPoll,
    /// Any other kind, 8 to 15; 8 is ranging.
    Other(u8),
}

/// The Common Info field, eight octets as a little-endian number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonInfo(pub u64);

impl CommonInfo {
    /// Returns the field of an MU-BAR: answers have this duration, begin with this guard interval
    /// and one HE-LTF, and are in a channel of this width. The field announces an access point's
    /// power of 20 dBm, requires no carrier sense, and prohibits spatial reuse.
    pub fn block_ack_request(
        response: Duration,
        guard_interval: HeGuardInterval,
        width: ChannelWidth,
    ) -> Self {
        Self::asking(2, response, guard_interval, width)
    }

    /// Returns the field of a Basic Trigger frame whose answers have HE-LTFs for up to `streams`
    /// spatial streams, 1 to 8. The rest is as in [`CommonInfo::block_ack_request`], but carrier
    /// sense is required.
    pub fn basic(
        response: Duration,
        guard_interval: HeGuardInterval,
        width: ChannelWidth,
        streams: u8,
    ) -> Self {
        // One, two, four, six or eight HE-LTFs are coded as 0 to 4 (table 9-30e).
        let training = u64::from(streams.div_ceil(2).min(4)) - u64::from(streams == 1);
        let Self(bits) = Self::asking(0, response, guard_interval, width);
        Self(bits | CARRIER_SENSE_REQUIRED | training << 23)
    }

    /// Returns the field of a BSRP Trigger frame. The rest is as in
    /// [`CommonInfo::block_ack_request`], but carrier sense is required.
    pub fn buffer_status_report_poll(
        response: Duration,
        guard_interval: HeGuardInterval,
        width: ChannelWidth,
    ) -> Self {
        let Self(bits) = Self::asking(4, response, guard_interval, width);
        Self(bits | CARRIER_SENSE_REQUIRED)
    }

    /// Returns the field of a BFRP Trigger frame. The rest is as in
    /// [`CommonInfo::buffer_status_report_poll`].
    pub fn beamforming_report_poll(
        response: Duration,
        guard_interval: HeGuardInterval,
        width: ChannelWidth,
    ) -> Self {
        let Self(bits) = Self::asking(1, response, guard_interval, width);
        Self(bits | CARRIER_SENSE_REQUIRED)
    }

    pub(super) fn asking(
        code: u64,
        response: Duration,
        guard_interval: HeGuardInterval,
        width: ChannelWidth,
    ) -> Self {
        // L-SIG's LENGTH of a trigger-based PPDU (27.3.11.5.1): three octets for each 4 us
        // behind the first 20, less 3 and 2.
        let units = response.as_nanos().saturating_sub(20_000).div_ceil(4_000);
        let length = (3 * units).saturating_sub(5) & 0xfff;
        let bandwidth = match width {
            ChannelWidth::Mhz20 => 0,
            ChannelWidth::Mhz40 => 1,
            ChannelWidth::Mhz80 => 2,
            // The HE variant has nothing wider.
            ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 3,
        };
        let training = match guard_interval {
            HeGuardInterval::Ns1600Ltf1x => 0,
            HeGuardInterval::Ns3200Ltf4x => 2,
            _ => 1,
        };
        let power_dbm_and_20 = 40;
        Self(
            code | length << 4
                | bandwidth << 18
                | training << 20
                | power_dbm_and_20 << 28
                | 0xffff << 37
                | HE_SIG_A2_RESERVED,
        )
    }

    /// Kind of the Trigger frame.
    pub const fn kind(self) -> TriggerKind {
        match self.bits(0, 4) as u8 {
            0 => TriggerKind::Basic,
            1 => TriggerKind::BeamformingReportPoll,
            2 => TriggerKind::BlockAckRequest,
            3 => TriggerKind::RequestToSend,
            4 => TriggerKind::BufferStatusReportPoll,
            5 => TriggerKind::GroupBlockAckRequest,
            6 => TriggerKind::BandwidthQueryReportPoll,
            7 => TriggerKind::NdpFeedbackReportPoll,
            code => TriggerKind::Other(code),
        }
    }

    /// L-SIG LENGTH of the answers.
    pub const fn ul_length(self) -> u16 {
        self.bits(4, 12)
    }

    /// Whether another Trigger frame follows.
    pub const fn more_triggers(self) -> bool {
        self.bits(16, 1) == 1
    }

    /// Whether stations sense the medium before they answer.
    pub const fn carrier_sense_required(self) -> bool {
        self.bits(17, 1) == 1
    }

    /// Width of the answer in MHz in the terms of HE: 20, 40, 80 or 160.
    pub const fn bandwidth_mhz(self) -> u16 {
        20 << self.bits(18, 2)
    }

    /// Guard interval and HE-LTF type (table 9-30d): 0 for 1x and 1.6 us, 1 for 2x and
    /// 1.6 us, 2 for 4x and 3.2 us.
    pub const fn guard_interval_and_ltf(self) -> u8 {
        self.bits(20, 2) as u8
    }

    /// The number of HE-LTF symbols and midamble periodicity field.
    pub const fn ltf_symbols_and_midamble(self) -> u8 {
        self.bits(23, 3) as u8
    }

    /// Whether the answer has space-time block coding.
    pub const fn stbc(self) -> bool {
        self.bits(26, 1) == 1
    }

    /// Whether LDPC needs one more symbol segment.
    pub const fn ldpc_extra_symbol(self) -> bool {
        self.bits(27, 1) == 1
    }

    /// Transmit power of the Trigger frame, for 20 MHz, in dBm: -20 to 40.
    pub const fn ap_tx_power_dbm(self) -> Option<i8> {
        match self.bits(28, 6) {
            code @ 0..=60 => Some(code as i8 - 20),
            _ => None,
        }
    }

    /// The four fields of UL Spatial Reuse, the first in the lowest four bits.
    pub const fn spatial_reuse(self) -> u16 {
        self.bits(37, 16)
    }

    /// Whether answers have midambles.
    pub const fn doppler(self) -> bool {
        self.bits(53, 1) == 1
    }

    /// Returns at most 16 bits.
    const fn bits(self, from: u32, count: u32) -> u16 {
        (self.0 >> from & ((1 << count) - 1)) as u16
    }
}

/// A User Info field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserInfo<'a> {
    /// The first five octets as a little-endian number.
    pub bits: u64,
    /// Part of the field that depends on the kind.
    pub dependent: Dependent<'a>,
}

/// The part of a User Info field that depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependent<'a> {
    /// No dependent part.
    None,
    /// Part in a Basic Trigger frame: MPDU spacing factor in bits 0 and 1, TID aggregation limit in
    /// 2 to 4, preferred access category in 6 and 7.
    Basic(u8),
    /// Part in a BFRP Trigger frame: feedback segments to send again.
    Segments(u8),
    /// Part in an MU-BAR: the request.
    Request(BlockAckRequest<'a>),
}

/// The rate that a Trigger frame prescribes for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerRate {
    /// MCS index of the answer.
    pub mcs: u8,
    /// Spatial streams, at least 1.
    pub streams: u8,
    /// Whether the answer has dual carrier modulation.
    pub dcm: bool,
}

/// Appends a User Info field of an MU-BAR: this station answers with a compressed Block Ack of
/// `tid` from `start` on, at this MCS with one stream on `ru`, at its highest power.
pub fn emit_block_ack_request(
    aid: u16,
    ru: Ru,
    mcs: u8,
    tid: u8,
    start: SeqNo12,
    out: &mut Vec<u8>,
) {
    emit_user(aid, ru, AnswerRate { mcs, streams: 1, dcm: false }, out);
    BlockAckRequest::compressed(tid, start).emit(out);
}

/// Appends a User Info field of a Basic Trigger frame: this station answers with data of one TID,
/// preferably of `access_category`, at this MCS, with these streams and with or without dual
/// carrier modulation on `ru`, at its highest power.
pub fn emit_basic(
    aid: u16,
    ru: Ru,
    rate: AnswerRate,
    access_category: AccessCategory,
    out: &mut Vec<u8>,
) {
    emit_user(aid, ru, rate, out);
    out.push(basic_dependent(access_category));
}

/// The dependent part of a User Info field of a Basic Trigger frame: data of one TID, preferably of
/// `access_category`.
pub const fn basic_dependent(access_category: AccessCategory) -> u8 {
    // MPDU MU Spacing Factor 0: the minimum MPDU start spacing itself.
    let tid_limit = 1 << 2;
    // ACI (table 9-155): 0 for AC_BE, 1 for AC_BK, 2 for AC_VI, 3 for AC_VO.
    let preferred: u8 = match access_category {
        AccessCategory::BestEffort => 0,
        AccessCategory::Background => 1,
        AccessCategory::Video => 2,
        AccessCategory::Voice => 3,
    };
    tid_limit | preferred << 6
}

/// Appends a User Info field of a BSRP Trigger frame: this station answers with QoS Null frames,
/// with the parameters of [`emit_basic`].
pub fn emit_buffer_status_report_poll(aid: u16, ru: Ru, rate: AnswerRate, out: &mut Vec<u8>) {
    emit_user(aid, ru, rate, out);
}

/// Appends a User Info field of a BFRP Trigger frame: this station answers with all segments of its
/// report, with the parameters of [`emit_basic`].
pub fn emit_beamforming_report_poll(aid: u16, ru: Ru, rate: AnswerRate, out: &mut Vec<u8>) {
    emit_user(aid, ru, rate, out);
    out.push(0xff);
}

/// Appends the part that all kinds share, for an answer with this MCS, spatial streams and dual
/// carrier modulation.
fn emit_user(aid: u16, ru: Ru, AnswerRate { mcs, streams, dcm }: AnswerRate, out: &mut Vec<u8>) {
    // LDPC above 242 tones and at MCS 10 and 11 (27.1.1).
    let is_ldpc = ru.size() > RuSize::Tones242 || mcs > 9;
    let bits = u64::from(aid & 0xfff)
        | u64::from(ru.trigger_allocation()) << 12
        | u64::from(is_ldpc) << 20
        | u64::from(mcs & 15) << 21
        | u64::from(dcm) << 25
        | u64::from((streams - 1) & 7) << 29
        | 127 << 32;
    out.extend_from_slice(&bits.to_le_bytes()[..5]);
}

impl UserInfo<'_> {
    /// AID12 of random access for associated stations.
    pub const RANDOM_ACCESS: u16 = 0;
    /// AID12 of EHT's Special User Info field, which has other subfields.
    pub const SPECIAL: u16 = 2007;
    /// AID12 of random access for unassociated stations.
    pub const RANDOM_ACCESS_UNASSOCIATED: u16 = 2045;
    /// AID12 of a resource unit without a user.
    pub const UNALLOCATED: u16 = 2046;
    /// AID12 at which the padding begins.
    pub const PADDING: u16 = 4095;

    /// AID of the station, 1 to 2 006, or one of the constants; in NFRP the first AID.
    pub const fn aid(&self) -> u16 {
        self.field(0, 12)
    }

    /// RU Allocation: bit 0 for the secondary 80 MHz, the rest as in table 9-30h; not in NFRP.
    pub const fn ru_allocation(&self) -> u8 {
        self.field(12, 8) as u8
    }

    /// Whether the coding is LDPC instead of convolutional.
    pub const fn ldpc(&self) -> bool {
        self.field(20, 1) == 1
    }

    /// MCS index of the answer.
    pub const fn mcs(&self) -> u8 {
        self.field(21, 4) as u8
    }

    /// Whether the answer has dual carrier modulation (HE).
    pub const fn dcm(&self) -> bool {
        self.field(25, 1) == 1
    }

    /// First spatial stream, from 0 (HE); `None` for random access.
    pub const fn starting_spatial_stream(&self) -> Option<u8> {
        if self.is_random_access() { None } else { Some(self.field(26, 3) as u8) }
    }

    /// Number of spatial streams (HE); `None` for random access, which has one.
    pub const fn spatial_streams(&self) -> Option<u8> {
        if self.is_random_access() { None } else { Some(self.field(29, 3) as u8 + 1) }
    }

    /// Number of resource units for random access from this one on; `None` for other fields.
    pub const fn random_access_units(&self) -> Option<u8> {
        if self.is_random_access() { Some(self.field(26, 5) as u8 + 1) } else { None }
    }

    /// Requested signal at the access point, in dBm: -110 to -20; `None` for the station's highest
    /// power.
    pub const fn target_rssi_dbm(&self) -> Option<i8> {
        match self.field(32, 7) {
            code @ 0..=90 => Some(code as i8 - 110),
            _ => None,
        }
    }

    const fn is_random_access(&self) -> bool {
        matches!(self.aid(), Self::RANDOM_ACCESS | Self::RANDOM_ACCESS_UNASSOCIATED)
    }

    /// Returns at most 16 bits.
    const fn field(&self, from: u32, count: u32) -> u16 {
        (self.bits >> from & ((1 << count) - 1)) as u16
    }
}

impl<'a> Trigger<'a> {
    /// Kind of the Trigger frame.
    pub const fn kind(&self) -> TriggerKind {
        self.common.kind()
    }

    /// The common request of a GCR MU-BAR; other kinds have none.
    ///
    /// # Errors
    /// Returns an error for a request that is too short; the offset counts from `rest` on.
    pub fn group_request(&self) -> Result<Option<BlockAckRequest<'a>>, Error> {
        match self.kind() {
            TriggerKind::GroupBlockAckRequest => {
                BlockAckRequest::parse_in_trigger(&mut Reader::new(LAYER, self.rest)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Iterates over the User Info fields up to the padding; ends after an error. A frame that was
    /// parsed yields no error, and a frame of another kind no field.
    pub fn users(&self) -> Users<'a> {
        let mut reader = Reader::new(LAYER, self.rest);
        let kind = self.kind();
        let mut done = matches!(kind, TriggerKind::Other(_));
        if kind == TriggerKind::GroupBlockAckRequest {
            done = BlockAckRequest::parse_in_trigger(&mut reader).is_err();
        }
        Users { reader, kind, done }
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let common = CommonInfo(reader.u64("common info")?);
        let start = reader.offset();
        let trigger = Self { common, rest: reader.rest() };
        let shifted = |error: Error| error.shifted(start);
        trigger.group_request().map_err(shifted)?;
        for user in trigger.users() {
            user.map_err(shifted)?;
        }
        Ok(trigger)
    }

    pub(super) const fn buffer_len(&self) -> usize {
        COMMON_LEN + self.rest.len()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.common.0.to_le_bytes());
        out.extend_from_slice(self.rest);
    }
}

/// Iterator over the User Info fields of a [`Trigger`].
#[derive(Clone, Debug)]
pub struct Users<'a> {
    reader: Reader<'a>,
    kind: TriggerKind,
    done: bool,
}

impl<'a> Users<'a> {
    /// Returns the next field; `None` at the padding.
    fn user(&mut self) -> Result<Option<UserInfo<'a>>, Error> {
        let aid = { self.reader }.u16("AID12")? & 0xfff;
        if aid == UserInfo::PADDING {
            return Ok(None);
        }
        let mut bits = [0; 8];
        bits[..5].copy_from_slice(self.reader.take("user info", 5)?);
        let dependent = match self.kind {
            TriggerKind::Basic => Dependent::Basic(self.reader.u8("basic user info")?),
            TriggerKind::BeamformingReportPoll => {
                Dependent::Segments(self.reader.u8("feedback segments")?)
            }
            TriggerKind::BlockAckRequest => {
                Dependent::Request(BlockAckRequest::parse_in_trigger(&mut self.reader)?)
            }
            _ => Dependent::None,
        };
        Ok(Some(UserInfo { bits: u64::from_le_bytes(bits), dependent }))
    }
}

impl<'a> Iterator for Users<'a> {
    type Item = Result<UserInfo<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.reader.left() == 0 {
            return None;
        }
        let user = self.user();
        self.done = !matches!(user, Ok(Some(_)));
        user.transpose()
    }
}

const LAYER: &str = "trigger";
/// UL HE-SIG-A2 Reserved, bits 54 to 62: ones (27.3.11.7.2). 802.11be tells its variant by zeros.
const HE_SIG_A2_RESERVED: u64 = 0x1ff << 54;
/// The CS Required bit (9.3.1.22.1).
pub(super) const CARRIER_SENSE_REQUIRED: u64 = 1 << 17;
/// Length in octets of the Common Info part that every kind has.
const COMMON_LEN: usize = 8;
