"""Runs: what the command makes of the same scenario, Ctrl-C, threads, and the summary's types."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
import typing
from pathlib import Path
from typing import Any

import pytest

import lasthop
import lasthop.summary
from lasthop import _lasthop


def without_wall(document: str) -> dict[str, Any]:
    summary = json.loads(document)
    del summary["wall_s"]
    return dict(summary)


def test_it_is_the_commands_run(root: Path, command: Path) -> None:
    file = root / "scenarios/demo.toml"
    arguments = ["--set", "duration=6s", "--seed", "5", "--runs", "2", "--json"]
    output = subprocess.run(
        [command, "simulate", file, *arguments], check=True, capture_output=True, text=True
    )
    expected = json.loads(output.stdout)["runs"][1]
    del expected["wall_s"]
    run = lasthop.simulate(lasthop.Scenario.load(file).with_(duration="6s"), seed=5, run=1)
    own = without_wall(run.json)
    # Each says why it tried no remedy.
    reasons = [[it.pop("not_tried") for it in doc["findings"]] for doc in (own, expected)]
    assert own == expected
    assert reasons[0] and all("Python tries none" in it for it in reasons[0])


def test_seed_and_number_make_the_run(hello: lasthop.Scenario) -> None:
    first, again = (lasthop.simulate(hello, seed=3, run=2) for _ in range(2))
    assert without_wall(first.json) == without_wall(again.json)
    assert first.series.to_dict() == again.series.to_dict()
    assert (first.summary["seed"], first.summary["run"]) == (3, 2)
    assert first.summary["set"] == ["duration=200ms", "seed=3"]
    others = [lasthop.simulate(hello, seed=3, run=1), lasthop.simulate(hello, seed=4, run=2)]
    for other in others:
        assert other.summary["flows"] != first.summary["flows"]


def test_what_is_kept_changes_nothing(hello: lasthop.Scenario, run: lasthop.Run) -> None:
    bare = lasthop.simulate(hello, series=False)
    assert without_wall(bare.json) == without_wall(run.json)
    with pytest.raises(LookupError, match="series=True"):
        bare.series
    with pytest.raises(LookupError, match="events=True"):
        bare.events


def test_a_path_is_taken_as_well(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text((root / "scenarios/hello.toml").read_text().replace('"5s"', '"50ms"'))
    for path in (file, str(file)):
        run = lasthop.simulate(path)
        assert run.summary["duration_s"] == 0.05
    assert repr(run) == "<lasthop.Run 0 of 'hello': 0.05 s, seed 1>"
    assert "<td>up</td>" in run._repr_html_()
    with pytest.raises(OverflowError):
        lasthop.simulate(file, run=-1)
    with pytest.raises(TypeError):
        lasthop.simulate(7)  # type: ignore[arg-type]


def test_control_c_ends_it(root: Path) -> None:
    # A shell that starts tests in the background has SIGINT ignored.
    program = (
        "import lasthop, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"s = lasthop.Scenario.load({str(root / 'scenarios/hello.toml')!r})\n"
        "print('ready', flush=True)\n"
        "lasthop.simulate(s.with_(duration='30min'), series=False)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors.splitlines()[-1]
    assert process.returncode in (-signal.SIGINT, 130)
    # The run takes minutes; a look for signals is due every 50 ms.
    assert time.monotonic() - sent < 10


def test_other_threads_go_on(hello: lasthop.Scenario) -> None:
    run = threading.Thread(target=lasthop.simulate, args=(hello.with_(duration="60s"),))
    turns = 0
    run.start()
    while run.is_alive():
        turns += 1
        time.sleep(0.001)
    # With the lock held this loop could not turn before the run is over.
    assert turns > 10


def test_runs_in_threads_are_the_same(hello: lasthop.Scenario) -> None:
    expected = [without_wall(lasthop.simulate(hello, run=number).json) for number in range(4)]
    found: dict[int, Any] = {}

    def make(number: int) -> None:
        found[number] = without_wall(lasthop.simulate(hello, run=number).json)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(4)] == expected


def check(value: object, kind: Any, path: str) -> int:
    """Checks that ``value`` is of ``kind``, and returns how many values it has."""
    if typing.is_typeddict(kind):
        assert isinstance(value, dict), path
        hints = typing.get_type_hints(kind)
        assert value.keys() <= hints.keys(), f"{path}: {value.keys() - hints.keys()}"
        assert kind.__required_keys__ <= value.keys(), path
        return sum(check(value[key], hints[key], f"{path}.{key}") for key in value)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        assert isinstance(value, dict), path
        return sum(check(inner, arguments[1], f"{path}[{key!r}]") for key, inner in value.items())
    if origin is list:
        assert isinstance(value, list), path
        return sum(check(inner, arguments[0], path) for inner in value)
    if origin is typing.Literal:
        assert value in arguments, path
    else:
        # A number that happens to be whole is still one.
        kinds = (int, float) if kind is float else kind
        assert isinstance(value, kinds) and not isinstance(kind, types.GenericAlias), path
    return 1


@pytest.mark.parametrize("file", ["hello", "demo", "scan", "franc", "apq", "retryout"])
def test_a_summary_has_its_type(root: Path, file: str) -> None:
    path = root / f"scenarios/{file}.toml"
    if not path.exists():
        path = min((root / "scenarios" / file).glob("*.toml"))
    scenario = lasthop.Scenario.load(path)
    if file in ("hello", "demo"):
        scenario = scenario.with_(duration="6s")
    summary = lasthop.simulate(scenario).summary
    assert check(summary, lasthop.summary.RunDocument, file) > 20


def test_types_are_made_from_the_schema(root: Path) -> None:
    source = str(root / "python/tools/summary.py")
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    made = subprocess.run(
        [sys.executable, source], check=True, capture_output=True, text=True, env=environment
    )
    assert made.stdout == Path(lasthop.summary.__file__).read_text(encoding="utf-8")
    assert json.loads(_lasthop.run_schema)["title"] == "RunDocument"
