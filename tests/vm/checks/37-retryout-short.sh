# lasthop_retryout in short: loaded over a medium that loses 30 % of MPDUs, it
# marks in a TCP upload of a few seconds, ignores what comes late, and unloads
# under traffic. 33-retryout-effect judges what that is good for.
# timeout: 180
# short: yes

need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
value() { awk -v n="$1" '$1 == n { print $2 }' $debug/summary; }

medium 2 rate=13000 loss=300 queue=1000 orphan=1
cell open
in_ap iw dev wlan0 interface add mon0 type monitor flags fcsfail
in_ap ip link set mon0 up
iperf_server ap
modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
in_sta iperf3 -c 10.0.0.1 -t 6 > /dev/null 2>&1 &
sleep 5
figures="$(value frames) frames, $(value failed) failed, marked $(value marked), ignored $(value ignored), wrong $(value wrong)"
judge marks "$figures" test "$(value marked)" -gt 10 -a "$(value ignored)" -gt 10 -a "$(value wrong)" -eq 0
judge unload "under traffic" rmmod lasthop_retryout
wait
set -- $(pings sta 10.0.0.1 10 -i 0.05)
judge alive "$1 of 10 pings came back" test "$1" -eq 10
kernel_log_clean log
