# lasthop_jumbo: MPDUs longer than 4 095 bytes stay out of A-MPDUs to HT peers and may be
# in those to VHT peers that take them. The judge is a probe of the tracer at the driver:
# the length of each frame and mac80211's mark IEEE80211_TX_CTL_AMPDU (bit 6). And over the
# medium, which loses and retries: a long MPDU that is given up holds nothing back until
# the recipient's reorder timer (100 ms), as a Block Ack Request follows.
# timeout: 240

need_module lasthop_jumbo
. /lib/jumbo.sh
tracing=/sys/kernel/tracing
radios 2

# cb and len of struct sk_buff, at offsets that both kernels have.
echo 'p:sent mac80211_hwsim:mac80211_hwsim_tx flags=+40(%dx):u32 len=+112(%dx):u32' \
    > $tracing/kprobe_events || die probe "the tracer takes no probe"

# marks: sends packets of 3 999 to 7 935 bytes both ways; prints how many MPDUs of up to and
# of more than 4 095 bytes (FCS included) have the mark and have it not.
marks() {
    echo > $tracing/trace
    echo 1 > $tracing/events/kprobes/sent/enable
    for bytes in 1500 3999 4009 4100 5000 7900 7935; do
        in_sta ping -q -c 20 -i 0.01 -s $((bytes - 28)) 10.0.0.1 > /dev/null
    done
    throughput sta 10.0.0.1 -t 1 > /dev/null
    echo 0 > $tracing/events/kprobes/sent/enable
    cat $tracing/trace > /tmp/trace.log
    awk -F '[= ]' '/ sent: / {
            for (i = 1; i < NF; i++) { if ($i == "flags") flags = $(i + 1); if ($i == "len") len = $(i + 1) }
            n[(len + 4 > 4095) + 0, int(flags / 64) % 2]++
        } END { print n[0, 1] + 0, n[0, 0] + 0, n[1, 1] + 0, n[1, 0] + 0 }' /tmp/trace.log
}

for security in open wpa2; do
    cell "$security"
    iperf_server ap
    # Until both ends have an agreement.
    throughput sta 10.0.0.1 -t 1 --bidir > /dev/null
    jumbo mtu=7935
    set_mtus 7935
    set -- $(marks)
    judge "ht-$security-long" "$4 long MPDUs alone, $3 marked for A-MPDUs" is "$4 > 100 && $3 == 0"
    judge "ht-$security-short" "$1 short MPDUs marked, $2 not" is "$1 > 100 && $1 > $2"
    counted=$(cat /sys/module/lasthop_jumbo/unaggregated) missed=$(cat /sys/module/lasthop_jumbo/unaggregated_missed)
    judge "ht-$security-counter" "the module counts $counted, $missed missed" is "$counted >= $4 && $counted > 100 && $missed == 0"
    rmmod lasthop_jumbo
    # Below the limit of A-MPDUs no probe is set.
    jumbo mtu=4000
    set_mtus 4000
    set -- $(marks)
    judge "ht-$security-4000" "the paper's 4000 bytes: $1 marked, $3 longer than an A-MPDU takes" is "$1 > 100 && $3 + $4 == 0"
    judge "ht-$security-no-probe" "no probe for 4000 bytes" \
        sh -c '! grep -q rate_control_get_rate /sys/kernel/debug/kprobes/list'
    rmmod lasthop_jumbo
    cell_end
done

# VHT peers: the station takes 11 454 bytes; the access point says so, too.
access_point open ieee80211ac=1 vht_oper_chwidth=0 'vht_capab=[MAX-MPDU-11454]'
station sta 1 open
iperf_server ap
throughput sta 10.0.0.1 -t 1 --bidir > /dev/null
jumbo mtu=7935
set_mtus 7935
set -- $(marks)
judge vht "$3 long MPDUs marked for A-MPDUs, $4 alone" is "$3 > 100 && $3 > $4"
rmmod lasthop_jumbo
echo > $tracing/kprobe_events
cell_end
modprobe -r mac80211_hwsim

# 3 of 10 are lost and retried once: one in 11 is given up, far more than the hundred pings
# that may be in flight at a time need to close a window of 64 by themselves.
medium 2 rate=65000 retries=1
cell open
throughput sta 10.0.0.1 -t 1 > /dev/null
jumbo mtu=7935
set_mtus 7900
echo 300 > /sys/module/lasthop_medium/parameters/loss
set -- $(pings sta 10.0.0.1 400 -i 0.01 -s 7800)
requests=$(cat /sys/module/lasthop_jumbo/unaggregated_lost)
judge given-up "$1 of 400 long pings came back, after $4 ms on average and $5 at most; $requests long MPDUs were given up" \
    is "$1 > 250 && $requests > 20 && $5 < 90"
rmmod lasthop_jumbo
kernel_log_clean log
