# The air beside a bridge: what a and b send to it, as a monitor interface in the namespace of
# this process hears it: radiotap headers and data frames of IEEE 802.11, of every kind in turn,
# some of them damaged, sent again, encrypted or of other protocols. The interface mon0 is a TAP
# device that says that it was a monitor. Nothing is heard before the helper has written to h.log.
# Prints at the end how many datagrams, retransmissions, damaged and encrypted frames there were.
#
# usage: air.py CLEAR|ENCRYPTED: all frames are encrypted, or few of them.

import ctypes, fcntl, os, select, signal, socket, struct, subprocess, sys, time, zlib

TUNSETIFF, TUNSETLINK, IFF_TAP, IFF_NO_PI, RADIOTAP = 0x400454CA, 0x400454CD, 2, 0x1000, 803
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH14x", b"mon0", IFF_TAP | IFF_NO_PI))
fcntl.ioctl(tap, TUNSETLINK, RADIOTAP)
subprocess.check_call("echo 1 > /proc/sys/net/ipv6/conf/mon0/disable_ipv6; ip link set mon0 up", shell=True)
with open("/run/netns/bridge") as bridge:
    assert ctypes.CDLL(None).setns(bridge.fileno(), 0x40000000) == 0
while not (os.path.exists("h.log") and os.path.getsize("h.log")):
    time.sleep(0.02)
ports = []
for name in ["at-a", "at-b"]:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    # A socket of one protocol would hear nothing: the bridge takes the frames before.
    port.bind((name, 3))
    ports.append(port)

HELPER = bytes.fromhex("020000000003")
POINT = bytes.fromhex("0200000000aa")
is_encrypted = sys.argv[1] == "ENCRYPTED"
sequences = {}

def write(captured):
    try:
        os.write(tap, captured)
    except OSError:
        pass  # It is down.

def radiotap(flags):
    return struct.pack("<BBHIBB", 0, 0, 10, 1 << 1 | 1 << 2, flags, 12)

def hear(mpdu, damage=0):
    fcs = struct.pack("<I", zlib.crc32(mpdu) ^ damage)
    write(radiotap(0x10) + mpdu + fcs)

def data(kind, to, by, at, sequence, body, more=b""):
    return struct.pack("<HH6s6s6sH", kind, 44, to, by, at, sequence << 4) + more + body

def number(*origin):
    sequences[origin] = (sequences.get(origin, 99) + 1) % 4096
    return sequences[origin]

count = again = damaged = encrypted = 0
def end(*_):
    print(count, again, damaged, encrypted, flush=True)
    os._exit(0)

signal.signal(signal.SIGTERM, end)
while True:
    for port in select.select(ports, [], [])[0]:
        frame, about = port.recvfrom(65536)
        if about[2] == socket.PACKET_OUTGOING or frame[12:14] != b"\x88\xb5":
            continue
        to, by = frame[:6], frame[6:12]
        if to == HELPER:
            continue  # Its own interface hears that.
        msdu = bytes.fromhex("aaaa03000000") + frame[12:]
        kind = count % 6
        count += 1
        protected = 0x4000 if is_encrypted else 0
        if kind == 0:  # to the access point, with QoS; damaged at first
            mpdu = data(0x0188 | protected, POINT, by, to, number(by, 0), msdu, b"\0\0")
            hear(mpdu, damage=1)
            damaged += 1
            hear(mpdu[:1] + bytes([mpdu[1] | 8]) + mpdu[2:])
        elif kind == 1:  # from it, without QoS; heard twice
            mpdu = data(0x0208 | protected, to, POINT, by, number(POINT), msdu)
            hear(mpdu)
            if not to[0] & 1:  # Nobody repeats frames to groups.
                hear(mpdu[:1] + bytes([mpdu[1] | 8]) + mpdu[2:])
                again += 1
        elif kind == 2:  # between stations; the driver says that one is damaged
            write(radiotap(0x40) + data(0x0008, to, by, POINT, 5, msdu))
            damaged += 1
            hear(data(0x0008 | protected, to, by, POINT, number(by), msdu))
        elif kind == 3:  # four addresses, and another TID
            mpdu = data(0x0388 | protected, POINT, by, to, number(by, 5), msdu, by + b"\5\0")
            hear(mpdu)
        elif kind == 4:  # an A-MSDU of two protocols; the FCS is not delivered
            other = bytes.fromhex("aaaa030000000800") + bytes(21)
            parts = b""
            for one in (other, msdu):
                parts += bytes(-len(parts) % 4) + to + by + struct.pack(">H", len(one)) + one
            mpdu = data(0x0188 | protected, POINT, by, POINT, number(by, 0), parts, b"\x80\0")
            write(radiotap(0) + mpdu)
        else:  # HT Control, and padding behind the header
            mpdu = data(0x8188 | protected, POINT, by, to, number(by, 0), msdu, b"\0\0\1\2\3\4\0\0")
            write(radiotap(0x20) + mpdu)
        # A beacon, an acknowledgement, an encrypted frame of others.
        write(radiotap(0) + data(0x0080, b"\xff" * 6, POINT, POINT, 1, bytes(60)))
        write(radiotap(0) + struct.pack("<HH6s", 0x00D4, 0, by))
        if count % 50 == 0:
            hear(data(0x4188, POINT, by, to, 3, bytes(80), b"\0\0"))
            encrypted += 1
