# FQ-CoDel of mac80211: every packet that enters a transmit queue of a radio, every time
# that the driver asks it for one, and what CoDel and a full queue drop (kprobe events).
# 43-fq-codel.host has the same arrivals and the same asking replayed into lasthop's.
# mac80211: debugfs
# kernels: 6.12
# timeout: 600
# memory: 1024

trace=/sys/kernel/tracing
parameter() { echo "$2" > "/sys/module/lasthop_medium/parameters/$1"; }

# A radio that takes few frames, so that packets wait in mac80211.
medium 2 rate=13000 queue=4
# struct sk_buff: len +112, data +208, truesize +216; of its cb (+40) struct
# ieee80211_tx_info's control.enqueue_time at +84. Behind the headers of QoS data (26) and
# LLC (8) is that of IP, whose second byte has the ECN field. `now` is codel_should_drop's
# ninth argument.
{
    echo 'p:judge/enqueue fq_tin_enqueue fq=%di:x64 tin=%si:x64 flow=%dx:u32 skb=%cx:x64 next=+0(%cx):x64 time=+84(%cx):u32 len=+112(%cx):u32 memory=+216(%cx):u32 tos=+35(+208(%cx)):u8 kind=+30(+208(%cx)):x32'
    echo 'p:judge/ask fq_tin_dequeue fq=%di:x64 tin=%si:x64'
    echo 'r:judge/got fq_tin_dequeue skb=$retval:x64 tos=+35(+208($retval)):u8'
    echo 'p:judge/codel codel_should_drop skb=%di:x64 now=+24(%sp):u32 interval=+8(%cx):u32 target=+0(%cx):u32'
    echo 'p:judge/free ieee80211_free_txskb skb=%si:x64'
} > $trace/kprobe_events 2> /tmp/probes.log || die probes "$(cat /tmp/probes.log) $(tail -n 5 $trace/error_log)"
echo 65536 > $trace/buffer_size_kb
cell open
iperf_server ap
iperf_server ap 5202
iperf_server ap 5203
iperf_server sta
iperf_server sta 5202
echo 8000000 | tee /proc/sys/net/core/wmem_max > /proc/sys/net/core/rmem_max

# scene NAME SECONDS COMMAND..: records while the command runs, after an idle time in
# which CoDel forgets (16 intervals).
scene() {
    local name=$1
    say "scene $name"
    shift
    sleep 3
    echo > $trace/trace
    echo 1 > $trace/events/judge/enable
    "$@"
    # What waits leaves.
    sleep 2
    echo 0 > $trace/events/judge/enable
    lost=$(sed -n 's/^overrun: //p' $trace/per_cpu/cpu0/stats)
    grep -E ' (enqueue|ask|got|codel|free): ' $trace/trace > "/tmp/trace-$name"
    judge "trace-$name" "$(wc -l < "/tmp/trace-$name") events, $lost lost" \
        test "$lost" = 0 -a "$(wc -l < "/tmp/trace-$name")" -gt 1000
    keep "/tmp/trace-$name"
}

# Two uploads, one with ECN, with pings among them, over three rates, the queue's limits
# far away.
uploads() {
    parameter rate 13000
    in_sta ping -q -i 0.05 -c 100 10.0.0.1 > /tmp/ping-uploads.log 2>&1 &
    echo 0 | in_sta tee /proc/sys/net/ipv4/tcp_ecn > /dev/null
    in_sta iperf3 -c 10.0.0.1 -t 5 > /tmp/iperf-uploads.log 2>&1 &
    sleep 0.5
    echo 1 | in_sta tee /proc/sys/net/ipv4/tcp_ecn > /dev/null
    in_sta iperf3 -c 10.0.0.1 -p 5202 -t 4 > /tmp/iperf-uploads-ecn.log 2>&1 &
    sleep 1.5
    parameter rate 65000
    sleep 1
    parameter rate 6500
    wait
}

# Two flows that do not react, one of them marked (ECT(0)) instead of dropped, and one of
# short packets that needs less than its share.
flood() {
    parameter rate 13000
    in_sta iperf3 -u -c 10.0.0.1 -b 20M -l 1400 -t 3 > /tmp/iperf-flood.log 2>&1 &
    in_sta iperf3 -u -c 10.0.0.1 -p 5202 -b 12M -l 1000 -S 2 -t 3 > /tmp/iperf-flood-ecn.log 2>&1 &
    in_sta iperf3 -u -c 10.0.0.1 -p 5203 -b 500K -l 200 -t 3 > /tmp/iperf-flood-short.log 2>&1 &
    in_sta ping -q -i 0.05 -c 60 10.0.0.1 > /tmp/ping-flood.log 2>&1 &
    wait
}

# Two flows that fill a queue of 200 packets, then one with memory for few.
full() {
    in_ap iperf3 -u -c 10.0.0.2 -b 14M -l 1400 -w 4M -t 2 > /tmp/iperf-full.log 2>&1 &
    in_ap iperf3 -u -c 10.0.0.2 -p 5202 -b 12M -l 700 -w 4M -t 2 > /tmp/iperf-full-2.log 2>&1 &
    wait
}

scene uploads uploads
scene flood flood
parameter rate 13000
in_ap iw phy phy0 set txq limit 200 || die limit "iw cannot set it"
scene packets full
in_ap iw phy phy0 set txq limit 8192
in_ap iw phy phy0 set txq memory_limit 400000 || die memory-limit "iw cannot set it"
scene memory full
uname -r > /tmp/release
echo 'uploads 8192 16777216
flood 8192 16777216
packets 200 16777216
memory 8192 400000' > /tmp/limits
cat /sys/kernel/debug/ieee80211/phy*/aqm > /tmp/aqm.log
keep /tmp/release /tmp/limits
