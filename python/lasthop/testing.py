"""A Wi-Fi hop in tests: the package's plugin for pytest.

    def test_a_ping_passes_the_cafe(wifi_hop):
        run = wifi_hop(place="cafe", command=["ping", "-c", "3", "server"])
        assert run.returncode == 0, run.stdout

The fixture is ``lasthop.emulate``. Where namespaces are refused, the test is skipped with that
reason. With ``pytest --wifi-hop-required`` it fails instead, so that a machine that must run
these tests does not skip them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lasthop import EmulatedRun

__all__ = ["wifi_hop"]

REQUIRED = "--wifi-hop-required"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option ``--wifi-hop-required``."""
    group = parser.getgroup("lasthop", "a Wi-Fi hop in tests (lasthop)")
    group.addoption(
        REQUIRED,
        action="store_true",
        help="fail, not skip, tests with a Wi-Fi hop where network namespaces are refused",
    )


@pytest.fixture(scope="session")
def _wifi_hop_refused() -> str | None:
    """Reason why this machine has no emulations; None if it has."""
    import lasthop

    try:
        lasthop.emulate("hello", duration=0.001)
    except lasthop.EmulateRefused as refused:
        return str(refused)
    return None


@pytest.fixture
def wifi_hop(
    request: pytest.FixtureRequest, _wifi_hop_refused: str | None
) -> Callable[..., EmulatedRun]:
    """``lasthop.emulate``: runs a command behind a modelled Wi-Fi hop.

    Skips the test where the system refuses network namespaces.
    """
    import lasthop

    if _wifi_hop_refused is not None:
        if request.config.getoption(REQUIRED):
            pytest.fail(_wifi_hop_refused, pytrace=False)
        pytest.skip(_wifi_hop_refused)
    return lasthop.emulate
