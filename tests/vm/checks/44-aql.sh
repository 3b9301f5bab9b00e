# Airtime queue limits of mac80211: the airtime that waits below its queues for each
# station, how long each frame is estimated to take, and when a driver gets no more
# (kprobe events), over rates and with one, two and three stations; and pings under a
# saturated upload. 44-aql.host compares with lasthop's.
# mac80211: debugfs
# kernels: 6.12
# memory: 1024
# timeout: 600

trace=/sys/kernel/tracing
# at RATE: the rate of all, kb/s, in 20 MHz with the long guard interval.
at() {
    local mcs n
    case $1 in 6500) mcs=0 ;; 13000) mcs=1 ;; 39000) mcs=4 ;; esac
    in_ap iw dev wlan0 set bitrates ht-mcs-5 $mcs lgi-5 || die rate "the access point's cannot be set"
    for n in 1 2 3; do
        in_ns sta$n iw dev wlan$n set bitrates ht-mcs-5 $mcs lgi-5 || die rate "a station's cannot be set"
    done
}

# The estimates are of the rate that rate control chose, so it is that which is fixed.
medium 4 aql=1 queue=1000
{
    echo 'p:judge/pending ieee80211_sta_update_pending_airtime local=%di:x64 sta=%si:x64 ac=%dx:u8 airtime=%cx:u16 done=%r8:u8'
    # struct ieee80211_txq: its station at +8, its TID at +16, its access category at +17.
    echo 'p:judge/ask ieee80211_txq_airtime_check txq=%si:x64 sta=+8(%si):x64 tid=+16(%si):u8 ac=+17(%si):u8'
    echo 'r:judge/may ieee80211_txq_airtime_check may=$retval:u8'
    echo 'r:judge/frame ieee80211_tx_dequeue skb=$retval:x64 len=+112($retval):u32'
} > $trace/kprobe_events 2> /tmp/probes.log || die probes "$(cat /tmp/probes.log) $(tail -n 5 $trace/error_log)"
echo 32768 > $trace/buffer_size_kb
access_point open
for n in 1 2 3; do station sta$n $n open disable_ht40=1; done
wait_for 5 in_ns sta1 ping -c 1 -W 1 10.0.0.1 || die cell "no ping"
for n in 1 2 3; do iperf_server sta$n; done
for port in 5201 5202 5203; do iperf_server ap $port; done
cat /sys/kernel/debug/ieee80211/phy0/aql_txq_limit /sys/kernel/debug/ieee80211/phy0/aql_threshold > /tmp/limits

# scene NAME COMMAND..: records while it runs.
scene() {
    local name=$1
    shift
    say "scene $name"
    echo > $trace/trace
    echo 1 > $trace/events/judge/enable
    "$@"
    sleep 1
    echo 0 > $trace/events/judge/enable
    lost=$(sed -n 's/^overrun: //p' $trace/per_cpu/cpu0/stats)
    grep -E ' (pending|ask|may|frame): ' $trace/trace > "/tmp/trace-$name"
    judge "trace-$name" "$(wc -l < "/tmp/trace-$name") events, $lost lost" \
        test "$lost" = 0 -a "$(wc -l < "/tmp/trace-$name")" -gt 1000
    keep "/tmp/trace-$name"
}

# A saturated upload of one station. At 65 Mb/s it does not fill the queue.
upload() { in_ns sta1 iperf3 -u -c 10.0.0.1 -b "$1" -l 1472 -t 2 > /tmp/iperf-up.log 2>&1; }

# Downloads to the first N stations.
downloads() {
    local n
    for n in $(seq "$1"); do
        in_ap iperf3 -u -c "10.0.0.$((n + 1))" -b 20M -l 1472 -t 2 > "/tmp/iperf-down$n.log" 2>&1 &
    done
    wait
}

# pinged RATE: pings in a saturated upload, which began a second before: `rate received min
# avg max`.
pinged() {
    in_ns sta1 iperf3 -u -c 10.0.0.1 -b "$(($1 * 3 / 2))K" -l 1472 -t 6 > /tmp/iperf-pinged.log 2>&1 &
    sleep 1
    # shellcheck disable=SC2046
    set -- "$1" $(pings sta1 10.0.0.1 80 -i 0.05)
    echo "$1 $2 $4 $5 $6" >> /tmp/pinged
    say "$1 kb/s: $2 pings, $5 ms"
    wait
}

: > /tmp/pinged
for rate in 6500 13000 39000; do
    at $rate
    scene "upload-$rate" upload "$((rate * 3 / 2))K"
    pinged $rate
done
at 13000
for n in 2 3; do scene "downloads-$n" downloads $n; done
keep /tmp/limits /tmp/pinged
