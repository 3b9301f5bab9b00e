# lasthop_retryout while everything changes: over a medium that loses 30 % and
# damages headers, pairwise and group keys are renewed every few seconds, one
# station uploads on several TIDs, another comes and goes, and the module is
# loaded and unloaded, which also ends agreements (DELBA). Then nothing stalls,
# no warning was logged, and no memory is lost.
# timeout: 900
# memory: 768

cycles=${cycles:-1000}
need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
value() { awk -v n="$1" '$1 == n { print $2 }' $debug/summary; }

medium 3 rate=13000 loss=300 ack_loss=50 damage_header=100 queue=200 orphan=1
access_point wpa2 wpa_ptk_rekey=5 wpa_group_rekey=7
station sta 1 wpa2
station guest 2 wpa2
wait_for 5 in_sta ping -c 1 -W 1 10.0.0.1 || die cell "no ping from the station"
in_ap iw dev wlan0 interface add mon0 type monitor flags fcsfail
in_ap ip link set mon0 up
iperf_server ap
iperf_server ap 5202
iperf_server ap 5203
(
    while true; do
        in_sta iperf3 -c 10.0.0.1 -t 20 > /dev/null 2>&1
        sleep 1
    done
) & traffic=$!
(
    while true; do
        for tos in 0x20 0xa0 0xe0 0x00; do in_sta iperf3 -c 10.0.0.1 -p 5202 -S $tos -t 3 -b 1M > /dev/null 2>&1; done
        sleep 1
    done
) & tids=$!
(
    while true; do
        in_ns guest iperf3 -c 10.0.0.1 -p 5203 -t 3 > /dev/null 2>&1
        in_ns guest wpa_cli -p /run/wpa-guest disconnect > /dev/null
        sleep 0.5
        in_ns guest wpa_cli -p /run/wpa-guest reconnect > /dev/null
        sleep 3
    done
) & guest=$!
sleep 3

modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
sleep 40
cp $debug/summary $debug/stations /tmp
keep /tmp/summary /tmp/stations
judge changes "$(value frames) frames, $(value failed) failed, $(value foreign) foreign, marked $(value marked), ignored $(value ignored)" test "$(value marked)" -gt 10
judge tids "agreements on $(awk 'NR > 1 { print $3 }' $debug/stations | sort -u | wc -l) TIDs" test "$(awk 'NR > 1 { print $3 }' $debug/stations | sort -u | wc -l)" -ge 3
rmmod lasthop_retryout
slab=$(slab_objects '^kmalloc|^skbuff')
done=0
while [ "$done" -lt "$cycles" ] && modprobe lasthop_retryout; do
    # Long enough for marks in some of them.
    [ $((done % 20)) -ne 0 ] || sleep 1
    rmmod lasthop_retryout || break
    done=$((done + 1))
done
judge cycles "$done load and unload cycles" test "$done" -eq "$cycles"
kill $traffic $tids $guest
killall iperf3 2> /dev/null
renewed=$(grep -c 'pairwise key handshake completed' /tmp/hostapd.log)
judge rekey "$renewed handshakes of pairwise keys" test "$renewed" -gt 5
echo 0 > /sys/module/lasthop_medium/parameters/loss
echo 0 > /sys/module/lasthop_medium/parameters/ack_loss
sleep 3
after=$(slab_objects '^kmalloc|^skbuff')
judge slab "$slab objects under traffic before, $after after" test "$((after - slab))" -lt 1000
modprobe lasthop_retryout
iperf_server ap
mbps=$(throughput sta 10.0.0.1 -t 5)
judge alive "TCP $mbps Mb/s at 13 Mb/s without losses" is "$mbps" '>' "${mbps_min:-7}"
set -- $(pings sta 10.0.0.1 40 -i 0.05)
judge stalls "$1 of 40 pings came back, at most $5 ms" is "$5" '<' "${stall_ms:-90}"
rmmod lasthop_retryout
kernel_log_clean log
