//! Deficit round robin with precedence for members that were idle ([RFC
//! 8290](https://www.rfc-editor.org/rfc/rfc8290), section 4.2), and the distribution of flows over
//! its buckets (4.1.2). Members are small numbers. The owner chooses the unit of a deficit: bytes
//! of a flow, airtime of a station. Left out: the packets.

use alloc::collections::VecDeque;

/// The lists of new and of old members.
///
/// Three members with unequal costs share evenly:
///
/// ```
/// use lasthop_packet::aqm::{Members, RoundRobin};
///
/// struct Busy([i64; 3]);
///
/// impl Members for Busy {
///     fn is_eligible(&self, _: u32) -> bool {
///         true
///     }
///
///     fn deficit(&mut self, member: u32) -> &mut i64 {
///         &mut self.0[member as usize]
///     }
///
///     fn is_busy(&self, _: u32) -> bool {
///         true
///     }
///
///     fn unlist(&mut self, _: u32) {}
/// }
///
/// let (mut turns, mut members) = (RoundRobin::default(), Busy([0; 3]));
/// (0..3).for_each(|member| turns.join_old(member));
/// let (costs, mut used) = ([100, 200, 400], [0; 3]);
/// for _ in 0..7_000 {
///     let turn = turns.next(400, &mut members).expect("all are busy");
///     let member = turn.member as usize;
///     *members.deficit(turn.member) -= costs[member];
///     used[member] += costs[member];
/// }
/// assert_eq!(used, [400_000; 3]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundRobin {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

/// Properties of members that a [`RoundRobin`] requires.
pub trait Members {
    /// Whether the member may take a turn now; if not it keeps its place.
    fn is_eligible(&self, member: u32) -> bool;
    /// Amount that the member may still use in this turn.
    fn deficit(&mut self, member: u32) -> &mut i64;
    /// Whether the member has anything to send.
    fn is_busy(&self, member: u32) -> bool;
    /// Notes that the member has left the lists.
    fn unlist(&mut self, member: u32);
}

/// The member whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of the member.
    pub member: u32,
    /// Whether it is in the list of new members.
    pub new: bool,
}

impl RoundRobin {
    /// Adds a member that was idle.
    pub fn join_new(&mut self, member: u32) {
        self.new.push_back(member);
    }

    /// Adds a member ahead of the other new members: its last turn was reverted.
    pub fn rejoin_first(&mut self, member: u32) {
        self.new.push_front(member);
    }

    /// Adds a member after all others.
    pub fn join_old(&mut self, member: u32) {
        self.old.push_back(member);
    }

    /// The member whose turn it is: busy and with a positive deficit. Members whose
    /// deficit is used up get another quantum and wait; members that are idle leave
    /// the lists. Repeated calls give the same answer until something changes.
    #[inline]
    pub fn next(&mut self, quantum: i64, members: &mut impl Members) -> Option<Turn> {
        loop {
            let place = match self.first() {
                Some(first) if members.is_eligible(first.member) => first,
                _ => self.first_where(|member| members.is_eligible(member))?,
            };
            let deficit = members.deficit(place.member);
            if *deficit <= 0 {
                *deficit += self.rounds(*deficit, quantum) * quantum;
                self.move_to_old(place);
            } else if members.is_busy(place.member) {
                return Some(Turn { member: place.member, new: place.new });
            } else if place.new {
                self.move_to_old(place);
            } else {
                members.unlist(place.member);
                self.remove(place);
            }
        }
    }

    /// The first member, which most often may take its turn.
    #[inline]
    fn first(&self) -> Option<Place> {
        let place =
            |list: &VecDeque<u32>, new| list.front().map(|&member| Place { member, new, index: 0 });
        place(&self.new, true).or_else(|| place(&self.old, false))
    }

    /// The first member that `eligible` accepts; new ones come before old ones.
    #[inline(never)]
    fn first_where(&self, eligible: impl Fn(u32) -> bool) -> Option<Place> {
        let find = |list: &VecDeque<u32>, new| {
            let index = list.iter().position(|&member| eligible(member))?;
            Some(Place { member: list[index], new, index })
        };
        find(&self.new, true).or_else(|| find(&self.old, false))
    }

    /// Number of quanta that a member gets for its `deficit`: one, or as many as
    /// needed if no other member could take a turn.
    fn rounds(&self, deficit: i64, quantum: i64) -> i64 {
        if self.new.len() + self.old.len() == 1 { -deficit / quantum + 1 } else { 1 }
    }

    fn remove(&mut self, place: Place) {
        if place.new {
            self.new.remove(place.index)
        } else {
            self.old.remove(place.index)
        };
    }

    #[inline]
    fn move_to_old(&mut self, place: Place) {
        if !place.new && place.index + 1 == self.old.len() {
            return;
        }
        self.remove(place);
        self.old.push_back(place.member);
    }
}

/// A position in a [`RoundRobin`].
#[derive(Clone, Copy)]
struct Place {
    member: u32,
    new: bool,
    index: usize,
}

/// Returns the bucket of a keyed hash (`mixed`), uniform over 0 to `buckets` - 1.
pub fn bucket_of(hash: u32, perturbation: u32, buckets: u16) -> u16 {
    ((u64::from(mixed(hash, perturbation)) * u64::from(buckets)) >> 32) as u16
}

/// Returns a keyed hash of a hash (MurmurHash3's finaliser).
pub(crate) fn mixed(hash: u32, perturbation: u32) -> u32 {
    let mut h = hash ^ perturbation;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Members with packets of these lengths, and the amount that each used.
    struct Lengths {
        packets: Vec<VecDeque<i64>>,
        deficits: Vec<i64>,
        listed: Vec<bool>,
        used: Vec<i64>,
    }

    impl Members for Lengths {
        fn is_eligible(&self, _: u32) -> bool {
            true
        }

        fn deficit(&mut self, member: u32) -> &mut i64 {
            &mut self.deficits[member as usize]
        }

        fn is_busy(&self, member: u32) -> bool {
            !self.packets[member as usize].is_empty()
        }

        fn unlist(&mut self, member: u32) {
            self.listed[member as usize] = false;
        }
    }

    /// MurmurHash3_x86_32 of no bytes is its finaliser of the seed: 514e28b7 with 1, 81f16f39 with
    /// ffffffff (test vectors that its ports share). 2^15 buckets are its upper 15 bits.
    #[test]
    fn buckets_are_those_of_murmur_hash() {
        for (seed, hash) in [(0, 0), (1, 0x514e_28b7_u32), (u32::MAX, 0x81f1_6f39)] {
            for key in [0, 1, 0xdead_beef] {
                assert_eq!(u32::from(bucket_of(seed ^ key, key, 1 << 15)), hash >> 17);
            }
        }
    }

    proptest! {
        /// While all members are busy, none is ahead of another by more than a quantum and a packet
        /// each (Shreedhar and Varghese 1995, lemma 2); at the end every packet is served.
        #[test]
        fn busy_members_get_the_same(
            packets in prop::collection::vec(
                prop::collection::vec_deque(1..1_500i64, 1..60), 1..6),
            quantum in 1..3_000i64,
        ) {
            let count = packets.len();
            let all: i64 = packets.iter().flatten().sum();
            let mut turns = RoundRobin::default();
            let mut members = Lengths {
                packets,
                deficits: vec![quantum; count],
                listed: vec![true; count],
                used: vec![0; count],
            };
            (0..count as u32).for_each(|member| turns.join_new(member));
            let mut all_busy = true;
            while let Some(Turn { member, .. }) = turns.next(quantum, &mut members) {
                let again = turns.next(quantum, &mut members).map(|turn| turn.member);
                prop_assert_eq!(again, Some(member));
                let member = member as usize;
                let length = members.packets[member].pop_front().expect("it is busy");
                members.deficits[member] -= length;
                members.used[member] += length;
                if all_busy {
                    let most = members.used.iter().max().expect("a member");
                    let least = members.used.iter().min().expect("a member");
                    prop_assert!(most - least <= 2 * (quantum + 1_500));
                }
                all_busy &= members.packets.iter().all(|packets| !packets.is_empty());
            }
            prop_assert_eq!(members.used.iter().sum::<i64>(), all);
            prop_assert!(members.listed.iter().all(|listed| !listed));
        }
    }
}
