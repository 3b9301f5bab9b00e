"""Sweeps: the same rows whoever makes them, what goes wrong, means and plots."""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

import lasthop
from lasthop import _lasthop

Vary = dict[str, Iterable[object]]

VARY: Vary = {"node.sta.count": [1, 3], "flow.up.packet_bytes": [1500, 700]}
COMMAND = ["--vary", "node.sta.count=1,3", "--vary", "flow.up.packet_bytes=1500,700"]
RUNS = 5
TABLES = ("runs", "flows", "links", "nodes")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A cell of 100 ms."""
    text = (root / "scenarios/contention.toml").read_text(encoding="utf-8")
    file = tmp_path_factory.mktemp("sweep") / "cell.toml"
    file.write_text(text.replace('duration = "10s"', 'duration = "100ms"\nwarmup = "20ms"'))
    return file


@pytest.fixture(scope="module")
def cell(file: Path) -> lasthop.Scenario:
    return lasthop.Scenario.load(file)


Rows = dict[str, dict[str, list[Any]]]


def rows(made: lasthop.Sweep) -> Rows:
    """All tables but for wall times."""
    tables = {name: made.frame(name).to_dict() for name in made.tables}
    for table in tables.values():
        table.pop("wall_s", None)
    return tables


@pytest.fixture(scope="module")
def expected(cell: lasthop.Scenario) -> Rows:
    """The rows that one thread makes."""
    made = rows(lasthop.sweep(cell, VARY, runs=RUNS, threads=1))
    assert tuple(made) == TABLES
    assert [len(made[name]["run"]) for name in TABLES][:2] == [20, 40]
    return made


def commanded(command: Path, *arguments: object) -> None:
    words = [str(word) for word in (command, "sweep", *arguments)]
    subprocess.run(words, check=True, capture_output=True)


def test_the_command_makes_the_same(
    command: Path, file: Path, tmp_path: Path, expected: Rows
) -> None:
    for threads in (1, 2):
        out = tmp_path / str(threads)
        arguments = (file, *COMMAND, "--runs", RUNS, "--threads", threads, "--out", out)
        commanded(command, *arguments)
        assert rows(lasthop.Sweep(out)) == expected
    out = tmp_path / "shards"
    for number in (2, 1, 3):
        commanded(command, file, *COMMAND, "--runs", RUNS, "--shard", f"{number}/3", "--out", out)
    with pytest.raises(lasthop.SweepError, match="lasthop sweep --merge"):
        lasthop.Sweep(out).frame()
    commanded(command, "--merge", out)
    assert rows(lasthop.Sweep(out)) == expected


def test_files_are_those_of_the_command(
    command: Path, cell: lasthop.Scenario, file: Path, tmp_path: Path, expected: Rows
) -> None:
    polars = pytest.importorskip("polars")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    made = lasthop.sweep(cell, VARY, runs=RUNS, out=ours)
    commanded(command, file, *COMMAND, "--runs", RUNS, "--out", theirs)
    assert sorted(os.listdir(ours)) == sorted(os.listdir(theirs))
    assert (ours / "sweep.json").read_bytes() == (theirs / "sweep.json").read_bytes()
    for name in TABLES:
        read = [polars.read_parquet(folder / f"{name}.parquet") for folder in (ours, theirs)]
        if name == "runs":
            read = [frame.drop("wall_s") for frame in read]
        assert read[0].equals(read[1]), name
        # In memory there is what is in the file, of the same types.
        frame = polars.DataFrame(made.frame(name)).select(read[0].columns)
        assert frame.equals(read[0]) and frame.schema == read[0].schema, name
    # Either goes on with what the other made.
    more = lasthop.sweep(cell, VARY, runs=RUNS + 1, out=theirs)
    assert len(more) == 24
    commanded(command, file, *COMMAND, "--runs", RUNS + 2, "--out", ours)
    assert len(lasthop.Sweep(ours)) == 28


def test_a_sweep_that_is_interrupted_goes_on(
    cell: lasthop.Scenario, tmp_path: Path, expected: Rows
) -> None:
    slow: Vary = {**VARY, "duration": ["100ms", "10s"]}
    whole = rows(lasthop.sweep(cell, slow, runs=RUNS))
    # A shell that starts tests in the background has SIGINT ignored.
    program = (
        "import lasthop, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "cell = lasthop.Scenario.load(sys.argv[1])\n"
        f"lasthop.sweep(cell, {slow!r}, runs={RUNS}, out=sys.argv[2], threads=1)\n"
    )
    out = tmp_path / "out"
    arguments = [sys.executable, "-c", program, cell.file, str(out)]
    journal = out / "journal.jsonl"
    there = 0
    for stop in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        size = journal.stat().st_size if journal.exists() else 0
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.stat().st_size > size:
                process.send_signal(stop)
                break
            time.sleep(0.002)
        _, errors = process.communicate(timeout=60)
        if stop == signal.SIGINT:
            assert "KeyboardInterrupt" in errors
            # Tables were made of what was there.
            there = len(lasthop.Sweep(out).frame())
            assert 0 < there < 8 * RUNS
    made = lasthop.sweep(cell, slow, runs=RUNS, out=out)
    assert rows(made) == whole
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    runs = [(*line["values"], line["run"]) for line in lines]
    assert len(set(runs)) == len(runs) == 8 * RUNS, "no run is there twice"


def test_what_varies_is_told_as_in_the_scenario(cell: lasthop.Scenario) -> None:
    text = cell.text + '\n[sweep]\nvary = ["node.sta.count=1..3"]\nruns = 2\n'
    made = lasthop.sweep(lasthop.Scenario.parse(text))
    assert len(made) == 6
    made = lasthop.sweep(lasthop.Scenario.parse(text), {"seed": "1..2"})
    assert made.keys == {"seed": "seed"} and len(made) == 4
    zipped = lasthop.sweep(cell, {"seed": (1, 2), "node.sta.count": range(1, 3)}, zip=True)
    pairs = zip(*(zipped.frame().column(name) for name in ("seed", "node.sta.count")))
    assert list(pairs) == [(1, 1), (2, 2)]
    long = lasthop.sweep(cell, {"duration": ["0.1s", "50ms"]})
    assert long.keys == {"duration": "duration_ms"}
    assert long.frame().column("duration_ms") == [50, 100]
    kinds: Vary = {
        "node.sta.queue": [{"kind": "drop-tail", "packets": 5}, {"kind": "fq-codel"}],
        "node.ap.position": [["1m", "2m"], ["3m", "4m"]],
    }
    made = lasthop.sweep(cell, kinds)
    assert len(made) == 4 and made.failed == 0
    assert 'kind = "fq-codel"' in made.frame().column("node.sta.queue")[-1]


def test_series_are_kept_where_they_are_asked_for(
    cell: lasthop.Scenario, tmp_path: Path
) -> None:
    lasthop.sweep(cell, {"seed": [1, 2]}, out=tmp_path, series=True)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("series/**/*.parquet"))
    assert names == [f"series/seed={seed}/run=0/series.parquet" for seed in (1, 2)]
    with pytest.raises(ValueError, match="a folder"):
        lasthop.sweep(cell, {"seed": [1]}, series=True)


def test_without_a_folder_nothing_stays(cell: lasthop.Scenario) -> None:
    made = lasthop.sweep(cell, {"seed": [1]})
    folder = made.folder
    assert folder.is_dir() and not (folder / "runs.parquet").exists()
    del made
    assert not folder.exists()


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({}, "no key is varied"),
        ({"node.sta.count": []}, "one value at least"),
        ({"node.stb.count": [1]}, 'no "stb"; did you mean "sta"'),
        ({"node.sta.cuont": [1]}, 'did you mean "count"'),
        ({"node.sta.count": [2, 2]}, "2 is there twice"),
        ({"duration": ["1s", "1000ms"]}, "1000ms and 1s are the same"),
        ({"duration": ["1s", "5dB"]}, "expected a time"),
        ({"node.sta.count": "5..1:3:4"}, "values, got 3:4"),
        ({"node.sta.count": "1..x"}, '"x" is no number'),
        ({"node.sta.count": [0, 3]}, "1 of 2 combinations are impossible"),
        ({"seed": range(10_000), "node.sta.count": range(1, 1_000)}, "at most 1000000 combinations"),
        ({"seed": range(1_000_000)}, "at most 100000 values"),
        ({"sweep.runs": [1]}, "not a run"),
        ({"a=b": [1]}, "expected a key"),
    ],
)
def test_what_cannot_be_varied_is_told_before_anything_runs(
    cell: lasthop.Scenario, tmp_path: Path, vary: dict[str, Any], message: str
) -> None:
    with pytest.raises(lasthop.SweepError) as error:
        lasthop.sweep(cell, vary, out=tmp_path / "out")
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()


def test_wrong_arguments_are_told(cell: lasthop.Scenario) -> None:
    vary = {"seed": [1]}
    for wrong in ("processes", 4, object()):
        with pytest.raises(TypeError, match="expected None, 'threads' or a Dask Client"):
            lasthop.sweep(cell, vary, on=wrong)
    with pytest.raises(ValueError, match="one thread at least"):
        lasthop.sweep(cell, vary, threads=0)
    with pytest.raises(ValueError, match="expected a list of values, got int"):
        lasthop.sweep(cell, {"seed": 1})  # type: ignore[dict-item]
    with pytest.raises(lasthop.SweepError, match="no key is varied"):
        lasthop.sweep(cell)
    with pytest.raises(lasthop.SweepError, match="10000000 runs"):
        lasthop.sweep(cell, vary, runs=20_000_000)
    with pytest.raises(lasthop.ScenarioError):
        lasthop.sweep("nothing.toml", vary)


def test_results_of_two_sweeps_are_not_mixed(
    cell: lasthop.Scenario, tmp_path: Path, expected: Rows
) -> None:
    out = tmp_path / "out"
    lasthop.sweep(cell, VARY, runs=RUNS, out=out)
    with pytest.raises(lasthop.SweepError, match="line .* of the scenario was"):
        lasthop.sweep(cell.with_(duration="90ms"), VARY, out=out)
    with pytest.raises(lasthop.SweepError, match="it varies node.sta.count"):
        lasthop.sweep(cell, {"seed": [1]}, out=out)
    asked = json.loads((out / "sweep.json").read_text())
    (out / "sweep.json").write_text(json.dumps({**asked, "version": "0.0.1"}))
    with pytest.raises(lasthop.SweepError, match="made by version 0.0.1"):
        lasthop.sweep(cell, VARY, out=out)
    (out / "sweep.json").write_text(json.dumps(asked))
    assert rows(lasthop.sweep(cell, VARY, runs=RUNS, out=out)) == expected
    with pytest.raises(FileNotFoundError, match="no sweep.json"):
        lasthop.Sweep(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        lasthop.sweep(cell, VARY, out=tmp_path / "file")


def test_a_full_disk_loses_nothing(
    cell: lasthop.Scenario, tmp_path: Path, expected: Rows
) -> None:
    """On a file system with room for some of the runs."""
    program = (
        "import lasthop, sys\n"
        "cell = lasthop.Scenario.load(sys.argv[1])\n"
        f"lasthop.sweep(cell, {VARY!r}, runs={RUNS}, out=sys.argv[2], threads=1)\n"
    )
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "program.py").write_text(program)
    once = f'"{sys.executable}" "{tmp_path}/program.py" "{cell.file}" "{disk}/out"'
    mount = f'mount -t tmpfs -o size=32k tmpfs "{disk}"'
    script = (
        f"{mount} || exit 99; {once} 2>&1; wc -l < {disk}/out/journal.jsonl;"
        f"mount -o remount,size=8m {disk} && {once} && cp -r {disk}/out {tmp_path}/kept"
    )
    ran = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
    if ran.returncode == 99 or "unshare" in ran.stderr:
        pytest.skip(f"no file system can be mounted: {ran.stderr}")
    assert "OSError: [Errno 28] No space left on device" in ran.stdout, ran
    assert 0 < int(ran.stdout.split()[-1]) < 20
    assert rows(lasthop.Sweep(tmp_path / "kept")) == expected


def test_means_are_those_of_the_rows(cell: lasthop.Scenario) -> None:
    made = lasthop.sweep(cell, VARY, runs=RUNS)
    means = made.mean_ci(by="node.sta.count", of=["goodput_total_mbps", "packets_lost_total"])
    assert means.column_names == [
        "node.sta.count",
        *(f"goodput_total_mbps.{what}" for what in ("mean", "ci95", "n")),
        *(f"packets_lost_total.{what}" for what in ("mean", "ci95", "n")),
    ]
    runs = made.frame().to_dict()
    for row, stations in enumerate(means.column("node.sta.count")):
        values = [
            value
            for value, count in zip(runs["goodput_total_mbps"], runs["node.sta.count"])
            if count == stations
        ]
        assert means.column("goodput_total_mbps.n")[row] == len(values) == 10
        mean = statistics.mean(values)
        assert means.column("goodput_total_mbps.mean")[row] == pytest.approx(mean, abs=1e-6)
        # The 97.5 % point of Student's distribution with nine degrees of freedom: 2.262.
        half = 2.262 * statistics.stdev(values) / math.sqrt(10)
        assert means.column("goodput_total_mbps.ci95")[row] == pytest.approx(half, abs=2e-5)
    whole = made.mean_ci()
    assert len(whole) == 4 and whole.column_names[:2] == ["node.sta.count", "flow.up.packet_bytes"]
    with pytest.raises(KeyError, match="did you mean goodput_total_mbps"):
        made.mean_ci(of="goodput_mbps_total")
    with pytest.raises(TypeError, match="is text"):
        made.mean_ci(of="error")
    with pytest.raises(KeyError, match="only runs, flows"):
        made.frame("flow")


@settings(max_examples=30, deadline=None)
@given(strategies.lists(strategies.integers(1, 4), min_size=1, max_size=4, unique=True))
def test_every_combination_has_its_runs(counts: list[int]) -> None:
    text = """
        duration = "5ms"
        node = [{ name = "ap", role = "access-point" }, { name = "sta", role = "station" }]
        flow = [{ name = "up", from = "sta*", to = "ap", kind = "udp", rate = "1Mb/s" }]
    """
    cell = lasthop.Scenario.parse(text)
    made = lasthop.sweep(cell, {"node.sta.count": counts}, runs=2, threads=1)
    frame = made.frame().to_dict()
    assert frame["node.sta.count"] == [count for count in sorted(counts) for _ in range(2)]
    assert frame["flows"] == frame["node.sta.count"]


def test_a_plot_has_the_means(cell: lasthop.Scenario) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    made = lasthop.sweep(cell, VARY, runs=RUNS)
    means = made.mean_ci(of="goodput_total_mbps").to_dict()
    axes: Any = made.plot(x="node.sta.count", hue="flow.up.packet_bytes")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["700", "1500"]
    assert axes.get_xlabel() == "node.sta.count"
    for container, size in zip(axes.containers, (700, 1500)):
        line = container.lines[0]
        of = [at for at, bytes in enumerate(means["flow.up.packet_bytes"]) if bytes == size]
        assert list(line.get_xdata()) == [1, 3]
        assert list(line.get_ydata()) == [means["goodput_total_mbps.mean"][at] for at in of]
    held: Any = made.plot("node.sta.count", where={"flow.up.packet_bytes": 700})
    assert len(held.containers) == 1 and held.get_legend() is None
    with pytest.raises(ValueError, match="flow.up.packet_bytes varies, too"):
        made.plot("node.sta.count")
    with pytest.raises(ValueError, match="is never 5, only"):
        made.plot("node.sta.count", where={"flow.up.packet_bytes": 5})
    matplotlib.pyplot.close("all")


def test_without_matplotlib_it_is_said_what_is_missing(
    cell: lasthop.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    made = lasthop.sweep(cell, {"seed": [1]})
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'lasthop\[plot\]'"):
        made.plot("seed")


def test_the_tutorial_is_short_and_draws(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    script = root / "python/examples/sweep.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 20
    environment = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, script], check=True, cwd=tmp_path, env=environment)
    drawn = (tmp_path / "stations.svg").read_text(encoding="utf-8")
    assert "<svg" in drawn and "node.sta.count" in drawn


# On Dask.


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three workers with a thread each, in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    import distributed

    with distributed.Client(cluster) as client:
        yield client


def test_dask_makes_the_same(
    cluster: Any, client: Any, cell: lasthop.Scenario, tmp_path: Path, expected: Rows
) -> None:
    made = lasthop.sweep(cell, VARY, runs=RUNS, on=client, out=tmp_path / "out")
    assert rows(made) == expected
    assert (tmp_path / "out/runs.parquet").exists()
    # Nothing is missing: nothing is made.
    before = (tmp_path / "out/journal.jsonl").read_bytes()
    lasthop.sweep(cell, VARY, runs=RUNS, on=client, out=tmp_path / "out")
    assert (tmp_path / "out/journal.jsonl").read_bytes() == before
    # One worker is killed while it has work.
    long: Vary = {**VARY, "duration": ["4s", "5s"]}
    whole = rows(lasthop.sweep(cell, long, runs=RUNS))
    victim = next(iter(client.run(os.getpid).values()))
    out = tmp_path / "killed"
    killer = subprocess.Popen(
        ["sh", "-c", f"until [ -s {out}/journal.jsonl ]; do sleep 0.01; done; kill -9 {victim}"]
    )
    made = lasthop.sweep(cell, long, runs=RUNS, on=client, out=out)
    assert killer.wait(timeout=60) == 0
    assert rows(made) == whole
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    runs = [(*line["values"], line["run"]) for line in lines]
    assert len(set(runs)) == len(runs) == 8 * RUNS, "no run is there twice"
    # One worker alone.
    cluster.scale(1)
    client.sync(cluster._correct_state)
    assert rows(lasthop.sweep(cell, VARY, runs=RUNS, on=client)) == expected
    with pytest.raises(ValueError, match="not of a Dask cluster"):
        lasthop.sweep(cell, VARY, on=client, threads=2)


def test_results_that_are_lost_before_they_are_fetched(
    client: Any, cell: lasthop.Scenario, monkeypatch: Any
) -> None:
    from lasthop import _dask

    lost: list[str] = []
    fetch = _dask._Tasks.fetch

    def late(tasks: _dask._Tasks) -> None:
        """The first result waits for its worker's end."""
        if not lost:
            future = tasks._ended.get(timeout=60)
            (holder,) = client.who_has([future])[future.key]
            os.kill(client.run(os.getpid, workers=[holder])[holder], signal.SIGKILL)
            until = time.monotonic() + 60
            while future.status == "finished" and time.monotonic() < until:
                time.sleep(0.001)
            lost.append(future.status)
            tasks._ended.put(future)
        fetch(tasks)

    monkeypatch.setattr(_dask._Tasks, "fetch", late)
    # A run takes long enough that its loss is seen before it is made again.
    long: Vary = {**VARY, "duration": ["20s"]}
    made = lasthop.sweep(cell, long, runs=1, on=client)
    assert lost == ["lost"]
    monkeypatch.undo()
    assert rows(made) == rows(lasthop.sweep(cell, long, runs=1))


def test_the_page_on_clusters_runs(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    page = (root / "docs/clusters.md").read_text(encoding="utf-8")
    script = tmp_path / "clusters.py"
    script.write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    os.symlink(root / "scenarios", tmp_path / "scenarios")
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "'goodput_total_mbps.n': [4, 4, 4]" in ran.stdout
    assert len(lasthop.Sweep(tmp_path / "results")) == 12


def test_a_dead_scheduler_loses_nothing(cell: lasthop.Scenario, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    vary: Vary = {**VARY, "duration": ["1s", "2s"]}
    journal = tmp_path / "journal.jsonl"
    where = tmp_path / "scheduler.json"
    # Killed, in a process of its own: one that is asked to close while a client comes back may
    # stay half closed, and then answers, and has no workers.
    common = ["--no-dashboard", "--scheduler-file", str(where)]
    worker = ["worker", *common, "--no-nanny", "--nthreads", "1", "--local-directory"]
    started = [
        ["scheduler", *common, "--port", "0"],
        [*worker, str(tmp_path / "worker0")],
        [*worker, str(tmp_path / "worker1")],
    ]
    with ExitStack() as stack:
        processes = []
        for rest in started:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *rest], cwd=tmp_path, stderr=subprocess.DEVNULL
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            processes.append(process)
        # How long the client tries to find it again.
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": "2s"}))
        until = time.monotonic() + 60
        while not where.exists() and time.monotonic() < until:
            time.sleep(0.01)
        client = stack.enter_context(distributed.Client(scheduler_file=str(where), timeout="10s"))
        client.wait_for_workers(2, timeout=60)
        killer = subprocess.Popen(
            ["sh", "-c", f"until [ -s {journal} ]; do sleep 0.01; done; kill -9 {processes[0].pid}"]
        )
        stack.enter_context(killer)
        stack.callback(killer.kill)
        with pytest.raises(lasthop.SweepError, match="scheduler cannot be reached") as error:
            lasthop.sweep(cell, vary, runs=30, on=client, out=tmp_path)
        assert killer.wait(timeout=60) == 0
        assert "are missing" in str(error.value)
        kept = len(lasthop.Sweep(tmp_path))
        assert 0 < kept < 240
        with pytest.raises(lasthop.SweepError, match="scheduler cannot be reached"):
            lasthop.sweep(cell, vary, runs=30, on=client, out=tmp_path)
    assert len(lasthop.sweep(cell, vary, runs=30, out=tmp_path)) == 240


def test_a_worker_with_another_version_makes_nothing(
    client: Any, cell: lasthop.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasthop import _dask

    submit = client.submit

    def submit_of_another(function: Any, blueprint: bytes, *rest: Any, **keys: Any) -> Any:
        asked = json.loads(blueprint)
        return submit(function, json.dumps({**asked, "version": "9.9.9"}).encode(), *rest, **keys)

    monkeypatch.setattr(client, "submit", submit_of_another)
    with pytest.raises(lasthop.SweepError, match="a worker cannot make runs") as error:
        lasthop.sweep(cell, VARY, runs=2, on=client, out=tmp_path)
    assert f"lasthop {lasthop.__version__} is here" in str(error.value)
    assert "9.9.9" in str(error.value)
    monkeypatch.undo()
    assert len(lasthop.sweep(cell, VARY, runs=2, on=client, out=tmp_path)) == 8
    assert _dask.make_runs.__module__ == "lasthop._dask"


class Deadly:
    """Kills each worker that makes runs with one of these numbers."""

    def __init__(self, numbers: set[int]) -> None:
        self.numbers = numbers

    def __call__(self, dask_worker: Any) -> None:
        make, numbers = _lasthop.make_runs, self.numbers

        def deadly(blueprint: bytes, wanted: list[int]) -> bytes:
            if numbers & set(wanted):
                os._exit(1)
            return make(blueprint, wanted)

        setattr(_lasthop, "make_runs", deadly)


def test_a_run_that_kills_its_worker_is_a_row(cell: lasthop.Scenario) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    class Plugin(distributed.WorkerPlugin):  # type: ignore[name-defined, misc]
        def setup(self, worker: Any) -> None:
            Deadly({3})(worker)

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        client.register_plugin(Plugin())
        made = lasthop.sweep(cell, {"seed": [1, 2]}, runs=4, on=client)
    frame = made.frame()
    errors = frame.column("error")
    assert [at for at, error in enumerate(errors) if error] == [3]
    assert errors[3] == "every worker that made this run died"
    assert made.failed == 1 and "1 failed" in repr(made)
    assert made.mean_ci(by="seed").column("goodput_total_mbps.n") == [3, 4]


def test_a_client_that_does_not_wait_is_refused(cluster: Any, cell: lasthop.Scenario) -> None:
    import asyncio

    import distributed

    async def refused() -> None:
        address = cluster.scheduler_address
        async with distributed.Client(address, asynchronous=True) as client:
            with pytest.raises(TypeError, match="not asynchronous"):
                lasthop.sweep(cell, {"seed": [1]}, on=client)

    asyncio.run(refused())
