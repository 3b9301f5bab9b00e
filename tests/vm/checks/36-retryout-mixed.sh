# UDP beside a TCP upload of the same station and TID, at 13 Mb/s with 30 % of
# MPDUs lost: in an open cell lasthop_retryout marks TCP only; under WPA2, where
# an erroneous MPDU cannot be read, packets of a size that is mixed are left alone.
# timeout: 300

need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
value() { awk -v n="$1" '$1 == n { print $2 }' $debug/summary; }

medium 2 rate=13000 loss=300 queue=300 orphan=1
for security in open wpa2; do
    cell $security
    in_ap iw dev wlan0 interface add mon0 type monitor flags fcsfail
    in_ap ip link set mon0 up
    iperf_server ap
    iperf_server ap 5202
    modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
    for size in 1400 160; do
        before=$(value marked)
        in_sta iperf3 -c 10.0.0.1 -t 14 -C cubic > /tmp/tcp.log 2>&1 &
        sleep 2
        set -- $(in_sta iperf3 -u -b 1500k -l $size -t 10 -p 5202 -c 10.0.0.1 | awk '/receiver/ { print $(NF - 2), $(NF - 1) }')
        wait $!
        figures="UDP of $size bytes: lost/sent $1; marked $(($(value marked) - before)), wrong $(value wrong)"
        # The medium itself gives 0.3 ^ 8 of them up, one in 15 000: of 1 340
        # 0.1, of 11 700 0.8 on average.
        limit=$([ $size = 1400 ] && echo 1 || echo 4)
        judge "$security-$size" "$figures" test "${1%%/*}" -le "$limit" -a "$(value wrong)" -eq 0
    done
    rmmod lasthop_retryout
    cell_end
done
