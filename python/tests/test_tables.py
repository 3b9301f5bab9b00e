"""Tables in other libraries: the rows of the files that the command writes, without a copy."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

import lasthop

pyarrow: Any = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(root: Path, command: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes of the run."""
    out = tmp_path_factory.mktemp("files") / "out"
    arguments = ["--set", "duration=200ms", "--out", str(out)]
    file = str(root / "scenarios/hello.toml")
    subprocess.run([command, "simulate", file, *arguments], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("name", ["events", "series"])
def test_it_has_the_rows_of_the_file(run: lasthop.Run, files: Path, name: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    expected = parquet.read_table(files / f"{name}.parquet")
    table = getattr(run, name)
    taken = pyarrow.table(table)
    assert taken.num_rows == expected.num_rows >= 8
    assert taken.column_names == expected.column_names == table.column_names
    assert taken.to_pylist() == expected.to_pylist()
    assert table.to_dict() == expected.to_pydict()
    taken.validate(full=True)
    assert taken.schema.metadata[b"lasthop.schema"] == expected.schema.metadata[b"lasthop.schema"]


def addresses(table: Any) -> set[int]:
    """Where the values of a table of pyarrow are in memory."""
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    return {buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer}


def test_pyarrow_copies_nothing(run: lasthop.Run) -> None:
    first, second = pyarrow.table(run.events), pyarrow.table(run.events)
    assert addresses(first) == addresses(second)
    assert len(addresses(first)) > 40


def test_polars_copies_no_value(run: lasthop.Run) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(run.events)
    assert frame.height == len(run.events)
    assert frame.schema["kind"] == polars.String and frame.schema["at_ns"] == polars.Int64
    memory = addresses(pyarrow.table(run.events))
    # What polars gives back is its own memory.
    back = frame.to_arrow(compat_level=polars.CompatLevel.newest())
    for name in frame.columns:
        (chunk,) = back[name].chunks
        values = chunk.buffers()[1]
        assert values.address in memory, name


def test_pandas_takes_it(run: lasthop.Run) -> None:
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("pandas takes Arrow tables from version 3 on")
    frame = pandas.DataFrame.from_arrow(run.events)
    assert list(frame.columns) == run.events.column_names
    assert frame["at_ns"].tolist() == run.events.column("at_ns")
    assert frame["kind"].tolist() == run.events.column("kind")


def test_duckdb_takes_it(run: lasthop.Run) -> None:
    duckdb = pytest.importorskip("duckdb")
    events = run.events
    query = "SELECT kind, count(*), max(at_ns) FROM events GROUP BY kind ORDER BY kind"
    counted = duckdb.sql(query).fetchall()
    columns = events.to_dict()
    for kind, count, last in counted:
        times = [at for at, is_ in zip(columns["at_ns"], columns["kind"]) if is_ == kind]
        assert (len(times), max(times)) == (count, last)
    assert sum(count for _, count, _ in counted) == len(events)


def test_it_outlives_its_run(hello: lasthop.Scenario) -> None:
    taken = pyarrow.table(lasthop.simulate(hello).series)
    again = lasthop.simulate(hello).series.to_dict()
    assert taken.to_pydict() == again


def test_a_capsule_that_nobody_takes_is_freed(run: lasthop.Run) -> None:
    for _ in range(100):
        run.series.__arrow_c_stream__()
        run.series.__arrow_c_schema__()
    schema = pyarrow.schema(run.series)
    assert schema.names == run.series.column_names
    assert run.series.__arrow_c_stream__(schema.__arrow_c_schema__()) is not None


def joined(outer: str, inner: str) -> str:
    """The column of a key within another: the unit is the last word of a name."""
    for unit in ("_ms", "_mbps", "_packets", "_fraction"):
        if outer.endswith(unit):
            return f"{outer.removesuffix(unit)}_{inner}{unit}"
    return f"{outer}_{inner}"


@pytest.mark.parametrize(("name", "key"), [("flows", "flow"), ("nodes", "node"), ("links", "link")])
def test_summaries_are_rows(run: lasthop.Run, name: str, key: str) -> None:
    table, entries = getattr(run, name), getattr(run, "summary")[name]
    columns = table.to_dict()
    assert columns[key] == list(entries)
    numbers = 0
    for row, entry in enumerate(entries.values()):
        for column, value in entry.items():
            if isinstance(value, (int, float)):
                assert math.isclose(columns[column][row], value), column
                numbers += 1
            elif isinstance(value, dict):
                for inner, within in value.items():
                    cell = columns[joined(column, inner)][row]
                    is_number = isinstance(within, (int, float))
                    assert math.isclose(cell, within) if is_number else cell == within, column
                    numbers += is_number
    assert numbers >= 2


def test_columns_do_not_depend_on_the_run(root: Path, run: lasthop.Run) -> None:
    other = lasthop.Scenario.load(root / "scenarios/demo.toml").with_(duration="6s")
    made = lasthop.simulate(other)
    for name in ("flows", "nodes", "links"):
        one, two = (pyarrow.table(getattr(r, name)).schema for r in (run, made))
        assert one == two


def test_a_table_by_itself(run: lasthop.Run) -> None:
    table = run.flows
    assert len(table) == 1 and table.column("flow") == ["up"]
    assert table.nbytes > 0 and repr(table).startswith("<lasthop.Table: 1 rows; flow, kind, ")
    assert "<th>goodput_mbps</th>" in table._repr_html_()
    with pytest.raises(KeyError, match="nothing"):
        table.column("nothing")
