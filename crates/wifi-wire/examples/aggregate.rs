//! An A-MPDU of four QoS Data frames, damaged on its way: the second frame fails its FCS, the
//! delimiter of the third is unreadable, and the reader finds the fourth again.
//!
//! `cargo run -p lasthop-wifi-wire --example aggregate`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_units::{MacAddr, SeqNo12};
use lasthop_wifi_wire::data::Addresses;
use lasthop_wifi_wire::frame::{Layout, Repr, View};
use lasthop_wifi_wire::{AckPolicy, Error, Flags, QosControl, SequenceControl, ampdu, data, llc};

const ACCESS_POINT: MacAddr = MacAddr::local(1);
const STATION: MacAddr = MacAddr::local(2);
const IPV4: u16 = 0x0800;

fn main() -> Result<(), Error> {
    let mut writer = ampdu::AmpduWriter::new();
    for sequence in 100..104 {
        writer.push(&mpdu(sequence))?;
    }
    let mut psdu = writer.finish();
    let subframe = psdu.len().div_ceil(4);
    psdu[subframe + 60] ^= 1;
    psdu[2 * subframe + 2] ^= 1;

    println!("offset  bytes  frame     sequence  TID  FCS");
    for subframe in ampdu::AmpduSubframes::new(&psdu) {
        let subframe = match subframe {
            Ok(subframe) => subframe,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        let view = View::new(subframe.mpdu, Layout { fcs: true, ..Layout::default() })?;
        let (sequence, qos) = (view.sequence_control(), view.qos_control());
        println!(
            "{:6}  {:5}  {:8}  {:8}  {:3}  {}",
            subframe.offset,
            subframe.mpdu.len(),
            view.kind().name(),
            sequence.map_or(0, |it| it.sequence.as_u16()),
            qos.map_or(0, |it| it.tid),
            if view.fcs_is_valid() == Some(true) { "valid" } else { "wrong" },
        );
    }
    Ok(())
}

/// A QoS Data frame from the station with 40 bytes of an IPv4 packet.
fn mpdu(sequence: u16) -> Vec<u8> {
    let mut msdu = Vec::new();
    llc::Repr::new(IPV4).emit(&mut msdu);
    msdu.extend([0x45; 40]);
    let frame = data::Repr {
        flags: Flags::default(),
        duration_us: 44,
        addresses: Addresses::ToDs {
            bssid: ACCESS_POINT,
            source: STATION,
            destination: ACCESS_POINT,
        },
        sequence_control: SequenceControl::new(SeqNo12::new(sequence)),
        qos: Some(QosControl { tid: 5, ack_policy: AckPolicy::Normal, ..QosControl::default() }),
        ht_control: None,
        body: Some(&msdu),
    };
    Repr::from(frame).to_mpdu()
}
