"""A thousand runs, from nothing to a plot: what a cell carries, with and without A-MPDUs."""

from matplotlib import pyplot

import lasthop

CELL = """
duration = "200ms"
warmup = "50ms"
node_defaults = { rate_control = { kind = "fixed", mcs = 7 } }
node = [{ name = "ap", role = "access-point" }, { name = "sta", role = "station" }]
flow = [{ name = "up", from = "sta*", to = "ap", kind = "udp", rate = "saturated" }]
"""
STATIONS, AGGREGATE = "node.sta.count", "node_defaults.aggregation.ampdu_bytes_max"

vary = {STATIONS: [1, 2, 5, 10, 20], AGGREGATE: [0, 65535]}
made = lasthop.sweep(lasthop.Scenario.parse(CELL), vary, runs=100)
made.plot(x=STATIONS, y="goodput_total_mbps", hue=AGGREGATE)
pyplot.savefig("stations.svg")
