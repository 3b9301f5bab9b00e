"""Figures of papers, theirs beside ours, as ``lasthop reproduce`` makes them.

    >>> from lasthop import figures
    >>> [figure.name for figure in figures.papers()[1].figures]
    ['retryout/table1', 'retryout/fig4', 'retryout/fig6', 'retryout/fig7', 'retryout/fig8']
    >>> (table1,) = figures.make("retryout/table1")
    >>> table1.verdict
    'pass'

A figure or table of a paper is one or more runs of shipped scenarios, which are part of the
package. Each of their quantities has the paper's statement, our value, the band for our value,
and the verdict. Runs have the seeds of their scenarios, so that numbers are the same on every
machine; ``Figures.json`` is the output of the command. The package makes plots (SVG, PNG), and
matplotlib can draw them from the tables of a figure (``Figure.plot``, which needs
``pip install 'lasthop[plot]'``). ``docs/reproduce.md`` explains the verdicts.
"""

from __future__ import annotations

import base64
import html
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, overload

from lasthop import _lasthop
from lasthop._lasthop import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure

__all__ = ["Figure", "FigureInfo", "Figures", "Paper", "make", "papers"]

Verdict = Literal["pass", "fail"]

#: Width of the progress bar, in characters, and the time before it is shown, in seconds.
_BAR, _QUIET_S = 40, 1.0


class FigureInfo(NamedTuple):
    """A figure or table of a paper, before it is made."""

    key: str
    """Name of the paper, such as ``retryout``."""
    id: str
    """Id in the paper, such as ``fig6``."""
    title: str
    """Title of the figure, without the number."""
    shows: str
    """Explanation of the figure, in a few sentences."""
    runs: int
    """Number of runs for the figure; figures of a paper share many of them."""

    @property
    def name(self) -> str:
        """Argument of ``make``: ``retryout/fig6``."""
        return f"{self.key}/{self.id}"


class Paper:
    """A paper with its figures, before they are made."""

    def __init__(self, raw: _lasthop.RawPaper) -> None:
        self._raw = raw

    @property
    def key(self) -> str:
        """Name of the paper, an argument of ``make``: ``retryout``."""
        return self._raw.key

    @property
    def title(self) -> str:
        """Title of the paper, as published."""
        return self._raw.title

    @property
    def source(self) -> str:
        """Authors and publication of the paper."""
        return self._raw.source

    @property
    def setting(self) -> str:
        """Measurements and equipment of the paper."""
        return self._raw.setting

    @cached_property
    def figures(self) -> tuple[FigureInfo, ...]:
        """Figures and tables, in the order of the paper."""
        return tuple(FigureInfo(self.key, *figure) for figure in self._raw.figures())

    @cached_property
    def claims(self) -> Table:
        """Statements of the paper, a row for each group of quantities that tests one.

        Columns are the ``place`` in the paper, the statement (``says``) in other words, the
        ``figure`` and the start of the names of its ``quantities``, or the reason why it is
        ``untested``.
        """
        return self._raw.claims()

    @cached_property
    def calibrated(self) -> Table:
        """Parameters missing from the paper: ``key``, ``value`` and ``reason``."""
        return self._raw.calibrated()

    def __repr__(self) -> str:
        return f"<lasthop.figures.Paper {self.key!r}: {len(self.figures)} figures>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{figure.name}</code></td><td>{html.escape(figure.title)}</td>"
            f"<td>{figure.runs}</td></tr>"
            for figure in self.figures
        )
        return (
            f"<h3>{html.escape(self.title)}</h3><p>{html.escape(self.source)}</p>"
            f"<table><tr><th>figure</th><th>title</th><th>runs</th></tr>{rows}</table>"
        )


class Figure:
    """A reproduced figure: quantities with verdicts, and the drawn series, as tables."""

    def __init__(self, raw: _lasthop.RawFigures, index: int, paper: Paper) -> None:
        self._raw, self._index = raw, index
        self.paper = paper
        """Paper of the figure."""
        key, id = raw.names()[index]
        self.info = next(info for info in paper.figures if info.id == id)
        """Title, explanation, number of runs."""
        self.name = f"{key}/{id}"
        """Argument of ``make``: ``retryout/fig6``."""

    @property
    def title(self) -> str:
        """Title of the figure, without the number."""
        return self.info.title

    @cached_property
    def verdict(self) -> Verdict:
        """``pass`` if every quantity agrees with the paper."""
        return self._raw.verdict(self._index)

    @cached_property
    def quantities(self) -> Table:
        """Values of the paper and ours, a row for each quantity.

        ``paper``, ``ours``, ``band`` and ``off`` (how far ours is from the paper's number, or
        from the band) are texts as the pages have them, without the unit; the same as numbers
        in ``paper_from``, ``paper_to``, ``ours_from``, ``ours_to`` (equal for a single
        number; null for words, and for what could not be measured), ``band_from``,
        ``band_to`` (null at an open side), and ``ours_shown`` for what shows or does not.
        ``verdict`` is ``pass`` or ``fail``; ``note`` says why it fails, where that is known;
        ``place`` is where the paper states it.
        """
        return self._raw.quantities(self._index)

    @cached_property
    def series(self) -> Table:
        """Drawn series, a row for each: its ``mark``, ``axis``, labels with units.

        ``mark`` is ``line``, ``dotted-line``, ``dots``, ``bars`` or ``intervals`` (horizontal
        bars, whose points are start and end in turn); ``axis`` is ``left`` or ``right``.
        """
        return self._raw.series(self._index)

    @cached_property
    def points(self) -> Table:
        """Points of the series, in the units of the labels in ``series``.

        ``x_name`` and ``y_name`` are names at an axis in place of numbers. A number is null
        without a measurement.
        """
        return self._raw.points(self._index)

    @cached_property
    def bands(self) -> Table:
        """Statements of the paper as bands behind the series, and shaded ranges of x.

        A band has a series, whose axis holds for ``y_from`` and ``y_to``, and extends over the
        whole axis without ``x_from`` and ``x_to``. A shade has no series and no y.
        """
        return self._raw.bands(self._index)

    @cached_property
    def axes(self) -> Table:
        """Axes of each panel: ``x``, ``left``, perhaps ``right``; their starts and ends."""
        return self._raw.axes(self._index)

    @cached_property
    def runs(self) -> Table:
        """Runs of the figure, for ``Scenario.load(scenario)`` and ``simulate``.

        ``scenario`` is the path in the source tree, ``set`` has a change per line.
        """
        return self._raw.runs(self._index)

    @cached_property
    def faults(self) -> list[str]:
        """Faults of the plot, such as a series hidden behind others; usually none."""
        return self._raw.faults(self._index)

    @property
    def svg(self) -> str:
        """The plot, as in the command's file ``KEY-FIGURE.svg``."""
        return self._raw.svg(self._index)

    @property
    def png(self) -> bytes:
        """The plot, as in the command's file ``KEY-FIGURE.png``."""
        return self._raw.png(self._index)

    def plot(self, canvas: Canvas | SubFigure | None = None) -> Canvas | SubFigure:
        """Draws the figure with matplotlib and returns the canvas.

        That is ``canvas``, such as ``pyplot.figure()`` for a window, or a new matplotlib
        figure that pyplot does not know, for ``savefig``. Panels are one below the other, and
        are ``canvas.axes`` first, with their bands as in ``svg``. Raises ``ImportError``
        without matplotlib.
        """
        try:
            from lasthop._draw import draw
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install 'lasthop[plot]'") from error
        return draw(self, canvas)

    def _tick_names(self, panel: int, axis: str) -> list[str]:
        """Returns the names at an axis, at 0, 1, 2 ..; empty if it has numbers."""
        return self._raw.tick_names(self._index, panel, axis)

    def __repr__(self) -> str:
        return f"<lasthop.figures.Figure {self.name!r}: {_tally(self.quantities)}>"

    def _repr_html_(self) -> str:
        # In an image, so that the style sheet of the plot is not that of the notebook.
        image = base64.b64encode(self.svg.encode()).decode()
        label = html.escape(f"{self.title}. {self.info.shows}")
        return (
            f"<h3>{html.escape(f'{self.name}: {self.title}')}</h3>"
            f"<p>{html.escape(self.info.shows)}</p>"
            f'<img alt="{label}" src="data:image/svg+xml;base64,{image}">'
            f"{_quantities_html(self.quantities, 'quantity')}"
        )


class Figures:
    """The figures made by ``make``, in the order of the papers.

    ``len``, ``for`` and ``in`` are those of a sequence; ``made["retryout/fig6"]`` is a figure
    by its name, ``made["fig6"]`` by its id, if only one paper has it.
    """

    def __init__(self, raw: _lasthop.RawFigures) -> None:
        self._raw = raw
        papers_by_key = {paper.key: paper for paper in papers()}
        self._figures = tuple(
            Figure(raw, index, papers_by_key[key]) for index, (key, _) in enumerate(raw.names())
        )

    def __len__(self) -> int:
        return len(self._figures)

    def __iter__(self) -> Iterator[Figure]:
        return iter(self._figures)

    def __contains__(self, figure: object) -> bool:
        return figure in self._figures or figure in self.names

    @overload
    def __getitem__(self, which: int | str) -> Figure: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Figure, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Figure | tuple[Figure, ...]:
        """Returns a figure by place, name or id. Raises ``IndexError`` or ``KeyError``."""
        if not isinstance(which, str):
            return self._figures[which]
        named = [figure for figure in self if which in (figure.name, figure.info.id)]
        if len(named) == 1:
            return named[0]
        there = ", ".join(figure.name for figure in named or self)
        wrong = f"{which!r} is several" if named else f"there is no {which!r}"
        raise KeyError(f"{wrong}; there is {there}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the figures: ``retryout/fig6``."""
        return tuple(figure.name for figure in self)

    @cached_property
    def verdict(self) -> Verdict:
        """``pass`` if every quantity of every figure agrees with the paper."""
        return "pass" if all(figure.verdict == "pass" for figure in self) else "fail"

    @cached_property
    def json(self) -> str:
        """The output of ``lasthop reproduce --json``, and the content of ``reproduce.json``.

        Its date is the day on which the figures were made, or that of ``SOURCE_DATE_EPOCH``.
        """
        return self._raw.json()

    @cached_property
    def report(self) -> dict[str, Any]:
        """The parsed document; its schema is ``lasthop schema reproduce``."""
        return cast("dict[str, Any]", json.loads(self.json))

    @cached_property
    def quantities(self) -> Table:
        """``Figure.quantities`` of all figures."""
        return self._raw.quantities(None)

    @cached_property
    def claims(self) -> Table:
        """Statements of the papers, a row for each quantity that tests one.

        Statements that nothing tests have ``untested``, the reason; those whose figures were
        not made have neither that nor a verdict.
        """
        return self._raw.claims()

    def write(self, directory: str | os.PathLike[str]) -> None:
        """Writes plots, pages and JSON, as ``lasthop reproduce --out``: all or nothing.

        Files of the same names are replaced. Raises ``OSError``.
        """
        self._raw.write(directory)

    def __repr__(self) -> str:
        what = f"{len(self)} figures" if len(self) != 1 else self.names[0]
        return f"<lasthop.figures.Figures: {what}; {_tally(self.quantities)}>"

    def _repr_html_(self) -> str:
        return _quantities_html(self.quantities, "figure", "quantity")


def papers() -> list[Paper]:
    """The papers with their figures, in the order of the command. Makes nothing."""
    return [Paper(raw) for raw in _lasthop.papers()]


def make(
    figures: str | FigureInfo | Paper | None = None,
    *,
    jobs: int | None = None,
    progress: bool | Callable[[float, float], object] | None = None,
) -> Figures:
    """Makes figures: of a paper (``"retryout"``), one (``"retryout/fig6"``), or all.

    One takes a fraction of a second to minutes; runs that several figures share are made
    once. ``jobs`` runs are made at a time (default: one on every core); the result is the
    same. ``progress`` is called with the seconds simulated so far and at the end, about
    twenty times a second; ``True`` shows a bar on standard error, ``None`` (the default) only
    if that is a terminal and it takes over a second. Other Python threads go on meanwhile,
    and Ctrl-C ends it, as an exception of ``progress`` does.

    Raises ``LookupError`` if there is no such paper or figure.
    """
    if isinstance(figures, FigureInfo):
        figures = figures.name
    elif isinstance(figures, Paper):
        figures = figures.key
    if callable(progress):
        return Figures(_lasthop.reproduce(figures, jobs, progress))
    if progress is None and not sys.stderr.isatty() or progress is False:
        return Figures(_lasthop.reproduce(figures, jobs, None))
    bar = _Bar(figures or "all figures", at_once=progress is True)
    try:
        return Figures(_lasthop.reproduce(figures, jobs, bar))
    finally:
        bar.clear()


class _Bar:
    """A bar on standard error."""

    def __init__(self, what: str, at_once: bool) -> None:
        self._what = what
        self._begin = time.monotonic() + (0.0 if at_once else _QUIET_S)
        self._shown = ""

    def __call__(self, simulated: float, total: float) -> None:
        if time.monotonic() < self._begin or total <= 0:
            return
        share = min(simulated / total, 1.0)
        full = int(share * _BAR)
        bar = ("=" * full + ">")[:_BAR].ljust(_BAR)
        self._show(f"  {bar} {share:>4.0%} of {self._what}")

    def _show(self, text: str) -> None:
        if text != self._shown:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            self._shown = text

    def clear(self) -> None:
        if self._shown:
            print("\r" + " " * len(self._shown), end="\r", file=sys.stderr, flush=True)


def _tally(quantities: Table) -> str:
    verdicts = quantities.column("verdict")
    return f"{verdicts.count('pass')} of {len(verdicts)} agree"


def _quantities_html(quantities: Table, *first: str) -> str:
    columns = (*first, "unit", "paper", "ours", "band", "verdict")
    head = "".join(f"<th>{name}</th>" for name in columns)
    rows = []
    for cells in zip(*(quantities.column(name) for name in columns), strict=True):
        texts = [html.escape(cell or "") for cell in cells]
        if texts[-1] == "fail":
            texts[-1] = "<b>fail</b>"
        rows.append("<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table><p>{_tally(quantities)}</p>"
