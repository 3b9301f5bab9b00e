"""Scenarios: what is wrong with them, and what ``with_`` changes, judged by ``--set``."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import lasthop

TEXT = """
duration = "1s"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[flow]]
name = "up"
from = "laptop"
to = "ap"
kind = "udp"
rate = "1Mb/s"
"""


def test_every_problem_has_file_line_and_key() -> None:
    text = TEXT.replace('"1s"', '"1 parsec"').replace("station", "sation")
    with pytest.raises(lasthop.ScenarioError) as raised:
        lasthop.Scenario.parse(text, file="mine.toml")
    problems = raised.value.problems
    assert [(p.file, p.line, p.key) for p in problems] == [
        ("mine.toml", 2, "duration"),
        ("mine.toml", 8, "node.laptop.role"),
    ]
    assert str(raised.value).splitlines() == [
        f"{p.file}:{p.line}: {p.key}: {p.message}" for p in problems
    ]
    assert isinstance(raised.value, ValueError)


def test_a_change_that_is_wrong_is_named() -> None:
    scenario = lasthop.Scenario.parse(TEXT)
    with pytest.raises(lasthop.ScenarioError) as raised:
        scenario.with_({"node.laptop.queue.packets": -1, "chanel.width": "40MHz"})
    sets = [(p.set, p.key, p.line) for p in raised.value.problems]
    assert ("node.laptop.queue.packets=-1", "node.laptop.queue.packets", None) in sets
    assert any(p.set == "chanel.width=40MHz" for p in raised.value.problems)


def test_what_is_not_checked_tells_its_problems() -> None:
    wrong = lasthop.Scenario.parse(TEXT + "nonsense = 1\n", check=False)
    (problem,) = wrong.problems()
    assert (problem.line, problem.key) == (15, "flow.up.nonsense")
    assert "1 problem" in repr(wrong) and "nonsense" in wrong._repr_html_()
    twice = wrong.with_(duration="never")
    assert [p.key for p in twice.problems()] == ["flow.up.nonsense", "duration"]
    for use in (lambda: lasthop.simulate(wrong), lambda: wrong.seed, wrong.warnings):
        with pytest.raises(lasthop.ScenarioError):
            use()
    assert lasthop.Scenario.parse(TEXT).problems() == []


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(lasthop.ScenarioError, match="cannot be read") as raised:
        lasthop.Scenario.load(missing)
    (problem,) = raised.value.problems
    assert (problem.file, problem.line, problem.key) == (str(missing), None, "")
    with pytest.raises(lasthop.ScenarioError, match="line 1"):
        latin = tmp_path / "latin.toml"
        latin.write_bytes(b'name = "caf\xe9"')
        lasthop.Scenario.load(latin)


def test_a_scenario_does_not_change() -> None:
    scenario = lasthop.Scenario.parse(TEXT)
    other = scenario.with_({"duration": "2s"}, seed=5)
    assert (scenario.duration_s, scenario.seed, scenario.set) == (1.0, 1, ())
    assert (other.duration_s, other.seed) == (2.0, 5)
    assert other.set == ("duration=2s", "seed=5")
    assert (other.nodes, other.flows) == (["ap", "laptop"], ["up"])
    assert other != scenario and other == scenario.with_(duration="2s", seed=5)
    assert hash(other) == hash(scenario.with_(duration="2s", seed=5))
    with pytest.raises(AttributeError):
        scenario.seed = 3  # type: ignore[misc]


def test_its_text_is_what_is_run() -> None:
    scenario = lasthop.Scenario.parse(TEXT).with_({"node.laptop.queue.packets": 7})
    again = lasthop.Scenario.parse(scenario.text)
    assert again.set == () and "7" in again.text
    one, other = (lasthop.simulate(s).summary["flows"] for s in (scenario, again))
    assert one == other


def test_it_is_pickled_with_its_changes() -> None:
    scenario = lasthop.Scenario.parse(TEXT, file="mine.toml").with_(seed=9)
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario and again.file == "mine.toml" and again.set == ("seed=9",)
    wrong = lasthop.Scenario.parse("x = ", check=False)
    assert pickle.loads(pickle.dumps(wrong)).problems() == wrong.problems()


def test_it_shows_itself() -> None:
    scenario = lasthop.Scenario.parse("# <&>\n" + TEXT, file="mine.toml")
    assert repr(scenario) == '<lasthop.Scenario "mine": 1 s, 2 nodes, 1 flow, seed 1>'
    html = scenario._repr_html_()
    assert "up: laptop → ap" in html and "# &lt;&amp;&gt;" in html and "<&>" not in html


@pytest.mark.parametrize("value", [object(), {1, 2}, None, {1: 2}, 1 << 70])
def test_values_that_a_file_cannot_have(value: object) -> None:
    with pytest.raises((TypeError, OverflowError)):
        lasthop.Scenario.parse(TEXT).with_({"seed": value})
    with pytest.raises(ValueError, match="no path"):
        lasthop.Scenario.parse(TEXT).with_({"a=b": 1})


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    scenario = lasthop.Scenario.parse(TEXT).with_({"seed": numpy.int64(7)})
    assert scenario.seed == 7 and scenario.set == ("seed=7",)


def in_file(set: list[str]) -> tuple[str, object]:
    """The scenario that the changes lead to, or what is wrong with it."""
    try:
        scenario = lasthop.Scenario.parse(TEXT, set=set)
    except lasthop.ScenarioError as error:
        return "wrong", [(p.key, p.message) for p in error.problems]
    return scenario.text, None


def with_changes(changes: dict[str, object]) -> tuple[str, object]:
    try:
        scenario = lasthop.Scenario.parse(TEXT).with_(changes)
    except lasthop.ScenarioError as error:
        return "wrong", [(p.key, p.message) for p in error.problems]
    return scenario.text, None


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.sampled_from(["40MHz", "2s", "1.5Mb/s", "", " ", "true", "7", "'", '"', "a=b", "[1]", "#"]),
)
PATHS = st.sampled_from(
    ["name", "duration", "seed", "channel.width", "node.laptop.queue.packets", "flow.*.rate",
     "node.laptop.role", "nothing.there"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(PATHS, VALUES)
def test_with_is_what_set_is_with_the_value_as_toml(path: str, value: object) -> None:
    # JSON's texts, numbers and truths are TOML's, but for the word for what is not finite,
    # and for DEL, which TOML wants escaped.
    toml = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        toml = toml.replace("Infinity", "inf")
    assert with_changes({path: value}) == in_file([f"{path}={toml}"])


@settings(deadline=None, max_examples=30)
@given(st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_no_value_brings_it_down(value: object) -> None:
    with_changes({"node.laptop.queue": {"kind": value, "packets": [value]}})


def test_with_is_the_commands_set(root: Path, command: Path, tmp_path: Path) -> None:
    sets = ["duration=50ms", "node.laptop.queue.packets=20", "flow.up.rate=2Mb/s"]
    file = root / "scenarios/hello.toml"
    arguments = [argument for set in sets for argument in ("--set", set)]
    out = tmp_path / "out"
    subprocess.run(
        [command, "simulate", file, *arguments, "--out", out], check=True, capture_output=True
    )
    scenario = lasthop.Scenario.load(file).with_(
        {"duration": "50ms", "node.laptop.queue.packets": 20, "flow.up.rate": "2Mb/s"}
    )
    assert scenario.text == (out / "scenario.toml").read_text()
    assert list(scenario.set) == json.loads((out / "run.json").read_text())["set"]
