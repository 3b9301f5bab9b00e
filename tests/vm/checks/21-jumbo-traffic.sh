# lasthop_jumbo: MTU 4 000, 7 900 and 7 935 between access point and station, open and
# WPA2: ping that must not be cut, UDP and TCP, both directions; frames on the air as
# tcpdump sees them; a stock peer beside them at 1 500.
# timeout: 420

need_module lasthop_jumbo
. /lib/jumbo.sh
radios 3
jumbo mtu=7935 phys=phy0,phy1
# QoS Data header, LLC and SNAP; CCMP header and MIC.
for case in open:34 wpa2:50; do
    security=${case%:*} overhead=${case#*:}
    cell "$security"
    station stock 2 "$security"
    iperf_server ap
    iperf_server sta
    iperf_server stock
    for bytes in 4000 7900 7935; do
        name=$security-$bytes
        set_mtus "$bytes" || fail "$name-mtu" "refused"
        frames_from 128 greater 2600
        judge "$name-ping" "both directions" \
            sh -c "ip netns exec sta ping -q -M do -c 5 -i 0.05 -W 2 -s $((bytes - 28)) 10.0.0.1 &&
                ip netns exec ap ping -q -M do -c 5 -i 0.05 -W 2 -s $((bytes - 28)) 10.0.0.2"
        ping_whole sta 10.0.0.1 $((bytes + 1)) 1 && fail "$name-longer" "one byte more passes"
        longest=$(longest_frame)
        judge "$name-frame" "the longest frame has $longest bytes, $((bytes + overhead)) are expected" \
            test "$longest" -eq $((bytes + overhead))
        udp=$(throughput sta 10.0.0.1 -u -b 20M -l $((bytes - 28)) -t 1)
        lost=$(awk '/receiver/ { gsub(/[()%]/, "", $NF); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\/[0-9]+$/) { split($i, n, "/"); print n[1] } }' /tmp/iperf.log)
        judge "$name-udp" "$udp Mb/s, $lost datagrams lost" test "${lost:-x}" = 0
        up=$(throughput sta 10.0.0.1 -t 1)
        down=$(throughput ap 10.0.0.2 -t 1 -V)
        mss=$(sed -nE 's/.*TCP MSS: ([0-9]+).*/\1/p' /tmp/iperf.log)
        judge "$name-tcp" "$up Mb/s up, $down down" is "$up > 5 && $down > 5"
        # Headers of 20 and 20 bytes, timestamps of 12.
        judge "$name-mss" "an MSS of $mss, $((bytes - 52)) is expected" test "$mss" = $((bytes - 52))
        set -- $(pings stock 10.0.0.1 5 -M do -s 1472 -i 0.05)
        up=$(throughput stock 10.0.0.1 -t 1)
        down=$(throughput ap 10.0.0.3 -t 1)
        judge "$name-stock" "$1 of 5 pings of 1500, $up Mb/s up, $down down" \
            is "$1 == 5 && $up > 5 && $down > 5"
    done
    judge "$security-stock-limit" "the stock peer's limit is $(limit stock wlan2)" \
        test "$(limit stock wlan2)" = 2304
    # What docs/kernel.md says for datagrams to stock peers.
    ip -n ap route add 10.0.0.3/32 dev wlan0 mtu 1500
    ping_whole ap 10.0.0.3 1500 || fail "$security-route" "1500 bytes do not pass a route of 1500"
    judge "$security-route" "a route of 1500 bytes to the stock peer bounds datagrams" \
        sh -c '! ip netns exec ap ping -q -M do -c 1 -W 1 -s 1473 10.0.0.3'
    cell_end stock
done
rmmod lasthop_jumbo
kernel_log_clean log
