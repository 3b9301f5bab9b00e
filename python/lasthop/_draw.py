"""Figures of papers drawn with matplotlib, from their tables.

The same marks, colours, bands and ends of axes as in the package's own plots
(``crates/figures/src/plot/layout.rs``); numbers at axes and fonts are matplotlib's. Lengths
are in inches, widths of lines in points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.figure import SubFigure

from lasthop._lasthop import Table

if TYPE_CHECKING:
    from lasthop.figures import Figure

#: Width and height of a panel, height of a row of intervals, and of the space around a panel.
_WIDTH, _PANEL, _LANE, _AROUND = 8.8, 2.8, 0.34, 0.9
#: Share of bars in the space between two groups, and of the widest bar in the axis.
_BARS_SHARE, _BAR_MAX = 0.72, 0.055
#: Share of the intervals in a row.
_LANE_SHARE = 0.56
#: Width of a line, size of a dot, and the growth of both for a later series on the same points.
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
        """Returns the growth that shows it behind ``later`` ones on the same points."""
        same = sum((one.axis, one.x, one.y) == (self.axis, self.x, self.y) for one in later)
        dots = sum(one.mark == "dots" for one in later) / 2 if self.mark == "dots" else 0
        return _RIM * max(same, dots)


def draw(figure: Figure, canvas: Canvas | SubFigure | None) -> Canvas | SubFigure:
    """Draws the panels of ``figure`` one below the other, and returns their canvas."""
    panels = _panels(figure)
    lanes = [len(figure._tick_names(panel, "left")) for panel in panels]
    heights = [(_LANE * count if count else _PANEL) + _AROUND for count in lanes]
    if canvas is None:
        canvas = Canvas(figsize=(_WIDTH, sum(heights)), layout="constrained")
    all_axes = canvas.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for number, axes in zip(panels, all_axes, strict=True):
        _draw_panel(figure, number, panels[number], axes)
    return canvas


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    columns = table.to_dict()
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _panels(figure: Figure) -> dict[int, list[_Series]]:
    """Returns the series of each panel, with the points that can be drawn."""
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
        names = figure._tick_names(number, row["axis"])
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
    """Draws the bands of each series and the shades (None); returns their entries in the legend."""
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
    """Draws a series and returns its entry in the legend."""
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
