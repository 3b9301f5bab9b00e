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
    """An invalid sweep, or one that could not continue. Finished runs are kept."""


class Sweep:
    """The results of a sweep.

    ``Sweep(folder)`` reads the results of ``lasthop sweep``, too. It raises
    ``FileNotFoundError`` without results, ``SweepError`` if they are in shards.
    """

    folder: Path
    """Folder of the results."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "sweep.json").is_file():
            raise FileNotFoundError(f"{self.folder}: no sweep.json in this folder")

    @cached_property
    def _read(self) -> tuple[dict[str, Any], dict[str, Table]]:
        asked, tables = _lasthop.sweep_tables(self.folder)
        return json.loads(asked), dict(tables)

    @property
    def asked(self) -> dict[str, Any]:
        """The request: the content of ``sweep.json``."""
        return self._read[0]

    @cached_property
    def keys(self) -> dict[str, str]:
        """The varied keys and their columns: ``wire.cable.delay`` is a column ``..._ms``."""
        return {key["key"]: key["column"] for key in self.asked["keys"]}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables."""
        return tuple(self._read[1])

    def frame(self, table: str = "runs") -> Table:
        """A table: ``runs``, or tidy ones (``flows``, ``links``, ``nodes`` ...).

        polars, pandas, pyarrow and DuckDB read it without a copy. Rows are in the order of
        the varied values, regardless of the process of each run. Raises ``KeyError``.
        """
        tables = self._read[1]
        if table not in tables:
            raise KeyError(f"there is no table {table!r}, only {', '.join(tables)}")
        return tables[table]

    def mean_ci(
        self, by: str | Sequence[str] | None = None, of: str | Sequence[str] = "goodput_total_mbps"
    ) -> Table:
        """Means over runs with 95 % confidence intervals (Student).

        There is a row for each combination of ``by``: keys or columns of ``frame()``, by
        default all varied keys. Each column in ``of`` gives ``X.mean``, ``X.ci95`` (the
        half-width of the interval; None for a single run) and ``X.n``, the number of runs.
        Failed runs do not count. Raises ``KeyError``.
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

        ``where`` holds each other varied key at a value. Needs matplotlib
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
        """Returns the column of ``runs`` with this name, or that of a key."""
        column = self.keys.get(name, name)
        names = self.frame().column_names
        if column in names:
            return column
        near = difflib.get_close_matches(name, [*self.keys, *names], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(f"no key and no column of runs is called {name!r}{hint}")

    @cached_property
    def failed(self) -> int:
        """Number of failed runs: see the column ``error``."""
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

    ``vary`` has values for each key, as a list or as text in the form of
    ``lasthop sweep --vary`` (``"1..50:8"``); without it the table ``[sweep]`` of the scenario
    counts. ``zip`` combines the first values of all keys, then the second ones.

    ``on`` selects the workers: ``threads`` threads of this process (None or
    ``"threads"``; by default one for each processor), or the workers of a Dask
    ``Client``, which need this version of lasthop (``pip install 'lasthop[dask]'``).

    ``out`` is the folder of the results, with the files and rules of ``lasthop sweep``: an
    interrupted sweep resumes, only missing runs are made, and results of another version,
    scenario or other keys are rejected. Without ``out`` the folder is temporary and removed
    with the ``Sweep``. ``series`` keeps each run's series there, too.

    ``progress`` shows the progress on standard error, by default if that is a terminal.

    Raises ``ScenarioError`` or ``SweepError`` with all invalid combinations before the first
    run, and ``SweepError`` if the sweep cannot continue; finished runs are kept then.
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
        # Tables are made of the finished runs, also after an error.
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
    """Returns the Dask client; None for threads."""
    if on is None or on == "threads":
        return None
    if any(kind.__module__.split(".")[0] == "distributed" for kind in type(on).__mro__):
        return cast("Client", on)
    raise TypeError(f"on: expected None, 'threads' or a Dask Client, got {on!r}")


class _Progress:
    """Progress on a terminal, shown after two seconds."""

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
