# 34-retryout-safety with two CPUs, so with the host's clock: fewer cycles, and what takes
# time is judged there.
# cpus: 2
# timeout: 900
# memory: 768

# QEMU with two CPUs does not survive code that changes under traffic (README.md). Two others
# listen where the module does, at the entry of a function and at a tracepoint, so that the
# code of both stays as it is when the module comes and goes.
modprobe mac80211
for other in one two; do
    instance=/sys/kernel/tracing/instances/$other
    mkdir "$instance"
    echo 1 > "$instance/buffer_size_kb"
    echo ieee80211_rx_napi > "$instance/set_ftrace_filter"
    echo function > "$instance/current_tracer"
    echo 1 > "$instance/events/net/netif_receive_skb/enable"
    grep -q ieee80211_rx_napi "$instance/set_ftrace_filter" || die listeners "no ftrace"
done

cycles=100 mbps_min=1 stall_ms=1000
. /checks/34-retryout-safety.sh
