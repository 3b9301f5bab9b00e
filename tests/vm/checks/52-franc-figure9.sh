# The right half of the paper's Figure 9 (Hundeboell et al. 2014) on real Wi-Fi:
# throughput of UDP with and without helper at an error probability e3 from 50 to
# 90 %, e1 and e2 half of that. As there they are injected by the receiving programs, of
# the packets of one direction, not of acknowledgements, and the paper's mode knows them.
# The medium has airtime, losses and retries. More has to come through with a helper than
# without at each point, as in the figure. Three protocols:
#
# - program: the paper's mode with five packets at a timeout, as the authors' program of
#   March 2014 sends.
# - text: a timeout asks for what a symbol adds to the budget, as section II.D has it. A
#   block ends with tens of timeouts then, in which neither air nor CPU is busy; up to 70 %
#   a helper gains 3 % in `lasthop simulate`, less than runs differ.
# - stream: lasthop's own mode. By the closed form a helper saves 14 % of the air at
#   50 %, 33 and 68 % at the others. About a fifth more is sent than that, because the ends
#   and the helper repair a loss before they hear of each other: at 50 % it fails today
#   (-4 % in `lasthop simulate`).
# timeout: 1200

. /lib/franc.sh
one_way=1

# Mb/s that come out of the link of more than it carries; the unreliable link is the
# plain one, of which e3 is lost. The packets are pings that nobody answers: iperf3 would need
# a TCP connection beside its UDP. One ping sends 60 a second here.
# offer ADDRESS SECONDS [PINGS]
offer() {
    local pids= n
    for n in $(seq "${3:-12}"); do
        ip netns exec sta ping -q -i 0.01 -s 1300 -c $(($2 * 100)) -W 1 "$1" > /tmp/offered.log &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086
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
# In percent of the time since the last call: the CPU idle, the air busy with PPDUs.
usage() {
    local time idle busy
    time=$(now) idle=$(awk '/^cpu / { print $5 + $6 }' /proc/stat) busy=$(cat /sys/kernel/debug/lasthop_medium/busy_ns)
    [ "$1" = begin ] || calculate "($idle - $idle_before) / ($time - $time_before)" "%.0f%% idle"
    [ "$1" = begin ] || calculate "($busy - $busy_before) / 1e7 / ($time - $time_before)" ", air %.0f%%"
    time_before=$time idle_before=$idle busy_before=$busy
}

answers 0
plain=$(rate_of out_of_air offer 10.0.0.1 8 20)
answers 1
say "plain: $plain Mb/s"
for point in program,50 program,70 program,90 text,50 text,70 text,90 stream,50 stream,70 stream,90; do
    protocol=${point%,*} e3=${point#*,}
    e2=$((e3 / 2))
    known="--e1 $e2% --e2 $e2% --e3 $e3%"
    case $protocol in
        program) flags="--mode paper --timeout-packets 5 $known" ;;
        text) flags="--mode paper $known" ;;
        stream) flags="--mode stream" ;;
    esac
    for with in without with; do
        # shellcheck disable=SC2086
        if [ $with = with ]; then ends $flags --helpers 3; else ends $flags; fi
        # shellcheck disable=SC2086
        [ $with = without ] || helper $flags --monitor mon0
        wait_for 40 reachable || fail "figure9-$protocol-$e3-$with" "no ping"
        answers 0
        offer 10.9.0.2 3
        usage begin
        mbps=$(rate_of out_of_tunnel offer 10.9.0.2 8)
        say "$point $with: $mbps Mb/s, $(usage end | tr '\n' ' '), blocks $(count source blocks_done), sent $(count source source_sent) + $(count source coded_sent), timeouts $(count source timeouts), useless $(count sink redundant)"
        answers 1
        if [ $with = with ]; then helped=$mbps; else alone=$mbps; fi
        [ $with = without ] || sent=$(count helper coded_sent)
        stop
    done
    unreliable=$(calculate "$plain * (100 - $e3) / 100")
    figures="of $unreliable Mb/s on the unreliable link, without helper $alone, with helper $helped; it sent $sent combinations"
    judge "figure9-$protocol-$e3" "$figures" is "$helped" '>' "$alone"
done
