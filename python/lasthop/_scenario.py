"""Exceptions for faults of a scenario, and pickling of scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Problem", "ScenarioError"]


class Problem(NamedTuple):
    """One fault of a scenario."""

    file: str
    """Path of the file, as the caller wrote it."""
    line: int | None
    """Line in the file, from 1; None if no line is at fault."""
    set: str | None
    """The faulty change as ``path=value``; None for a fault of the file."""
    key: str
    """The key, such as ``node.laptop.queue.packets``; empty if no key is at fault."""
    message: str
    """Allowed and given values, as text."""


class ScenarioError(ValueError):
    """A scenario that cannot be run. Its text has a line for each problem."""

    problems: list[Problem]
    """All faults, in the order of the file; at least one."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, list(problems))
        self.problems = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])


def _again(file: str, text: str, set: list[str], check: bool) -> object:
    """Restores a pickled scenario."""
    from lasthop._lasthop import Scenario

    return Scenario.parse(text, file=file, set=set, check=check)
