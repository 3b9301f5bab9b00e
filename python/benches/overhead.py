"""What a run costs from Python, beside the command; and what tables and buffers cost.

    python python/benches/overhead.py [--runs 9]

Prints medians, and ratios of medians that were measured in turn. It is no test: times depend
on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import lasthop
from lasthop import rlnc

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sysconfig.get_path("scripts")) / "lasthop"


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def runs_of(count: int) -> None:
    file = ROOT / "scenarios/hello.toml"
    scenario = lasthop.Scenario.load(file).with_(duration="10s")
    arguments = [str(COMMAND), "simulate", str(file), "--set", "duration=10s", "--json"]
    walls: dict[str, list[float]] = {"command": [], "Python": [], "with series": []}
    for _ in range(count):
        output = subprocess.run(arguments, check=True, capture_output=True).stdout
        walls["command"].append(json.loads(output)["runs"][0]["wall_s"])
        walls["Python"].append(seconds(lambda: lasthop.simulate(scenario, series=False)))
        walls["with series"].append(seconds(lambda: lasthop.simulate(scenario)))
    # The least says more than the median where other programs take the processor away.
    for which, value in (("median", statistics.median), ("least", min)):
        for name, values in walls.items():
            ms, ratio = value(values) * 1e3, value(values) / value(walls["command"])
            print(f"a run of 10 s, {name}: {which} {ms:.1f} ms, {ratio:.3f} of the command's")


def table_of_a_million() -> None:
    import polars

    # A million events and somewhat more.
    scenario = lasthop.Scenario.load(ROOT / "scenarios/hello.toml").with_(duration="50s")
    bare = seconds(lambda: lasthop.simulate(scenario, series=False))
    begin = time.perf_counter()
    run = lasthop.simulate(scenario, series=False, events=True)
    kept = time.perf_counter() - begin
    events = run.events
    rows, mebibytes = len(events), events.nbytes / 2**20
    print(f"{rows} events: {bare:.2f} s without them, {kept:.2f} s with them")
    print(f"they take {mebibytes:.0f} MiB, {events.nbytes / rows:.0f} bytes each")
    assert polars.DataFrame(events).height == rows
    times = [seconds(lambda: polars.DataFrame(events)) for _ in range(9)]
    print(f"into polars: {statistics.median(times) * 1e3:.2f} ms")


def buffers() -> None:
    code = rlnc.Code(32, 1400)
    encoder, decoder = rlnc.Encoder(code), rlnc.Decoder(code)
    encoder.extend(bytes(32 * 1400))
    packets = encoder.coded_many(range(32))

    def decode(payloads: Sequence[bytes | bytearray]) -> None:
        decoder.clear()
        for (vector, _), payload in zip(packets, payloads):
            decoder.push(vector, payload)

    for kind in (bytes, bytearray):
        payloads = [kind(payload) for _, payload in packets]
        times = [seconds(lambda: decode(payloads)) for _ in range(200)]
        each = statistics.median(times) / len(packets)
        print(f"decoding from {kind.__name__}: {each * 1e9:.0f} ns a packet of 1400 bytes")


def start() -> None:
    programs: dict[str, list[str]] = {
        "the command": [str(COMMAND), "--version"],
        "an empty program of Python": [sys.executable, "-c", "pass"],
        "one that imports lasthop": [sys.executable, "-c", "import lasthop"],
    }
    for name, arguments in programs.items():
        runs = [
            seconds(lambda: subprocess.run(arguments, check=True, capture_output=True))
            for _ in range(15)
        ]
        print(f"{name} starts and ends in {statistics.median(runs) * 1e3:.1f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="what Python costs beside the command")
    parser.add_argument("--runs", type=int, default=9, help="runs of each kind")
    chosen = parser.parse_args()
    runs_of(chosen.runs)
    table_of_a_million()
    buffers()
    start()
