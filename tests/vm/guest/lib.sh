# What checks use: results, radios, an access point and stations in network
# namespaces, traffic, the kernel's log. Sourced before the check; the shell is dash.
#
# A check is checks/NN-name.sh; its header may say `# timeout: seconds` (of the
# host, 120), `# kernels: 6.1`, `# memory: MiB`, `# clock: host`, `# short: yes`
# (part of make vm-test-short). It prints by ok, fail, skip; the kernel's log is
# looked at when it ends, and a warning there is a failure.

# Prints that NAME holds, with figures.
ok() { echo "ok $1: $2"; checked=1; }
# Prints that NAME does not hold, with the reason. The check goes on.
fail() { echo "FAIL $1: $2"; checked=1; }
# Prints why NAME is not checked.
skip() { echo "skip $1: $2"; checked=1; }
# Prints why the check cannot go on, and ends it.
die() { fail "$1" "$2"; end_of_check; exit 0; }
# What helps whoever reads the log.
say() { echo "# $*"; }

# judge NAME FIGURES CONDITION..: ok if the command succeeds, else fail.
judge() {
    local name=$1 figures=$2
    shift 2
    if "$@"; then ok "$name" "$figures"; else fail "$name" "$figures"; fi
}

# is EXPRESSION: compares decimal numbers, as in: is 1.5 '<' 2
is() { awk "BEGIN { exit !($*) }"; }
# calculate EXPRESSION [FORMAT]: decimal arithmetic.
calculate() { awk "BEGIN { printf \"${2:-%.2f}\", $1 }"; }

# wait_for SECONDS COMMAND..: until it succeeds; 1 if it never does.
wait_for() {
    local tenths=$(($1 * 10))
    shift
    until "$@" > /dev/null 2>&1; do
        [ "$tenths" -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

# Seconds since the guest began, with hundredths.
now() { cut -d ' ' -f 1 /proc/uptime; }

# keep FILE..: copies files to where the host finds them (target/vm-test/..).
keep() { cp "$@" /kept/; }

# need_module NAME: ends the check with `skip` if NAME was not built.
need_module() {
    modinfo "$1" > /dev/null 2>&1 || modprobe -n "$1" > /dev/null 2>&1 || {
        skip "$1" "no such module in this build"
        end_of_check
        exit 0
    }
}

# What the kernel logged since the last call that means a fault.
kernel_faults() {
    dmesg | tail -n "+$((${kernel_lines:-0} + 1))" | grep -E \
        'WARNING:|BUG:|Oops|general protection|Call Trace|unregister_netdevice: waiting|refcount_t:|kmemleak|slab .*(corrupt|objects remaining)|Objects remaining|hung task|blocked for more than|soft lockup|rcu.*stall|lockdep|list_(add|del) corruption|scheduling while atomic|use-after-free|double free'
}

# Forgets what was logged until now.
kernel_log_mark() { kernel_lines=$(dmesg | wc -l); }

# kernel_log_clean NAME: ok if nothing of the kind was logged since the mark.
kernel_log_clean() {
    local faults
    faults=$(kernel_faults | head -n 3 | tr '\n' '|')
    if [ -z "$faults" ]; then ok "$1" "no warning in the kernel's log"; else fail "$1" "$faults"; fi
    kernel_log_mark
}

# Run by init when a check ends, by itself or by die.
end_of_check() {
    local faults
    [ -n "${checked:-}" ] || fail check "printed no result"
    faults=$(kernel_faults | head -n 3 | tr '\n' '|')
    [ -z "$faults" ] || fail kernel-log "$faults"
    for log in /tmp/*.log; do [ ! -e "$log" ] || cp "$log" /kept/; done
}

# Objects in use in slab caches whose names match PATTERN: slab_objects 'skbuff'
slab_objects() { awk -v p="$1" '$1 ~ p { n += $2 } END { print n + 0 }' /proc/slabinfo; }

# --- radios -----------------------------------------------------------------

# radios N [PARAMETER=VALUE..]: N radios of the stock mac80211_hwsim: no airtime,
# no losses. phy0..phyN-1 with wlan0..wlanN-1.
radios() {
    local n=$1
    shift
    modprobe mac80211_hwsim radios="$n" "$@" || die radios "mac80211_hwsim does not load"
    regulatory
}

# medium N [PARAMETER=VALUE..]: the same over the medium with airtime, losses and
# retries (tests/vm/medium).
medium() {
    local n=$1
    shift
    need_module lasthop_medium
    modprobe lasthop_medium radios="$n" "$@" || die medium "lasthop_medium does not load"
    regulatory
}

regulatory() {
    iw reg set US
    wait_for 5 sh -c 'iw reg get | grep -q "country US"' || say "no regulatory domain"
}

# --- an access point and a station -----------------------------------------

ssid=lasthop
passphrase='twelve words'
channel=${channel:-36}
# Centre of the primary channel, MHz.
frequency() { if [ "$channel" -le 14 ]; then echo $((2407 + 5 * channel)); else echo $((5000 + 5 * channel)); fi; }

# in_ns NAMESPACE COMMAND.., in_ap, in_sta: runs it there.
in_ns() { ip netns exec "$@"; }
in_ap() { in_ns ap "$@"; }
in_sta() { in_ns sta "$@"; }

# namespace NAME [PHY]: makes it, with the radio.
namespace() {
    ip netns add "$1" && ip -n "$1" link set lo up
    [ -z "${2:-}" ] || iw phy "$2" set netns name "$1"
}

# access_point open|wpa2 [LINE..]: hostapd on wlan0 (phy0) in namespace ap, HT40 on
# channel 36 (5 180 MHz; `channel` changes it), 10.0.0.1/24. LINEs are added
# to hostapd's configuration.
access_point() {
    local security=$1 line
    shift
    namespace ap phy0
    {
        printf '%s\n' interface=wlan0 driver=nl80211 "hw_mode=$(if [ "$channel" -le 14 ]; then echo g; else echo a; fi)" country_code=US "channel=$channel" \
            ieee80211n=1 wmm_enabled=1 "ssid=$ssid" 'ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]' \
            ctrl_interface=/run/hostapd
        [ "$security" = open ] || printf '%s\n' wpa=2 wpa_key_mgmt=WPA-PSK rsn_pairwise=CCMP "wpa_passphrase=$passphrase"
        for line in "$@"; do printf '%s\n' "$line"; done
    } > /tmp/ap.conf
    in_ap hostapd -B -P /run/ap.pid -f /tmp/hostapd.log /tmp/ap.conf > /tmp/hostapd-start.log 2>&1
    wait_for 15 hostapd_is_up || die access-point "hostapd is not up: $(tail -n 1 /tmp/hostapd.log)"
    in_ap ip address add 10.0.0.1/24 dev wlan0
}
hostapd_is_up() { in_ap hostapd_cli status | grep -q '^state=ENABLED'; }

# station NAMESPACE N open|wpa2 [LINE..]: wpa_supplicant on wlanN (phyN) in its
# namespace, 10.0.0.(N + 1)/24, until it is associated and, under WPA2, has keys.
# LINEs are added to the network block. It looks on the access point's channel only,
# unless every_channel=1.
station() {
    local name=$1 n=$2 security=$3 line
    shift 3
    namespace "$name" "phy$n"
    {
        printf '%s\n' "ctrl_interface=/run/wpa-$name" country=US 'network={' "ssid=\"$ssid\""
        [ -n "${every_channel:-}" ] || echo "scan_freq=$(frequency)"
        if [ "$security" = open ]; then echo key_mgmt=NONE; else echo "psk=\"$passphrase\""; fi
        for line in "$@"; do printf '%s\n' "$line"; done
        echo '}'
    } > "/tmp/$name.conf"
    in_ns "$name" wpa_supplicant -B -P "/run/$name.pid" -D nl80211 -i "wlan$n" -c "/tmp/$name.conf" \
        -f "/tmp/wpa-$name.log" > "/tmp/wpa-$name-start.log" 2>&1
    wait_for 30 station_is_up "$name" || die "$name" "not associated: $(tail -n 1 "/tmp/wpa-$name.log")"
    in_ns "$name" ip address add "10.0.0.$((n + 1))/24" dev "wlan$n"
}
station_is_up() { in_ns "$1" wpa_cli -p "/run/wpa-$1" status | grep -q '^wpa_state=COMPLETED'; }

# cell open|wpa2 [LINE..]: access_point and one station `sta` on wlan1; needs two
# radios. They can ping each other (10.0.0.1, 10.0.0.2) when it returns.
cell() {
    access_point "$@"
    station sta 1 "$1"
    wait_for 5 in_sta ping -c 1 -W 1 10.0.0.1 || die cell "no ping from the station"
}

# cell_end [NAMESPACE..]: ends the programs and the namespaces of the cell; the radios
# return to the first namespace.
cell_end() {
    local name
    for name in ap sta "$@"; do
        [ ! -e "/run/$name.pid" ] || kill "$(cat "/run/$name.pid")"
    done
    wait_for 5 no_daemons || say "daemons are still there"
    radios_moved=$(ls /sys/class/ieee80211 | wc -l)
    for name in ap sta "$@"; do
        [ -e "/run/netns/$name" ] || continue
        radios_moved=$((radios_moved + $(in_ns "$name" ls /sys/class/ieee80211 | wc -l)))
        # What still runs there, such as iperf3, keeps the namespace.
        kill $(ip netns pids "$name") 2> /dev/null
        ip netns del "$name"
    done
    wait_for 10 radios_returned || say "a radio did not return"
}
no_daemons() { ! pidof hostapd wpa_supplicant; }
radios_returned() { [ "$(ls /sys/class/ieee80211 | wc -l)" -eq "$radios_moved" ]; }

# --- traffic -----------------------------------------------------------------

# pings NAMESPACE ADDRESS COUNT [OPTION..]: prints `received lost_percent min avg max`
# in milliseconds; zeros and 100 if nothing came.
pings() {
    local name=$1 address=$2 count=$3
    shift 3
    in_ns "$name" ping -q -c "$count" "$@" "$address" > /tmp/pings 2>&1
    awk -F '[ /,%]+' '/packets transmitted/ { for (i = 1; i <= NF; i++) { if ($i == "received") r = $(i - 1); if ($i == "packet" && $(i + 1) == "loss") l = $(i - 1) } }
        /^rtt/ { min = $7; avg = $8; max = $9 }
        END { print r + 0, (l == "" ? 100 : l), min + 0, avg + 0, max + 0 }' /tmp/pings
}

# iperf_server NAMESPACE [PORT]: starts iperf3 there.
iperf_server() {
    in_ns "$1" iperf3 -s -D -p "${2:-5201}" -I "/run/iperf-$1-${2:-5201}.pid" > /dev/null 2>&1
    wait_for 5 sh -c "ip netns exec $1 ss -Hltn | grep -q ':${2:-5201} '"
}

# throughput NAMESPACE ADDRESS [OPTION..]: iperf3's client; prints Mb/s that were
# received, 0 if it failed. The server must run.
throughput() {
    local name=$1 address=$2
    shift 2
    in_ns "$name" iperf3 -c "$address" -f m "$@" > /tmp/iperf.log 2>&1
    awk '/receiver/ { for (i = 2; i <= NF; i++) if ($i == "Mbits/sec") v = $(i - 1) } END { printf "%.2f\n", v }' /tmp/iperf.log
}
