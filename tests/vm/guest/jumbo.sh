# What the checks of lasthop_jumbo share. Sourced by them; see lib.sh.

# jumbo [PARAMETER=VALUE..]: loads the module, or ends the check.
jumbo() {
    modprobe lasthop_jumbo "$@" || die load "$(dmesg | grep lasthop_jumbo | tail -n 1)"
}

# limit NAMESPACE INTERFACE, mtu NAMESPACE INTERFACE: in bytes. "-" is the first namespace.
limit() { value_of maxmtu "$@"; }
mtu() { value_of mtu "$@"; }
value_of() {
    local inside=
    [ "$2" = - ] || inside="-n $2"
    # shellcheck disable=SC2086
    ip $inside -d link show dev "$3" | awk -v key="$1" '{ for (i = 1; i < NF; i++) if ($i == key) { print $(i + 1); exit } }'
}

# set_mtus BYTES: of the access point and its station.
set_mtus() {
    ip -n ap link set wlan0 mtu "$1" && ip -n sta link set wlan1 mtu "$1"
}

# frames_from SNAPLEN FILTER..: captures what is on the air (hwsim0) to /tmp/air.pcap.
frames_from() {
    local bytes=$1
    shift
    ip link set hwsim0 up
    tcpdump -Z root -i hwsim0 -s "$bytes" -U -w /tmp/air.pcap "$@" > /tmp/tcpdump.log 2>&1 &
    air=$!
    wait_for 5 grep -q 'listening on' /tmp/tcpdump.log || die tcpdump "$(cat /tmp/tcpdump.log)"
}

# Ends the capture; prints the length of the longest frame, FCS excluded: hwsim has none.
# All frames are longer than the snapshot of 128 bytes, so that records are alike.
longest_frame() {
    sleep 1
    kill -INT "$air"
    wait "$air"
    local radiotap
    radiotap=$(od -A n -v -t u2 -j 42 -N 2 /tmp/air.pcap)
    od -A n -v -t u4 -j 24 /tmp/air.pcap \
        | awk -v radiotap="$radiotap" 'NR % 9 == 1 && $4 > most { most = $4 } END { print most - radiotap }'
}

# One ping of a packet of BYTES, headers included, that must not be cut.
ping_whole() { in_ns "$1" ping -q -M do -c "${4:-3}" -i 0.1 -W 2 -s $(($3 - 28)) "$2" > /tmp/ping 2>&1; }
