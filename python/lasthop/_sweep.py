"""Sweeps: every combination of some keys, many runs, tables of results."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lasthop import _lasthop
from lasthop._lasthop import Scenario, Table

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes

__all__ = ["Sweep", "SweepError", "sweep"]


class SweepError(RuntimeError):
    """A sweep that cannot be, or that could not go on. What was done of it is not lost."""


class Sweep:
    """The results of a sweep.

    They are in ``folder``. ``Sweep(folder)`` reads those that ``lasthop sweep`` made, too;
    it raises ``FileNotFoundError`` if there are none, ``SweepError`` if they are in shards.
    """

    folder: Path
    """Where the results are."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "sweep.json").is_file():
            raise FileNotFoundError(f"{self.folder}: there is no sweep.json here")

    @cached_property
    def _read(self) -> tuple[dict[str, Any], dict[str, Table]]:
        asked, tables = _lasthop.sweep_tables(self.folder)
        return json.loads(asked), dict(tables)

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for, as in ``sweep.json``."""
        return self._read[0]

    @cached_property
    def keys(self) -> dict[str, str]:
        """The keys that vary, and their columns: ``wire.cable.delay`` is ``..._ms`` there."""
        return {key["key"]: key["column"] for key in self.asked["keys"]}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables."""
        return tuple(self._read[1])

    def frame(self, table: str = "runs") -> Table:
        """A table: ``runs``, or tidy ones (``flows``, ``links``, ``nodes`` ...).

        polars, pandas, pyarrow and DuckDB take it as it is. Rows are in the order of the
        varied values, whoever made the runs. Raises ``KeyError``.
        """
        tables = self._read[1]
        if table not in tables:
            raise KeyError(f"there is no table {table!r}, only {', '.join(tables)}")
        return tables[table]

    def mean_ci(
        self, by: str | Sequence[str] | None = None, of: str | Sequence[str] = "goodput_total_mbps"
    ) -> Table:
        """Means over runs with 95 % confidence intervals (Student).

        A row for each combination of ``by``: keys or columns of ``frame()``, by default all
        keys that vary. For each column in ``of`` there are ``X.mean``, ``X.ci95`` (half the
        interval's width; none of a single run) and ``X.n``, the number of runs; runs that
        failed do not count. Raises ``KeyError``.
        """
        by = list(self.keys) if by is None else [by] if isinstance(by, str) else list(by)
        of = [of] if isinstance(of, str) else list(of)
        columns = [self._column(name) for name in by]
        return _lasthop.mean_ci(self.frame(), columns, [self._column(name) for name in of])

    def plot(
        self,
        x: str,
        y: str = "goodput_total_mbps",
        hue: str | None = None,
        *,
        where: Mapping[str, object] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draws means of ``y`` with their intervals over ``x``, a curve for each ``hue``.

        Every other key that varies is held at a value by ``where``. Needs matplotlib
        (``pip install 'lasthop[plot]'``). Raises ``KeyError``, ``ValueError``.
        """
        try:
            from matplotlib import pyplot
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{error}: pip install 'lasthop[plot]'") from None
        across, up = self._column(x), self._column(y)
        series = None if hue is None else self._column(hue)
        held = {self._column(key): value for key, value in (where or {}).items()}
        free = [c for c in self.keys.values() if c not in {across, series, *held}]
        if free:
            raise ValueError(f"{', '.join(free)} varies, too: hold it by where={{{free[0]!r}: ...}}")
        groups = [*dict.fromkeys([across, *([series] if series else []), *held])]
        means = self.mean_ci(groups, up).to_dict()
        rows = [dict(zip(means, row)) for row in zip(*means.values())]
        for column, value in held.items():
            there = [*dict.fromkeys(row[column] for row in rows)]
            if value not in there:
                raise ValueError(f"{column} is never {value!r}, only {there}")
            rows = [row for row in rows if row[column] == value]
        rows = [row for row in rows if row[f"{up}.mean"] is not None]
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained")
        names = [None] if series is None else [*dict.fromkeys(row[series] for row in rows)]
        for index, name in enumerate(names):
            curve = [row for row in rows if series is None or row[series] == name]
            ax.errorbar(
                [row[across] for row in curve],
                [row[f"{up}.mean"] for row in curve],
                yerr=[row[f"{up}.ci95"] or 0.0 for row in curve],
                marker="os^Dv"[index % 5],
                linestyle=("-", "--", ":", "-.")[index // 5 % 4],
                capsize=3,
                label=None if series is None else str(name),
            )
        ax.set_xlabel(across)
        ax.set_ylabel(f"{up} (mean, 95 %)")
        if series is not None:
            ax.legend(title=series)
        return ax

    def _column(self, name: str) -> str:
        """The column of ``runs`` that is called so, or that a key is."""
        column = self.keys.get(name, name)
        names = self.frame().column_names
        if column in names:
            return column
        near = difflib.get_close_matches(name, [*self.keys, *names], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(f"no key and no column of runs is called {name!r}{hint}")

    @cached_property
    def failed(self) -> int:
        """Number of runs that failed: see the column ``error``."""
        return sum(error is not None for error in self.frame().column("error"))

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.frame())

    def __repr__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        keys = ", ".join(f"{key['key']} ({len(key['values'])})" for key in self.asked["keys"])
        return f"<lasthop.Sweep of {keys}: {len(self)} runs{failed}, in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(repr(self))}</p>{self.frame()._repr_html_()}"


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    vary: Mapping[str, str | Iterable[object]] | None = None,
    *,
    zip: bool = False,
    runs: int | None = None,
    on: str | Client | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    series: bool = False,
    progress: bool | None = None,
) -> Sweep:
    """Makes runs of every combination of ``vary``, ``runs`` each, and tables of them.

    ``vary`` has values for each key, as a list or as text that ``lasthop sweep --vary``
    takes (``"1..50:8"``); without it the table ``[sweep]`` of the scenario counts. With
    ``zip`` the first values of all keys belong together, then the second ones.

    ``on`` says who makes the runs: ``threads`` threads of this process (None or
    ``"threads"``; by default as many as it has processors), or the workers of a Dask
    ``Client``, which need this version of lasthop (``pip install 'lasthop[dask]'``).

    Results are kept in ``out``, with the files of ``lasthop sweep`` and its rules: a sweep
    that was interrupted goes on, only what is missing is made, and results of another
    version, scenario or other keys are refused. Without ``out`` they are in a folder that
    goes when the ``Sweep`` does. ``series`` keeps each run's series there, too.

    ``progress`` shows how far it is on standard error, by default if that is a terminal.

    Raises ``ScenarioError`` or ``SweepError`` with all combinations that cannot be, before
    anything runs, and ``SweepError`` if it cannot go on; what is done is kept then.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    client = _client(on)
    if client is not None and threads is not None:
        raise ValueError("threads are those of this process, not of a Dask cluster")
    if series and (out is None or client is not None):
        raise ValueError("series need a folder (out=...), and threads of this process")
    if threads is not None and threads < 1:
        raise ValueError(f"expected one thread at least, got {threads}")
    count = threads or len(os.sched_getaffinity(0))
    plan = _lasthop.SweepPlan(scenario, None if vary is None else dict(vary), zip, runs)
    plan.check(count)
    folder = Path(tempfile.mkdtemp(prefix="lasthop-sweep-") if out is None else out)
    try:
        work = plan.open(folder, series)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    is_done = False
    try:
        with _Progress(work.left, progress) as shown:
            if client is None:
                work.make(count, shown)
            else:
                from lasthop import _dask

                _dask.make(client, plan.blueprint(), work, shown)
        is_done = True
    finally:
        # Tables are made of what is there, whatever happened.
        kept = work.there
        work.close(out is not None)
        if out is None and not is_done:
            if kept:
                print(f"{kept} runs are kept: out={str(folder)!r} goes on", file=sys.stderr)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    made = Sweep(folder)
    if out is None:
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    return made


def _client(on: str | Client | None) -> Client | None:
    """The Dask client, if it is one."""
    if on is None or on == "threads":
        return None
    if any(kind.__module__.split(".")[0] == "distributed" for kind in type(on).__mro__):
        return cast("Client", on)
    raise TypeError(f"on: expected None, 'threads' or a Dask Client, got {on!r}")


class _Progress:
    """How far it is, on a terminal, once it takes longer than two seconds."""

    def __init__(self, runs: int, wanted: bool | None) -> None:
        self._runs = runs
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._begin = time.monotonic()
        self._shown = self._begin + 2.0
        self._is_there = False

    def __call__(self, made: int, what: str = "") -> None:
        now = time.monotonic()
        if not self._wanted or now < self._shown:
            return
        self._shown, self._is_there = now + 0.2, True
        left = ""
        if made:
            seconds = (now - self._begin) / made * (self._runs - made)
            left = f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"
        print(f"\r\x1b[K{made} of {self._runs} runs{left}{what}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_there:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
