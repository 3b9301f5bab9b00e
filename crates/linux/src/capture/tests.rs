//! The ring over this test's memory, and captures of real interfaces in a network namespace: a veth
//! pair, and a TAP device that claims to be a monitor interface (`TUNSETLINK`).

#![expect(clippy::disallowed_methods, reason = "packets take real time")]

use super::super::namespace::NetNamespace;
use super::*;
use nix::unistd::write;
use std::mem::ManuallyDrop;
use std::process::Command;
use std::time::Instant;

/// A block's bytes, aligned as the kernel aligns them.
#[repr(C, align(16))]
struct Memory([u8; 2 * BLOCK_BYTES]);

/// The kernel's part: packets, each with its type, in a block.
#[expect(unsafe_code, reason = "plays the kernel's part")]
fn fill(memory: NonNull<u8>, block: usize, packets: &[(u8, &[u8])]) {
    // SAFETY: all that is written lies in the block, aligned as its types need it.
    unsafe {
        let block = memory.add(block * BLOCK_BYTES);
        let mut offset = 48;
        for (kind, bytes) in packets {
            let at = block.add(offset);
            let mac = ADDRESS_OFFSET + ADDRESS_BYTES + 2;
            let next = (mac + bytes.len()).next_multiple_of(16);
            let header = at.cast::<libc::tpacket3_hdr>().as_ptr();
            (*header).tp_sec = 7;
            (*header).tp_nsec = 8;
            (*header).tp_snaplen = bytes.len() as u32;
            (*header).tp_len = bytes.len() as u32 + 1;
            (*header).tp_mac = mac as u16;
            (*header).tp_next_offset = next as u32;
            let address = at.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>();
            address.write(libc::sockaddr_ll { sll_pkttype: *kind, ..EMPTY_ADDRESS });
            at.add(mac).as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            offset += next;
        }
        let head = block.cast::<libc::tpacket_block_desc>().as_ptr();
        (*head).hdr.bh1.num_pkts = packets.len() as u32;
        (*head).hdr.bh1.offset_to_first_pkt = 48;
        (*head).hdr.bh1.block_status = libc::TP_STATUS_USER;
    }
}

#[test]
#[expect(unsafe_code, reason = "plays the kernel's part")]
fn packets_come_in_order_and_blocks_are_given_back() {
    let mut memory = Box::<Memory>::new_uninit();
    // SAFETY: zeros are bytes.
    let mut memory = unsafe {
        memory.as_mut_ptr().write_bytes(0, 1);
        memory.assume_init()
    };
    let ring = NonNull::from(&mut *memory).cast::<u8>();
    // It is not dropped, for the memory is no mapping.
    let mut blocks = ManuallyDrop::new(Blocks::over(ring, 2));
    let texts = |blocks: &mut Blocks| {
        let mut texts = Vec::new();
        while let Some(packet) = blocks.next_packet() {
            assert_eq!(
                (packet.at_ns, packet.length),
                (7_000_000_008, packet.bytes.len() as u32 + 1)
            );
            texts.push(String::from_utf8_lossy(packet.bytes).into_owned());
        }
        texts
    };
    assert_eq!(texts(&mut blocks), [""; 0]);
    let long = "x".repeat(3_000);
    fill(ring, 0, &[(0, b"one"), (libc::PACKET_OUTGOING, b"sent"), (3, long.as_bytes())]);
    fill(ring, 1, &[]);
    assert_eq!(texts(&mut blocks), ["one", &long]);
    fill(ring, 0, &[(0, b"three")]);
    blocks.sees_sent = true;
    fill(ring, 1, &[(libc::PACKET_OUTGOING, b"four")]);
    assert_eq!(texts(&mut blocks), ["three", "four"]);
    for block in 0..2 {
        // SAFETY: as above.
        let head =
            unsafe { ring.add(block * BLOCK_BYTES).cast::<libc::tpacket_block_desc>().read() };
        // SAFETY: as above.
        assert_eq!(unsafe { head.hdr.bh1.block_status }, libc::TP_STATUS_KERNEL);
    }
}

/// Runs `test` in a new network namespace, if the kernel allows that.
pub(crate) fn in_a_namespace(test: fn()) {
    std::thread::scope(|scope| {
        scope.spawn(|| match NetNamespace::create() {
            Ok(_) => test(),
            Err(error) => eprintln!("skipped, because {error}"),
        });
    });
}

pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip can be run");
    assert!(status.success(), "ip {arguments}");
}

/// Packets until there are `count`, or ten seconds have passed.
fn packets(capture: &mut PacketCapture, count: usize) -> Vec<(u64, Vec<u8>)> {
    let (mut packets, start) = (Vec::new(), Instant::now());
    while packets.len() < count && start.elapsed() < Duration::from_secs(10) {
        capture.wait(Duration::from_millis(100)).unwrap();
        while let Some(packet) = capture.next_packet() {
            assert_eq!(packet.bytes.len(), packet.length as usize);
            packets.push((packet.at_ns, packet.bytes.to_vec()));
        }
    }
    packets
}

#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn a_wire_is_captured_until_it_goes_down() {
    in_a_namespace(|| {
        ip("link add left type veth peer name right");
        let text = PacketCapture::open("left").unwrap_err().to_string();
        assert!(text.contains("Network is down") && text.contains("ip link set"), "{text}");
        let text = PacketCapture::open("nothing").unwrap_err().to_string();
        assert!(text.contains("No such device"), "{text}");
        // No neighbours are looked for, so that nothing else is sent.
        for file in ["left", "right"] {
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{file}/disable_ipv6"), "1");
        }
        ip("link set left up");
        ip("link set right up");
        let mut capture = PacketCapture::open("right").unwrap();
        assert_eq!(capture.hardware(), hardware::ETHERNET);
        let sender = PacketCapture::open("left").unwrap();
        let frame = |n: u16| {
            let mut frame = vec![0xff; 6];
            frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
            frame.extend(n.to_be_bytes());
            frame.resize(60 + usize::from(n % 1_400), 7);
            frame
        };
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        for n in 0..3_000 {
            write(&sender.socket, &frame(n)).unwrap();
        }
        let ours = |packet: &(u64, Vec<u8>)| packet.1[12..14] == [0x88, 0xb5];
        let mut got = packets(&mut capture, 3_000);
        got.retain(ours);
        assert_eq!(got.len(), 3_000);
        let after = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        for (n, (at_ns, bytes)) in got.iter().enumerate() {
            assert_eq!(*bytes, frame(n as u16));
            assert!((before..=after).contains(at_ns), "{before} {at_ns} {after}");
        }
        assert_eq!(capture.dropped(), 0);
        // More than the ring holds, and nobody reads: the rest is counted.
        for n in 0..20_000 {
            write(&sender.socket, &frame(1_000 + n % 400)).unwrap();
        }
        let left = 20_000 - capture.dropped() as usize;
        let got = packets(&mut capture, left).len() as u64;
        let dropped = capture.dropped();
        assert!(dropped > 1_000 && got + dropped >= 20_000, "{got} and {dropped}");
        assert!(got > 8_000, "{got}");
        ip("link set right down");
        let text = capture.wait(Duration::from_secs(5)).unwrap_err().to_string();
        assert!(text.starts_with("capture of right: Network is down"), "{text}");
    });
}

mod ioctls {
    use std::os::fd::AsRawFd;

    /// Sets the kind of hardware of a TAP device that is down.
    #[expect(unsafe_code, reason = "an ioctl")]
    pub fn set_hardware(tap: &impl AsRawFd, hardware: u16) -> nix::Result<()> {
        // SAFETY: TUNSETLINK (_IOW('T', 205, int)) takes a number.
        let result =
            unsafe { libc::ioctl(tap.as_raw_fd(), 0x4004_54cd, libc::c_ulong::from(hardware)) };
        nix::errno::Errno::result(result).map(drop)
    }
}

/// An interface called `mon0` that is up and claims to be a monitor interface: frames written to
/// the TAP device are heard. `None` if there are no TAP devices here.
pub(crate) fn monitor_tap() -> Option<OwnedFd> {
    use crate::device::{Interface, create_tap};
    let interface = Interface {
        name: "mon0",
        address: lasthop_units::MacAddr::local(1),
        ipv4: std::net::Ipv4Addr::new(10, 77, 0, 1),
        ipv6: std::net::Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
        mtu: 2_304,
    };
    match create_tap(&interface) {
        Ok(tap) => {
            ip("link set mon0 down");
            ioctls::set_hardware(&tap, hardware::RADIOTAP).unwrap();
            ip("link set mon0 up");
            Some(tap)
        }
        Err(error) => {
            eprintln!("skipped, because {error}");
            None
        }
    }
}

/// Radiotap headers and MPDUs are delivered as they are. The device is no monitor interface, but
/// the socket cannot know.
#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn a_monitor_interface_delivers_what_it_has() {
    in_a_namespace(|| {
        let Some(tap) = monitor_tap() else { return };
        let mut capture = PacketCapture::open("mon0").unwrap();
        assert_eq!(capture.hardware(), hardware::RADIOTAP);
        let mut frame = vec![0, 0, 8, 0, 0, 0, 0, 0, 0xd4, 0, 0, 0];
        frame.extend([2, 0, 0, 0, 0, 1]);
        write(&tap, &frame).unwrap();
        let got = packets(&mut capture, 1);
        assert!(got.iter().any(|(_, bytes)| *bytes == frame), "{got:?}");
    });
}
