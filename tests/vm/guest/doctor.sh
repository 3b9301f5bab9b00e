# What the checks of lasthop doctor use: its documents beside what other programs say. The
# parts on the host compare.

# nobody, who has no privilege.
echo 'nobody:x:65534:65534:nobody:/tmp:/bin/sh' >> /etc/passwd
chmod 1777 /tmp

# doctor NAME [COMMAND..]: its document is doctor-NAME.json on the host.
doctor() {
    local name=$1
    shift
    "$@" lasthop doctor --json > "/tmp/doctor-$name.json" 2> "/tmp/doctor-$name.log" \
        || fail "doctor-$name" "status $?: $(tail -n 1 "/tmp/doctor-$name.log")"
    keep "/tmp/doctor-$name.json"
}

# in_debug NAMESPACE COMMAND..: there, with debugfs, which `ip netns exec` hides with its own /sys.
in_debug() {
    local namespace=$1
    shift
    in_ns "$namespace" sh -c 'mount -t debugfs debug /sys/kernel/debug && exec "$@"' sh "$@"
}

# scene NAME NAMESPACE INTERFACE PHY: as root and as nobody, and what iw, tc, sysfs and debugfs
# say: what changes with time, before and after.
scene() {
    local name=$1 namespace=$2 interface=$3 phy=$4
    {
        moving "$namespace" "$interface" "$phy" -before
        in_debug "$namespace" lasthop doctor --json > "/tmp/doctor-$name.json"
        moving "$namespace" "$interface" "$phy" ''
        echo "== link"; in_ns "$namespace" iw dev "$interface" link
        echo "== info"; in_ns "$namespace" iw dev "$interface" info
        echo "== power-save"; in_ns "$namespace" iw dev "$interface" get power_save 2>&1
        echo "== phy"; in_ns "$namespace" iw phy "$phy" info
        echo "== qdisc"; in_ns "$namespace" tc qdisc show dev "$interface"
        echo "== driver"; in_ns "$namespace" sh -c "basename \$(readlink /sys/class/net/$interface/device/driver)"
        echo "== queue-frames"; in_ns "$namespace" cat "/sys/class/net/$interface/tx_queue_len"
        for file in aql_txq_limit aql_enable; do
            echo "== $file"; cat "/sys/kernel/debug/ieee80211/$phy/$file" 2>&1
        done
    } > "/tmp/judge-$name"
    keep "/tmp/doctor-$name.json" "/tmp/judge-$name"
    doctor "$name-unmounted" in_ns "$namespace"
    in_debug "$namespace" su nobody -s /bin/sh -c 'lasthop doctor --json' > "/kept/doctor-$name-nobody.json"
}

# moving NAMESPACE INTERFACE PHY SUFFIX: what traffic changes.
moving() {
    local file
    echo "== station$4"; in_ns "$1" iw dev "$2" station dump
    for file in agg_status aqm; do
        for file in /sys/kernel/debug/ieee80211/$3/netdev:$2/stations/*/$file; do
            [ ! -e "$file" ] || { echo "== ${file##*/}$4"; cat "$file"; }
        done
    done
}

# emulation NAME [COMMAND..]: what is said of it, and its exit status.
emulation() {
    local name=$1 status=0
    shift
    if [ $# -eq 0 ]; then set -- sh -c; fi
    "$@" 'lasthop doctor --json' > "/kept/doctor-$name.json"
    "$@" 'cd /tmp && lasthop emulate hello --duration 200ms --quiet' > "/tmp/emulate-$name.log" 2>&1 || status=$?
    keep "/tmp/emulate-$name.log"
    echo $status > "/kept/emulate-$name"
}
