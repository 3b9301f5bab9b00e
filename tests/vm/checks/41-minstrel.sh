# Minstrel-HT: every tx status that mac80211's rate control gets (kprobe events), and
# what it knows after them (rc_stats_csv), while the losses of each MCS change.
# 41-minstrel.host has the same reports replayed into lasthop's Minstrel-HT.
# mac80211: debugfs
# timeout: 300

trace=/sys/kernel/tracing
parameter() { echo "$2" > "/sys/module/lasthop_medium/parameters/$1"; }

medium 2 rate=0
# tx status: struct ieee80211_tx_status at %cx, its ieee80211_tx_info (flags, rates[4] of 3
# bytes, A-MPDU's acknowledged MPDUs, its MPDUs) at +8. Whether statistics are due is looked up
# later in that function, and when they were made is noted at the end of another: jiffies may have
# gone on meanwhile, twice in 600 times and more. `stats` and `made` say whose, and when.
{
    echo 'p:judge/init minstrel_ht_rate_init sta=%r8:x64 jiffies=@jiffies_64:u64'
    echo 'p:judge/update minstrel_ht_rate_update sta=%r8:x64 jiffies=@jiffies_64:u64'
    echo 'p:judge/status minstrel_ht_tx_status sta=%dx:x64 jiffies=@jiffies_64:u64 flags=+0(+8(%cx)):x32 first=+8(+8(%cx)):x64 last=+16(+8(%cx)):x32 acked=+24(+8(%cx)):u8 mpdus=+25(+8(%cx)):u8 others=+40(%cx):u8'
    echo 'p:judge/stats minstrel_ht_update_stats sta=%si:x64'
    echo 'r:judge/made minstrel_ht_update_stats jiffies=@jiffies_64:u64'
    echo 'p:judge/csv minstrel_ht_stats_csv_open jiffies=@jiffies_64:u64'
    echo 'r:judge/read minstrel_ht_stats_csv_open'
} > $trace/kprobe_events 2> /tmp/probes.log || die probes "$(cat /tmp/probes.log)"
echo 32768 > $trace/buffer_size_kb
echo 1 > $trace/events/judge/enable
cell open
iperf_server ap

snapshots=0
# snapshot FILE: one more, in order.
snapshot() {
    snapshots=$((snapshots + 1))
    cat /sys/kernel/debug/ieee80211/phy1/netdev:wlan1/stations/02:00:00:00:00:00/rc_stats_csv \
        > "/tmp/csv-$(printf %04d $snapshots)"
}

# Losses of MCS 0 to 15, per mille, and how long: a good link, one that fades, two streams
# that die at once, one that loses much at every rate, and one that recovers.
for load in '-u -b 12M -l 1400' ''; do
    # shellcheck disable=SC2086
    in_sta iperf3 -c 10.0.0.1 -t 16 $load > "/tmp/iperf-${load:+udp}.log" 2>&1 &
    iperf=$!
    while read -r seconds loss; do
        parameter loss "$loss"
        for _ in $(seq $((seconds * 4))); do
            snapshot
            sleep 0.25
        done
    done << END
4 0,0,0,0,0,20,50,100,0,0,20,50,100,200,500,900
3 0,0,0,50,100,300,600,900,0,50,100,300,600,900,1000,1000
2 0,0,0,50,100,300,600,900,1000,1000,1000,1000,1000,1000,1000,1000
3 300,300,400,400,500,600,700,800,300,400,500,600,700,800,900,1000
3 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0
END
    wait $iperf
done
echo 0 > $trace/events/judge/enable
lost=$(sed -n 's/^overrun: //p' $trace/per_cpu/cpu0/stats)
grep -E ' (init|update|status|stats|made|csv|read): ' $trace/trace > /tmp/trace
statuses=$(grep -c ' status: ' /tmp/trace)
judge trace "$statuses tx statuses, $snapshots snapshots, $lost events lost" \
    test "$lost" = 0 -a "$statuses" -gt 5000 -a "$snapshots" = 120
cat /tmp/csv-* > /tmp/csv
uname -r > /tmp/release
keep /tmp/trace /tmp/csv /tmp/release
