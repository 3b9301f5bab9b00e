# TCP small queues over mac80211: how much of one upload waits below its socket
# (sk_wmem_alloc, by kprobe events wherever it changes), over rates, in bursts of many
# segments and of one, with every segment acknowledged at once or as usual, with another
# tcp_limit_output_bytes, and with a driver that orphans its frames; and whether the
# pacing rate and the limit are what tcp_update_pacing_rate and tcp_small_queue_check say.
# 42-small-queues.host compares with lasthop's.
# timeout: 600

trace=/sys/kernel/tracing
parameter() { echo "$2" > "/sys/module/lasthop_medium/parameters/$1"; }

# Where struct sock and struct tcp_sock have sk_wmem_alloc, sk_pacing_rate, srtt_us (in
# 1/8 us), snd_cwnd, snd_ssthresh and packets_out. struct sk_buff has sk at 24, len at 112,
# truesize at 216.
case $(uname -r) in
    6.1.*) set -- 340 456 1672 1776 1772 1716 ;;
    *) set -- 380 488 1728 1500 1584 1732 ;;
esac
state="wmem=+$1(%di):u32 pacing=+$2(%di):u64 srtt=+$3(%di):u32 cwnd=+$4(%di):u32 ssthresh=+$5(%di):u32 out=+$6(%di):u32"
{
    echo "p:judge/ack tcp_rcv_established sk=%di:x64 $state"
    # A segment leaves; what is sent again as it is has no clone.
    echo "p:judge/send __tcp_transmit_skb sk=%di:x64 len=+112(%si):u32 size=+216(%si):u32 clone=%dx:u32 $state"
    # A buffer is released: acknowledged on the air, or orphaned.
    echo "p:judge/free tcp_wfree sk=+24(%di):x64 size=+216(%di):u32 wmem=+$1(+24(%di)):u32"
} > /tmp/probes
while read -r probe; do echo "$probe" >> $trace/kprobe_events || die probe "no kprobe event $probe"; done < /tmp/probes
echo 32768 > $trace/buffer_size_kb

# A driver's queue that never stops the stack: what waits is bounded by TCP alone.
medium 2 rate=13000 queue=4000
cell open
iperf_server ap
in_sta ping -q -c 3 -i 0.2 10.0.0.1 > /dev/null
limit_by_default=$(in_sta cat /proc/sys/net/ipv4/tcp_limit_output_bytes)

# measure RATE LIMIT ORPHAN BURSTS ACKNOWLEDGED: a line of that (`each` segment is
# acknowledged at once, or as Linux' `usual`), Mb/s, the mean in time of the bytes below the socket,
# the means at acknowledgements of the smoothed round trip (ms), cwnd, segments out, and
# of what the pacing rate sends in 1/128 s; the most bytes below the socket; sends, and
# of them those above the limit; pacing rates just after an acknowledgement, and of them
# those that are the formula's; memory of a full segment. From 2 s after the beginning, for
# 3 s.
measure() {
    parameter rate "$1"
    parameter orphan "$3"
    # TCP makes bursts whatever the device's offloads are (since 4.17); their length is a bound.
    in_sta ip link set wlan1 gso_max_segs "$(if [ "$4" = on ]; then echo 65535; else echo 1; fi)" \
        || die bursts "gso_max_segs cannot be set"
    in_ap ip route change 10.0.0.0/24 dev wlan0 src 10.0.0.1 $([ "$5" = usual ] || echo quickack 1) \
        || die acknowledgements "the route cannot be changed"
    in_sta sh -c "echo $2 > /proc/sys/net/ipv4/tcp_limit_output_bytes"
    in_sta iperf3 -c 10.0.0.1 -t 5 -O 2 -f k > /tmp/iperf-one.log 2>&1 &
    local iperf=$!
    sleep 2
    echo > $trace/trace
    echo 1 > $trace/events/judge/enable
    sleep 3
    echo 0 > $trace/events/judge/enable
    wait $iperf
    mbps=$(awk '/receiver/ { for (i = 2; i <= NF; i++) if ($i == "Kbits/sec") print $(i - 1) / 1000 }' /tmp/iperf-one.log)
    # The sender's: of the two ends of the connection that which sends full segments.
    sed -nE 's/^.* ([0-9.]+): (ack|send|free): \([^)]*\)/\1 \2/p' $trace/trace | tr '=' ' ' \
        | awk -v rate="$1" -v bytes_max="$2" -v orphan="$3" -v bursts="$4" -v acknowledged="$5" -v mbps="$mbps" '
        { for (i = 3; i < NF; i += 2) value[$i] = $(i + 1)
          if (!sender && $2 == "send" && value["len"] > 1000) sender = value["sk"]
          if (value["sk"] != sender) next
          # Without one byte that the socket itself holds.
          level = value["wmem"] - 1
          if (seen) { area += after * ($1 - at); time += $1 - at }
          at = $1; seen = 1; after = level
          if (level > most) most = level }
        $2 == "free" { after = level - value["size"] }
        $2 == "ack" && value["out"] >= 2 { n++; srtt += value["srtt"] / 8000; cwnd += value["cwnd"]
          out += value["out"]; allowed += value["pacing"] / 128 }
        $2 == "send" && value["len"] > 0 && value["clone"] % 256 { after = level + value["size"]
          limit = int(value["pacing"] / 128); if (limit < 2 * value["size"]) limit = 2 * value["size"]
          if (limit > bytes_max) limit = bytes_max
          if (value["len"] == 1448) segment = value["size"]
          sends++; if (level + 1 > limit && value["out"] > 1) above++
          if (last == "ack" && $1 - acked < 0.0005) {
              percent = value["cwnd"] < int(value["ssthresh"] / 2) ? 200 : 120
              window = value["cwnd"] > value["out"] ? value["cwnd"] : value["out"]
              rates++; if (int(1448 * 80000 * percent * window / value["srtt"]) == value["pacing"]) same++ } }
        { last = $2; if (last == "ack") acked = $1 }
        END { if (n) printf "%d %d %d %s %s %.3f %.0f %.3f %.2f %.2f %.0f %d %d %d %d %d %d\n", rate, bytes_max, orphan, bursts, acknowledged,
              mbps, area / time, srtt / n, cwnd / n, out / n, allowed / n, most, sends, above, rates, same, segment }
    ' >> /tmp/small-queues
    tail -n 1 /tmp/small-queues
}

: > /tmp/small-queues
for rate in 6500 13000 26000 39000 65000; do
    measure $rate "$limit_by_default" 0 off each
    measure $rate "$limit_by_default" 0 off usual
    measure $rate "$limit_by_default" 0 on usual
done
measure 13000 16384 0 off usual
measure 13000 "$limit_by_default" 1 off usual
keep /tmp/small-queues
judge measured "$(wc -l < /tmp/small-queues) of 17 uploads" test "$(wc -l < /tmp/small-queues)" = 17
# Single segments: bursts have other sizes.
set -- $(awk '$4 == "off" && $3 == 0 { sends += $13; above += $14; rates += $15; same += $16 } END { print sends, above, rates, same }' /tmp/small-queues)
judge limit "$2 of $1 segments left while more was below the socket than the rule allows" test "$1" -gt 50000 -a "$2" = 0
judge pacing-rate "$4 of $3 pacing rates are the formula's" test "$3" -gt 2000 -a "$4" = "$3"
