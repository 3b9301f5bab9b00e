"""``--perfetto`` of the command, read with Perfetto's own messages (the package perfetto)."""

from __future__ import annotations

import collections
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

protos: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

LASTHOP = Path(sysconfig.get_path("scripts")) / "lasthop"


def trace(folder: Path, *arguments: str) -> Any:
    """The trace of a simulated run."""
    file = folder / "air.perfetto-trace"
    command = [str(LASTHOP), "simulate", *arguments, "--perfetto", str(file)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    read = protos.Trace()
    read.ParseFromString(file.read_bytes())
    assert [path.name for path in folder.iterdir()] == [file.name]
    # Every byte is of a field that Perfetto knows.
    assert not read.FindInitializationErrors()
    again = protos.Trace()
    again.ParseFromString(read.SerializeToString())
    assert again == read
    return read


def slices(read: Any) -> dict[int, list[tuple[int, int, Any]]]:
    """By track: begin, end and event of each slice, which may not overlap."""
    open_: dict[int, tuple[int, Any]] = {}
    found: dict[int, list[tuple[int, int, Any]]] = collections.defaultdict(list)
    events = [packet for packet in read.packet if packet.HasField("track_event")]
    # As the viewer does: by time, and what was written first is first.
    for packet in sorted(events, key=lambda packet: int(packet.timestamp)):
        event, at = packet.track_event, packet.timestamp
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_, "slices of a track overlap"
            open_[event.track_uuid] = (at, event)
        elif event.type == event.TYPE_SLICE_END:
            begin, first = open_.pop(event.track_uuid)
            found[event.track_uuid].append((begin, at, first))
    assert open_ == {}
    return found


def notes(event: Any) -> dict[str, Any]:
    """What a slice says about itself."""
    values: dict[str, Any] = {}
    for note in event.debug_annotations:
        values[note.name] = getattr(note, note.WhichOneof("value"))
    return values


def tracks(read: Any) -> dict[int, str]:
    """Names of tracks: that of the process, and that inside it."""
    packets = [packet for packet in read.packet if packet.HasField("track_descriptor")]
    described = [packet.track_descriptor for packet in packets]
    processes = {it.uuid: it.process.process_name for it in described if it.HasField("process")}
    pids = [it.process.pid for it in described if it.HasField("process")]
    assert len(set(pids)) == len(pids)
    assert len({it.uuid for it in described}) == len(described)
    names = {it.uuid: f"{processes[it.parent_uuid]}: {it.name}" for it in described if it.parent_uuid}
    return {**processes, **names}


def test_the_air_of_a_run(tmp_path: Path) -> None:
    read = trace(tmp_path, "upload", "--set", "duration=4s")
    names, found = tracks(read), slices(read)
    assert {"laptop", "ap", "server", "flow upload", "flow ping"} <= set(names.values())
    assert "server: PPDUs sent" not in names.values()
    by_name: dict[str, list[tuple[int, int, Any]]] = collections.defaultdict(list)
    for uuid, of_track in found.items():
        by_name[names[uuid]] += of_track
    ppdus = [ppdu for name in ("laptop", "ap") for ppdu in by_name[f"{name}: PPDUs sent"]]
    assert len(ppdus) > 500
    data = [(begin, end, it) for begin, end, it in ppdus if it.name == "qos_data to ap"]
    assert len(data) > 100
    for begin, end, event in data:
        said = notes(event)
        # An A-MPDU at MCS 0 is bounded by 5.484 ms or so; its rate is 6.5 Mb/s.
        assert 0 < end - begin < 6_000_000
        assert said["receiver"] == "ap" and "MCS 0" in said["rate"]
        assert 0 < said["received"] <= said["mpdus"] or said["collided"] or said["received"] == 0
        least = said["bytes"] * 8 / 6.5e6 * 1e9
        assert least <= end - begin <= least + 60_000
    # Each packet that arrived over the air has an arrow to a PPDU inside its time.
    arrows = collections.defaultdict(list)
    for begin, end, event in ppdus:
        for flow in event.flow_ids:
            arrows[flow].append((begin, end))
    packets = by_name["flow ping: flow ping"] + by_name["flow upload: flow upload"]
    arrived = [(begin, end, it) for begin, end, it in packets if it.name == "packet arrived"]
    assert len(arrived) > 100
    for begin, end, event in arrived:
        [arrow] = event.flow_ids
        assert arrows[arrow], "no PPDU carried it"
        assert all(begin <= start and stop <= end for start, stop in arrows[arrow])
        # The parts of its delay add up.
        parts = {name: value for name, value in notes(event).items() if name.endswith("_ns")}
        assert parts["wire_ns"] >= 10_000_000
        assert abs(sum(parts.values()) - (end - begin)) <= 1_000


def test_absences_and_counters(tmp_path: Path) -> None:
    read = trace(tmp_path, "scan", "--set", "duration=20s")
    names, found = tracks(read), slices(read)
    of_nodes = [of_track for uuid, of_track in found.items() if names[uuid].endswith(": absences")]
    absences = [it for of_track in of_nodes for it in of_track]
    assert absences
    assert {event.name for _, _, event in absences} == {"off its channel"}
    assert all(0 < end - begin < 1_000_000_000 for begin, end, _ in absences)
    counters: dict[str, list[float]] = collections.defaultdict(list)
    for packet in read.packet:
        event = packet.track_event
        if packet.HasField("track_event") and event.type == event.TYPE_COUNTER:
            counters[names[event.track_uuid]].append(event.double_counter_value)
    airtime = counters["ap: airtime"]
    assert len(airtime) >= 190 and all(0 <= share <= 100 for share in airtime)
    assert any(name.endswith(": queue") and max(values) > 0 for name, values in counters.items())


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        trace(folder, "contention", "--set", "duration=500ms")
        written.append((folder / "air.perfetto-trace").read_bytes())
    assert written[0] == written[1]
