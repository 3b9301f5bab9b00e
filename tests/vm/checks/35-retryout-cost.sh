# What a good frame costs with lasthop_retryout, over stock hwsim: busy time of
# the guest's CPU for a stream of UDP packets at a fixed rate, with and without
# the module. A nanosecond of this clock is an instruction. No process is preempted
# when another one wakes up: iperf3 sends ten packets at a time, and whether its
# server runs between two of them depends on how long each takes. On 6.12 that
# made 0.17 more context switches a frame with the module, of 4 500 instructions each.
# timeout: 600

need_module lasthop_retryout
radios 2
echo NO_WAKEUP_PREEMPTION > /sys/kernel/debug/sched/features || die scheduler "its features cannot be set"
cell open
iperf_server ap
frames=100000
# Busy milliseconds while 100 000 packets go through in 10 s.
busy() {
    local begin end
    begin=$(awk '{ print $1 - $2 }' /proc/uptime)
    in_sta iperf3 -u -b 112M -l 1400 -t 10 -c 10.0.0.1 > /tmp/iperf.log 2>&1
    end=$(awk '{ print $1 - $2 }' /proc/uptime)
    calculate "($end - $begin) * 1000" %.0f
}
busy > /dev/null
without=0 with=0
for round in 1 2; do
    first=$(busy)
    modprobe lasthop_retryout restart=0
    rmmod lasthop_retryout
    without=$((without + first))
    modprobe lasthop_retryout
    sleep 1
    second=$(busy)
    seen=$(awk '$1 == "frames" { print $2 }' /sys/kernel/debug/lasthop_retryout/summary)
    rmmod lasthop_retryout
    with=$((with + second))
    say "round $round: $first ms without, $second ms with, $seen frames"
done
cost=$(calculate "($with - $without) * 1e6 / (2 * $frames)" %.0f)
stock=$(calculate "$without * 1e6 / (2 * $frames)" %.0f)
judge cost "$cost instructions for a good frame, $stock for all of sending and receiving it without the module ($(calculate "100 * $cost / $stock" %.1f) %)" is "$cost" '<' 1000
