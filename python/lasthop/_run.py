"""One run of a scenario, and its results."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, cast

from lasthop import _lasthop
from lasthop._lasthop import Scenario, Table

if TYPE_CHECKING:
    from lasthop.summary import RunDocument

__all__ = ["Run", "simulate"]


class Run:
    """The results of a run. Tables are made on first use, or were kept during the run."""

    def __init__(self, raw: _lasthop.RawRun) -> None:
        self._raw = raw

    @cached_property
    def json(self) -> str:
        """The summary as the command writes it into ``run.json``."""
        return self._raw.json()

    @cached_property
    def summary(self) -> RunDocument:
        """The summary; keys that do not apply are absent (``lasthop.summary`` has the types)."""
        return cast("RunDocument", json.loads(self.json))

    @cached_property
    def flows(self) -> Table:
        """A row for each flow, a column for each number of its summary (``rtt_p95_ms``)."""
        return self._raw.flows()

    @cached_property
    def nodes(self) -> Table:
        """A row for each Wi-Fi node, a column for each number of its summary."""
        return self._raw.nodes()

    @cached_property
    def links(self) -> Table:
        """A row for each direction of a Wi-Fi link that carried data, as ``flows``."""
        return self._raw.links()

    @property
    def series(self) -> Table:
        """Flows, nodes and links over time, with the columns of ``series.parquet``.

        Raises ``LookupError`` if the run was made with ``series=False``.
        """
        return _kept(self._raw.series, "series")

    @property
    def events(self) -> Table:
        """All events of the run, with the columns of ``events.parquet``.

        Raises ``LookupError`` if the run was made without ``events=True``.
        """
        return _kept(self._raw.events, "events")

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<lasthop.Run {summary['run']} of {summary['scenario']!r}: "
            f"{summary['duration_s']} s, seed {summary['seed']}>"
        )

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(repr(self))}</p>{self.flows._repr_html_()}"


def simulate(
    scenario: Scenario | str | os.PathLike[str],
    *,
    seed: int | None = None,
    run: int = 0,
    series: bool = True,
    events: bool = False,
) -> Run:
    """Makes a run of ``scenario`` (or of the file at this path) in virtual time.

    ``seed`` replaces that of the scenario; runs of one seed differ by ``run``, from 0.
    ``series`` and ``events`` select the tables to keep in memory; a million events need
    about 270 MB. Other Python threads continue meanwhile, and Ctrl-C ends the run.

    Raises ``ScenarioError`` if the scenario cannot be run.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    if seed is not None:
        scenario = scenario.with_(seed=seed)
    return Run(_lasthop.simulate(scenario, run, series, events))


def _kept(table: Table | None, name: str) -> Table:
    if table is None:
        raise LookupError(f"the run was made without {name}: simulate(..., {name}=True)")
    return table
