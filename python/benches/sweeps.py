"""What a sweep costs over its runs: on threads, and on a local Dask cluster.

    python python/benches/sweeps.py [--runs 1000] [--ms 10] [--repeats 5]

Makes the same runs three ways in turn, with as many threads or workers as there are
processors: bare (`lasthop.simulate` in threads, results thrown away), as a sweep on threads,
as a sweep on Dask. Prints medians of wall and CPU time (of all processes), and ratios to the
bare runs; where other programs take the processors away, only CPU time says something. Then
tasks of one run each say what a task costs the process that has the client and the scheduler.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lasthop
from lasthop import _dask

ROOT = Path(__file__).resolve().parents[2]
KEY = "node.sta.queue.packets"
VALUES = [20, 40, 60, 80, 100]


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def cell_of(ms: float) -> lasthop.Scenario:
    """A saturated cell, of which a run takes about so long."""
    cell = lasthop.Scenario.load(ROOT / "scenarios/contention.toml")
    once = cell.with_(duration="2s")
    least = min(seconds(lambda: lasthop.simulate(once, series=False)) for _ in range(9))
    return cell.with_(duration=f"{2e3 * ms / 1e3 / least:.0f}ms")


def bare(cell: lasthop.Scenario, runs: int, threads: int) -> None:
    cells = [cell.with_({KEY: value}) for value in VALUES]
    with ThreadPoolExecutor(threads) as pool:
        each = (
            pool.submit(lasthop.simulate, cell, run=run, series=False)
            for cell in cells
            for run in range(runs // len(VALUES))
        )
        for future in list(each):
            future.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--ms", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    threads = len(os.sched_getaffinity(0))
    cell = cell_of(arguments.ms)
    each, vary = arguments.runs // len(VALUES), {KEY: VALUES}
    with (
        LocalCluster(
            n_workers=threads, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        ways: dict[str, Callable[[], object]] = {
            "bare": lambda: bare(cell, arguments.runs, threads),
            "threads": lambda: lasthop.sweep(cell, vary, runs=each, progress=False),
            "Dask": lambda: lasthop.sweep(cell, vary, runs=each, on=client, progress=False),
        }
        # Workers load the package with their first task.
        lasthop.sweep(cell, vary, runs=threads, on=client, progress=False)
        def processors() -> float:
            """CPU time of this process and the workers."""
            of_workers: dict[str, float] = client.run(time.process_time)
            return time.process_time() + sum(of_workers.values())

        walls: dict[str, list[float]] = {name: [] for name in ways}
        cpus: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.repeats):
            for name, work in ways.items():
                before = processors()
                walls[name].append(seconds(work))
                cpus[name].append(processors() - before)
        print(f"{arguments.runs} runs, {threads} threads or workers, {arguments.repeats} times")
        for what, measured in (("wall", walls), ("CPU", cpus)):
            for name, times in measured.items():
                ratios = [took / of for took, of in zip(times, measured["bare"])]
                median, ratio = statistics.median(times), statistics.median(ratios)
                print(f"{name}: {median:.2f} s of {what}, {ratio:.3f} of the bare runs")

        _dask.TASK_S = _dask.THREAD_S = 0.0
        short = cell.with_(duration="10ms")
        begin, cpu = time.perf_counter(), time.process_time()
        made = lasthop.sweep(short, vary, runs=400, on=client, progress=False)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        size = (made.folder / "journal.jsonl").stat().st_size / len(made)
        print(f"{len(made)} tasks of one short run: {wall / len(made) * 1e3:.2f} ms of time and")
        print(f"{cpu / len(made) * 1e3:.2f} ms of CPU each for client and scheduler; {size:.0f} bytes")
        begin = time.perf_counter()
        lasthop.Sweep(made.folder).frame()
        print(f"tables of them: {(time.perf_counter() - begin) / len(made) * 1e6:.0f} us a run")


if __name__ == "__main__":
    main()
