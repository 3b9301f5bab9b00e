//! Optional modes of an 802.11ax or 802.11be node: dual carrier modulation (DCM), HE extended range SU PPDUs,
//! and the nominal packet padding that it needs as a receiver (IEEE 802.11ax-2021, 9.4.2.248). With 802.11be DCM is
//! MCS 15, and EHT DUP at 6 GHz MCS 14. Left out: the DCM of some constellations and streams only, 106 tones without 242, PPE thresholds.

use super::Common;
use super::{Place, Problems};
use crate::raw::{ExtendedRangeTones, Mtu, RawFixedRate, RawNodeSettings};
use lasthop_config::scalar::{At, Whole};
use lasthop_units::Duration;
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{Band, PacketPadding, Rate, RuSize, Standard};

/// aPPDUMaxTime (IEEE 802.11-2020, table 19-25).
pub(super) const PPDU_DURATION_MAX: Duration = Duration::from_micros(5_484);

/// MTU of a node without the key.
const ETHERNET_MTU: u32 = 1_500;

/// Returns the rates of these modes, beside the usual ones.
pub(super) fn rates(
    raw: &RawNodeSettings,
    common: &Common,
    streams: u8,
    problems: &mut Problems,
) -> Vec<Rate> {
    let standard = common.standard;
    let is_he = standard == Standard::Dot11ax;
    let is_eht = standard == Standard::Dot11be;
    if raw.dcm.value && !is_he && !is_eht {
        let message = format!("dual carrier modulation needs 802.11ax or 802.11be, not {standard}");
        problems.push(&raw.dcm.place, message);
    }
    if raw.extended_range.value && !is_he {
        let message = format!("extended range needs 802.11ax, not {standard}");
        problems.push(&raw.extended_range.place, message);
    }
    let guard_interval = common.he_guard_interval;
    let mut all = Vec::new();
    if raw.dcm.value && is_eht {
        let widths = lasthop_wifi::phy::ChannelWidth::ALL_EHT.into_iter();
        let widths = widths.filter(|&used| used <= common.width);
        all.extend(widths.flat_map(|used| {
            slow_mcs(common.band).filter_map(move |mcs| Rate::eht(mcs, 1, used, guard_interval))
        }));
    }
    if raw.dcm.value && is_he {
        let widths = lasthop_wifi::phy::ChannelWidth::ALL.into_iter();
        let widths = widths.filter(|&used| used <= common.width);
        all.extend(
            widths.flat_map(|used| Rate::all_he_dual_carrier(used, guard_interval, streams)),
        );
    }
    if raw.extended_range.value && is_he {
        all.extend(Rate::all_he_extended_range(guard_interval, raw.dcm.value));
    }
    all
}

/// The MCSs of EHT with dual carriers: EHT DUP (14) exists at 6 GHz only.
fn slow_mcs(band: Band) -> core::ops::RangeInclusive<u8> {
    if band == Band::Ghz6 { 14..=15 } else { 15..=15 }
}

/// Reports MCS 14 or 15 of 802.11be that the node lacks.
pub(super) fn check_slow_mcs(
    raw: &RawNodeSettings,
    mcs: &At<Whole<0, 31>>,
    common: &Common,
    problems: &mut Problems,
) {
    let number = mcs.value.get();
    if common.standard != Standard::Dot11be || !(14..=15).contains(&number) {
        return;
    }
    if !slow_mcs(common.band).contains(&number) {
        problems.push(&mcs.place, format!("MCS 14 exists at 6GHz only, not at {}", common.band));
    } else if !raw.dcm.value {
        let message = format!("the node itself needs dcm = true for MCS {number}");
        problems.push(&mcs.place, message);
    }
}

/// Returns the packet padding that the node requires.
pub(super) fn packet_padding(
    raw: &RawNodeSettings,
    common: &Common,
    problems: &mut Problems,
) -> PacketPadding {
    let At { value, place } = &raw.packet_padding;
    let standard = common.standard;
    if *value != PacketPadding::None && !standard.is_he() {
        let message =
            format!("only PPDUs of 802.11ax and 802.11be have a packet extension, not {standard}");
        problems.push(place, message);
        return PacketPadding::None;
    }
    if *value == PacketPadding::Us20 && standard != Standard::Dot11be {
        let message = format!("20us needs 802.11be, not {standard}");
        problems.push(place, message);
        return PacketPadding::None;
    }
    *value
}

/// Reports a mode that only 802.11ax has.
pub(super) fn check_standard(fixed: &RawFixedRate, common: &Common, problems: &mut Problems) {
    let dcm = fixed.dcm.as_ref().filter(|at| at.value).map(|at| &at.place);
    let far = fixed.extended_range.as_ref().map(|at| &at.place);
    for place in [dcm, far].into_iter().flatten() {
        if common.standard != Standard::Dot11ax {
            let hint = match common.standard {
                Standard::Dot11be => "; MCS 15 is the one with dual carriers",
                _ => "",
            };
            let message = format!("this mode needs 802.11ax, not {}{hint}", common.standard);
            problems.push(place, message);
        }
    }
}

/// Returns the fixed rate of 802.11ax with this MCS, if it is one of these modes and exists:
/// `Some(None)` after an error, `None` for a usual rate.
pub(super) fn fixed_rate(
    raw: &RawNodeSettings,
    fixed: &RawFixedRate,
    mcs: &At<Whole<0, 31>>,
    common: &Common,
    streams: u8,
    problems: &mut Problems,
) -> Option<Option<Rate>> {
    let dcm = fixed.dcm.as_ref().filter(|at| at.value);
    let far = fixed.extended_range.as_ref();
    if dcm.is_none() && far.is_none() {
        return None;
    }
    if common.standard != Standard::Dot11ax {
        return Some(None);
    }
    let before = problems.len();
    if let Some(at) = dcm
        && !raw.dcm.value
    {
        problems.push(&at.place, "the node itself needs dcm = true for a rate with it");
    }
    if let Some(at) = far
        && !raw.extended_range.value
    {
        let message = "the node itself needs extended_range = true for a rate with it";
        problems.push(&at.place, message);
    }
    if let (Some(_), Some(at)) = (far, &fixed.streams)
        && at.value.0 != 1
    {
        problems.push(&at.place, format!("extended range has one stream, got {}", at.value.0));
    }
    let guard_interval = common.he_guard_interval;
    let of = |mcs| match far.map(|at| at.value) {
        Some(tones) => {
            let tones = match tones {
                ExtendedRangeTones::Tones242 => RuSize::Tones242,
                ExtendedRangeTones::Tones106 => RuSize::Tones106,
            };
            Rate::he_extended_range(mcs, tones, guard_interval, dcm.is_some())
        }
        None => Rate::he(mcs, streams, common.width, guard_interval, true),
    };
    let rate = of(mcs.value.get());
    if rate.is_none() {
        let exist: Vec<u8> = (0..=Rate::HE_MCS_MAX).filter(|&mcs| of(mcs).is_some()).collect();
        let what = match (far.map(|at| at.value), dcm) {
            (Some(ExtendedRangeTones::Tones242), None) => "extended range on 242 tones".to_owned(),
            (Some(ExtendedRangeTones::Tones106), None) => "extended range on 106 tones".to_owned(),
            (Some(ExtendedRangeTones::Tones242), _) => {
                "extended range on 242 tones with dcm".to_owned()
            }
            (Some(ExtendedRangeTones::Tones106), _) => {
                "extended range on 106 tones with dcm".to_owned()
            }
            (None, _) => format!(
                "dcm with {streams} stream{} (at most 2)",
                if streams == 1 { "" } else { "s" }
            ),
        };
        let exist = match &exist[..] {
            [] => "none".to_owned(),
            all => all.iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
        };
        let message = format!("no MCS {} in {what}; there are {exist}", mcs.value.0);
        problems.push(&mcs.place, message);
    }
    if let (Some(rate), Some(at)) = (rate, far) {
        check_packets(raw, rate, common, &at.place, problems);
    }
    Some(rate.filter(|_| problems.len() == before))
}

/// Checks that a packet at the slowest rate fits into the longest PPDU, 5.484 ms.
fn check_packets(
    raw: &RawNodeSettings,
    rate: Rate,
    common: &Common,
    place: &Place,
    problems: &mut Problems,
) {
    let bytes = match &raw.mtu {
        None => ETHERNET_MTU,
        Some(At { value: Mtu::Fixed(bytes), .. }) => bytes.get(),
        Some(_) => return,
    };
    let lasts = |bytes: u32| {
        let psdu_bytes =
            sizes::AMPDU_DELIMITER + sizes::mpdu(bytes, true) + common.encryption.bytes();
        rate.ppdu_duration(psdu_bytes, common.band)
    };
    if lasts(bytes) > PPDU_DURATION_MAX {
        let most = (1..bytes).rev().find(|&bytes| lasts(bytes) <= PPDU_DURATION_MAX);
        let message = format!(
            "a packet of {bytes} bytes lasts longer than a PPDU may, {PPDU_DURATION_MAX}; take an \
             mtu of at most {} with it",
            most.unwrap_or_default()
        );
        problems.push(place, message);
    }
}
