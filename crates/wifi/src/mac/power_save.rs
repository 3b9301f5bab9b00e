//! Power save of a station (IEEE 802.11-2020, 11.2.3): the station dozes while idle, wakes for
//! beacons, and retrieves the packets that the access point holds for it.
//!
//! As in Linux' mac80211 (`dynamic_ps_timeout`), a station that is idle for a while announces by a
//! Null frame with PM = 1 that it dozes. The station wakes for each beacon of its listen interval.
//! If the TIM announces packets for it, the station either requests them one by one with PS-Poll
//! frames, or wakes up with a Null frame with PM = 0. The station also wakes up to send. After a
//! DTIM it stays awake for the group frames.
//!
//! Other stations send without leaving power save mode ([`Sending::InPowerSave`]): each frame has
//! PM = 1, the radio is off again after it, and the answers wait for a beacon. Left out: U-APSD (in
//! `service_period`), SMPS.

use super::beacon_clock::WakeClock;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Method by which a station retrieves packets that the access point holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retrieval {
    /// One PS-Poll for each frame.
    PsPoll,
    /// The station wakes up with a Null frame with PM = 0; all packets follow.
    Wake,
}

/// The power save parameters of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerSaveConfig {
    /// Idle time after which the station dozes, more than zero.
    pub idle: Duration,
    /// Listen interval in beacon intervals, at least 1.
    pub listen_interval: u8,
    /// Method by which the station retrieves held packets.
    pub retrieval: Retrieval,
    /// Mode in which the station sends: awake, or in power save mode.
    pub sending: Sending,
    /// Clock of the station between beacons.
    pub clock: WakeClock,
}

impl PowerSaveConfig {
    /// Returns the settings of mac80211: the station sends awake, and is in time for every beacon.
    pub const fn dynamic(idle: Duration, retrieval: Retrieval) -> Self {
        let clock = WakeClock::EXACT;
        Self { idle, listen_interval: 1, retrieval, sending: Sending::Awake, clock }
    }
}

/// The mode in which a station that saves power sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// Awake: the station wakes up by a Null with PM = 0, and dozes when it is idle (mac80211's
    /// dynamic power save).
    Awake,
    /// With PM = 1: the station stays in power save mode until it is [`Busy`].
    InPowerSave(Busy),
}

/// Amount of traffic for which a station leaves power save mode, in which it sends otherwise. The
/// station enters the mode again at the end of an interval with less (rtw88: `RTW_LPS_THRESHOLD` in
/// `RTW_WATCH_DOG_DELAY_TIME`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Number of data frames, sent or received in an interval, above which the station leaves the
    /// mode.
    pub frames: u32,
    /// Length of an interval, more than zero.
    pub interval: Duration,
}

/// The state of a station's power save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DozePhase {
    /// The station is awake and can be reached.
    Awake,
    /// A Null with PM = 1 is being sent.
    Announcing,
    /// The radio is off.
    Dozing,
    /// The station waits for a beacon, or for the group frames after it.
    Listening,
    /// The station sends a PS-Poll or waits for the requested frame.
    Polling,
    /// The station sends with PM = 1, in power save mode.
    Sending,
    /// A Null with PM = 0 is being sent.
    Waking,
}

/// An event that may change the [`DozePhase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DozeInput {
    /// No traffic for [`PowerSaveConfig::idle`].
    Idle,
    /// A packet to be sent.
    Traffic,
    /// No packet left to send.
    Sent,
    /// Too much traffic for power save mode.
    Busy,
    /// The station's Null or PS-Poll was acknowledged.
    Acknowledged,
    /// The station's Null or PS-Poll was given up.
    GivenUp,
    /// A beacon of its listen interval is due.
    BeaconDue,
    /// That beacon announces packets for the station.
    Indicated,
    /// That beacon announces group frames only.
    GroupIndicated,
    /// That beacon announces no packets for the station, or was not received.
    NotIndicated,
    /// A data frame arrived, the last one that is held.
    LastFrame,
    /// A data frame arrived with More Data.
    MoreFrames,
    /// The last group frame ended.
    LastGroupFrame,
}

impl DozeInput {
    /// All inputs of the transition table.
    pub const ALL: [Self; 13] = [
        Self::Idle,
        Self::Traffic,
        Self::Sent,
        Self::Busy,
        Self::Acknowledged,
        Self::GivenUp,
        Self::BeaconDue,
        Self::Indicated,
        Self::GroupIndicated,
        Self::NotIndicated,
        Self::LastFrame,
        Self::MoreFrames,
        Self::LastGroupFrame,
    ];
}

/// Action of a station after an [`DozeInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DozeAction {
    /// No action: the input has no effect in this phase.
    Nothing,
    /// Sends a Null with PM = 1, and no data from now on.
    Announce,
    /// Turns the radio off.
    Doze,
    /// Turns the radio on.
    Listen,
    /// Sends a PS-Poll.
    Poll,
    /// Turns the radio on and sends a Null with PM = 0.
    Wake,
    /// Resumes sending data.
    Open,
    /// Turns the radio on and sends data with PM = 1.
    Send,
}

impl DozePhase {
    /// All phases of the transition table.
    pub const ALL: [Self; 7] = [
        Self::Awake,
        Self::Announcing,
        Self::Dozing,
        Self::Listening,
        Self::Polling,
        Self::Sending,
        Self::Waking,
    ];

    /// Returns the next phase and the action: the transition table.
    pub const fn on(self, input: DozeInput, config: &PowerSaveConfig) -> (Self, DozeAction) {
        if let Sending::InPowerSave(_) = config.sending {
            match (self, input) {
                (Self::Dozing, DozeInput::Traffic) => return (Self::Sending, DozeAction::Send),
                // Its radio is on.
                (Self::Listening | Self::Polling, DozeInput::Traffic) => {
                    return (self, DozeAction::Nothing);
                }
                (
                    Self::Dozing | Self::Listening | Self::Polling | Self::Sending,
                    DozeInput::Busy,
                ) => {
                    return (Self::Waking, DozeAction::Wake);
                }
                _ => {}
            }
        }
        match (self, input) {
            (Self::Awake, DozeInput::Idle) => (Self::Announcing, DozeAction::Announce),
            (Self::Announcing, DozeInput::Acknowledged) => (Self::Dozing, DozeAction::Doze),
            // Unless the access point knows, it must not doze (11.2.3.2).
            (Self::Announcing, DozeInput::GivenUp) => (Self::Awake, DozeAction::Open),
            (Self::Dozing, DozeInput::BeaconDue) => (Self::Listening, DozeAction::Listen),
            (Self::Dozing | Self::Listening | Self::Polling, DozeInput::Traffic) => {
                (Self::Waking, DozeAction::Wake)
            }
            (Self::Sending, DozeInput::BeaconDue) => (Self::Listening, DozeAction::Nothing),
            (Self::Sending, DozeInput::Sent) => (Self::Dozing, DozeAction::Doze),
            (Self::Listening | Self::Polling | Self::Sending, DozeInput::Indicated) => {
                match config.retrieval {
                    Retrieval::PsPoll => (Self::Polling, DozeAction::Poll),
                    Retrieval::Wake => (Self::Waking, DozeAction::Wake),
                }
            }
            (Self::Polling, DozeInput::GroupIndicated) => (Self::Listening, DozeAction::Nothing),
            (Self::Listening | Self::Polling, DozeInput::NotIndicated) => {
                (Self::Dozing, DozeAction::Doze)
            }
            (Self::Listening, DozeInput::LastGroupFrame) => (Self::Dozing, DozeAction::Doze),
            (Self::Polling, DozeInput::MoreFrames) => (Self::Polling, DozeAction::Poll),
            (Self::Polling, DozeInput::LastFrame) => (Self::Dozing, DozeAction::Doze),
            // The next beacon announces whether something is still held.
            (Self::Polling, DozeInput::GivenUp) => (Self::Listening, DozeAction::Nothing),
            (Self::Waking, DozeInput::Acknowledged | DozeInput::GivenUp) => {
                (Self::Awake, DozeAction::Open)
            }
            (phase, _) => (phase, DozeAction::Nothing),
        }
    }
}

/// Returns the partial virtual bitmap of a TIM for these AIDs, 1 to 2 007 and ascending: the number
/// of pairs of octets omitted at the front, and the octets (9.4.2.5, without the bit of AID 0).
pub fn partial_virtual_bitmap(aids: &[u16]) -> (u8, Vec<u8>) {
    let (Some(first), Some(last)) = (aids.first(), aids.last()) else {
        return (0, alloc::vec![0]);
    };
    let omitted = usize::from(first / 16) * 2;
    let mut bitmap = alloc::vec![0; usize::from(last / 8) - omitted + 1];
    for aid in aids {
        bitmap[usize::from(aid / 8) - omitted] |= 1 << (aid % 8);
    }
    ((omitted / 2) as u8, bitmap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::elements::{Element, Repr, Tim, id};
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::string::String;
    use proptest::prelude::*;

    fn config(retrieval: Retrieval, sending: Sending) -> PowerSaveConfig {
        let dynamic = PowerSaveConfig::dynamic(Duration::from_millis(100), retrieval);
        PowerSaveConfig { sending, ..dynamic }
    }

    /// All transitions, except those of a phase that a station of this kind never enters.
    fn table(config: &PowerSaveConfig, but: Option<DozePhase>) -> String {
        let mut table = String::new();
        for phase in DozePhase::ALL.into_iter().filter(|phase| Some(*phase) != but) {
            for input in DozeInput::ALL {
                let (next, action) = phase.on(input, config);
                if (next, action) != (phase, DozeAction::Nothing) {
                    table += &format!("{phase:?} + {input:?}: {action:?}, {next:?}\n");
                }
            }
        }
        table
    }

    #[test]
    fn every_phase_with_every_input() {
        let polls = config(Retrieval::PsPoll, Sending::Awake);
        let expected = "\
            Awake + Idle: Announce, Announcing\n\
            Announcing + Acknowledged: Doze, Dozing\n\
            Announcing + GivenUp: Open, Awake\n\
            Dozing + Traffic: Wake, Waking\n\
            Dozing + BeaconDue: Listen, Listening\n\
            Listening + Traffic: Wake, Waking\n\
            Listening + Indicated: Poll, Polling\n\
            Listening + NotIndicated: Doze, Dozing\n\
            Listening + LastGroupFrame: Doze, Dozing\n\
            Polling + Traffic: Wake, Waking\n\
            Polling + GivenUp: Nothing, Listening\n\
            Polling + Indicated: Poll, Polling\n\
            Polling + GroupIndicated: Nothing, Listening\n\
            Polling + NotIndicated: Doze, Dozing\n\
            Polling + LastFrame: Doze, Dozing\n\
            Polling + MoreFrames: Poll, Polling\n\
            Waking + Acknowledged: Open, Awake\n\
            Waking + GivenUp: Open, Awake\n";
        assert_eq!(table(&polls, Some(DozePhase::Sending)), expected);
        let config = config(Retrieval::Wake, Sending::Awake);
        let wakes = DozePhase::Listening.on(DozeInput::Indicated, &config);
        assert_eq!(wakes, (DozePhase::Waking, DozeAction::Wake));
    }

    #[test]
    fn every_phase_with_every_input_in_power_save() {
        let busy = Busy { frames: 50, interval: Duration::from_secs(2) };
        let config = config(Retrieval::PsPoll, Sending::InPowerSave(busy));
        let expected = "\
            Awake + Idle: Announce, Announcing\n\
            Announcing + Acknowledged: Doze, Dozing\n\
            Announcing + GivenUp: Open, Awake\n\
            Dozing + Traffic: Send, Sending\n\
            Dozing + Busy: Wake, Waking\n\
            Dozing + BeaconDue: Listen, Listening\n\
            Listening + Busy: Wake, Waking\n\
            Listening + Indicated: Poll, Polling\n\
            Listening + NotIndicated: Doze, Dozing\n\
            Listening + LastGroupFrame: Doze, Dozing\n\
            Polling + Busy: Wake, Waking\n\
            Polling + GivenUp: Nothing, Listening\n\
            Polling + Indicated: Poll, Polling\n\
            Polling + GroupIndicated: Nothing, Listening\n\
            Polling + NotIndicated: Doze, Dozing\n\
            Polling + LastFrame: Doze, Dozing\n\
            Polling + MoreFrames: Poll, Polling\n\
            Sending + Sent: Doze, Dozing\n\
            Sending + Busy: Wake, Waking\n\
            Sending + BeaconDue: Nothing, Listening\n\
            Sending + Indicated: Poll, Polling\n\
            Waking + Acknowledged: Open, Awake\n\
            Waking + GivenUp: Open, Awake\n";
        assert_eq!(table(&config, None), expected);
    }

    /// IEEE 802.11-2020, annex L.
    #[test]
    fn the_standards_tim_examples() {
        assert_eq!(partial_virtual_bitmap(&[2, 7]), (0, [0x84].to_vec()));
        let four = (0, [0x84, 0x00, 0x40, 0x01].to_vec());
        assert_eq!(partial_virtual_bitmap(&[2, 7, 22, 24]), four);
        assert_eq!(partial_virtual_bitmap(&[24]), (1, [0x00, 0x01].to_vec()));
        assert_eq!(partial_virtual_bitmap(&[]), (0, [0].to_vec()));
    }

    proptest! {
        #[test]
        fn a_bitmap_says_what_it_was_made_of(aids in prop::collection::btree_set(1..2_008u16, 0..60)) {
            let list: Vec<u16> = aids.iter().copied().collect();
            let (bitmap_offset, bitmap) = partial_virtual_bitmap(&list);
            let tim = Tim {
                dtim_count: 1,
                dtim_period: 2,
                group_traffic: false,
                bitmap_offset,
                bitmap: &bitmap,
            };
            let mut bytes = Vec::new();
            Repr::Tim(tim).emit(&mut bytes).expect("it fits");
            let element = Element { id: id::TIM, offset: 2, data: &bytes[2..] };
            let Ok(Repr::Tim(read)) = Repr::parse(&element) else { panic!("no TIM: {bytes:?}") };
            let said: BTreeSet<u16> = (1..2_008).filter(|aid| read.has_traffic_for(*aid)).collect();
            prop_assert_eq!(said, aids);
        }
    }
}
