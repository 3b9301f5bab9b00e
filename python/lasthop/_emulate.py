"""Emulations: real programs behind the modelled hop, run by the package's command ``lasthop``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lasthop._lasthop import Scenario

if TYPE_CHECKING:
    from lasthop.summary import RunDocument

__all__ = [
    "CommandFailed",
    "EmulateError",
    "EmulateRefused",
    "EmulatedRun",
    "ExpectationFailed",
    "emulate",
]

END_S = 10.0
"""Longest time for the command's clean-up after an interrupt, in seconds."""

# COMMAND's output to files: standard error is shared with the command's own report.
ASIDE = 'out=$1 err=$2; shift 2; exec "$@" >"$out" 2>"$err"'

REFUSED = "cannot emulate here"


class EmulateError(RuntimeError):
    """An emulation that did not start, or a command in it that failed."""


class EmulateRefused(EmulateError):
    """The system refuses network namespaces, which emulations need. The text has a remedy."""


class CommandFailed(EmulateError):
    """With ``check=True``: the exit status of the command behind the hop is not 0."""

    run: EmulatedRun
    """The emulation, with what the command printed."""

    def __init__(self, run: EmulatedRun) -> None:
        last = (run.stderr or run.stdout).strip().splitlines()[-1:]
        why = f": {last[0]}" if last else ""
        command = textwrap.shorten(" ".join(run.command), 100, placeholder=" ..")
        super().__init__(f"{command} ended with status {run.returncode}{why}")
        self.run = run


class ExpectationFailed(EmulateError, AssertionError):
    """A condition of ``expect`` does not hold: a failure of a test, not an error in it."""

    run: EmulatedRun
    """The emulation, with what the command printed."""
    failures: tuple[str, ...]
    """Condition and measured value, one text for each condition that does not hold."""

    def __init__(self, run: EmulatedRun, failures: tuple[str, ...]) -> None:
        super().__init__("; ".join(failures))
        self.run = run
        self.failures = failures


class EmulatedRun:
    """The results of an emulation, and of the command in it."""

    command: tuple[str, ...]
    """The command and its arguments; empty if there was none."""
    returncode: int
    """Exit status of the command, 128 plus the number of a signal; 0 without a command."""
    stdout: str
    """Standard output of the command; bytes that are not UTF-8 are replaced."""
    stderr: str
    """Standard error of the command, likewise."""
    report: str
    """Output of ``lasthop emulate``: its tables, and warnings."""
    json: str
    """The summary as the command writes it into ``run.json``."""

    def __init__(
        self, command: tuple[str, ...], returncode: int, outputs: tuple[str, str, str], json: str
    ) -> None:
        self.command = command
        self.returncode = returncode
        self.stdout, self.stderr, self.report = outputs
        self.json = json

    @cached_property
    def summary(self) -> RunDocument:
        """The summary; keys that do not apply are absent (``lasthop.summary`` has the types)."""
        return cast("RunDocument", json.loads(self.json))

    @property
    def late(self) -> bool:
        """Whether this machine did not keep real time, which adds to the delays."""
        emulation = self.summary.get("emulation")
        return emulation is not None and emulation["late"]

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<lasthop.EmulatedRun of {summary['scenario']!r}: {summary['duration_s']} s, "
            f"status {self.returncode}>"
        )


def emulate(
    scenario: Scenario | str | os.PathLike[str] | None = None,
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    place: str | None = None,
    set: Mapping[str, object] | None = None,
    duration: float | str | None = None,
    in_node: str | None = None,
    check: bool = False,
    seed: int | None = None,
    reach: int | Sequence[int] = (),
    publish: int | str | Sequence[int | str] = (),
    outside: bool = False,
    outside_at: str | None = None,
    expect: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> EmulatedRun:
    """Runs ``command`` behind the hop of ``scenario``, in real time, and waits for its end.

    ``scenario`` is a ``Scenario``, a file, or the name of a built-in one (``"hello"``). In its
    stead, ``place`` names a place that ``lasthop places`` lists (``place="cafe"``). ``set`` has
    other values of keys, as for ``Scenario.with_``.

    ``command`` is a program and its arguments, or a line for the shell (a text). It reaches every
    node by its name (``ping server``). The command runs in ``in_node``, by default the first
    station, after the scenario's warm-up, with the environment and the working directory of this
    process and an empty standard input. Without a command, the scenario's flows and programs run
    alone.
    ``duration`` is the time after which the command ends, or the emulation without one, in
    seconds or as text with a unit (``"30s"``). By default the emulation ends with the command,
    without one after the scenario's duration. ``seed`` replaces that of the scenario.

    ``reach``, ``publish``, ``outside`` and ``outside_at`` connect the nodes with this machine, as
    the options of ``lasthop emulate`` do. With ``reach=3000``, nodes reach that port of this
    machine's loopback as ``host.lasthop:3000``; ``publish="8080:server:80"`` connects port 8080
    of 127.0.0.1 to port 80 of the node ``server``. Several ports are a list.

    ``expect`` has conditions of the run, in the form of ``--expect``
    (``"flow.ping.rtt_ms.p95 < 100"``); ``ExpectationFailed`` lists those that do not hold. ``out``
    is a directory for the run's files, which is created.

    The function needs Linux and network namespaces, and runs the command of the same
    installation. If an exception ends it (Ctrl-C), namespaces and processes are removed before
    the exception continues.

    Raises ``ScenarioError``; ``FileNotFoundError`` if there is no such program; ``EmulateRefused``
    if namespaces are refused, ``EmulateError`` for another failure; with ``check``
    ``CommandFailed`` if the status of the command is not 0; ``ExpectationFailed`` if a condition
    of ``expect`` does not hold.
    """
    if (scenario is None) == (place is None):
        raise TypeError("expected a scenario, or place=..., and not both")
    behind = _command(command)
    if in_node is not None and not behind:
        raise TypeError("in_node is where the command runs: there is none")
    program = _program()
    hop = _scenario(program, scenario, place)
    if set:
        hop = hop.with_(dict(set))
    if seed is not None:
        hop = hop.with_(seed=seed)
    with tempfile.TemporaryDirectory(prefix="lasthop-emulate-") as folder:
        top = Path(folder)
        file, results, stdout, stderr, junit = (
            top / name for name in (f"{hop.name}.toml", "run", "1", "2", "junit.xml")
        )
        if out is not None:
            results = Path(out).absolute()
        file.write_text(hop.text, encoding="utf-8")
        arguments = [os.fspath(program), "emulate", os.fspath(file), "--out", os.fspath(results)]
        if duration is not None:
            text = duration if isinstance(duration, str) else f"{duration:.9f}s"
            arguments.append(f"--duration={text}")
        if in_node is not None:
            arguments.append(f"--in={in_node}")
        arguments += [f"--reach={port}" for port in _each(reach)]
        arguments += [f"--publish={port}" for port in _each(publish)]
        arguments += ["--outside"] if outside else []
        if outside_at is not None:
            arguments.append(f"--outside-at={outside_at}")
        expected = [f"--expect={quantity}" for quantity in _each(expect)]
        if expected:
            arguments += [*expected, f"--junit={junit}"]
        if behind:
            arguments += ["--", "/bin/sh", "-c", ASIDE, "sh", os.fspath(stdout), os.fspath(stderr)]
            arguments += behind
        document = results / "run.json"
        earlier = document.stat().st_mtime_ns if document.exists() else None
        status, said = _run(arguments)
        if not document.exists() or document.stat().st_mtime_ns == earlier:
            message = said.strip().removeprefix("error: ") or f"it ended with status {status}"
            raise (EmulateRefused if REFUSED in message else EmulateError)(message)
        printed, complained = (_text(path) for path in (stdout, stderr))
        written = document.read_text(encoding="utf-8")
        failures = _failures(junit) if expected else ()
    run = EmulatedRun(behind, status, (printed, complained, said), written)
    # A failed condition, and not the command, gave this status.
    if check and status != 0 and not (failures and status == 1):
        raise CommandFailed(run)
    if failures:
        raise ExpectationFailed(run, failures)
    return run


def _each(values: int | str | Sequence[int | str]) -> Sequence[int | str]:
    """Returns one value or several as a sequence."""
    return [values] if isinstance(values, int | str) else values


def _failures(junit: Path) -> tuple[str, ...]:
    """Returns the failed conditions, from the command's JUnit file."""
    if not junit.exists():
        return ()
    cases = ElementTree.parse(junit).iter("testcase")
    failed = ((case, case.find("failure")) for case in cases)
    return tuple(
        f"{case.get('name')}: {failure.get('message') or (failure.text or '').strip()}"
        for case, failure in failed
        if failure is not None
    )


def _command(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
) -> tuple[str, ...]:
    """Returns the program and its arguments; a text is a line for the shell."""
    if command is None:
        return ()
    if isinstance(command, str):
        return ("/bin/sh", "-c", command)
    if isinstance(command, os.PathLike):
        command = [command]
    words = tuple(os.fspath(word) for word in command)
    if not words:
        raise ValueError("expected a program and its arguments, got an empty command")
    if shutil.which(words[0]) is None:
        raise FileNotFoundError(f"there is no program {words[0]!r}")
    return words


def _program() -> Path:
    """Returns the command installed with this package."""
    try:
        files = metadata.files("lasthop") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [Path(str(f.locate())) for f in files if f.name == "lasthop" and f.parent.name == "bin"]
    found.append(Path(sysconfig.get_path("scripts")) / "lasthop")
    for path in found:
        if os.access(path, os.X_OK):
            return path.resolve()
    raise FileNotFoundError(f"the command lasthop is not installed: there is no {found[0]}")


def _scenario(
    program: Path, scenario: Scenario | str | os.PathLike[str] | None, place: str | None
) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    if scenario is not None and (not isinstance(scenario, str) or os.path.isfile(scenario)):
        return Scenario.load(scenario)
    name = scenario if isinstance(scenario, str) else f"places/{place}"
    shown = subprocess.run(
        [program, "scenario", "show", "--", name], capture_output=True, encoding="utf-8"
    )
    if shown.returncode != 0:
        raise EmulateError(shown.stderr.strip().removeprefix("error: "))
    return Scenario.parse(shown.stdout, file=f"{name}.toml")


def _run(arguments: Sequence[str]) -> tuple[int, str]:
    """Runs the command; returns its status and its output."""
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = child.communicate()
    except BaseException:
        # The command cleans up after an interrupt, but not if it is killed.
        child.send_signal(signal.SIGINT)
        try:
            child.wait(END_S)
        except BaseException:
            child.kill()
            child.wait()
            raise
        raise
    return child.returncode, said.decode("utf-8", errors="replace")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
