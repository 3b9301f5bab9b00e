# The medium itself (tests/vm/medium): airtime against the standard's formula, retries
# against the binomial law, what monitors see, order, and refused parameters.
# timeout: 300

parameter() { echo "$2" > "/sys/module/lasthop_medium/parameters/$1"; }
counter() { cat "/sys/kernel/debug/lasthop_medium/$1"; }
# counted COUNTER..: what was counted since the marks.
mark() { for name in "$@"; do eval "mark_$name=$(counter "$name")"; done; }
counted() { eval "echo \$(($(counter "$1") - mark_$1))"; }

# expected NDBPS SYMBOL_US N AGGREGATE: Mb/s of UDP payload of 1 470 bytes with N MPDUs
# a PPDU. An MPDU has 26 + 8 + 20 + 8 + 1470 + 4 bytes; in an A-MPDU 4 more,
# padded to 4. AIFS 43 us, mean backoff 67.5 us, HT preamble 36 us, SIFS 16 us, Ack 28
# us or Block Ack 32 us.
expected() {
    awk -v ndbps="$1" -v symbol="$2" -v n="$3" -v aggregate="$4" 'BEGIN {
        mpdu = 1536; if (aggregate) mpdu = 4 * int((mpdu + 4 + 3) / 4)
        symbols = int((22 + 8 * mpdu * n + ndbps - 1) / ndbps)
        printf "%.3f", n * 1470 * 8 / (43 + 67.5 + 36 + symbols * symbol + 16 + (aggregate ? 32 : 28)) }'
}

# udp SECONDS [OPTION..]: Mb/s received, lost percent and datagrams out of order.
udp() {
    local seconds=$1
    shift
    in_sta iperf3 -c 10.0.0.1 -u -l 1470 -t "$seconds" -f k "$@" > /tmp/udp.log 2>&1
    awk '/receiver/ { for (i = 2; i <= NF; i++) { if ($i == "Kbits/sec") v = $(i - 1) / 1000; if ($i ~ /^\(.*%\)$/) l = substr($i, 2, length($i) - 3) } }
        /out-of-order/ { for (i = 2; i <= NF; i++) if ($i == "out-of-order" || $i == "OUT") o += $(i - 1) }
        END { print v + 0, l + 0, o + 0 }' /tmp/udp.log
}

for bad in rate=7000 rate=x loss=x ampdu=65 ampdu=0 queue=0 seed=0; do
    modprobe lasthop_medium radios=2 "$bad" 2> /dev/null && { fail refused "$bad is taken"; modprobe -r lasthop_medium; }
done
judge refused "rate=7000 rate=x loss=x ampdu=65 ampdu=0 queue=0 seed=0" test ! -e /sys/module/lasthop_medium

medium 2 rate=6500 ampdu=1
parameter rate 7000 2> /dev/null
judge refused-later "rate=7000 leaves 6500" test "$(cat /sys/module/lasthop_medium/parameters/rate)" = 6500
cell open
iperf_server ap

# Airtime: kb/s, bits a symbol, us a symbol, MPDUs a PPDU. A Block Ack agreement is made
# at once, so that also one MPDU a PPDU has the form of an A-MPDU.
in_sta ping -q -c 3 -i 0.2 10.0.0.1 > /dev/null
while read -r rate ndbps symbol n; do
    parameter rate "$rate"
    parameter ampdu "$n"
    parameter ppdu_us 10000
    mark ppdus attempts
    set -- $(udp 4 -b 200M)
    per_ppdu=$(calculate "$(counted attempts) / $(counted ppdus)")
    want=$(expected "$ndbps" "$symbol" "$per_ppdu" 1)
    judge "airtime-$rate" "$1 Mb/s of UDP with $per_ppdu MPDUs a PPDU, $want by the standard" \
        is "$1 / $want > 0.98 && $1 / $want < 1.01"
done << END
6500 26 4 1
6500 26 4 4
13000 52 4 1
65000 260 4 16
150000 540 3.6 32
END

# Losses: 20 % of transmissions, seven retries. One in 390 000 datagrams is given up.
parameter rate 13000
parameter ampdu 32
parameter ppdu_us 4000
parameter loss 200
mark attempts acknowledged lost given_up retried aggregates
set -- $(udp 6 -b 8M)
ratio=$(calculate "$(counted attempts) / $(counted acknowledged)" %.3f)
share=$(calculate "$(counted lost) / $(counted attempts)" %.3f)
judge retries "$ratio transmissions an MPDU at a loss of $share, 1.25 expected; $(counted given_up) given up" \
    is "$ratio > 1.20 && $ratio < 1.30 && $share > 0.18 && $share < 0.22"
judge order "$1 Mb/s, $2 % lost, $3 out of order of the datagrams" is "$1 > 7.9 && $2 < 0.1 && $3 == 0"
judge aggregates "$(counted aggregates) A-MPDUs" test "$(counted aggregates)" -gt 100

# No retries: what is lost is lost, in both directions, and the recipient's reorder
# buffer goes on.
parameter retries 0
set -- $(pings sta 10.0.0.1 1000 -i 0.01)
judge no-retries "$2 % of pings lost at a loss of 20 % each direction, 36 expected; $4 ms on average" is "$2 > 31 && $2 < 41 && $4 < 150"
parameter retries 7

# A monitor that asks for bad frames sees them, flagged, and retries with their bit.
in_ap iw dev wlan0 interface add mon0 type monitor flags fcsfail
in_ap ip link set mon0 up
# Counted from before the capture begins until it has ended: a frame in between is in both.
mark lost retried damaged_delivered acknowledged
in_ap tcpdump -Z root -i mon0 -s 200 -w /tmp/mon.pcap > /dev/null 2>&1 &
sleep 1
set -- $(udp 3 -b 4M)
sleep 0.5
kill "$(pidof tcpdump)"; wait
keep /tmp/mon.pcap
lost=$(counted lost) retried=$(counted retried)
flagged=$(tcpdump -Z root -nr /tmp/mon.pcap 2> /dev/null | grep -c 'bad-fcs')
repeated=$(tcpdump -Z root -nr /tmp/mon.pcap 'wlan[1] & 0x08 != 0 and wlan addr2 02:00:00:00:01:00' 2> /dev/null | wc -l)
say "mon0: flagged $flagged of $lost, retries $repeated of $retried, delivered damaged $(counted damaged_delivered)"
judge monitor "$flagged frames flagged, $lost lost (those of the access point among them); $repeated with the Retry bit, $retried repeated" \
    is "$flagged > 0.8 * $lost && $flagged <= $lost && $repeated > 0.8 * $retried && $repeated <= $retried"
in_ap iw dev mon0 del

# One transmitter at a time: TCP both together get no more than one alone.
parameter loss 0
parameter rate 65000
one=$(throughput sta 10.0.0.1 -t 3)
iperf_server sta
in_ap iperf3 -c 10.0.0.2 -t 4 > /dev/null 2>&1 &
two=$(throughput sta 10.0.0.1 -t 3)
wait
judge half-duplex "TCP $one Mb/s alone, $two against another one" is "$one > 35 && $one < 65 && $two < 0.75 * $one"

# Load and unload under traffic.
cell_end
modprobe -r lasthop_medium
judge unload "after $(calculate "$(now)" %.0f) s" test ! -e /sys/module/lasthop_medium
