"""The compiled part of the package; public names are in ``lasthop`` and ``lasthop.rlnc``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, final

from lasthop._scenario import Problem

__version__: str
run_schema: str

class _Buffer(Protocol):
    """``collections.abc.Buffer``, which Python has from 3.12 on."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Scenario:
    """A scenario file with its changes. Instances are immutable.

    ``load``, ``parse`` and ``with_`` raise ``ScenarioError`` with all problems of an
    invalid scenario. With ``check=False`` they, and all methods of the result, raise
    nothing: ``problems`` returns the problems, and ``simulate`` raises.
    """

    @staticmethod
    def load(path: str | os.PathLike[str], *, check: bool = True) -> Scenario:
        """Loads the scenario file at ``path``. Raises ``ScenarioError``, also if it cannot be
        read.
        """

    @staticmethod
    def parse(
        text: str, *, file: str = "scenario.toml", set: Sequence[str] = (), check: bool = True
    ) -> Scenario:
        """Parses the scenario in ``text``, TOML.

        ``file`` is its name in messages. Other files that it names are looked for beside
        that file, whose name is also the default name of the scenario. ``set`` has changes
        as ``path=value``.
        """

    def with_(self, changes: Mapping[str, object] | None = None, /, **keys: object) -> Scenario:
        """Returns the scenario with other values of keys, as ``lasthop --set`` sets them.

        Keys are paths: ``s.with_(duration="2s")``, ``s.with_({"node.*.queue.packets": 50})``.
        Values are text with a unit, numbers, booleans, lists and dictionaries.
        """

    def problems(self) -> list[Problem]:
        """Returns the problems of the scenario; never any if it was checked."""

    def warnings(self) -> list[str]:
        """Returns warnings about settings that distort the results."""

    @property
    def file(self) -> str:
        """Name of its file in messages."""

    @property
    def set(self) -> tuple[str, ...]:
        """Changes as ``path=value``, in order."""

    @property
    def text(self) -> str:
        """Text of the file with all changes."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def seed(self) -> int:
        """Seed of its random numbers."""

    @property
    def duration_s(self) -> float:
        """Duration of a run, in seconds."""

    @property
    def warmup_s(self) -> float:
        """Seconds at the beginning that are left out of results."""

    @property
    def nodes(self) -> list[str]:
        """Names of its nodes, without those of neighbours."""

    @property
    def flows(self) -> list[str]:
        """Names of its flows."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...

@final
class Table:
    """A table in memory, for every library that reads Arrow.

    ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``pandas.DataFrame.from_arrow(table)`` and DuckDB's ``FROM table`` read it without a
    copy of its values.
    """

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """Names of its columns, with units."""

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column, None where there is none. Raises ``KeyError``."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns all columns as lists."""

    def _repr_html_(self) -> str: ...

@final
class RawRun:
    """The compiled part of ``lasthop.Run``."""

    @property
    def events(self) -> Table | None: ...
    @property
    def series(self) -> Table | None: ...
    def json(self) -> str: ...
    def flows(self) -> Table: ...
    def nodes(self) -> Table: ...
    def links(self) -> Table: ...

@final
class SweepPlan:
    """The plan of a sweep; see ``lasthop.sweep``."""

    def __new__(
        cls,
        scenario: Scenario,
        vary: dict[str, str | Iterable[object]] | None,
        zip: bool,
        runs: int | None,
    ) -> SweepPlan: ...
    @property
    def combinations(self) -> int:
        """Number of combinations."""

    @property
    def runs(self) -> int:
        """Number of runs."""

    def check(self, threads: int) -> None:
        """Reads every combination; raises with all invalid ones."""

    def blueprint(self) -> bytes:
        """Returns the description from which another process makes its runs."""

    def open(self, folder: str | os.PathLike[str], series: bool) -> SweepWork:
        """Opens the folder of the sweep, and creates it if missing."""

@final
class SweepWork:
    """A sweep in progress, with its folder."""

    @property
    def there(self) -> int:
        """Number of finished runs."""

    @property
    def failed(self) -> int:
        """Number of failed runs among them."""

    @property
    def left(self) -> int:
        """Number of missing runs that are not given out."""

    def make(self, threads: int, progress: Callable[[int], None] | None) -> None:
        """Makes all remaining runs on threads; calls ``progress`` with the number of finished
        ones.
        """

    def take(self, most: int) -> list[int]:
        """Gives out up to ``most`` missing runs, by number."""

    def add(self, batch: bytes) -> tuple[int, float]:
        """Adds the result of ``make_runs``; returns the number of new runs, and their duration
        in seconds.
        """

    def fail(self, number: int, message: str) -> None:
        """Records that a run cannot be made."""

    def close(self, tables: bool) -> None:
        """Closes the sweep and keeps its results; makes tables and the page if ``tables``."""

def make_runs(blueprint: bytes, numbers: list[int]) -> bytes:
    """Makes runs of a sweep by number; returns a batch of Arrow's IPC stream for
    ``SweepWork.add``.

    Python delivers signals to the main thread only, so on other threads Ctrl-C has no
    effect.
    """

def sweep_tables(folder: str | os.PathLike[str]) -> tuple[str, list[tuple[str, Table]]]:
    """Returns the document ``sweep.json`` as text, and the tables of a sweep's folder by name."""

def mean_ci(table: Table, by: list[str], of: list[str]) -> Table:
    """Returns the mean of ``of`` over the rows with the same values of ``by``, with the
    half-width of its 95 % confidence interval from Student's distribution. Rows without a
    finite value do not count. Groups are in the order of their first rows.
    """

def simulate(scenario: Scenario, run: int, series: bool, events: bool) -> RawRun: ...
@final
class RawPaper:
    """The compiled part of ``lasthop.figures.Paper``."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def setting(self) -> str: ...
    def figures(self) -> list[tuple[str, str, str, int]]:
        """Returns id, title, explanation and number of runs of each figure."""

    def claims(self) -> Table: ...
    def calibrated(self) -> Table: ...

@final
class RawFigures:
    """The compiled part of ``lasthop.figures.Figures``."""

    def json(self) -> str: ...
    def names(self) -> list[tuple[str, str]]:
        """Returns paper and id of each figure."""

    def verdict(self, index: int) -> Literal["pass", "fail"]: ...
    def faults(self, index: int) -> list[str]: ...
    def quantities(self, index: int | None) -> Table:
        """Returns the quantities of a figure, or of all."""

    def claims(self) -> Table: ...
    def series(self, index: int) -> Table: ...
    def points(self, index: int) -> Table: ...
    def bands(self, index: int) -> Table: ...
    def axes(self, index: int) -> Table: ...
    def tick_names(self, index: int, panel: int, axis: str) -> list[str]:
        """Returns the names at an axis of a panel, at 0, 1, 2 ..; empty if it has numbers."""

    def runs(self, index: int) -> Table: ...
    def svg(self, index: int) -> str: ...
    def png(self, index: int) -> bytes: ...
    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the files of the command into a directory, all or none."""

def papers() -> list[RawPaper]: ...
def reproduce(
    figures: str | None, jobs: int | None, progress: Callable[[float, float], object] | None
) -> RawFigures: ...
@final
class Steps:
    """A run in steps.

    ``advance`` lets time pass; ``link``, ``queue_packets`` and ``flows`` return counts
    since the start; ``set_...`` changes a radio from then on, and raises ``ValueError`` for
    an invalid value, ``KeyError`` for an unknown node.
    """

    def __new__(cls, scenario: Scenario, run: int) -> Steps: ...

    def advance(self, seconds: float) -> bool:
        """Lets ``seconds`` pass, or the rest of the run; returns whether time is left."""

    @property
    def now(self) -> float:
        """Time that has passed, in seconds."""

    @property
    def radios(self) -> list[str]:
        """Names of the nodes with a radio, access points included."""

    def link(self, from_: str, to: str, /) -> tuple[int, int, int, int, int, int, float]:
        """Returns the counts of a radio's frames to another one so far.

        Data PPDUs; MPDUs, and of these retransmitted, acknowledged, not acknowledged and
        given up; and the seconds on the air.
        """

    def queue_packets(self, node: str, /) -> int:
        """Returns the packets in the queues of a radio and in flight."""

    def flows(self) -> list[tuple[str, int, int, float]]:
        """Returns for each flow its name, packets and bytes that arrived, and the sum of their
        delays in seconds.

        Bytes are those of IP packets; delays are one-way.
        """

    def set_contention_window(self, node: str, cw_min: int, cw_max: int, /) -> None:
        """Sets the contention windows of a radio's best-effort traffic in slots, 2^n - 1."""

    def set_mcs(self, node: str, mcs: int, /) -> None:
        """Sets the MCS of all data frames of a radio, at the fastest rate with this MCS."""

    def set_queue_packets(self, node: str, packets: int, /) -> None:
        """Sets the packet limit of each queue of a radio."""

    def set_queue_target(self, node: str, seconds: float, /) -> None:
        """Sets the target of a radio's CoDel or FQ-CoDel, the acceptable standing delay, in
        seconds.
        """

@final
class Code:
    """The parameters shared by sender and receiver of a code.

    ``symbols`` is the number of symbols in a block, or most in a window, 1 to 65535;
    ``symbol_bytes`` the length of a symbol, at least 1; ``field`` the number of elements of
    the field: 2, 16 or 256. Raises ``ValueError`` if a decoder would need over 2^28 bytes.
    """

    def __new__(cls, symbols: int, symbol_bytes: int, *, field: int = 256) -> Code: ...
    @property
    def symbols(self) -> int: ...
    @property
    def symbol_bytes(self) -> int: ...
    @property
    def field(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Vector:
    """The combination of symbols in a packet. Sender and receiver exchange its numbers."""

    @staticmethod
    def source(index: int) -> Vector:
        """Returns the vector of one uncoded symbol."""

    @staticmethod
    def seeded(seed: int, *, count: int, first: int = 0, density: int = 65535) -> Vector:
        """Returns the vector of coefficients drawn from ``seed``, for ``count`` symbols from
        number ``first`` on.
        """

    @staticmethod
    def full(packed: _Buffer, *, count: int, first: int = 0) -> Vector:
        """Returns the vector of explicit coefficients: 1, 4 or 8 bits each, the lowest bits
        first.
        """

    @property
    def kind(self) -> str:
        """Kind of the vector: ``source``, ``seeded`` or ``full``."""

    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def density(self) -> int | None: ...
    @property
    def packed(self) -> bytes | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Encoder:
    """The sender of a block: adds symbols, and returns combinations of them."""

    def __new__(cls, code: Code) -> Encoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, symbol: _Buffer) -> int:
        """Adds the next symbol and returns its number; shorter data is padded with zeros.

        Raises ``ValueError`` if the block is full or the data is longer than a symbol.
        """

    def extend(self, data: _Buffer) -> int:
        """Adds ``data`` cut into symbols, and returns their number; the last one is padded.

        Raises ``ValueError`` if the block cannot hold all of them, and then adds none.
        """

    def __len__(self) -> int: ...
    def source(self, index: int) -> tuple[Vector, bytes]:
        """Returns the packet with the uncoded symbol ``index``. Raises ``IndexError``."""

    def coded(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """Returns a combination of all symbols so far. Raises ``ValueError`` without symbols."""

    def coded_many(
        self, seeds: Sequence[int], *, density: int = 65535
    ) -> list[tuple[Vector, bytes]]:
        """Returns a combination for each seed; faster than one by one."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class Decoder:
    """The receiver of a block, which recovers its symbols."""

    def __new__(cls, code: Code) -> Decoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """Adds a packet; returns whether it is innovative.

        Raises ``ValueError`` if it does not fit the code; the decoder then stays unchanged.
        """

    @property
    def rank(self) -> int:
        """Number of independent packets so far."""

    @property
    def known(self) -> int:
        """Number of known symbols."""

    @property
    def is_complete(self) -> bool: ...
    def next_known(self) -> int | None:
        """Returns the number of the next symbol that has become known; each number once."""

    def symbol(self, index: int) -> bytes | None:
        """Returns symbol ``index``, if it is known."""

    def data(self) -> bytes:
        """Returns all symbols, one after the other. Raises ``ValueError`` if one is unknown."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class Recoder:
    """A node between sender and receiver of a block: combines packets without decoding."""

    def __new__(cls, code: Code) -> Recoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """Adds a packet as ``Decoder.push`` does."""

    @property
    def rank(self) -> int: ...
    def recode(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """Returns a combination of all packets so far. Raises ``ValueError`` without packets."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class WindowEncoder:
    """The sender of a stream, whose symbols are numbered from 0."""

    def __new__(cls, code: Code) -> WindowEncoder: ...
    @property
    def range(self) -> tuple[int, int]:
        """Returns the numbers of the symbols in the window: the first, and one past the last."""

    def push(self, symbol: _Buffer) -> int:
        """Adds a symbol as ``Encoder.push`` does."""

    def slide(self, first: int) -> None:
        """Removes the symbols before ``first``."""

    def source(self, index: int) -> tuple[Vector, bytes]:
        """Returns a packet as ``Encoder.source`` does."""

    def coded(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """Returns a combination of the symbols in the window, as ``Encoder.coded`` does."""

@final
class WindowDecoder:
    """The receiver of a stream, which recovers symbols in its window."""

    def __new__(cls, code: Code) -> WindowDecoder: ...
    @property
    def range(self) -> tuple[int, int]:
        """Returns the numbers that the window covers: the first, and one past the last."""

    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """Adds a packet as ``Decoder.push`` does; newer symbols slide the window, and older
        ones are given up.
        """

    def slide(self, first: int) -> None:
        """Gives up the symbols before ``first``."""

    @property
    def rank(self) -> int: ...
    def next_known(self) -> int | None:
        """Returns a number as ``Decoder.next_known`` does."""

    def symbol(self, index: int) -> bytes | None:
        """Returns a symbol as ``Decoder.symbol`` does, while it is in the window."""
