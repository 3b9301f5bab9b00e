# lasthop medium: stock mac80211_hwsim, hostapd and wpa_supplicant over the modelled air, in
# user space. Airtime against the standard, losses against the binomial law, two stations
# that contend, two that do not hear each other, rate control over a weak link, WPA2, and what
# is left when it ends.
# timeout: 400

command -v lasthop > /dev/null || { skip medium-hwsim "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
lasthop=$(command -v lasthop)
cd /tmp

# scenario STATIONS [LINE..]: an access point and stations sta1.. 1 m from it, without losses.
scenario() {
    local n=$1 i=1
    shift
    {
        printf '%s\n' 'name = "guest"' '[channel]' 'width = "40MHz"' '[[node]]' 'name = "ap"' 'role = "access-point"'
        while [ $i -le "$n" ]; do
            printf '%s\n' '[[node]]' "name = \"sta$i\"" 'role = "station"' 'position = ["1m", "0m"]'
            i=$((i + 1))
        done
        for line in "$@"; do printf '%s\n' "$line"; done
    } > /tmp/scenario.toml
}
# medium_begins ARGUMENT..: the medium in the background, until it is ready; medium_ends: its
# document is in /tmp/medium.json.
medium_begins() {
    rm -f /tmp/medium.log
    "$lasthop" medium /tmp/scenario.toml --json "$@" > /tmp/medium.json 2> /tmp/medium.log &
    medium=$!
    wait_for 10 grep -q '^ready\|^error' /tmp/medium.log
    grep -q ^ready /tmp/medium.log || die medium "not ready: $(cat /tmp/medium.log)"
}
medium_ends() {
    kill -INT $medium
    wait $medium
    medium_status=$?
    [ $medium_status -eq 0 ] || say "medium: $(cat /tmp/medium.log)"
    cp /tmp/medium.json "/kept/medium-$1.json"
}
# count NODE KEY: of its busiest channel.
count() {
    awk -F '[ :,"]+' -v node="$1" -v key="$2" '$2 == "node" { here = $3 == node }
        here && $2 == key && $3 > most { most = $3 } END { print most + 0 }' /tmp/medium.json
}
# joined STATIONS: access point and stations on phy0.., and all of them associated.
joined() {
    local n=$1 i=1 radios='--radio ap=phy0'
    shift
    while [ $i -le "$n" ]; do radios="$radios --radio sta$i=phy$i"; i=$((i + 1)); done
    medium_begins $radios "$@"
    access_point open
    i=1
    while [ $i -le "$n" ]; do
        station "sta$i" $i open
        # What an earlier scene has fixed is rate control's again.
        in_ns "sta$i" iw dev "wlan$i" set bitrates
        i=$((i + 1))
    done
    iperf_server ap
}
left() {
    medium_ends "$1"
    shift
    cell_end "$@"
}
# udp NAMESPACE SECONDS RATE: Mb/s received.
udp() {
    in_ns "$1" iperf3 -c 10.0.0.1 -u -l 1470 -t "$2" -f k -b "$3" -p "${4:-5201}" > "/tmp/udp-$1.log" 2>&1
    awk '/receiver/ { for (i = 2; i <= NF; i++) if ($i == "Kbits/sec") v = $(i - 1) / 1000 } END { print v + 0 }' "/tmp/udp-$1.log"
}
mcs() { in_ns "$1" iw dev "$2" set bitrates ht-mcs-5 "$3" $4; }
# Its rate in kb/s as the kernel says it.
tx_rate() { in_ns "$1" iw dev "$2" station dump | awk '/tx bitrate/ { print $3 * 1000 }'; }

# Refused before anything is changed: no module, a node or radio that is not there, a file that
# is none.
refused() {
    local name=$1 words=$2
    shift 2
    "$lasthop" medium "$@" > /tmp/refused 2>&1
    status=$?
    judge "refused-$name" "status $status: $(head -c 200 /tmp/refused | tr '\n' ' ')" \
        sh -c "[ $status -eq 2 ] && grep -q '$words' /tmp/refused"
}
scenario 1
refused module 'modprobe mac80211_hwsim' /tmp/scenario.toml
modprobe mac80211_hwsim radios=3
regulatory
refused node 'there are: ap, sta1' /tmp/scenario.toml --radio server=phy0
refused radio 'iw phy' /tmp/scenario.toml --radio ap=phy9
refused twice 'named twice' /tmp/scenario.toml --radio ap=phy0 --radio sta1=phy0

# Airtime: MCS, guard interval, us a symbol, Ack and Block Ack at its response rate in us, who
# aggregates. An MPDU of an A-MPDU has 26 + 8 + 20 + 8 + 1470 + 4 bytes, 4 more, padded to 4.
scenario 1
while read -r index guard symbol ack block_ack by; do
    joined 1 --aggregation "$by"
    mcs sta1 wlan1 "$index" "$guard"
    in_ns sta1 ping -q -c 20 -i 0.05 10.0.0.1 > /dev/null
    got=$(udp sta1 4 200M)
    kbps=$(tx_rate sta1 wlan1)
    left "airtime-$index-$by" sta1
    n=$(calculate "$(count sta1 mpdus) / $(count sta1 ppdus)")
    want=$(awk -v kbps="$kbps" -v symbol="$symbol" -v n="$n" -v ack="$ack" -v block_ack="$block_ack" 'BEGIN {
        ndbps = int(kbps * symbol / 1000 + 0.5)
        mpdu = n > 1.01 ? 1544 : 1536; response = n > 1.01 ? block_ack : ack
        symbols = int((22 + 8 * mpdu * n + ndbps - 1) / ndbps)
        printf "%.2f", n * 1470 * 8 / (43 + 67.5 + 36 + symbols * symbol + 16 + response) }')
    judge "airtime-mcs$index-$by" "$got Mb/s of UDP at $kbps kb/s with $n MPDUs a PPDU, $want by the standard" \
        is "$got / $want > 0.95 && $got / $want < 1.02"
    judge "status-mcs$index-$by" "$medium_status after SIGINT" test "$medium_status" -eq 0
done << END
0 lgi-5 4 44 68 kernel
4 lgi-5 4 28 32 kernel
4 lgi-5 4 28 32 none
7 sgi-5 3.6 28 32 radio
END

# Losses: 20 % of transmissions.
scenario 1 '[[link]]' 'from = "sta1"' 'to = "ap"' 'loss = 0.2'
joined 1
mcs sta1 wlan1 4 lgi-5
got=$(udp sta1 5 5M)
left losses sta1
ratio=$(calculate "($(count sta1 mpdus)) / ($(count sta1 frames))" %.3f)
judge losses "$got Mb/s of 5; $ratio transmissions an MPDU, 1.25 expected" is "$got > 4.9 && $ratio > 1.19 && $ratio < 1.31"

# Two stations with more than the air carries get half each.
scenario 2
joined 2
iperf_server ap 5202
for name in sta1 sta2; do mcs $name wlan${name#sta} 4 lgi-5; done
udp sta2 4 100M 5202 > /tmp/two &
one=$(udp sta1 4 100M)
wait $!
two=$(cat /tmp/two)
kbps=$(tx_rate sta1 wlan1)
left two sta1 sta2
judge contend "$one and $two Mb/s at $kbps kb/s" \
    is "$one / $two > 0.8 && $one / $two < 1.25 && ($one + $two) / $kbps > 0.0008"

# With less than that, collisions are rare where they hear each other, and not where they do
# not. The streams have other periods, so that no phase lasts. How many there are is up to rate
# control, which sends RTS once it has met some.
for hidden in no yes; do
    if [ $hidden = yes ]; then
        scenario 2 '[[link]]' 'between = ["sta1", "sta2"]' 'path_loss = "200dB"'
    else
        scenario 2
    fi
    joined 2
    iperf_server ap 5202
    for name in sta1 sta2; do mcs $name wlan${name#sta} 4 lgi-5; done
    udp sta2 4 7M 5202 > /tmp/two &
    one=$(udp sta1 4 8M)
    wait $!
    two=$(cat /tmp/two)
    left "hidden-$hidden" sta1 sta2
    eval "overlapped_$hidden=$(calculate "$(count sta1 overlapped) / $(count sta1 ppdus)" %.3f)"
done
judge hidden "$one of 8 and $two of 7 Mb/s; $overlapped_yes of the PPDUs overlapped, $overlapped_no where they hear each other" \
    is "$overlapped_yes > 0.01 && $overlapped_no < 0.003 && $one + $two > 13.5"

# The kernel's own rate control over a strong link, a weak one, and one that fades.
for snr in 40 15 8; do
    scenario 1 '[[link]]' 'between = ["ap", "sta1"]' "snr = \"${snr}dB\""
    joined 1
    eval "rate_$snr=$(throughput sta1 10.0.0.1 -t 10)"
    left "snr-$snr" sta1
done
judge rate-control "TCP $rate_40, $rate_15, $rate_8 Mb/s at 40, 15, 8 dB" is "$rate_40 > 1.5 * $rate_15 && $rate_15 > 1.5 * $rate_8 && $rate_8 > 3"

# WPA2, radios of its own, which end with it; a second medium is refused meanwhile.
modprobe -r mac80211_hwsim
modprobe mac80211_hwsim radios=0
scenario 1
"$lasthop" medium /tmp/scenario.toml > /tmp/own.log 2>&1 &
medium=$!
wait_for 10 grep -q ^ready /tmp/own.log || die own "not ready: $(cat /tmp/own.log)"
refused busy 'another program is the medium' /tmp/scenario.toml
radios=$(ls /sys/class/ieee80211 | tr '\n' ' ')
judge own "radios $radios" test "$radios" = "ap sta1 "
iw phy ap set name phy0 && iw phy sta1 set name phy1
regulatory
cell wpa2
set -- $(pings sta 10.0.0.1 50 -i 0.05)
judge wpa2 "$1 of 50 pings, $4 ms" test "$1" -ge 49
# Trigger and dump: a scan that is waited for hangs at times.
in_sta iw dev wlan1 scan trigger freq 5180
wait_for 10 sh -c "ip netns exec sta iw dev wlan1 scan dump | grep -q 'SSID: $ssid'"
judge scan "the access point is found $(in_sta iw dev wlan1 scan dump | grep -c "SSID: $ssid") time" \
    sh -c "ip netns exec sta iw dev wlan1 scan dump | grep -q 'SSID: $ssid'"
kill -9 $medium
wait $medium 2> /dev/null
wait_for 5 sh -c '[ -z "$(ls /sys/class/ieee80211)" ] && [ -z "$(ip netns exec sta ls /sys/class/ieee80211)" ]'
judge killed "radios left: $(ls /sys/class/ieee80211; in_sta ls /sys/class/ieee80211)" test -z "$(ls /sys/class/ieee80211; in_sta ls /sys/class/ieee80211)"

# A user namespace does: CAP_NET_ADMIN in its own network namespace, none outside.
phys=$(busybox unshare -U -r -n sh -c "$lasthop medium /tmp/scenario.toml --duration 3s > /tmp/user.log & sleep 1; iw phy | grep -c '^Wiphy'")
wait_for 10 sh -c '! pidof lasthop'
judge user-namespace "$phys radios there, $(ls /sys/class/ieee80211 | wc -l) outside" test "$phys $(ls /sys/class/ieee80211 | wc -l)" = '2 0'
