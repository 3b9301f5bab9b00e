# 34-retryout-safety with two CPUs, so with the host's clock: fewer cycles, and what takes
# time is judged there. A guest that hangs in the first byte of ieee80211_rx_napi is QEMU's
# fault: see README.md.
# cpus: 2
# timeout: 900
# memory: 768

cycles=100 mbps_min=1 stall_ms=1000
. /checks/34-retryout-safety.sh
