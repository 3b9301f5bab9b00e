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
    """A scenario file, with what was set since. It does not change.

    ``load``, ``parse`` and ``with_`` raise ``ScenarioError`` if anything is wrong with it,
    with everything that is. With ``check=False`` they, and all that is made from what they
    return, raise nothing: ``problems`` tells then, and ``simulate`` raises.
    """

    @staticmethod
    def load(path: str | os.PathLike[str], *, check: bool = True) -> Scenario:
        """The scenario file at ``path``. Raises ``ScenarioError``, also if it cannot be read."""

    @staticmethod
    def parse(
        text: str, *, file: str = "scenario.toml", set: Sequence[str] = (), check: bool = True
    ) -> Scenario:
        """The scenario in ``text``, TOML.

        Messages call it ``file``, other files that it names are looked for beside that, and
        its name is the default name of the scenario. ``set`` has changes as ``path=value``.
        """

    def with_(self, changes: Mapping[str, object] | None = None, /, **keys: object) -> Scenario:
        """The same with other values of keys, as ``lasthop --set`` sets them.

        Keys are paths: ``s.with_(duration="2s")``, ``s.with_({"node.*.queue.packets": 50})``.
        Values are text with a unit, numbers, truths, lists and dictionaries.
        """

    def problems(self) -> list[Problem]:
        """What is wrong with it; not empty only if it was not checked."""

    def warnings(self) -> list[str]:
        """What makes results other than one might expect."""

    @property
    def file(self) -> str:
        """What messages call its file."""

    @property
    def set(self) -> tuple[str, ...]:
        """What was set, as ``path=value``, in order."""

    @property
    def text(self) -> str:
        """The file with all that was set."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def seed(self) -> int:
        """The seed of its random numbers."""

    @property
    def duration_s(self) -> float:
        """How long it lasts, in seconds."""

    @property
    def warmup_s(self) -> float:
        """What is left out of results at the beginning, in seconds."""

    @property
    def nodes(self) -> list[str]:
        """The names of its nodes, those of neighbours left out."""

    @property
    def flows(self) -> list[str]:
        """The names of its flows."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...

@final
class Table:
    """A table in memory, for every library that reads Arrow.

    ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``
    and DuckDB's ``FROM table`` take it as it is, without a copy of its values.
    """

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """The names of its columns, with units."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    def column(self, name: str) -> list[Any]:
        """The values of a column; None where there is none. Raises ``KeyError``."""

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns as lists."""

    def _repr_html_(self) -> str: ...

@final
class RawRun:
    """What ``lasthop.Run`` is made of."""

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
    """What a sweep is; see ``lasthop.sweep``."""

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
        """Reads every combination; raises with all that cannot be."""

    def blueprint(self) -> bytes:
        """What another process needs to make its runs."""

    def open(self, folder: str | os.PathLike[str], series: bool) -> SweepWork:
        """Opens its folder, which is made if there is none."""

@final
class SweepWork:
    """A sweep that is being made, with its folder."""

    @property
    def there(self) -> int:
        """Number of runs that are there."""

    @property
    def failed(self) -> int:
        """Number of them that failed."""

    @property
    def left(self) -> int:
        """Number of runs that are missing and that nobody was told to make."""

    def make(self, threads: int, progress: Callable[[int], None] | None) -> None:
        """Makes all that is left on threads; calls ``progress`` with how many are made."""

    def take(self, most: int) -> list[int]:
        """Gives out so many missing runs at most, by number."""

    def add(self, batch: bytes) -> tuple[int, float]:
        """Takes what ``make_runs`` returned; the number of runs that were new, and the seconds
        that they took."""

    def fail(self, number: int, message: str) -> None:
        """Notes that a run cannot be made."""

    def close(self, tables: bool) -> None:
        """Ends it: what is there is kept, and tables and page are made of it if ``tables``."""

def make_runs(blueprint: bytes, numbers: list[int]) -> bytes:
    """Makes runs of a sweep by number; a batch of Arrow's IPC stream, for ``SweepWork.add``.

    On a thread that is not the main one Python sees no signals, as nowhere in such threads.
    """

def sweep_tables(folder: str | os.PathLike[str]) -> tuple[str, list[tuple[str, Table]]]:
    """What was asked for, as JSON, and the tables of a sweep's folder by name."""

def mean_ci(table: Table, by: list[str], of: list[str]) -> Table:
    """The mean of ``of`` over the rows that have the same values of ``by``, with the half width
    of its 95 % confidence interval from Student's distribution; rows without a value, or
    whose value is not finite, count nothing. Groups are in the order in which they begin."""

def simulate(scenario: Scenario, run: int, series: bool, events: bool) -> RawRun: ...
@final
class RawPaper:
    """What ``lasthop.figures.Paper`` is made of."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def setting(self) -> str: ...
    def figures(self) -> list[tuple[str, str, str, int]]:
        """Id, title, what it shows and number of runs of each figure."""

    def claims(self) -> Table: ...
    def calibrated(self) -> Table: ...

@final
class RawFigures:
    """What ``lasthop.figures.Figures`` is made of."""

    def json(self) -> str: ...
    def names(self) -> list[tuple[str, str]]:
        """Paper and id of each figure."""

    def verdict(self, index: int) -> Literal["pass", "fail"]: ...
    def faults(self, index: int) -> list[str]: ...
    def quantities(self, index: int | None) -> Table:
        """The quantities of a figure, or of all."""

    def claims(self) -> Table: ...
    def series(self, index: int) -> Table: ...
    def points(self, index: int) -> Table: ...
    def bands(self, index: int) -> Table: ...
    def axes(self, index: int) -> Table: ...
    def tick_names(self, index: int, panel: int, axis: str) -> list[str]:
        """The names at an axis of a panel, at 0, 1, 2 ..; empty if it has numbers."""

    def runs(self, index: int) -> Table: ...
    def svg(self, index: int) -> str: ...
    def png(self, index: int) -> bytes: ...
    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes what the command writes into a directory, all or nothing."""

def papers() -> list[RawPaper]: ...
def reproduce(
    figures: str | None, jobs: int | None, progress: Callable[[float, float], object] | None
) -> RawFigures: ...
@final
class Steps:
    """A run that goes on step by step.

    ``advance`` lets time pass; ``link``, ``queue_packets`` and ``flows`` tell what was
    counted since the start; ``set_...`` changes a radio from then on, and raises
    ``ValueError`` if that cannot be, ``KeyError`` for a node that there is not.
    """

    def __new__(cls, scenario: Scenario, run: int) -> Steps: ...

    def advance(self, seconds: float) -> bool:
        """Lets so much pass, or what is left; whether something is left then."""

    @property
    def now(self) -> float:
        """The time that passed, in seconds."""

    @property
    def radios(self) -> list[str]:
        """The nodes with a radio, the access point among them."""

    def link(self, from_: str, to: str, /) -> tuple[int, int, int, int, int, int, float]:
        """What a radio sent to another one so far.

        Data PPDUs, MPDUs, of these retransmitted, acknowledged, not acknowledged and given
        up, and the seconds that they were on the air.
        """

    def queue_packets(self, node: str, /) -> int:
        """The packets in the queues of a radio and in flight."""

    def flows(self) -> list[tuple[str, int, int, float]]:
        """By flow: name, packets and bytes that arrived, and the sum of their delays in seconds.

        Bytes are those of IP packets; delays are one-way.
        """

    def set_contention_window(self, node: str, cw_min: int, cw_max: int, /) -> None:
        """The windows of a radio's best-effort traffic in slots, 2^n - 1."""

    def set_mcs(self, node: str, mcs: int, /) -> None:
        """The MCS of all data frames of a radio; the fastest rate that has it."""

    def set_queue_packets(self, node: str, packets: int, /) -> None:
        """Most packets of each queue of a radio."""

    def set_queue_target(self, node: str, seconds: float, /) -> None:
        """Acceptable standing delay of a radio's CoDel or FQ-CoDel, in seconds."""

@final
class Code:
    """What sender and receiver of a code share.

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
    """Which combination of symbols a packet is. Sender and receiver exchange its numbers."""

    @staticmethod
    def source(index: int) -> Vector:
        """The symbol with this number, uncoded."""

    @staticmethod
    def seeded(seed: int, *, count: int, first: int = 0, density: int = 65535) -> Vector:
        """Coefficients drawn from ``seed``, of ``count`` symbols from number ``first`` on."""

    @staticmethod
    def full(packed: _Buffer, *, count: int, first: int = 0) -> Vector:
        """Coefficients in full: 1, 4 or 8 bits each, the lowest bits first."""

    @property
    def kind(self) -> str:
        """``source``, ``seeded`` or ``full``."""

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
    """The sender of a block: takes symbols, returns combinations of those it has."""

    def __new__(cls, code: Code) -> Encoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, symbol: _Buffer) -> int:
        """Takes the next symbol and returns its number; shorter data is padded with zeros.

        Raises ``ValueError`` if the block is full or the data is longer than a symbol.
        """

    def extend(self, data: _Buffer) -> int:
        """Takes ``data`` cut into symbols, and returns how many; the last one is padded.

        Raises ``ValueError`` if the block has no room for all of them; none is taken then.
        """

    def __len__(self) -> int: ...
    def source(self, index: int) -> tuple[Vector, bytes]:
        """The packet with symbol ``index`` itself. Raises ``IndexError``."""

    def coded(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """A combination of all symbols so far. Raises ``ValueError`` if there is none."""

    def coded_many(
        self, seeds: Sequence[int], *, density: int = 65535
    ) -> list[tuple[Vector, bytes]]:
        """A combination for each seed; faster than one by one."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class Decoder:
    """The receiver of a block."""

    def __new__(cls, code: Code) -> Decoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """Takes a packet; returns whether it says something new.

        Raises ``ValueError`` if it does not fit the code; nothing changes then.
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
        """The number of the next symbol that has become known; each is told once."""

    def symbol(self, index: int) -> bytes | None:
        """Symbol ``index``, if it is known."""

    def data(self) -> bytes:
        """All symbols, one after the other. Raises ``ValueError`` if one is not known."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class Recoder:
    """A node between sender and receiver of a block: combines packets without decoding."""

    def __new__(cls, code: Code) -> Recoder: ...
    @property
    def code(self) -> Code: ...
    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """As ``Decoder.push``."""

    @property
    def rank(self) -> int: ...
    def recode(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """A combination of all packets so far. Raises ``ValueError`` if there is none."""

    def clear(self) -> None:
        """Starts the next block."""

@final
class WindowEncoder:
    """The sender of a stream, whose symbols are numbered from 0."""

    def __new__(cls, code: Code) -> WindowEncoder: ...
    @property
    def range(self) -> tuple[int, int]:
        """The numbers of the symbols in the window: the first, and one past the last."""

    def push(self, symbol: _Buffer) -> int:
        """As ``Encoder.push``."""

    def slide(self, first: int) -> None:
        """Removes the symbols before ``first``."""

    def source(self, index: int) -> tuple[Vector, bytes]:
        """As ``Encoder.source``."""

    def coded(self, seed: int, *, density: int = 65535) -> tuple[Vector, bytes]:
        """As ``Encoder.coded``, of the symbols in the window."""

@final
class WindowDecoder:
    """The receiver of a stream."""

    def __new__(cls, code: Code) -> WindowDecoder: ...
    @property
    def range(self) -> tuple[int, int]:
        """The numbers that the window covers: the first, and one past the last."""

    def push(self, vector: Vector, payload: _Buffer) -> bool:
        """As ``Decoder.push``; newer symbols slide the window, and older ones are given up."""

    def slide(self, first: int) -> None:
        """Gives up the symbols before ``first``."""

    @property
    def rank(self) -> int: ...
    def next_known(self) -> int | None:
        """As ``Decoder.next_known``."""

    def symbol(self, index: int) -> bytes | None:
        """As ``Decoder.symbol``, while it is in the window."""
