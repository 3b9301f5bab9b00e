"""An agent that learns the contention window of a cell whose stations become more.

    pip install 'lasthop[gym]' matplotlib
    python contention_window.py window.png

Q-learning with a table: what it sees is the share of transmissions that failed, in steps of a
tenth, and its own window. It learns on cells with up to 50 stations, and is then compared with
the standard's backoff, which sees nothing and doubles its window after each failure.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import lasthop.env
from lasthop.env import ContentionWindow

STATIONS = (2, 5, 10, 20, 30, 40, 50)
ACTIONS = len(ContentionWindow.WINDOWS)


def state(observation: np.ndarray) -> tuple[int, int]:
    """Tenths of transmissions that failed, and the window."""
    return min(9, int(observation[0] * 10)), round(float(observation[1]) * (ACTIONS - 1))


def learn(runs: int, seed: int = 1) -> np.ndarray:
    """The value of each action in each state, learned in so many runs."""
    random = np.random.default_rng(seed)
    values = np.zeros((10, ACTIONS, ACTIONS))
    visits = np.zeros_like(values)
    cells = [lasthop.env.make("contention-window", stations=n, steps=200) for n in STATIONS]
    for run in range(runs):
        env = cells[run % len(cells)]
        here = state(env.reset(seed=int(random.integers(2**31)))[0])
        is_over = False
        while not is_over:
            curious = random.random() < max(0.05, 1 - run / (0.7 * runs))
            action = random.integers(ACTIONS) if curious else values[here].argmax()
            observation, reward, _, is_over, _ = env.step(np.int64(action))
            there = state(observation)
            place = (*here, int(action))
            visits[place] += 1
            rate = max(0.05, 1 / visits[place])
            values[place] += rate * (reward + 0.8 * values[there].max() - values[place])
            here = there
    return values


def goodput_mbps(stations: int, values: np.ndarray | None, seed: int) -> float:
    """What a cell carries after the first half second; without ``values`` by the standard."""
    env = lasthop.env.make("contention-window", stations=stations, steps=200)
    if values is None:
        env.leave_alone()
    here = state(env.reset(seed=seed)[0])
    carried = []
    for _ in range(200):
        action = 0 if values is None else values[here].argmax()
        observation, _, _, _, info = env.step(np.int64(action))
        here = state(observation)
        carried.append(info["goodput_mbps"])
    return float(np.mean(carried[50:]))


def compared(values: np.ndarray) -> list[tuple[int, float, float]]:
    """Stations, what the standard's backoff carries, and what the agent's window does."""

    def mean(stations: int, by: np.ndarray | None) -> float:
        return float(np.mean([goodput_mbps(stations, by, 100 + seed) for seed in range(5)]))

    return [(n, mean(n, None), mean(n, values)) for n in STATIONS]


def main() -> None:
    rows = compared(learn(700))
    print("stations  standard  learned  Mb/s")
    for stations, standard, learned in rows:
        print(f"{stations:8} {standard:9.1f} {learned:8.1f}")
    if len(sys.argv) > 1:
        from matplotlib import pyplot

        stations_of, standards, learneds = np.array(rows).T
        pyplot.plot(stations_of, standards, "s--", label="the standard's backoff")
        pyplot.plot(stations_of, learneds, "o-", label="learned window")
        pyplot.xlabel("stations")
        pyplot.ylabel("goodput, Mb/s")
        pyplot.ylim(bottom=0)
        pyplot.legend()
        pyplot.savefig(Path(sys.argv[1]), dpi=120)


if __name__ == "__main__":
    main()
