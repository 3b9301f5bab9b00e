"""What is wrong with a scenario, as exceptions; and how scenarios are pickled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Problem", "ScenarioError"]


class Problem(NamedTuple):
    """One thing that is wrong with a scenario."""

    file: str
    """The file as it was named."""
    line: int | None
    """Line in the file, from 1; None if no line is at fault."""
    set: str | None
    """The change at fault as ``path=value``, if it is one."""
    key: str
    """The key, such as ``node.laptop.queue.packets``; empty if no key is at fault."""
    message: str
    """What was allowed and what came."""


class ScenarioError(ValueError):
    """A scenario that cannot be run. Its text has a line for each problem."""

    problems: list[Problem]
    """Everything that is wrong, in the order of the file; at least one."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, list(problems))
        self.problems = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])


def _again(file: str, text: str, set: list[str], check: bool) -> object:
    """Makes a scenario that was pickled."""
    from lasthop._lasthop import Scenario

    return Scenario.parse(text, file=file, set=set, check=check)
