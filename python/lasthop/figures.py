"""The figures of papers, theirs beside ours, as ``lasthop reproduce`` makes them.

    >>> from lasthop import figures
    >>> [figure.name for figure in figures.papers()[1].figures]
    ['retryout/table1', 'retryout/fig4', 'retryout/fig6', 'retryout/fig7', 'retryout/fig8']
    >>> (table1,) = figures.make("retryout/table1")
    >>> table1.verdict
    'pass'

A figure or table of a paper is one or more runs of shipped scenarios, which are part of the
package. What is read from them are quantities: what the paper states, what we get, the band
in which ours has to be, and the verdict. Runs have the seeds of their scenarios, so that
numbers are the same on every machine; ``Figures.json`` is what the command prints. Plots are
made by the package itself (SVG, PNG), or by matplotlib from the tables of a figure
(``Figure.plot``, which needs ``pip install 'lasthop[plot]'``). ``docs/reproduce.md`` says how
to read a verdict.
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure

__all__ = ["Figure", "FigureInfo", "Figures", "Paper", "make", "papers"]

Verdict = Literal["pass", "fail"]

#: Width of the bar of progress, in characters, and how long none is shown, in seconds.
_BAR, _QUIET_S = 40, 1.0


class FigureInfo(NamedTuple):
    """A figure or table of a paper, not made."""

    key: str
    """The name of its paper, such as ``retryout``."""
    id: str
    """Its id in the paper, such as ``fig6``."""
    title: str
    """Its title, without the number."""
    shows: str
    """What it shows, in a few sentences."""
    runs: int
    """Number of runs that it is read from; figures of a paper share many of them."""

    @property
    def name(self) -> str:
        """What ``make`` takes: ``retryout/fig6``."""
        return f"{self.key}/{self.id}"


class Paper:
    """A paper with its figures; nothing of it is made."""

    def __init__(self, raw: _lasthop.RawPaper) -> None:
        self._raw = raw

    @property
    def key(self) -> str:
        """Its name, which ``make`` takes: ``retryout``."""
        return self._raw.key

    @property
    def title(self) -> str:
        """Its title, as published."""
        return self._raw.title

    @property
    def source(self) -> str:
        """Its authors, and where it was published."""
        return self._raw.source

    @property
    def setting(self) -> str:
        """What was measured with which equipment."""
        return self._raw.setting

    @cached_property
    def figures(self) -> tuple[FigureInfo, ...]:
        """Its figures and tables, in the order of the paper."""
        return tuple(FigureInfo(self.key, *figure) for figure in self._raw.figures())

    @cached_property
    def claims(self) -> Table:
        """Its statements, a row for each group of quantities that tests one.

        ``place`` in the paper, what it ``says`` in words of our own, the ``figure`` and the
        start of the names of its ``quantities``; or why it is ``untested``.
        """
        return self._raw.claims()

    @cached_property
    def calibrated(self) -> Table:
        """The parameters that the paper does not give: ``key``, ``value`` and ``reason``."""
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
    """A figure that was made: quantities with verdicts, and what is drawn, as tables."""

    def __init__(self, raw: _lasthop.RawFigures, index: int, paper: Paper) -> None:
        self._raw, self._index = raw, index
        self.paper = paper
        """Its paper."""
        key, id = raw.names()[index]
        self.info = next(info for info in paper.figures if info.id == id)
        """Title, what it shows, number of runs."""
        self.name = f"{key}/{id}"
        """What ``make`` takes: ``retryout/fig6``."""

    @property
    def title(self) -> str:
        """Its title, without the number."""
        return self.info.title

    @cached_property
    def verdict(self) -> Verdict:
        """``pass`` if every quantity agrees with the paper."""
        return self._raw.verdict(self._index)

    @cached_property
    def quantities(self) -> Table:
        """What the paper states and what we get, a row for each quantity.

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
        """What is drawn, a row for each series: its ``mark``, ``axis``, labels with units.

        ``mark`` is ``line``, ``dotted-line``, ``dots``, ``bars`` or ``intervals`` (horizontal
        bars, whose points are start and end in turn); ``axis`` is ``left`` or ``right``.
        """
        return self._raw.series(self._index)

    @cached_property
    def points(self) -> Table:
        """The points of the series, in the units of the labels in ``series``.

        ``x_name`` and ``y_name`` are the names that stand at an axis in place of numbers. A
        number is null where nothing was measured.
        """
        return self._raw.points(self._index)

    @cached_property
    def bands(self) -> Table:
        """What the paper states, as bands behind the series; and shaded ranges of x.

        A band has a series, whose axis ``y_from`` and ``y_to`` are of, and goes from end to
        end unless ``x_from`` and ``x_to`` are there. A shade has no series and no y.
        """
        return self._raw.bands(self._index)

    @cached_property
    def axes(self) -> Table:
        """The axes of each panel: ``x``, ``left``, perhaps ``right``; where they start and end."""
        return self._raw.axes(self._index)

    @cached_property
    def runs(self) -> Table:
        """The runs that it is read from, for ``Scenario.load(scenario)`` and ``simulate``.

        ``scenario`` is the path in the source tree, ``set`` has a change per line.
        """
        return self._raw.runs(self._index)

    @cached_property
    def faults(self) -> list[str]:
        """What is wrong with the plot, such as a series hidden behind others; usually nothing."""
        return self._raw.faults(self._index)

    @property
    def svg(self) -> str:
        """The plot as the command writes it into ``KEY-FIGURE.svg``."""
        return self._raw.svg(self._index)

    @property
    def png(self) -> bytes:
        """The plot as the command writes it into ``KEY-FIGURE.png``."""
        return self._raw.png(self._index)

    def plot(self, canvas: Canvas | SubFigure | None = None) -> Canvas | SubFigure:
        """Draws the figure with matplotlib and returns what it is drawn on.

        That is ``canvas``, such as ``pyplot.figure()`` for a window, or a new matplotlib
        figure that pyplot does not know, for ``savefig``. Panels are one below the other, and
        are ``canvas.axes`` first, with their bands as in ``svg``. Raises ``ImportError``
        without matplotlib.
        """
        return _draw(self, canvas)

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
    """The figures that ``make`` made, in the order of the papers.

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
        """A figure by place, name or id. Raises ``IndexError`` or ``KeyError``."""
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
        """The names of the figures: ``retryout/fig6``."""
        return tuple(figure.name for figure in self)

    @cached_property
    def verdict(self) -> Verdict:
        """``pass`` if every quantity of every figure agrees with the paper."""
        return "pass" if all(figure.verdict == "pass" for figure in self) else "fail"

    @cached_property
    def json(self) -> str:
        """What ``lasthop reproduce --json`` prints, and writes into ``reproduce.json``."""
        return self._raw.json()

    @cached_property
    def report(self) -> dict[str, Any]:
        """The same, read; its schema is ``lasthop schema reproduce``."""
        return cast("dict[str, Any]", json.loads(self.json))

    @cached_property
    def quantities(self) -> Table:
        """``Figure.quantities`` of all figures."""
        return self._raw.quantities(None)

    @cached_property
    def claims(self) -> Table:
        """The statements of the papers, a row for each quantity that tests one.

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


# What follows draws with matplotlib, as crates/evidence/src/plot/layout.rs draws an SVG.

#: Height and width of a panel with numbers at both axes, and height of a row of intervals and
#: of what is around a panel, in inches.
_WIDTH, _PANEL, _LANE, _AROUND = 8.8, 2.8, 0.34, 0.9
#: Share of the space between two groups that bars take, and the widest bar's of the axis.
_BARS_SHARE, _BAR_MAX = 0.72, 0.055
#: Share of a row that its intervals take.
_LANE_SHARE = 0.56
#: How much wider a line, or larger a dot, is for each later series on the same points.
_LINE, _DOT, _RIM = 1.5, 4.5, 2.2


class _Series(NamedTuple):
    """A series of a panel."""

    name: str
    mark: str
    axis: str
    colour: str
    x: list[float]
    y: list[float]

    def rim(self, later: list[_Series]) -> float:
        """What shows it behind ``later`` ones on the same points."""
        same = sum((one.axis, one.x, one.y) == (self.axis, self.x, self.y) for one in later)
        dots = sum(one.mark == "dots" for one in later) / 2 if self.mark == "dots" else 0
        return _RIM * max(same, dots)


def _draw(figure: Figure, canvas: Canvas | SubFigure | None) -> Canvas | SubFigure:
    try:
        from matplotlib.figure import Figure as NewCanvas
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'lasthop[plot]'") from error
    panels = _panels(figure)
    lanes = [len(figure._raw.tick_names(figure._index, panel, "left")) for panel in panels]
    heights = [(_LANE * count if count else _PANEL) + _AROUND for count in lanes]
    if canvas is None:
        canvas = NewCanvas(figsize=(_WIDTH, sum(heights)), layout="constrained")
    all_axes = canvas.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for number, axes in zip(panels, all_axes, strict=True):
        _draw_panel(figure, number, panels[number], axes)
    return canvas


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    columns = table.to_dict()
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _panels(figure: Figure) -> dict[int, list[_Series]]:
    """The series of each panel; of their points those that can be drawn."""
    panels: dict[int, list[_Series]] = {panel: [] for panel in figure.axes.column("panel")}
    for row in _rows(figure.series):
        panels[row["panel"]].append(
            _Series(row["series"], row["mark"], row["axis"], row["colour"], [], [])
        )
    for row in _rows(figure.points):
        if all(value is not None and abs(value) < float("inf") for value in (row["x"], row["y"])):
            series = panels[row["panel"]][row["series_number"]]
            series.x.append(row["x"])
            series.y.append(row["y"])
    return panels


def _draw_panel(figure: Figure, number: int, panel: list[_Series], left: Axes) -> None:
    sides: dict[str, Axes] = {"left": left}
    title = ""
    for row in _rows(figure.axes):
        if row["panel"] != number:
            continue
        names = figure._raw.tick_names(figure._index, number, row["axis"])
        if row["axis"] == "x":
            title = row["panel_title"]
            left.set_xlabel(row["label"])
            left.set_xlim(row["from"], row["to"])
            if names:
                left.set_xticks(range(len(names)), names)
            continue
        if row["axis"] == "right":
            sides["right"] = left.twinx()
        axes = sides[row["axis"]]
        axes.set_ylabel(row["label"])
        axes.set_ylim(row["from"], row["to"])
        if names:
            axes.set_yticks(range(len(names)), names)
        elif row["axis"] == "left":
            axes.grid(axis="y", color="#e3e7ec")
            axes.set_axisbelow(True)
    for side, axes in sides.items():
        axes.spines[["top", "left", "right"]].set_visible(False)
        own = [series for series in panel if series.axis == side]
        if len(sides) == 2 and len(own) == 1:
            axes.yaxis.label.set_color(own[0].colour)
    bands = _draw_bands(figure, number, panel, sides)
    bars = [series for series in panel if series.mark == "bars"]
    entries: list[tuple[str, Any]] = []
    for index, series in enumerate(panel):
        rim = series.rim(panel[index + 1 :])
        entries.append((series.name, _draw_series(series, bars, sides[series.axis], rim)))
        entries += bands.get(index, {}).items()
    entries += bands.get(None, {}).items()
    left.legend(
        [handle for _, handle in entries],
        [label for label, _ in entries],
        title=title,
        title_fontproperties={"weight": "bold"},
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=4,
        frameon=False,
        fontsize="small",
        borderaxespad=0.5,
        borderpad=0,
    )


def _draw_bands(
    figure: Figure, number: int, panel: list[_Series], sides: dict[str, Axes]
) -> dict[int | None, dict[str, Any]]:
    """Draws the bands of each series and the shades (None): what the legend shows of them."""
    entries: dict[int | None, dict[str, Any]] = {}
    for band in _rows(figure.bands):
        if band["panel"] != number:
            continue
        index: int | None = band["series_number"]
        if index is None:
            handle: Any = sides["left"].axvspan(
                band["x_from"], band["x_to"], color="#5b6572", alpha=0.13, linewidth=0
            )
        else:
            axes, colour = sides[panel[index].axis], panel[index].colour
            ends = axes.get_xlim() if band["x_from"] is None else (band["x_from"], band["x_to"])
            # A side that is open ends with the axis.
            least, most = sorted(axes.get_ylim())
            low, high = max(band["y_from"], least), min(band["y_to"], most)
            if low < high:
                handle = axes.fill_between(ends, low, high, color=colour, alpha=0.16, linewidth=0)
            else:
                (handle,) = axes.plot(ends, (low, low), color=colour, linewidth=1.2, dashes=(6, 4))
        if band["label"]:
            entries.setdefault(index, {}).setdefault(band["label"], handle)
    return entries


def _draw_series(series: _Series, bars: list[_Series], axes: Axes, rim: float) -> Any:
    """Draws a series and returns what the legend shows."""
    colour = series.colour
    if series.mark == "bars":
        start, end = axes.get_xlim()
        places = sorted({x for one in bars for x in one.x})
        gaps = [after - before for before, after in zip(places, places[1:], strict=False)]
        width = min([*gaps, end - start]) * _BARS_SHARE / len(bars)
        width = min(width, _BAR_MAX * (end - start))
        place = next(n for n, one in enumerate(bars) if one is series)
        shift = (place - (len(bars) - 1) / 2) * width
        return axes.bar(
            [x + shift for x in series.x], series.y, 0.96 * width, color=colour, alpha=0.9
        )
    if series.mark == "intervals":
        starts, ends = series.x[::2], series.x[1::2]
        lengths = [end - start for start, end in zip(starts, ends, strict=True)]
        # With an edge, short ones are seen.
        return axes.barh(series.y[::2], lengths, _LANE_SHARE, starts, color=colour, linewidth=0.8,
                         edgecolor=colour)  # fmt: skip
    (line,) = axes.plot(
        series.x,
        series.y,
        color=colour,
        linewidth=_LINE + rim,
        linestyle="none" if series.mark == "dots" else "-",
        marker="none" if series.mark == "line" else "o",
        markersize=_DOT + rim,
    )
    return line
