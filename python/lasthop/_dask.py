"""The runs of a sweep on a Dask cluster.

A task makes runs for about a second and returns one Arrow batch as bytes, which Dask moves
unchanged. Tasks depend only on their arguments, so the scheduler can move those of a dead
worker to another one. The scheduler has a few tasks for each thread at a time; a few results
are fetched at a time and written to the journal at once. So the memory of the scheduler and of
this process does not grow with the number of runs.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lasthop._sweep import SweepError

if TYPE_CHECKING:
    from distributed import Client, Future

    from lasthop import _lasthop

TASK_S = 1.0
"""Planned duration of a task in seconds: long compared with the scheduler's work for it."""

THREAD_S = 0.008
"""Extra duration of a task for each thread of the workers, in seconds: client and scheduler need
about 4 ms of CPU for a task (`python/benches/sweeps.py`), and must be idle half of the time."""

TASK_BYTES = 4_000_000
"""Largest result of a task in bytes, estimated from earlier runs."""

AHEAD = 3
"""Tasks at the scheduler for each thread, so that no thread waits for the next one."""

FIRST = 16
"""Tasks of one run each that measure the duration of a run, before larger tasks."""

AT_ONCE = 8
"""Number of results fetched together."""

LOOK_S = 0.5
"""Interval between checks of the scheduler and of its number of workers, in seconds."""


def make_runs(blueprint: bytes, numbers: Sequence[int]) -> bytes:
    """Makes runs; called on a worker."""
    from lasthop import _lasthop

    return _lasthop.make_runs(blueprint, list(numbers))


def make(
    client: Client, blueprint: bytes, work: _lasthop.SweepWork, told: Callable[[int, str], None]
) -> None:
    """Makes all remaining runs on the workers of ``client``."""
    if client.asynchronous:
        raise TypeError("expected a Client that is not asynchronous")
    tasks = _Tasks(client, blueprint, work)
    try:
        while True:
            tasks.give()
            told(tasks.made, f", {tasks.threads} threads of workers")
            if not tasks.out:
                return
            tasks.fetch()
    finally:
        tasks.cancel()


class _Tasks:
    """The tasks at the scheduler."""

    def __init__(self, client: Client, blueprint: bytes, work: _lasthop.SweepWork) -> None:
        self.client = client
        self.blueprint = blueprint
        self.work = work
        self.made = 0
        self.out: dict[str, tuple[Future[Any], list[int]]] = {}
        self.threads = 0
        self._name = f"lasthop-sweep-{uuid.uuid4().hex[:12]}"
        self._given = 0
        self._ended: queue.Queue[Future[Any]] = queue.Queue()
        # Ended once, but the worker that had the result died before it was fetched: the
        # scheduler has them made again, and calls no callback a second time.
        self._again: list[Future[Any]] = []
        self._suspects: list[list[int]] = []
        self._is_alone = False
        self._looked = -LOOK_S
        # What a run costs, from the first result on.
        self._run_s: float | None = None
        self._run_bytes = 1.0

    def give(self) -> None:
        """Submits tasks until the scheduler has enough."""
        if time.monotonic() >= self._looked + LOOK_S:
            self._look()
        ahead = AHEAD * self.threads if self._run_s else min(FIRST, self.threads)
        while len(self.out) < max(1, ahead):
            numbers = self.work.take(self._size())
            if not numbers and self._suspects and not self.out:
                numbers = self._suspects.pop()
                self._is_alone = True
            if not numbers:
                return
            key = f"{self._name}-{self._given}"
            self._given += 1
            with self._connected():
                future = self.client.submit(
                    make_runs, self.blueprint, numbers, key=key, pure=False
                )
            self.out[key] = (future, numbers)
            future.add_done_callback(self._ended.put)

    def fetch(self) -> None:
        """Waits for results, and stores them."""
        again, self._again = self._again, []
        ended: list[Future[Any]] = []
        for future in again:
            (self._again if _is_made_again(future) else ended).append(future)
        with suppress(queue.Empty):
            if not ended:
                ended.append(self._ended.get(timeout=LOOK_S))
            while len(ended) < AT_ONCE:
                ended.append(self._ended.get_nowait())
        finished = []
        for future in ended:
            if future.status == "finished":
                finished.append(future)
            elif future.status == "error":
                self._failed(future)
            elif _is_made_again(future):
                self._again.append(future)
            else:
                raise SweepError(self._lost(f"a task is {future.status}"))
        if finished:
            with self._connected():
                batches = self.client.gather(finished)
            for future, batch in zip(finished, batches):
                new, seconds = self.work.add(batch)
                _, numbers = self.out.pop(future.key)
                future.release()
                self.made += new
                self._note(seconds / len(numbers), len(batch) / len(numbers))

    def cancel(self) -> None:
        """Cancels the remaining tasks."""
        futures = [future for future, _ in self.out.values()]
        if futures and self.client.status == "running":
            with suppress(Exception):
                self.client.cancel(futures, force=True)

    def _failed(self, future: Future[Any]) -> None:
        from distributed import KilledWorker

        _, numbers = self.out.pop(future.key)
        why = future.exception()
        if isinstance(why, KilledWorker):
            # The scheduler blames all tasks that a worker had when it died. Each is made again
            # at the end, with no other beside it, until the run that is at fault is found.
            if not self._is_alone:
                self._suspects.append(numbers)
            elif len(numbers) > 1:
                middle = len(numbers) // 2
                self._suspects += [numbers[middle:], numbers[:middle]]
            else:
                self.work.fail(numbers[0], "every worker that made this run died")
                self.made += 1
        elif isinstance(why, SweepError):
            raise SweepError(f"a worker cannot make runs of this sweep: {why}")
        else:
            raise SweepError(f"a worker cannot make runs: {type(why).__name__}: {why}") from why

    def _note(self, run_s: float, run_bytes: float) -> None:
        before = run_s if self._run_s is None else self._run_s
        self._run_s = (before + run_s) / 2
        self._run_bytes = max(run_bytes, (self._run_bytes + run_bytes) / 2)

    def _size(self) -> int:
        """Returns the runs of the next task."""
        if self._run_s is None:
            return 1
        # At the end fewer, but not so few that the scheduler is what all wait for.
        least_s = THREAD_S * self.threads
        most_s = max(TASK_S, least_s)
        fair_s = self._run_s * self.work.left / (4 * max(1, self.threads))
        task_s = min(max(fair_s, least_s / 4), most_s)
        size = min(task_s / max(self._run_s, 1e-6), TASK_BYTES / self._run_bytes)
        return max(1, int(size))

    def _look(self) -> None:
        with self._connected():
            self.threads = sum(self.client.nthreads().values())
        self._looked = time.monotonic()

    def _connected(self) -> _Connected:
        return _Connected(self)

    def _lost(self, why: str) -> str:
        out = [numbers for _, numbers in self.out.values()]
        left = self.work.left + sum(map(len, [*out, *self._suspects]))
        what = f"the Dask scheduler cannot be reached any more, or gave up ({why})"
        return f"{what}: {self.made} runs made, {left} are missing"


def _is_made_again(future: Future[Any]) -> bool:
    """Whether the scheduler has lost a finished result, and makes it again."""
    return future.status in ("lost", "pending")


class _Connected:
    """Reports failures inside as a lost scheduler."""

    def __init__(self, tasks: _Tasks) -> None:
        self._tasks = tasks

    def __enter__(self) -> None:
        if self._tasks.client.status not in ("running", "connecting"):
            raise SweepError(self._tasks._lost(f"the client is {self._tasks.client.status}"))

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: object) -> None:
        from concurrent.futures import CancelledError

        if isinstance(why, (OSError, TimeoutError, CancelledError)):
            raise SweepError(self._tasks._lost(f"{type(why).__name__}: {why}")) from why
