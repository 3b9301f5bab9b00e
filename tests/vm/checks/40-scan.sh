# Background scans of wpa_supplicant and mac80211's software scan, captured from the
# air: `lasthop capture` finds their schedule (40-scan.host), judged by the kernel's own
# log of scans and channel changes. Twice: with some traffic of the station, and
# with its queue always full.
# timeout: 400

trace=/sys/kernel/tracing
# What a dual-band laptop scans in the United States: 35 channels, 15 of them passively.
all='2412 2417 2422 2427 2432 2437 2442 2447 2452 2457 2462 5180 5200 5220 5240 5260 5280 5300 5320 5500 5520 5540 5560 5580 5600 5620 5640 5660 5680 5700 5745 5765 5785 5805 5825'

medium 3 rate=13000 loss=100
access_point open
station sta 1 open "scan_freq=$all" 'bgscan="simple:25:-80:25"'
wait_for 5 in_sta ping -c 1 -W 1 10.0.0.1 || die cell "no ping from the station"
iperf_server ap
iw phy phy2 interface add mon0 type monitor
ip link set mon0 up
iw dev mon0 set channel 36 HT40+
ip link set hwsim0 up

# Captures have the wall clock; TAI is the same while nobody sets its offset.
echo tai > $trace/trace_clock
for event in drv_sw_scan_start drv_sw_scan_complete drv_config drv_flush; do
    echo 1 > $trace/events/mac80211/$event/enable
done
echo 8192 > $trace/buffer_size_kb
in_sta iw event -t > /tmp/events.log 2>&1 &
events=$!

# Captures begin between two scans, not within one, of which the log would lack the begin.
# The first scan comes 25 s after the association.
scan_has_ended() { grep 'drv_sw_scan_' $trace/trace | grep phy1 | tail -n 1 | grep -q complete; }
for load in some full; do
    echo > $trace/trace
    echo 1 > $trace/tracing_on
    [ $load = some ] || wait_for 60 scan_has_ended || die $load "no scan ends"
    tcpdump -Z root -i hwsim0 -s 256 -w /tmp/$load.pcap > /dev/null 2>&1 &
    tcpdump=$!
    sleep 1
    # The log begins after the capture and ends before it, so that the capture has all of it.
    echo > $trace/trace
    case $load in
        some) in_sta iperf3 -c 10.0.0.1 -u -b 400k -l 500 -t 110 > /tmp/iperf-some.log 2>&1 ;;
        full) in_sta iperf3 -c 10.0.0.1 -t 100 > /tmp/iperf-full.log 2>&1 ;;
    esac
    echo 0 > $trace/tracing_on
    sleep 1
    kill -INT $tcpdump
    wait $tcpdump
    grep -v '^#' $trace/trace > /tmp/$load.trace
    keep /tmp/$load.pcap /tmp/$load.trace
    scans=$(grep -c 'drv_sw_scan_start: phy1' /tmp/$load.trace)
    judge "$load-scans" "$scans scans" test "$scans" -ge 2
done
kill $events
