#!/usr/bin/env python3
"""Measures walks of a station between two access points (guest/roam.sh). Run in the directory of
the kept files: for each NAME.walk it reads NAME.pcap (hwsim0), NAME.trace (the kernel's log of scans
and levels), NAME.wpa (wpa_supplicant's log with times) and NAME.ping; all have the guest's wall
clock. Prints lines as checks do, and writes roam.csv: a row for each roam."""

import collections
import csv
import glob
import os
import re
import statistics
import struct

ACCESS_POINTS = ("02:00:00:00:00:00", "02:00:00:00:01:00")
STATION = "02:00:00:00:02:00"
PHY, INTERFACE = "phy2", "wlan2"
FCS = 4
# Noise of 20 MHz with the default noise figure, as `lasthop medium` reports levels.
NOISE_DBM = -94
# What belongs to a roam comes within these seconds of its reassociation.
NEAR_S = 3.0
HANDSHAKE = ["eapol1", "eapol2", "eapol3", "eapol4"]
OPEN = ["auth-open1", "auth-open2", "reassociation-request", "reassociation-response"]
ORDERS = {
    "open": OPEN,
    "wpa2": OPEN + HANDSHAKE,
    "sae": ["auth-sae1", "auth-sae1", "auth-sae2", "auth-sae2"] + OPEN[2:] + HANDSHAKE,
    "ft": ["auth-ft1", "auth-ft2"] + OPEN[2:],
    "ft-ds": ["ft-request", "ft-response"] + OPEN[2:],
}

Frame = collections.namedtuple("Frame", "at name octets to by bssid mhz body")


def mac(octets):
    return ":".join(f"{octet:02x}" for octet in octets)


def radiotap(packet):
    """Length of the header and frequency in MHz (TSFT, flags, rate, channel are read)."""
    length, present = struct.unpack_from("<xxHI", packet)
    at = 8
    if present & 1:
        at += 8
    at += bool(present & 2) + bool(present & 4)
    at += at % 2
    return length, struct.unpack_from("<H", packet, at)[0] if present & 8 else 0


def name_of(kind, subtype, flags, body):
    if kind == 0:
        if subtype == 11 and len(body) >= 6:
            algorithm, number = struct.unpack_from("<HH", body)
            return f"auth-{({0: 'open', 2: 'ft', 3: 'sae'}).get(algorithm, algorithm)}{number}"
        if subtype == 13 and len(body) >= 2 and body[0] == 6 and not flags & 0x40:
            return {1: "ft-request", 2: "ft-response"}.get(body[1], "action")
        return {0: "association-request", 1: "association-response", 2: "reassociation-request",
                3: "reassociation-response", 4: "probe-request", 5: "probe-response", 8: "beacon",
                10: "disassociation", 12: "deauthentication", 13: "action"}.get(subtype, f"management{subtype}")
    if kind == 1:
        return f"control{subtype}"
    if subtype & 4:
        return "null1" if flags & 0x10 else "null0"
    if not flags & 0x40 and body[6:8] == b"\x88\x8e" and len(body) >= 15:
        key, length = struct.unpack_from(">H", body, 13)[0], struct.unpack_from(">H", body, 105)[0] if len(body) >= 107 else 0
        ack, mic = key & 0x80, key & 0x100
        return "eapol1" if ack and not mic else "eapol3" if ack else "eapol2" if length else "eapol4"
    # Group data, and ARP where it can be read, is not what a user waits for.
    return "arp" if not flags & 0x40 and body[6:8] == b"\x08\x06" else "data"


def frames_of(path):
    """Frames of a capture with radiotap headers; control frames are left out."""
    data = open(path, "rb").read()
    magic = struct.unpack_from("<I", data)[0]
    unit = {0xA1B2C3D4: 1e-6, 0xA1B23C4D: 1e-9}[magic]
    at, frames = 24, []
    while at + 16 <= len(data):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16:at + 16 + kept]
        at += 16 + kept
        begin, mhz = radiotap(packet)
        frame = packet[begin:]
        if len(frame) < 24:
            continue
        kind, subtype, flags = frame[0] >> 2 & 3, frame[0] >> 4, frame[1]
        header = 24 + (2 if kind == 2 and subtype & 8 else 0)
        to, by, third = mac(frame[4:10]), mac(frame[10:16]), mac(frame[16:22])
        bssid = third if kind != 2 else to if flags & 3 == 1 else by if flags & 3 == 2 else third
        body = frame[header:]
        name = name_of(kind, subtype, flags, body)
        if name == "data" and frame[16 if flags & 1 else 4] & 1:
            name = "group-data"
        if not name.startswith("control"):
            frames.append(Frame(seconds + fraction * unit, name, length - begin + FCS, to, by, bssid, mhz, body))
    return frames


def trace_of(path):
    """Scans as (begin, end), channels as (time, MHz), level events as (time, low or high, dBm)."""
    scans, channels, levels, losses = [], [], [], []
    for line in open(path):
        event = re.search(r" (\d+\.\d+): (\w+):(.*)", line)
        if not event or PHY not in event[3] and INTERFACE not in event[3]:
            continue
        at, name, rest = float(event[1]), event[2], event[3]
        if name == "drv_sw_scan_start":
            scans.append([at, None])
        elif name == "drv_sw_scan_complete" and scans:
            scans[-1][1] = at
        elif name == "drv_config":
            found = re.search(r"(?:control:|chandef\()(\d+)", rest)
            if found:
                channels.append((at, int(found[1])))
        elif name == "api_cqm_rssi_notify":
            found = re.search(r"event:(\d+) rssi:(-?\d+)", rest)
            levels.append((at, "low" if found[1] == "0" else "high", int(found[2])))
        elif name == "api_cqm_beacon_loss_notify":
            losses.append(at)
    return [scan for scan in scans if scan[1]], channels, levels, losses


def lost_pings(path):
    """Sequence numbers that were answered, with their times."""
    answered = {}
    for line in open(path):
        found = re.match(r"\[(\d+\.\d+)\].*icmp_seq=(\d+) ttl", line)
        if found:
            answered[int(found[2])] = float(found[1])
    return answered


def judge(name, holds, figures):
    print("ok" if holds else "FAIL", f"{name}: {figures}")


def ms(seconds):
    return round(seconds * 1e3, 3)


def listed(frames, zero):
    return " ".join(f"{f.name}:{f.octets}+{ms(f.at - zero):.1f}" for f in frames)


class Walks:
    def __init__(self, name):
        self.name = name
        words = open(f"{name}.walk").read().split()
        self.zero, self.security, self.bgscan = float(words[0]), words[1], words[2]
        self.legs, self.first, self.span, self.rest, self.near, self.far = map(int, words[3:9])
        self.period = self.span + self.rest + float(words[9])
        self.frames = [f for f in frames_of(f"{name}.pcap") if STATION in (f.to, f.by)]
        self.scans, self.channels, self.levels, self.losses = trace_of(f"{name}.trace")
        self.answered = lost_pings(f"{name}.ping")
        self.threshold = int(self.bgscan.split(":")[2])

    def leg_begin(self, leg):
        return self.zero + self.first + leg * self.period

    def leg_of(self, at):
        """Number of the walk, from 0: each ends where the next one begins."""
        return int((at - self.leg_begin(0)) // self.period)

    def step(self, leg):
        """Instant of the step that takes the signal of the access point behind below the threshold."""
        steps = max(1, min(self.span, self.near + NOISE_DBM - (self.threshold - 1)))
        return self.leg_begin(leg) + steps - 1

    def roams(self):
        """Rows, one for each reassociation with another access point."""
        rows, here = [], None
        for index, frame in enumerate(self.frames):
            if frame.name not in ("reassociation-response", "association-response") or frame.to != STATION:
                continue
            if struct.unpack_from("<H", frame.body, 2)[0] != 0:
                continue
            before, here = here, frame.bssid
            if before not in (None, here) and self.leg_of(frame.at) >= 0:
                rows.append(self.roam(index, before))
        numbers = collections.Counter()
        for row in rows:
            numbers[row["walk"]] += 1
            row["roam"] = numbers[row["walk"]]
        return rows

    def roam(self, index, old):
        response = self.frames[index]
        new, at = response.bssid, response.at
        around = [f for f in self.frames if abs(f.at - at) < NEAR_S]
        mine = [f for f in around if f.bssid == new and f.name not in ("probe-response", "beacon", "data", "group-data", "arp")
                and not f.name.startswith("null") and f.name != "action"]
        over_ds = [f for f in around if f.name in ("ft-request", "ft-response") and f.at < at]
        mine = sorted(over_ds + mine)
        auth = [f for f in mine if f.name.startswith(("auth", "ft-")) and f.at <= at]
        keys = [f for f in mine if f.name.startswith("eapol") and f.at > at]
        request = [f for f in mine if f.name.endswith("association-request") and f.at <= at][-1]
        begin = auth[0].at if auth else request.at
        end = keys[-1].at if keys else at
        of_roam = [f for f in mine if begin <= f.at <= end]
        data = [f for f in self.frames if f.name == "data"]
        after = [f for f in data if f.bssid == new and f.at > end]
        last = [f for f in data if f.bssid == old and f.at < begin]
        scan = [s for s in self.scans if s[1] <= begin + 0.001]
        scan = scan[-1] if scan else None
        in_scan = [f for f in self.frames if scan and scan[0] - 0.05 <= f.at <= scan[1] + 0.02
                   and f.name in ("null0", "null1", "probe-request", "probe-response")]
        probes = [f for f in in_scan if f.name == "probe-request"]
        nulls = [f for f in in_scan if f.name.startswith("null")]
        visited = {mhz for t, mhz in self.channels if scan and scan[0] <= t <= scan[1]}
        leg = self.leg_of(begin)
        step = self.step(leg)
        low = [t for t, kind, _ in self.levels if kind == "low" and step - 5 < t < begin]
        lost = self.outage(begin, end)
        return {
            "security": self.security, "bgscan": self.bgscan, "walk": leg + 1, "roam": 1,
            "to": 1 + ACCESS_POINTS.index(new),
            "low_ms": ms(low[0] - step) if low else "",
            "scan_begin_ms": ms(scan[0] - step) if scan else "",
            "begin_ms": ms(begin - step),
            "scan_ms": ms(scan[1] - scan[0]) if scan else "",
            "channels": len(visited), "probe_requests": len(probes),
            "absences": sum(f.name == "null1" for f in nulls),
            "decision_ms": ms(begin - scan[1]) if scan else "",
            "auth_ms": ms(auth[-1].at - begin) if auth else 0,
            "wait_ms": ms(request.at - auth[-1].at) if auth else 0,
            "assoc_ms": ms(at - request.at),
            "handshake_ms": ms(keys[-1].at - at) if keys else 0,
            "first_data_ms": ms(after[0].at - end) if after else "",
            "without_data_ms": ms(after[0].at - last[-1].at) if after and last else "",
            "pings_lost": lost,
            "frames": listed(of_roam, begin),
            "order": [f.name for f in of_roam],
            "scan_frames": listed(in_scan, scan[0]) if scan else "",
        }

    def outage(self, begin, end):
        """Pings without an answer around a roam."""
        sequence = sorted(self.answered.items(), key=lambda item: item[0])
        lost = 0
        for (n, t), (m, u) in zip(sequence, sequence[1:]):
            if m > n + 1 and t < end + 1 and u > begin - 1:
                lost += m - n - 1
        return lost


def spoken(path):
    """Lines of wpa_supplicant's log with their times."""
    for line in open(path, errors="replace"):
        found = re.match(r"(\d+\.\d+): (.*)", line)
        if found:
            yield float(found[1]), found[2]


def measure_losses(name, walks):
    """Rows of the silences of guest/roam.sh's 66-roam-loss: times in ms from the last beacon that
    the station could receive."""
    rows, log = [], list(spoken(f"{name}.wpa"))
    beacons = [f for f in frames_of(f"{name}.pcap") if f.name == "beacon"]
    for leg in range(walks.legs):
        silent, back = walks.leg_begin(leg), walks.leg_begin(leg) + walks.span
        old = ACCESS_POINTS[leg % 2]
        last = [f for f in beacons if f.bssid == old and f.at < silent]
        gone = [t for t, text in log if "CTRL-EVENT-DISCONNECTED" in text and silent < t < back]
        noticed = [t for t in walks.losses if silent < t < back]
        mine = [f for f in walks.frames if silent < f.at < back]
        done = [f for f in mine if f.name == "reassociation-response" or f.name == "association-response"]
        if not last or not gone or not done:
            judge(f"{name}-{leg + 1}", False, f"disconnected {len(gone)} times, connected {len(done)} times")
            continue
        zero = last[-1].at
        polls = [f for f in mine if f.by == STATION and f.bssid == old and noticed
                 and noticed[0] - 0.005 <= f.at <= gone[0] and (f.name.startswith("null") or f.name == "probe-request")]
        scan = [s for s in walks.scans if gone[0] < s[0] < done[0].at]
        auth = [f for f in mine if f.name.startswith("auth")]
        rows.append({
            "security": walks.security, "walk": leg + 1, "reason": next(re.search(r"reason=(\d+)", text)[1] for t, text in log if t == gone[0] and "DISCONNECTED" in text),
            "noticed_ms": ms(noticed[0] - zero) if noticed else "", "polls": listed(polls, zero),
            "disconnected_ms": ms(gone[0] - zero), "scan_begin_ms": ms(scan[0][0] - zero) if scan else "",
            "scan_ms": ms(scan[0][1] - scan[0][0]) if scan else "", "auth_begin_ms": ms(auth[0].at - zero) if auth else "",
            "connected_ms": ms(done[0].at - zero),
        })
    figures = []
    for key in ("noticed_ms", "disconnected_ms", "scan_begin_ms", "scan_ms", "connected_ms"):
        values = [row[key] for row in rows if row[key] != ""]
        if values:
            figures.append(f"{key[:-3]} {statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})")
    # round_jiffies_up: seven beacon intervals after the last beacon, at the next whole second of the
    # kernel's ticks, which drift by some ms against the wall clock.
    fractions = [t % 1 for t in walks.losses]
    spread = min(max((f - fractions[0] + 0.5) % 1 for f in fractions) - min((f - fractions[0] + 0.5) % 1 for f in fractions), 1)
    judge(f"{name}-ticks", spread < 0.03 and all(716 <= row["noticed_ms"] <= 1725 for row in rows if row["noticed_ms"] != ""),
          f"{len(fractions)} losses noticed within {ms(spread)} ms of the same fraction of a second")
    judge(f"{name}-polls", all(row["polls"].count("null0:") == 2 for row in rows), "two Null frames each before the station gives up")
    judge(f"{name}-times", len(rows) == walks.legs, f"{len(rows)} of {walks.legs}, medians in ms: " + ", ".join(figures))
    return rows


def measure(name, kernel, rows_of_all):
    walks = Walks(name)
    if name == "loss":
        rows_of_all.extend({"kernel": kernel, "name": name, **row} for row in measure_losses(name, walks))
        return
    rows = walks.roams()
    by_walk = collections.Counter(row["walk"] for row in rows)
    walked = [by_walk.get(leg + 1, 0) for leg in range(walks.legs)]
    judge(f"{name}-roams", all(n == 1 for n in walked), f"{' '.join(map(str, walked))} roams in {walks.legs} walks")
    if not rows:
        return
    expected = [ORDERS.get(walks.security, ORDERS["wpa2"])]
    if walks.security == "sae-cached":
        expected = [ORDERS["sae"], ORDERS["wpa2"]]
    if walks.security == "ft-ds":
        # 6.12 refuses to associate without an authentication: it comes over the air then.
        expected.append(ORDERS["ft-ds"][:2] + ORDERS["ft"])
    orders = collections.Counter(tuple(row["order"]) for row in rows)
    judge(f"{name}-order", all(list(order) in expected for order in orders),
          "; ".join(f"{times} times {' '.join(order)}" for order, times in orders.most_common(3)))
    figures = []
    for key in ("low_ms", "begin_ms", "scan_ms", "decision_ms", "auth_ms", "wait_ms", "assoc_ms", "handshake_ms", "first_data_ms", "without_data_ms"):
        values = [row[key] for row in rows if row[key] != ""]
        if values:
            figures.append(f"{key[:-3]} {statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})")
    judge(f"{name}-phases", all(row["assoc_ms"] < 100 for row in rows), "medians in ms: " + ", ".join(figures))
    for row in rows:
        rows_of_all.append({"kernel": kernel, "name": name, **{k: v for k, v in row.items() if k != "order"}})


def main():
    names = sorted(os.path.splitext(path)[0] for path in glob.glob("*.walk"))
    if not names:
        print("skip roam: nothing was kept")
        return
    rows = []
    kernel = os.path.basename(os.path.dirname(os.path.dirname(os.getcwd())))
    for name in names:
        measure(name, kernel, rows)
    if rows:
        with open("roam.csv", "w", newline="") as out:
            table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


main()
