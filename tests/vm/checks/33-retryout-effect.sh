# What lasthop_retryout does to a TCP upload over a medium that loses and retries
# MPDUs, from a station with a deep queue: ping beside it and TCP's throughput
# with the module (marks), only counting (dry_run) and without; open and WPA2,
# at 6.5, 13 and 135 Mb/s; and UDP, which is left alone.
# timeout: 900
# memory: 768

need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
parameters=/sys/module/lasthop_medium/parameters
seconds=${RETRYOUT_SECONDS:-20}
value() { awk -v n="$1" '$1 == n { print $2 }' $debug/summary; }

# upload NAME: prints Mb/s of TCP, and the average and largest ping in ms.
upload() {
    in_sta ping -q -i 0.2 -w "$((seconds - 2))" 10.0.0.1 > "/tmp/ping-$1" 2>&1 &
    mbps=$(throughput sta 10.0.0.1 -t "$seconds" -C cubic)
    wait $!
    echo "$mbps $(awk -F '[ /]+' '/^rtt/ { print $8, $9 }' "/tmp/ping-$1")"
}

# compare NAME RATE LOSS: sets mbps_0, ping_0 (without), mbps_1, ping_1 (marks).
compare() {
    local name=$1
    echo "$2" > $parameters/rate
    echo "$3" > $parameters/loss
    set -- $(upload "$name-without")
    mbps_0=$1 ping_0=$2
    modprobe lasthop_retryout dry_run=1 || die load "$(dmesg | tail -n 1)"
    set -- $(upload "$name-dry")
    say "$name dry run: TCP $1 Mb/s, ping $2 ms, largest $3, would mark $(value marked), would ignore $(value ignored)"
    cp $debug/stations "/tmp/$name-dry.txt"
    rmmod lasthop_retryout
    modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
    set -- $(upload "$name-marks")
    mbps_1=$1 ping_1=$2
    marked=$(value marked) ignored=$(value ignored) wrong=$(value wrong)
    cp $debug/stations "/tmp/$name.txt"
    keep "/tmp/$name.txt" "/tmp/$name-dry.txt"
    rmmod lasthop_retryout
    figures="TCP $mbps_0 Mb/s without, $mbps_1 with; ping $ping_0 ms without, $ping_1 with; marked $marked, ignored $ignored, wrong $wrong"
}
# Three times lower, and within 5 percent.
remedies() { is "$ping_1 * 3" '<=' "$ping_0" && is "$mbps_1" '>=' "0.95 * $mbps_0" && [ "$wrong" -eq 0 ]; }
# Nothing is marked; TCP within 5 percent.
leaves() { [ "$marked" -eq 0 ] && is "$mbps_1" '>=' "0.95 * $mbps_0"; }

medium 2 rate=6500 loss=100 queue=1000 orphan=1
for security in open wpa2; do
    cell $security
    in_ap iw dev wlan0 interface add mon0 type monitor flags fcsfail
    in_ap ip link set mon0 up
    iperf_server ap
    for rate in 6500 13000; do
        compare "$security-$rate" "$rate" 100
        judge "$security-$rate" "$figures" remedies
    done
    if [ $security = open ]; then
        # Fails today, by 4 %: where one MPDU in 37 is given up. The model loses 5.6 % here,
        # and 5.0 % if the station itself gives up so early; see README.md.
        compare "$security-13000-30%" 13000 300
        judge "$security-13000-30%" "$figures" remedies
    fi
    compare "$security-135000" 135000 100
    judge "$security-135000" "$figures" leaves
    echo 13000 > $parameters/rate
    modprobe lasthop_retryout
    set -- $(in_sta iperf3 -u -b 4M -l 1400 -t 10 -c 10.0.0.1 | awk '/receiver/ { print $(NF - 2), $(NF - 1) }')
    judge "$security-udp" "lost/sent $1, marked $(value marked)" test "$(value marked)" -eq 0
    rmmod lasthop_retryout
    cell_end
done
