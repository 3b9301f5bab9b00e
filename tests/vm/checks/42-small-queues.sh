# TCP small queues over mac80211: how much of one upload waits below its socket
# (sk_wmem_alloc at each acknowledgement, by a kprobe event), over rates,
# in bursts of many segments and of one, with another tcp_limit_output_bytes, and with a
# driver that orphans its frames. 42-small-queues.host compares with lasthop's.
# timeout: 400

trace=/sys/kernel/tracing
parameter() { echo "$2" > "/sys/module/lasthop_medium/parameters/$1"; }

# Where struct sock and struct tcp_sock have sk_wmem_alloc, sk_pacing_rate, srtt_us (in
# 1/8 us), snd_cwnd and packets_out. Debian's ss needs a module that the guest lacks.
case $(uname -r) in
    6.1.*) set -- 340 456 1672 1776 1716 ;;
    *) set -- 380 488 1728 1500 1732 ;;
esac
echo "p:judge/ack tcp_rcv_established sk=%di:x64 wmem=+$1(%di):u32 pacing=+$2(%di):u64 srtt=+$3(%di):u32 cwnd=+$4(%di):u32 out=+$5(%di):u32" \
    > $trace/kprobe_events || die probe "no kprobe event"
echo 16384 > $trace/buffer_size_kb

# A driver's queue that never stops the stack: what waits is bounded by TCP alone.
medium 2 rate=13000 queue=4000
cell open
iperf_server ap
in_sta ping -q -c 3 -i 0.2 10.0.0.1 > /dev/null
limit_by_default=$(in_sta cat /proc/sys/net/ipv4/tcp_limit_output_bytes)

# measure RATE LIMIT ORPHAN BURSTS: a line `rate limit orphan bursts Mb/s`, the means of the bytes below the
# socket, of the smoothed round trip (ms), cwnd, segments out, and of what the pacing rate
# sends in 1/128 s, and the most bytes below the socket. From 2 s after the beginning.
measure() {
    parameter rate "$1"
    parameter orphan "$3"
    # TCP makes bursts whatever the device's offloads are (since 4.17); their length is a bound.
    in_sta ip link set wlan1 gso_max_segs "$(if [ "$4" = on ]; then echo 65535; else echo 1; fi)" \
        || die bursts "gso_max_segs cannot be set"
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
    # The sender's: of the two ends of the connection that which has segments out.
    grep ' ack: ' $trace/trace | tr '=' ' ' | awk -v rate="$1" -v limit="$2" -v orphan="$3" -v bursts="$4" -v mbps="$mbps" '
        { for (i = 1; i < NF; i++) value[$i] = $(i + 1); if (value["out"] < 2) next
          # Without one byte that the socket itself holds.
          t = value["wmem"] - 1; n++; below += t; srtt += value["srtt"] / 8000; cwnd += value["cwnd"]
          out += value["out"]; allowed += value["pacing"] / 128; if (t > most) most = t }
        END { if (n) printf "%d %d %d %s %.3f %.0f %.3f %.2f %.2f %.0f %d\n", rate, limit, orphan, bursts, mbps, below / n, srtt / n, cwnd / n, out / n, allowed / n, most }
    ' >> /tmp/small-queues
    tail -n 1 /tmp/small-queues
}

: > /tmp/small-queues
for bursts in off on; do
    for rate in 6500 13000 65000; do measure $rate "$limit_by_default" 0 $bursts; done
done
measure 13000 16384 0 off
measure 13000 "$limit_by_default" 1 off
keep /tmp/small-queues
judge measured "$(wc -l < /tmp/small-queues) of 8 uploads" test "$(wc -l < /tmp/small-queues)" = 8
