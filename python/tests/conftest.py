"""What tests have in common. They run against an installed package, never this folder."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import lasthop

ROOT = Path(__file__).resolve().parents[2]


def pytest_configure() -> None:
    inside = Path(lasthop.__file__).resolve().is_relative_to(ROOT / "python")
    if inside:
        pytest.exit("the tests are for an installed wheel: .ci/run python", returncode=2)


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def hello() -> lasthop.Scenario:
    """A saturated cell of 200 ms."""
    scenario = lasthop.Scenario.load(ROOT / "scenarios/hello.toml")
    return scenario.with_(duration="200ms")


@pytest.fixture(scope="session")
def run(hello: lasthop.Scenario) -> lasthop.Run:
    """A run of it with everything kept."""
    return lasthop.simulate(hello, events=True)


@pytest.fixture(scope="session")
def command() -> Path:
    """The command that the wheel installed."""
    path = Path(sysconfig.get_path("scripts")) / "lasthop"
    assert path.exists(), "the wheel carries the command"
    return path
