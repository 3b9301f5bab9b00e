"""Exceptions for invalid scenarios, and the pickling of scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Problem", "ScenarioError"]


class Problem(NamedTuple):
    """A problem of a scenario."""

    file: str
    """Name of the file, as given."""
    line: int | None
    """Line in the file, from 1; None if no line is at fault."""
    set: str | None
    """The change at fault as ``path=value``; None if no change is at fault."""
    key: str
    """The key, such as ``node.laptop.queue.packets``; empty if no key is at fault."""
    message: str
    """Allowed values, and the value found."""


class ScenarioError(ValueError):
    """A scenario that cannot be run. Its text has a line for each problem."""

    problems: list[Problem]
    """All problems in the order of the file; at least one."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, list(problems))
        self.problems = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])


def _again(file: str, text: str, set: list[str], check: bool) -> object:
    """Makes a scenario from its pickle."""
    from lasthop._lasthop import Scenario

    return Scenario.parse(text, file=file, set=set, check=check)
