"""Figures of papers: what the command makes of the same, as tables and plots."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import lasthop
from lasthop import figures

#: Figures that take a second at most: a curve, names at axes, bars, bands, a shade.
QUICK = ("retryout/table1", "retryout/fig4", "jumbo/fig7", "jumbo/fig4", "franc/vanish")


@functools.cache
def made_once(name: str) -> figures.Figures:
    return figures.make(name, jobs=1)


@pytest.fixture
def table1() -> figures.Figure:
    (table1,) = made_once("retryout/table1")
    return table1


@pytest.fixture
def jumbo7() -> figures.Figure:
    return made_once("jumbo/fig7")["fig7"]


@pytest.mark.parametrize("name", QUICK)
def test_it_is_what_the_command_makes(name: str, command: Path, tmp_path: Path) -> None:
    """Its JSON, and every file that it writes, byte by byte."""
    arguments = ["reproduce", name, "--json", "--out", str(tmp_path / "command")]
    run = subprocess.run([command, *arguments], check=True, capture_output=True, text=True)
    printed = run.stdout
    made = made_once(name)
    assert made.json == printed
    assert made.report == json.loads(printed)
    made.write(tmp_path / "python")
    files = {file.name: file.read_bytes() for file in (tmp_path / "command").iterdir()}
    assert files == {file.name: file.read_bytes() for file in (tmp_path / "python").iterdir()}
    plot = name.replace("/", "-")
    (figure,) = made
    assert figure.png == files[f"{plot}.png"]
    assert figure.svg.encode() == files[f"{plot}.svg"]
    assert figure.faults == []


def test_quantities_are_those_of_the_report(jumbo7: figures.Figure) -> None:
    report = made_once("jumbo/fig7").report["figures"]
    rows = jumbo7.quantities.to_dict()
    assert rows["quantity"] == [entry["quantity"] for entry in report]
    assert rows["unit"] == [entry["unit"] for entry in report]
    assert rows["verdict"] == [entry["verdict"] for entry in report]
    assert rows["note"] == [entry.get("note") for entry in report]
    for index, entry in enumerate(report):
        for name in ("paper", "ours", "band"):
            value = entry.get(name)
            if isinstance(value, dict):
                value = value["example"]
            if isinstance(value, bool):
                assert rows["ours_shown"][index] is value
                value = None
            if isinstance(value, str):
                assert rows["paper"][index] == value
                value = None
            ends = value if isinstance(value, list) else [value, value]
            assert [rows[f"{name}_from"][index], rows[f"{name}_to"][index]] == ends
    numbers = [value for value in rows["ours_from"] if value is not None]
    assert numbers and all(isinstance(value, float) for value in numbers)


def test_the_numbers_of_a_table_of_a_paper(table1: figures.Figure) -> None:
    """Table I of the paper: an index of 2, 5 and 8 by rate, none above 100 Mb/s."""
    rows = table1.quantities.to_dict()
    assert rows["paper_from"][:3] == [2, 5, 8]
    assert rows["ours_from"][:3] == [2, 5, 8]
    assert rows["ours_shown"][3] is True and rows["paper"][3] == "out of scope"
    assert table1.verdict == "pass" and repr(table1).endswith("5 of 5 agree>")
    assert all(place for place in rows["place"])
    points = table1.points.to_dict()
    curve = dict(zip(points["x"], points["y"], strict=True))
    assert len(curve) == 999 and (curve[24.9], curve[25.0], curve[99.9]) == (2, 5, 8)
    (series,) = zip(*table1.series.to_dict().values(), strict=True)
    assert "index" in series and "line" in series and "smoothed data rate, Mb/s" in series


def test_names_stand_at_axes_in_place_of_numbers() -> None:
    (example,) = made_once("retryout/fig4")
    points = example.points.to_dict()
    numbers = zip(points["y"], points["y_name"], strict=True)
    assert {(y, name) for y, name in numbers} >= {(4.0, "4"), (10.0, "10")}
    ends = example.axes.to_dict()
    top, bottom = ends["from"][1], ends["to"][1]
    assert ends["axis"] == ["x", "left"] and (bottom, top) == (-0.5, 10.5), "the first is at the top"


def test_bands_behind_a_series_are_those_of_its_quantities() -> None:
    (fig4,) = made_once("jumbo/fig4")
    bands, quantities = fig4.bands.to_dict(), fig4.quantities.to_dict()
    assert bands["series"] == ["jumbo frames"] * 2
    around, at_least = zip(bands["y_from"], bands["y_to"], strict=True)
    assert around == (quantities["band_from"][0], quantities["band_to"][0])
    assert at_least[0] == quantities["band_from"][1] and quantities["band_to"][1] is None
    top = fig4.axes.column("to")[1]
    assert at_least[1] == top, "an open side ends with the axis"
    points = fig4.points.to_dict()
    own = [n for n, series in enumerate(points["series"]) if series == "jumbo frames"]
    first = points["x"][own[0]], points["y"][own[0]]
    assert first == (1500, pytest.approx(quantities["ours_from"][0], rel=1e-5))


def test_tables_are_taken_by_polars(jumbo7: figures.Figure) -> None:
    polars = pytest.importorskip("polars")
    for name in ("quantities", "series", "points", "bands", "axes", "runs"):
        table = getattr(jumbo7, name)
        frame = polars.DataFrame(table)
        assert frame.height == len(table) and frame.columns == table.column_names
        assert len(table) > 0 or name == "bands"
    points = polars.DataFrame(jumbo7.points)
    series = polars.DataFrame(jumbo7.series)
    assert points.join(series, on=["panel", "series_number"]).height == points.height


def test_papers_are_listed_with_their_figures(command: Path) -> None:
    wrong = subprocess.run([command, "reproduce", "none"], capture_output=True, text=True).stderr
    listed = {
        f"{key}/{figure.strip(' /')}"
        for key, all in re.findall(r"(\w+) \((/[^)]*)\)", wrong)
        for figure in all.split(",")
    }
    papers = figures.papers()
    assert {figure.name for paper in papers for figure in paper.figures} == listed
    for paper in papers:
        assert paper.title and paper.source and paper.setting
        assert all(f.title and f.shows and f.runs >= 1 for f in paper.figures)
        claims = paper.claims.to_dict()
        ids = {figure.id for figure in paper.figures}
        assert {figure for figure in claims["figure"] if figure} <= ids
        reasons = zip(claims["figure"], claims["untested"], strict=True)
        assert all((figure is None) != (why is None) for figure, why in reasons)
        assert len(paper.calibrated) > 0
        assert paper.title.split()[0] in paper._repr_html_()


def test_claims_have_the_verdicts_of_what_tests_them() -> None:
    made = figures.make("retryout/table1")
    claims = made.claims.to_dict()
    tested = {
        (figure, quantity, verdict)
        for figure, quantity, verdict in zip(
            claims["figure"], claims["quantity"], claims["verdict"], strict=True
        )
        if verdict
    }
    assert tested == {("table1", name, "pass") for name in made.quantities.column("quantity")}
    assert set(claims["says"]) == set(papers_by_key()["retryout"].claims.column("says"))
    assert any(why for why in claims["untested"])


def papers_by_key() -> dict[str, figures.Paper]:
    return {paper.key: paper for paper in figures.papers()}


def test_runs_can_be_made_alone(root: Path, jumbo7: figures.Figure) -> None:
    runs = jumbo7.runs.to_dict()
    for index, name in enumerate(runs["scenario"]):
        sets = runs["set"][index].splitlines()
        text = (root / name).read_text()
        scenario = lasthop.Scenario.parse(text, file=name, set=sets)
        assert scenario.seed == runs["seed"][index]
    assert len(runs["name"]) == jumbo7.info.runs


def test_figures_are_found_by_name_and_place() -> None:
    made = figures.make(papers_by_key()["retryout"].figures[0])
    (figure,) = made
    assert made[0] is made["table1"] is made["retryout/table1"] is figure
    assert figure in made and "retryout/table1" in made and "retryout/fig4" not in made
    assert made[:] == (figure,) and made.verdict == figure.verdict
    with pytest.raises(KeyError, match="retryout/table1"):
        made["fig99"]
    with pytest.raises(IndexError):
        made[1]


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"no \"retryout/fig99\"; did you mean .*there is .*table1"):
        figures.make("retryout/fig99")
    with pytest.raises(ValueError, match="jobs"):
        figures.make("jumbo/fig7", jobs=0)
    with pytest.raises(TypeError):
        figures.make(7)  # type: ignore[arg-type]
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OSError, match="file"):
        figures.make("jumbo/fig7").write(file)
    assert file.read_text() == ""


def test_progress_is_told_and_changes_nothing(table1: figures.Figure) -> None:
    told: list[tuple[float, float]] = []
    made = figures.make("retryout/table1", progress=lambda *at: told.append(at))
    assert made.quantities.to_dict() == table1.quantities.to_dict()
    assert told == sorted(told) and told[-1][0] == told[-1][1] == 600, "ten seeds"


def test_other_threads_go_on_meanwhile() -> None:
    made: list[figures.Figures] = []
    worker = threading.Thread(target=lambda: made.append(figures.make("jumbo/fig4")))
    worker.start()
    looks = 0
    while worker.is_alive():
        time.sleep(0.001)
        looks += 1
    assert looks > 50 and made[0].names == ("jumbo/fig4",)


def test_an_exception_of_progress_ends_it() -> None:
    def fail(simulated: float, total: float) -> None:
        raise RuntimeError(f"enough after {simulated < total}")

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="enough after True"):
        figures.make("retryout/fig6", progress=fail)
    assert time.monotonic() - begin < 10


def test_a_bar_is_shown_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    figures.make("retryout/table1", progress=True)
    errors = capsys.readouterr().err
    assert "100% of retryout/table1" in errors and errors.endswith("\r")
    figures.make("retryout/table1")
    assert capsys.readouterr().err == "", "standard error is no terminal"


def test_control_c_ends_it() -> None:
    # A shell that starts tests in the background has SIGINT ignored.
    program = (
        "import signal\n"
        "from lasthop import figures\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('ready', flush=True)\n"
        "figures.make('retryout')\n"
    )  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt") and process.returncode != 0
    assert time.monotonic() - sent < 5


def test_notebooks_show_plot_and_quantities(table1: figures.Figure) -> None:
    page = table1._repr_html_()
    assert "data:image/svg+xml;base64," in page and "<td>pass</td>" in page
    for tag in ("table", "tr", "td", "p", "h3"):
        assert page.count(f"<{tag}>") == page.count(f"</{tag}>") > 0
    assert "Retry-out index by smoothed data rate" in page
    assert "5 of 5 agree" in made_once("retryout/table1")._repr_html_()


@pytest.mark.parametrize("name", QUICK)
def test_a_plot_has_every_series(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (figure,) = made_once(name)
    canvas: Any = figure.plot()
    canvas.savefig(tmp_path / "plot.png")
    ends = list(zip(*figure.axes.to_dict().values(), strict=True))
    panels = len({panel for panel, *_ in ends})
    assert len(canvas.axes) == len([end for end in ends if end[2] != "x"])
    for panel, _, side, label, start, end in ends:
        axes = canvas.axes[panel]
        if side == "x":
            assert (axes.get_xlabel(), axes.get_xlim()) == (label, (start, end))
        elif side == "left":
            assert (axes.get_ylabel(), axes.get_ylim()) == (label, (start, end))
    shown = [text.get_text() for axes in canvas.axes[:panels] for text in axes.get_legend().texts]
    bands = figure.bands.column("label")
    assert set(shown) == {*figure.series.column("series"), *filter(None, bands)}
    drawn = {tuple(line.get_xydata().ravel()) for axes in canvas.axes for line in axes.lines}
    points = figure.points.to_dict()
    heights = [bar.get_height() for axes in canvas.axes for bar in axes.patches]
    if set(figure.series.column("mark")) == {"bars"}:
        assert heights == points["y"]
    for number, (series, mark) in enumerate(
        zip(*(figure.series.column(name) for name in ("series", "mark")), strict=True)
    ):
        if mark in ("line", "dotted-line", "dots") and panels == 1:
            own = [
                value
                for n, x, y in zip(points["series_number"], points["x"], points["y"], strict=True)
                if n == number
                for value in (x, y)
            ]
            assert tuple(own) in drawn, series


def test_it_draws_on_a_canvas_that_is_given(table1: figures.Figure) -> None:
    matplotlib_figure = pytest.importorskip("matplotlib.figure")
    canvas = matplotlib_figure.Figure()
    assert table1.plot(canvas) is canvas and len(canvas.axes) == 1


def test_a_missing_matplotlib_is_named(
    table1: figures.Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.axes", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "lasthop._draw", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'lasthop\[plot\]'"):
        table1.plot()
