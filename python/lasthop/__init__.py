"""Simulate a Wi-Fi cell and the hosts and wires around it.

    >>> import lasthop
    >>> scenario = lasthop.Scenario.load("scenarios/hello.toml")
    >>> run = lasthop.simulate(scenario.with_(duration="2s"), seed=7)
    >>> run.summary["flows"]["up"]["goodput_mbps"]

A run is a pure function of scenario, seed, number of the run and version. ``lasthop.sweep``
makes many runs, on threads or on a Dask cluster. ``lasthop.emulate`` runs a program behind the
hop in real time, and ``lasthop.testing`` offers it as a fixture of pytest. polars, pandas,
pyarrow and DuckDB read the tables of a run (``run.flows``, ``run.series``, ``run.events`` ...)
without a copy. ``lasthop.rlnc`` has the network coding alone, ``lasthop.figures`` reproduces
the figures of papers. Names end with their units. The shell command is ``lasthop``, too.
"""

from lasthop._emulate import (
    CommandFailed,
    EmulatedRun,
    EmulateError,
    EmulateRefused,
    ExpectationFailed,
    emulate,
)
from lasthop._lasthop import Scenario, Table, __version__
from lasthop._run import Run, simulate
from lasthop._scenario import Problem, ScenarioError
from lasthop._sweep import Sweep, SweepError, sweep

# Tracebacks show these names as `lasthop.ScenarioError`.
for _public in (
    CommandFailed,
    EmulateError,
    EmulateRefused,
    EmulatedRun,
    ExpectationFailed,
    Problem,
    Run,
    ScenarioError,
    Sweep,
    SweepError,
):
    _public.__module__ = __name__
del _public

__all__ = [
    "CommandFailed",
    "EmulateError",
    "EmulateRefused",
    "EmulatedRun",
    "ExpectationFailed",
    "Problem",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "Table",
    "__version__",
    "emulate",
    "simulate",
    "sweep",
]
