//! The kernel's filter and the socket, at a TAP device that claims to be a monitor interface.

use super::super::capture::hardware;
use super::super::capture::tests::{in_a_namespace, ip, monitor_tap};
use super::*;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// Waits for `count` frames, or until none has come for half a second.
fn heard(socket: &MonitorSocket, inbox: &mut Inbox, count: usize) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    while heard.len() < count {
        let mut waits = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waits, PollTimeout::from(500_u16)).unwrap() == 0 {
            break;
        }
        socket.receive(inbox).unwrap();
        socket.each(inbox, &mut |captured| heard.push(captured.to_vec()));
    }
    heard
}

/// A radiotap header of `header_bytes`, and a frame of `bytes` whose first octet is `first`.
fn captured(header_bytes: usize, first: u8, bytes: usize) -> Vec<u8> {
    let mut captured = vec![0; header_bytes];
    captured[2..4].copy_from_slice(&(header_bytes as u16).to_le_bytes());
    captured.push(first);
    captured.resize(header_bytes + bytes, 7);
    captured
}

/// Frames of all types and subtypes, with headers of up to some hundred octets: Data and QoS Data
/// with protocol version 0 pass, others do not, and neither do frames that a parser cannot read,
/// such as one with a header that is longer than the packet.
#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn the_kernel_passes_data_frames() {
    in_a_namespace(|| {
        let Some(tap) = monitor_tap() else { return };
        let socket = MonitorSocket::open("mon0").unwrap();
        assert_eq!(socket.hardware(), hardware::RADIOTAP);
        let mut inbox = Inbox::new(2_000, false);
        // What the host itself has to say on a new interface is no data frame.
        heard(&socket, &mut inbox, 1);
        let mut expected = Vec::new();
        for header_bytes in [8, 36, 255, 256, 600] {
            for first in 0..=u8::MAX {
                let frame = captured(header_bytes, first, 100);
                write(&tap, &frame).unwrap();
                if matches!(first, 0x08 | 0x88) {
                    expected.push(frame);
                }
            }
        }
        let mut beyond = captured(8, 0x08, 100);
        beyond[2..4].copy_from_slice(&5_000_u16.to_le_bytes());
        write(&tap, &beyond).unwrap();
        let last = captured(8, 0x88, 1_400);
        write(&tap, &last).unwrap();
        expected.push(last);
        // One more than is expected would be waited for.
        let heard = heard(&socket, &mut inbox, expected.len() + 1);
        assert_eq!(heard.len(), expected.len());
        assert!(heard == expected);
    });
}

#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn what_finds_the_buffer_full_is_counted_and_an_interface_may_come_and_go() {
    in_a_namespace(|| {
        let Some(tap) = monitor_tap() else { return };
        let text = MonitorSocket::open("nothing").unwrap_err().to_string();
        assert!(text.contains("No such device"), "{text}");
        let mut socket = MonitorSocket::open("mon0").unwrap();
        let frame = captured(8, 0x08, 1_400);
        for _ in 0..20_000 {
            write(&tap, &frame).unwrap();
        }
        let dropped = socket.dropped();
        assert!(dropped > 1_000, "{dropped}");
        let mut inbox = Inbox::new(2_000, false);
        let heard_all = heard(&socket, &mut inbox, 20_000);
        assert_eq!(heard_all.len() as u64 + dropped, 20_000);
        ip("link set mon0 down");
        assert_eq!(socket.receive(&mut inbox), Err(Errno::ENETDOWN));
        assert_eq!(socket.receive(&mut inbox), Ok(false));
        let text = MonitorSocket::open("mon0").unwrap_err().to_string();
        assert!(text.contains("Network is down") && text.contains("ip link set"), "{text}");
        assert!(socket.is_attached());
        ip("link set mon0 up");
        write(&tap, &frame).unwrap();
        assert_eq!(heard(&socket, &mut inbox, 1), [frame]);
        drop(tap);
        assert!(!socket.is_attached());
    });
}
