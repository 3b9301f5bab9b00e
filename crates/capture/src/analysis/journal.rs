//! Events for the analysis of several captures together ([`crate::join`]): each packet of IP with
//! the time of its PPDU, and each acknowledgement on the air. Events are recorded only after
//! [`Analysis::watch`](super::Analysis::watch); the caller takes them after each packet.

use crate::air::AirEvent;
use crate::air::stations::StationId;
use crate::sighting::{AirCarrier, Event, Header, Sighting};
use crate::transport::Carrier;
use std::collections::VecDeque;

/// Events that the caller has not taken.
#[derive(Debug, Default)]
pub(super) struct Journal {
    events: VecDeque<Event>,
    /// Packets of the PPDU that has not ended, with their interface.
    open: Vec<(u32, Sighting)>,
}

impl Journal {
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Records a packet of IP. `bytes` is its length on the air or the wire.
    pub fn handle_packet(
        &mut self,
        interface: u32,
        packet: &[u8],
        bytes: u64,
        carrier: Carrier,
        link: Option<(StationId, StationId)>,
    ) {
        let Some(header) = Header::parse(packet, bytes) else { return };
        let air = carrier.mpdu.zip(link).map(|((_, tid, sequence), (from, to))| AirCarrier {
            from: from.index() as u32,
            to: to.index() as u32,
            tid,
            sequence,
            retry: carrier.retry,
            to_ds: carrier.to_ds,
        });
        let sighting = Sighting {
            interface,
            number: carrier.number,
            begin_ns: carrier.at_ns,
            end_ns: carrier.at_ns,
            exact: true,
            air,
            header,
        };
        match carrier.mpdu {
            Some(_) => self.open.push((interface, sighting)),
            None => self.events.push_back(Event::Seen(sighting)),
        }
    }

    pub fn handle_air(&mut self, interface: u32, event: AirEvent) {
        match event {
            AirEvent::Mpdu { number, begin_ns, end_ns, exact } => {
                let events = &mut self.events;
                self.open.retain(|&(of, mut sighting)| {
                    let is_it = of == interface && sighting.number == number;
                    if is_it {
                        (sighting.begin_ns, sighting.end_ns) = (begin_ns, end_ns);
                        sighting.exact = exact;
                        events.push_back(Event::Seen(sighting));
                    }
                    !is_it
                });
            }
            AirEvent::Acknowledged { from, to, tid, sequence, at_ns } => {
                let (from, to) = (from.index() as u32, to.index() as u32);
                let sequence = sequence.as_u16();
                self.events.push_back(Event::Acknowledged {
                    interface,
                    from,
                    to,
                    tid,
                    sequence,
                    at_ns,
                });
            }
        }
    }
}
