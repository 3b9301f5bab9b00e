# Stock hwsim, stock mac80211: hostapd and wpa_supplicant associate, open and
# WPA2, ping and TCP pass. Shows that what other checks see is their doing.
# timeout: 180

trace=/sys/kernel/tracing
# Debian's kernel has no MAC80211_DEBUGFS; the driver's calls are traced.
agreements() { grep -c 'drv_ampdu_action: phy1.*action[ :]6' $trace/trace; }

radios 2
echo 1 > $trace/events/mac80211/drv_ampdu_action/enable
for security in open wpa2; do
    begin=$(now)
    echo > $trace/trace
    cell "$security"
    ok "$security" "associated and reachable in $(calculate "$(now) - $begin" %.1f) s of the guest"
    set -- $(pings sta 10.0.0.1 20 -i 0.05)
    judge "$security-ping" "$1 of 20 came back, $4 ms on average" test "$1" -eq 20
    iperf_server ap
    mbps=$(throughput sta 10.0.0.1 -t 2)
    judge "$security-tcp" "$mbps Mb/s" is "$mbps" '>' 5
    judge "$security-aggregates" "$(agreements) Block Ack agreements of the station" test "$(agreements)" -ge 1
    cell_end
done
keep $trace/trace
