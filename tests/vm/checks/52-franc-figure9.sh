# The right half of the paper's Figure 9 (Hundeboell et al. 2014) on real Wi-Fi:
# throughput of UDP with and without helper at an error probability e3 from 50 to
# 90 %, e1 and e2 half of that, injected by the receiving programs as there, over a
# medium with airtime, losses and retries. Each point asks that more comes through
# with a helper than without, as in the figure. Three fail today, why is unknown: the
# paper's mode at 70 and 90 %, lasthop's own at 50 %.
# timeout: 1200

. /lib/franc.sh

# Mb/s that come out of the link of more than it carries, for 8 s; the unreliable link is the
# plain one, of which e3 is lost. The packets are pings that nobody answers: iperf3 would need
# a TCP connection beside its UDP.
# One ping sends 100 a second at most.
offer() {
    local pids= n
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ip netns exec sta ping -q -i 0.01 -s 1300 -c 800 -W 1 "$1" > /tmp/offered.log &
        pids="$pids $!"
    done
    wait $pids
}
answers() { in_ap sysctl -q -w net.ipv4.icmp_echo_ignore_all=$((1 - $1)); }
# rate_of COUNTER COMMAND..: bytes of a counter while the command runs, as Mb/s.
rate_of() {
    local bytes=$1 before begin
    shift
    before=$($bytes) begin=$(now)
    "$@"
    calculate "($($bytes) - $before) * 8 / 1e6 / ($(now) - $begin)"
}
out_of_tunnel() { count sink bytes_out; }
out_of_air() { in_ap cat /sys/class/net/wlan0/statistics/rx_bytes; }
answers 0
plain=$(rate_of out_of_air offer 10.0.0.1)
answers 1
say "plain: $plain Mb/s"
for mode in paper stream; do
    alone_sum=0 helped_sum=0
    for e3 in 50 70 90; do
        e2=$((e3 / 2))
        for with in without with; do
            if [ $with = with ]; then ends --mode $mode --helpers 3; else ends --mode $mode; fi
            [ $with = without ] || helper --mode $mode --monitor mon0
            wait_for 40 reachable || fail "figure9-$mode-$e3-$with" "no ping"
            answers 0
            offer 10.9.0.2
            mbps=$(rate_of out_of_tunnel offer 10.9.0.2)
            answers 1
            if [ $with = with ]; then helped=$mbps; else alone=$mbps; fi
            [ $with = without ] || sent=$(count helper coded_sent)
            stop
        done
        unreliable=$(calculate "$plain * (100 - $e3) / 100")
        alone_sum=$(calculate "$alone_sum + $alone / $unreliable") helped_sum=$(calculate "$helped_sum + $helped / $unreliable")
        figures="e3 $e3 %: unreliable $unreliable Mb/s, without helper $alone, with helper $helped; it sent $sent combinations"
        judge "figure9-$mode-$e3" "$figures" is "$helped" '>' "$alone"
    done
    say "$mode: of the unreliable link $(calculate "$alone_sum * 100 / 3" %.0f) % without helper, $(calculate "$helped_sum * 100 / 3" %.0f) % with it"
done
