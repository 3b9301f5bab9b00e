//! [`Recipient`] with MPDUs and Block Ack Requests of any sequence numbers near the window: every
//! MPDU that it accepts as new is delivered, once. The order of deliveries is not checked.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant, Machine, SeqNo12};
use lasthop_wifi::mac::block_ack::{Reception, Recipient};
use lasthop_wifi::mac::mpdu::Msdus;
use proptest::prelude::*;

/// A recipient with the functions of a machine.
#[derive(Clone, Debug, PartialEq)]
struct Reorder {
    recipient: Recipient,
    released: Vec<u64>,
}

impl Machine for Reorder {
    type Reason = ();

    fn poll_timeout(&self) -> Option<(Instant, ())> {
        self.recipient.deadline().map(|at| (at, ()))
    }

    fn handle_timeout(&mut self, now: Instant) {
        let released = &mut self.released;
        self.recipient.handle_timeout(now, |msdus| release(released, &msdus));
    }
}

fn release(released: &mut Vec<u64>, msdus: &Msdus) {
    released.extend(msdus.packets().iter().map(|packet| packet.tag));
}

proptest! {
    #[test]
    fn keeps_the_contract(
        start in 0..4_096u16,
        window in prop_oneof![1..=64u16, 1..=1_024u16],
        work in prop::collection::vec(
            (pause(Duration::from_millis(150)), -3..6i32, prop::bool::weighted(0.05)), 1..300),
    ) {
        let timeout = Duration::from_millis(100);
        let first = SeqNo12::new(start);
        let recipient = Recipient::new(first, window, timeout);
        let mut driver = Driver::new(Reorder { recipient, released: Vec::new() });
        let mut sequence = start;
        let (mut taken, mut last_gap) = (0, Instant::ZERO);
        for (tag, (pause, step, request)) in work.into_iter().enumerate() {
            pause.pass(&mut driver, |_, _| {});
            let now = driver.now();
            sequence = sequence.wrapping_add_signed(step as i16) & 0xfff;
            let Reorder { recipient, released } = &mut driver.machine;
            if request {
                recipient.request(SeqNo12::new(sequence), |msdus| release(released, &msdus));
            } else {
                let msdus = Msdus::One(Packet::new(tag as u64, 100, now));
                let sequence = SeqNo12::new(sequence);
                let reception = recipient.receive(now, sequence, msdus, |m| release(released, &m));
                taken += usize::from(reception == Reception::New);
            }
            last_gap = now;
        }
        driver.pause(timeout, |_, _| {});
        prop_assert!(driver.now() >= last_gap + timeout);
        prop_assert_eq!(driver.machine.poll_timeout(), None);
        let mut released = driver.machine.released.clone();
        prop_assert_eq!(released.len(), taken, "what is new goes up");
        released.sort_unstable();
        released.dedup();
        prop_assert_eq!(released.len(), taken, "and goes up once");
    }
}
