"""Environments: the rules of Gymnasium, the same run as without them, and what a window does."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import lasthop
from lasthop._lasthop import Steps

gymnasium = pytest.importorskip("gymnasium")
env_checker = pytest.importorskip("gymnasium.utils.env_checker")

import numpy as np  # noqa: E402

import lasthop.env  # noqa: E402

SMALL: dict[str, dict[str, Any]] = {
    "contention-window": {"stations": 5, "steps": 20},
    "rate-control": {"snr_db": 15.0, "doppler_hz": 20.0, "steps": 20},
    "queue": {"steps": 10},
}


@pytest.mark.parametrize("name", SMALL)
def test_it_follows_the_rules(name: str) -> None:
    with pytest.warns() as told:
        env_checker.check_env(lasthop.env.make(name, **SMALL[name]), skip_render_check=True)
        # Something is always told, so that none is not an error of this test.
        import warnings

        warnings.warn("the end", UserWarning, stacklevel=1)
    assert [str(warning.message) for warning in told] == ["the end"]


def played(name: str, seed: int, actions: list[int]) -> list[tuple[list[float], float]]:
    env = lasthop.env.make(name, **SMALL[name])
    env.reset(seed=seed)
    steps = [env.step(np.int64(action)) for action in actions]
    return [(step[0].tolist(), step[1]) for step in steps]


@pytest.mark.parametrize("name", SMALL)
def test_a_seed_is_a_run(name: str) -> None:
    actions = [0, 1, 2, 3, 4, 4, 5, 6]
    assert played(name, 1, actions) == played(name, 1, actions)
    assert played(name, 1, actions) != played(name, 2, actions)
    assert played(name, 1, actions) != played(name, 1, actions[::-1])
    # The next run of a seed is another one.
    env = lasthop.env.make(name, **SMALL[name])
    first = env.reset(seed=1)[1]
    assert env.reset()[1] != first


def test_several_are_independent() -> None:
    one, other = (lasthop.env.make("contention-window", stations=3, steps=10) for _ in range(2))
    one.reset(seed=1)
    other.reset(seed=1)
    for action in (0, 3, 6):
        expected = one.step(np.int64(action))
        assert other.step(np.int64(action))[1] == expected[1]
        one.step(np.int64(0))
        other.step(np.int64(0))


def test_who_changes_nothing_has_the_run_of_simulate(root: Any) -> None:
    scenario = lasthop.Scenario.load(root / "scenarios/contention.toml").with_(duration="300ms")
    steps = Steps(scenario, 2)
    while steps.advance(0.007):
        pass
    expected = lasthop.simulate(scenario, run=2, series=False).summary["flows"]
    assert {name: packets for name, packets, _, _ in steps.flows()} == {
        name: flow["packets_received"] for name, flow in expected.items()
    }


def goodput_mbps(stations: int, action: int | None, steps: int = 50) -> float:
    env = lasthop.env.make("contention-window", stations=stations, steps=steps)
    if action is None:
        # The standard's backoff.
        env.leave_alone()
    env.reset(seed=3)
    return float(np.mean([env.step(np.int64(action or 0))[4]["goodput_mbps"] for _ in range(steps)]))


def test_the_best_window_grows_with_the_stations() -> None:
    few = [goodput_mbps(3, action) for action in range(7)]
    many = [goodput_mbps(50, action) for action in range(7)]
    assert int(np.argmax(few)) < int(np.argmax(many))
    assert max(many) > 1.1 * goodput_mbps(50, None)


def test_an_agent_learns_a_better_window(root: Any) -> None:
    """Less than in the example, which this is of: enough for some gain."""
    spec = importlib.util.spec_from_file_location(
        "contention_window", root / "python/examples/contention_window.py"
    )
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    values = example.learn(140)
    standard, learned = (example.goodput_mbps(50, by, 5) for by in (None, values))
    assert learned > 1.1 * standard, (standard, learned)


def test_a_mcs_that_is_too_fast_fails() -> None:
    env = lasthop.env.make("rate-control", snr_db=12.0, doppler_hz=1.0, steps=40)

    def mean(action: int) -> tuple[float, float]:
        env.reset(seed=1)
        steps = [env.step(np.int64(action)) for _ in range(40)]
        return float(np.mean([s[0][0] for s in steps])), float(np.mean([s[1] for s in steps]))

    (slow, slow_reward), (fast, fast_reward) = mean(0), mean(7)
    assert slow > 0.9 > fast
    assert slow_reward > fast_reward


def test_a_long_queue_delays() -> None:
    env = lasthop.env.make("queue", steps=40)

    def delay(action: int) -> float:
        env.reset(seed=1)
        steps = [env.step(np.int64(action)) for _ in range(40)]
        return float(np.mean([step[0][2] for step in steps[20:]]))

    assert delay(7) > 2 * delay(1)


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="there is no environment 'rate'; there are:"):
        lasthop.env.make("rate")
    with pytest.raises(ValueError, match="1 to 1000 stations"):
        lasthop.env.make("contention-window", stations=0)
    env = lasthop.env.make("contention-window", stations=2, steps=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))
    env.reset(seed=1)
    with pytest.raises(gymnasium.error.InvalidAction):
        env.step(np.int64(7))
    env.step(np.int64(0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))
    steps = Steps(lasthop.Scenario.parse(_TWO), 0)
    for call, told in (
        (lambda: steps.set_contention_window("sta", 16, 31), "windows of 2"),
        (lambda: steps.set_mcs("sta", 40), "has no MCS 40"),
        (lambda: steps.set_queue_packets("server", 5), "has no radio"),
        (lambda: steps.set_queue_target("sta", 0.0), "above zero"),
        (lambda: steps.advance(-1.0), "above zero"),
    ):
        with pytest.raises(ValueError, match=told):
            call()
    with pytest.raises(KeyError):
        steps.queue_packets("nobody")


_TWO = """
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
rate = "1Gb/s"
delay = "1ms"
"""
