# Two access points of one SSID on channels 36 and 40, joined by a bridge, and a station that
# walks from one to the other, over `lasthop medium`. What the checks of roaming share; sourced
# by them, see lib.sh. host/roam.py measures what is kept.

command -v lasthop > /dev/null || { skip roam "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
lasthop=$(command -v lasthop)
cd /tmp

# The walk: SNR in dB near an access point and far from it, 1 dB/s; seconds before the first leg, and
# at each end. Legs are a bit longer each than whole seconds, so that beacons, ticks and pings come
# at other instants of each.
near=40 far=14 first=20 rest=14 shift=0.137
# What the station scans: active channels only. On passive ones it would hear its own access point,
# since hwsim delivers frames of the own channel during scans, and then send Probe Requests there.
channels='2412 2437 2462 5180 5200 5220 5240 5745'
trace=/sys/kernel/tracing
# Addresses of the bridge and of the station.
server=02:00:00:00:00:fe
walker=02:00:00:00:02:00

# changes FROM TO LEGS: `snr_changes` of a link that is at FROM at first: a dB each second.
changes() {
    awk -v from="$1" -v to="$2" -v legs="$3" -v first="$first" -v rest="$rest" -v shift="$shift" 'BEGIN {
        span = (from > to) ? from - to : to - from
        for (leg = 0; leg < legs; leg++) {
            start = leg % 2 ? to : from; sign = ((from > to) == !(leg % 2)) ? -1 : 1
            for (step = 1; step <= span; step++)
                printf "%s{ from = \"%.3fs\", snr = \"%ddB\" }", (leg + step > 1) ? ", " : "", \
                    first + leg * (span + rest + shift) + step - 1, start + sign * step
        }
    }'
}
# SNR of the station at first, and its changes: link_of ACCESS-POINT LEGS. A check may have others.
link_of() {
    case $1 in
        1) printf 'snr = "%sdB"\nsnr_changes = [%s]\n' $near "$(changes $near $far "$2")" ;;
        2) printf 'snr = "%sdB"\nsnr_changes = [%s]\n' $far "$(changes $far $near "$2")" ;;
    esac
}
# Seconds of a walk of so many legs.
walk_seconds() { echo $((first + $1 * (near - far + rest) + 2)); }

# walk_scenario LEGS: two access points of a network and a station. `channel_keys` are further ones of
# [channel].
walk_scenario() {
    cat > scenario.toml << END
name = "walk"
duration = "$(($(walk_seconds "$1") + 60))s"
[channel]
width = "20MHz"
${channel_keys:-}
[[cell]]
name = "one"
network = "walk"
channel = 36
[[cell]]
name = "two"
network = "walk"
channel = 40
[[node]]
name = "ap1"
role = "access-point"
bss = "one"
[[node]]
name = "ap2"
role = "access-point"
bss = "two"
[[node]]
name = "sta"
role = "station"
bss = "one"
[[link]]
between = ["ap1", "ap2"]
snr = "30dB"
[[link]]
between = ["ap1", "sta"]
$(link_of 1 "$1")
[[link]]
between = ["ap2", "sta"]
$(link_of 2 "$1")
END
}

# Wall clock in seconds, with decimals, which busybox' date does not have.
wall() { ping -D -c 1 127.0.0.1 | sed -n 's/^\[\([0-9.]*\)\].*/\1/p'; }

# medium_begins: the medium in the background, until it is ready; `zero` is when it was.
medium_begins() {
    rm -f greeting medium.log && mkfifo greeting
    "$lasthop" medium scenario.toml --json --radio ap1=phy0 --radio ap2=phy1 --radio sta=phy2 > medium.json 2> greeting &
    medium=$!
    while read -r line; do
        echo "$line" >> medium.log
        case $line in ready* | error*) break ;; esac
    done < greeting
    zero=$(wall)
    grep -q ^ready medium.log || die medium "not ready: $(cat medium.log)"
}

# network_of SECURITY: lines of hostapd's configuration; supplicant_of: of the station's.
network_of() {
    case $1 in
        open) ;;
        wpa2) printf '%s\n' wpa=2 wpa_key_mgmt=WPA-PSK rsn_pairwise=CCMP "wpa_passphrase=$passphrase" ;;
        sae*) printf '%s\n' wpa=2 wpa_key_mgmt=SAE rsn_pairwise=CCMP "sae_password=$passphrase" ieee80211w=2 ;;
        ft*) printf '%s\n' wpa=2 wpa_key_mgmt=FT-PSK rsn_pairwise=CCMP "wpa_passphrase=$passphrase" \
            mobility_domain=a1b2 ft_psk_generate_local=1 pmk_r1_push=0 "ft_over_ds=$(if [ "$1" = ft-ds ]; then echo 1; else echo 0; fi)" ;;
    esac
}
supplicant_of() {
    case $1 in
        open) echo key_mgmt=NONE ;;
        wpa2) echo "psk=\"$passphrase\"" ;;
        sae*) printf '%s\n' key_mgmt=SAE "sae_password=\"$passphrase\"" ieee80211w=2 ;;
        ft*) printf '%s\n' key_mgmt=FT-PSK "psk=\"$passphrase\"" ;;
    esac
}

# access_points SECURITY: both in namespace `ap`, in the bridge br0 with 10.0.0.1/24.
access_points() {
    local n channel=36
    ip netns add ap && ip -n ap link set lo up
    ip -n ap link add br0 address $server type bridge
    in_ap sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
    ip -n ap link set br0 up
    ip -n ap address add 10.0.0.1/24 dev br0
    for n in 0 1; do
        iw phy phy$n set netns name ap
        {
            printf '%s\n' "interface=wlan$n" bridge=br0 driver=nl80211 hw_mode=a country_code=US "channel=$channel" \
                ieee80211n=1 wmm_enabled=1 "ssid=$ssid" 'ht_capab=[SHORT-GI-20]' ctrl_interface=/run/hostapd "nas_identifier=ap$((n + 1))"
            network_of "$1"
        } > ap$n.conf
        channel=40
    done
    in_ap hostapd -B -t -P /run/ap.pid -f hostapd.log ap0.conf ap1.conf > hostapd-start.log 2>&1
    for n in 0 1; do
        wait_for 15 sh -c "ip netns exec ap hostapd_cli -i wlan$n status | grep -q '^state=ENABLED'" \
            || die access-points "hostapd is not up: $(tail -n 1 hostapd.log)"
    done
}

# walker SECURITY BGSCAN: the station, until it is connected; 10.0.0.2/24.
walker() {
    namespace sta phy2
    {
        printf '%s\n' ctrl_interface=/run/wpa-sta country=US 'network={' "ssid=\"$ssid\"" \
            "${scan_freq-scan_freq=$channels}" "bgscan=\"$2\""
        supplicant_of "$1"
        echo '}'
    } > sta.conf
    in_sta wpa_supplicant -B -d -t -P /run/sta.pid -D nl80211 -i wlan2 -c sta.conf -f wpa.log > wpa-start.log 2>&1
    wait_for 30 station_is_up sta || die sta "not associated: $(tail -n 1 wpa.log)"
    in_sta sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
    in_sta ip address add 10.0.0.2/24 dev wlan2
    if [ -z "${arp:-}" ]; then
        # With ARP, Linux forgets its neighbours when it roams, and asks for them a second later.
        ip -n sta neighbour replace 10.0.0.1 lladdr $server dev wlan2 nud permanent
        ip -n ap neighbour replace 10.0.0.2 lladdr $walker dev br0 nud permanent
    fi
    wait_for 5 in_sta ping -c 1 -W 1 10.0.0.1 || die sta "no ping from the station"
}
control() { in_sta wpa_cli -p /run/wpa-sta -i wlan2 "$@"; }

# recording_begins NAME, recording_ends NAME: the air (hwsim0: what radios submit, before its
# time on the air), the kernel's log of scans, channels and signal levels, and pings.
recording_begins() {
    ip link set hwsim0 up
    echo tai > $trace/trace_clock
    echo 8192 > $trace/buffer_size_kb
    for event in drv_sw_scan_start drv_sw_scan_complete drv_config api_cqm_rssi_notify api_cqm_beacon_loss_notify; do
        echo 1 > $trace/events/mac80211/$event/enable
    done
    echo > $trace/trace
    echo 1 > $trace/tracing_on
    tcpdump -Z root -i hwsim0 -s 512 -w "$1.pcap" > /dev/null 2>&1 &
    tcpdump=$!
}
recording_ends() {
    kill -INT $tcpdump
    wait $tcpdump
    echo 0 > $trace/tracing_on
    grep -v '^#' $trace/trace > "$1.trace"
}

# in_each_leg SECURITY LEGS: what the walk needs besides.
in_each_leg() {
    local leg=0 begin
    while [ $leg -lt "$2" ]; do
        begin=$((first + leg * (near - far + rest) + 1))
        if [ "$1" = sae ]; then
            # Each walk by SAE: with its cached key the station would come back without. Without
            # the key of its access point it leaves that, too. Unless it forgets in time that it
            # did, it goes to the other one.
            wait_until $((begin + near - far))
            control pmksa_flush > /dev/null
            sleep 0.3
            control bssid_ignore clear > /dev/null
        else
            # wpa_supplicant goes over the distribution system on request only.
            wait_until $((begin + 16))
            control scan TYPE=ONLY freq=5180,5200 > /dev/null
            sleep 2
            control ft_ds 02:00:00:00:0$(((leg + 1) % 2)):00 > /dev/null
        fi
        leg=$((leg + 1))
    done
}

# roam NAME SECURITY BGSCAN LEGS: the walk; keeps NAME.pcap, .trace, .wpa, .ping, .walk.
roam() {
    local name=$1 security=$2 bgscan=$3 legs=$4
    walk_scenario "$legs"
    medium_begins
    access_points "$security"
    recording_begins "$name"
    walker "$security" "$bgscan"
    # The walk as the host needs it: when it began, and its numbers.
    echo "$zero $security $bgscan $legs $first ${span:-$((near - far))} $rest $near $far $shift" > "$name.walk"
    ip netns exec sta ping -D -i "${interval:-0.02}" 10.0.0.1 > "$name.ping" 2>&1 &
    ping=$!
    case $security in sae | ft-ds) in_each_leg "$security" "$legs" ;; esac
    wait_until "$(walk_seconds "$legs")"
    kill -INT $ping
    recording_ends "$name"
    # Not in order to name the lines: the judge has them, too.
    mv wpa.log "$name.wpa"
    kill -INT $medium
    wait $medium
    judge "$name-medium" "status $?, $(grep -c DO-ROAM "$name.wpa") DO-ROAM, $(grep -c 'Trying to authenticate' "$name.wpa") attempts" test -s medium.json
    cp medium.json "/kept/$name.json"
    keep "$name.pcap" "$name.trace" "$name.wpa" "$name.ping" "$name.walk"
    cell_end
}
# wait_until SECONDS: of the medium's clock.
wait_until() { sleep "$(awk -v until="$1" -v zero="$zero" -v now="$(wall)" 'BEGIN { left = zero + until - now; print (left > 0) ? left : 0 }')"; }

modprobe mac80211_hwsim radios=3
regulatory
