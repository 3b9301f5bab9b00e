"""Gymnasium environments over a simulated Wi-Fi cell.

    >>> import lasthop.env
    >>> env = lasthop.env.make("contention-window", stations=50)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(3)

The agent decides once in each ``interval`` of virtual time. An observation has only data of a
real station or access point: its counters, its queue, its arrivals. The cell is that of
``lasthop.simulate``. Actions set the radio as a driver would, and a run without any is the same
run as ``simulate`` makes. Needs ``pip install lasthop[gym]``.

| environment | decides on | sees | reward |
|---|---|---|---|
| ``contention-window`` | the contention window of all stations, which the access point announces | the share of transmissions that failed, and the window | goodput over that of one station alone |
| ``rate-control`` | the MCS of a sender over a fading channel | the share that was acknowledged, and the MCS | goodput over the best MCS's |
| ``queue`` | most packets in the access point's queue, under TCP | its queue, goodput, delay | goodput minus what waiting costs |
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from lasthop._lasthop import Scenario, Steps

__all__ = ["ContentionWindow", "Queue", "RateControl", "make"]

Observation = NDArray[np.float32]


class _CellEnv(gymnasium.Env[Observation, np.int64]):
    """A cell that advances by an interval at each step."""

    metadata: dict[str, Any] = {"render_modes": []}
    #: Names of the numbers in an observation; each is between 0 and 1.
    sees: tuple[str, ...] = ()

    def __init__(self, scenario: Scenario, actions: int, interval_s: float, steps: int) -> None:
        if not interval_s > 0 or steps < 1:
            raise ValueError("expected an interval above zero and at least one step")
        self.render_mode = None
        self.interval_s = interval_s
        self.steps = steps
        self._scenario = scenario.with_(duration=f"{round(interval_s * steps * 1e9)}ns")
        self.observation_space = spaces.Box(0.0, 1.0, (len(self.sees),), np.float32)
        self.action_space = spaces.Discrete(actions)
        self._run: Steps | None = None
        self._before: dict[str, tuple[int, int, float]] = {}
        self._is_left_alone = False

    def leave_alone(self) -> None:
        """Makes actions have no effect from now on, for comparison with an agent."""
        self._is_left_alone = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins another run: the next one of this seed, or the first one of another seed."""
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**31))
        self._run = Steps(self._scenario, number)
        self._before = {}
        self._step = 0
        self._begin(self._run)
        return self._seen(self._run, {}), {"run": number}

    def step(
        self, action: np.int64
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Applies ``action`` and lets the interval pass."""
        run = self._run
        if run is None or self._step >= self.steps:
            raise gymnasium.error.ResetNeeded("the run is over, or has not begun: call reset()")
        if not self.action_space.contains(np.int64(action)):
            raise gymnasium.error.InvalidAction(f"{action} is not in {self.action_space}")
        if not self._is_left_alone:
            self._act(run, int(action))
        run.advance(self.interval_s)
        self._step += 1
        arrived = self._arrived(run)
        reward = self._reward(arrived)
        info = {
            "time_s": run.now,
            "goodput_mbps": sum(flow[1] for flow in arrived.values()) * 8e-6 / self.interval_s,
        }
        return self._seen(run, arrived), reward, False, self._step >= self.steps, info

    def _arrived(self, run: Steps) -> dict[str, tuple[int, int, float]]:
        """Packets, bytes and delays of each flow in the last interval."""
        now = {name: (packets, count, delay) for name, packets, count, delay in run.flows()}
        none = (0, 0, 0.0)
        change = {
            name: (
                packets - self._before.get(name, none)[0],
                count - self._before.get(name, none)[1],
                delay - self._before.get(name, none)[2],
            )
            for name, (packets, count, delay) in now.items()
        }
        self._before = now
        return change

    def _begin(self, run: Steps) -> None:
        raise NotImplementedError

    def _act(self, run: Steps, action: int) -> None:
        raise NotImplementedError

    def _seen(self, run: Steps, arrived: dict[str, tuple[int, int, float]]) -> Observation:
        raise NotImplementedError

    def _reward(self, arrived: dict[str, tuple[int, int, float]]) -> float:
        raise NotImplementedError


class _Link:
    """The change of some radios' counters of frames to one other radio."""

    def __init__(self, senders: list[str], receiver: str) -> None:
        self._senders, self._receiver = senders, receiver
        self._before = (0, 0)

    def failed_share(self, run: Steps) -> float:
        """Returns the share of the MPDUs since the last call that were not acknowledged."""
        links = [run.link(sender, self._receiver) for sender in self._senders]
        sent, failed = sum(link[1] for link in links), sum(link[4] for link in links)
        change = (sent - self._before[0], failed - self._before[1])
        self._before = (sent, failed)
        return min(1.0, change[1] / change[0]) if change[0] > 0 else 0.0


_CELL = """
[channel]
{channel}
[node_defaults]
rate_control = {{ kind = "fixed", mcs = {mcs} }}
queue = {{ kind = "drop-tail", packets = {packets} }}
aggregation = {{ ampdu_bytes_max = {ampdu} }}
[[node]]
name = "ap"
role = "access-point"
"""


class ContentionWindow(_CellEnv):
    """The window from which all stations draw their backoff: action n is 2^(4+n) - 1 slots.

    ``stations`` saturated stations send to the access point without aggregation. If ``grow``,
    they begin one after the other, over the first two thirds of the run.
    """

    sees = ("failed_share", "window")
    #: The windows, from the standard's smallest to its largest.
    WINDOWS = tuple(2**n - 1 for n in range(4, 11))
    #: Goodput of one station alone with the smallest window, in Mb/s: a reward of 1.
    ALONE_MBPS = 31.4

    def __init__(
        self, stations: int = 50, *, grow: bool = False, interval_s: float = 0.01, steps: int = 200
    ) -> None:
        if not 1 <= stations <= 1000:
            raise ValueError("expected 1 to 1000 stations")
        self._stations = [f"sta{n}" for n in range(1, stations + 1)]
        text = _CELL.format(channel="", mcs=7, packets=100, ampdu=0)
        duration_ms = interval_s * steps * 1e3
        for n, name in enumerate(self._stations):
            angle = 2 * math.pi * n / stations
            x, y = 2 * math.cos(angle), 2 * math.sin(angle)
            start_ms = duration_ms * n / stations * 2 / 3 if grow else 0.0
            text += (
                f'[[node]]\nname = "{name}"\nrole = "station"\n'
                f'position = ["{x:.3f}m", "{y:.3f}m"]\n'
                f'[[flow]]\nname = "up{n + 1}"\nfrom = "{name}"\nto = "ap"\nkind = "udp"\n'
                f'rate = "saturated"\nstart = "{start_ms:.3f}ms"\n'
            )
        scenario = Scenario.parse(text, file="contention-window.toml")
        super().__init__(scenario, len(self.WINDOWS), interval_s, steps)

    def _begin(self, run: Steps) -> None:
        self._link = _Link(self._stations, "ap")
        self._window = -1

    def _act(self, run: Steps, action: int) -> None:
        if action != self._window:
            self._window = action
            window = self.WINDOWS[action]
            for station in self._stations:
                run.set_contention_window(station, window, window)

    def _seen(self, run: Steps, arrived: dict[str, tuple[int, int, float]]) -> Observation:
        window = max(0, self._window) / (len(self.WINDOWS) - 1)
        return np.array([self._link.failed_share(run), window], np.float32)

    def _reward(self, arrived: dict[str, tuple[int, int, float]]) -> float:
        count = sum(flow[1] for flow in arrived.values())
        return count * 8e-6 / self.interval_s / self.ALONE_MBPS


class RateControl(_CellEnv):
    """The MCS of an access point's frames to a station whose channel fades: action n is MCS n.

    The channel is Rayleigh's with ``doppler_hz``, around ``snr_db``.
    """

    sees = ("acknowledged_share", "mcs")
    #: Goodput of MCS 7 on a channel without losses, in Mb/s: a reward of 1.
    BEST_MBPS = 60.7

    def __init__(
        self,
        snr_db: float = 22.0,
        doppler_hz: float = 5.0,
        *,
        interval_s: float = 0.01,
        steps: int = 500,
    ) -> None:
        text = _CELL.format(
            channel=f'fading = {{ kind = "rayleigh", doppler = "{doppler_hz}Hz" }}',
            mcs=0,
            packets=100,
            ampdu=65_535,
        )
        text += (
            '[[node]]\nname = "sta"\nrole = "station"\n'
            f'[[link]]\nbetween = ["ap", "sta"]\nsnr = "{snr_db}dB"\n'
            '[[flow]]\nname = "down"\nfrom = "ap"\nto = "sta"\nkind = "udp"\nrate = "saturated"\n'
        )
        super().__init__(Scenario.parse(text, file="rate-control.toml"), 8, interval_s, steps)

    def _begin(self, run: Steps) -> None:
        self._link = _Link(["ap"], "sta")
        self._mcs = 0

    def _act(self, run: Steps, action: int) -> None:
        if action != self._mcs:
            self._mcs = action
            run.set_mcs("ap", action)

    def _seen(self, run: Steps, arrived: dict[str, tuple[int, int, float]]) -> Observation:
        return np.array([1.0 - self._link.failed_share(run), self._mcs / 7], np.float32)

    def _reward(self, arrived: dict[str, tuple[int, int, float]]) -> float:
        return arrived["down"][1] * 8e-6 / self.interval_s / self.BEST_MBPS


class Queue(_CellEnv):
    """The packet limit of an access point's queue that TCP downloads fill.

    ``flows`` connections from a server ``delay_ms`` away share a cell with MCS ``mcs``. The
    reward is goodput over the cell's, minus the mean one-way delay over ``patience_ms``.
    """

    sees = ("queue", "goodput", "delay")
    #: The limits in packets.
    LIMITS = (2, 5, 10, 20, 50, 100, 200, 500)
    #: Goodput of four flows with each MCS and the longest queue, in Mb/s: a goodput of 1.
    CELL_MBPS = (5.4, 11.0, 16.5, 22.2, 33.6, 44.9, 50.3, 55.7)

    def __init__(
        self,
        flows: int = 4,
        mcs: int = 3,
        delay_ms: float = 20.0,
        *,
        patience_ms: float = 200.0,
        interval_s: float = 0.1,
        steps: int = 200,
    ) -> None:
        if flows < 1 or not 0 <= mcs <= 7:
            raise ValueError("expected at least one flow and an MCS from 0 to 7")
        self._cell_mbps, self._patience_s = self.CELL_MBPS[mcs], patience_ms / 1e3
        text = _CELL.format(channel="", mcs=mcs, packets=100, ampdu=65_535)
        text += (
            '[[node]]\nname = "sta"\nrole = "station"\n[[node]]\nname = "server"\nrole = "host"\n'
            f'[[wire]]\nbetween = ["server", "ap"]\nrate = "1Gb/s"\ndelay = "{delay_ms}ms"\n'
        )
        for n in range(1, flows + 1):
            text += f'[[flow]]\nname = "down{n}"\nfrom = "server"\nto = "sta"\nkind = "tcp"\n'
        scenario = Scenario.parse(text, file="queue.toml")
        super().__init__(scenario, len(self.LIMITS), interval_s, steps)

    def _begin(self, run: Steps) -> None:
        pass

    def _act(self, run: Steps, action: int) -> None:
        run.set_queue_packets("ap", self.LIMITS[action])

    def _rates(self, arrived: dict[str, tuple[int, int, float]]) -> tuple[float, float]:
        """Returns goodput over the cell's, and mean delay over the tolerable delay."""
        packets = sum(flow[0] for flow in arrived.values())
        count = sum(flow[1] for flow in arrived.values())
        delay_s = sum(flow[2] for flow in arrived.values()) / packets if packets else 0.0
        goodput = count * 8e-6 / self.interval_s / self._cell_mbps
        return goodput, delay_s / self._patience_s

    def _seen(self, run: Steps, arrived: dict[str, tuple[int, int, float]]) -> Observation:
        goodput, delay = self._rates(arrived)
        queue = min(1.0, run.queue_packets("ap") / self.LIMITS[-1])
        return np.array([queue, min(1.0, goodput), min(1.0, delay)], np.float32)

    def _reward(self, arrived: dict[str, tuple[int, int, float]]) -> float:
        goodput, delay = self._rates(arrived)
        return goodput - delay


_ENVIRONMENTS: dict[str, type[_CellEnv]] = {
    "contention-window": ContentionWindow,
    "rate-control": RateControl,
    "queue": Queue,
}


def make(name: str, **options: Any) -> _CellEnv:
    """Makes the environment ``name``, with the options of its class.

    Raises ``ValueError`` for another name.
    """
    if name not in _ENVIRONMENTS:
        known = ", ".join(sorted(_ENVIRONMENTS))
        raise ValueError(f"there is no environment {name!r}; there are: {known}")
    return _ENVIRONMENTS[name](**options)
