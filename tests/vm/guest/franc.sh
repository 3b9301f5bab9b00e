# An open network whose access point and station are the ends of a coded link, and a
# third station the helper. What the checks of FRANC share; sourced by them, see lib.sh.

command -v lasthop > /dev/null || { skip franc-helper "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
lasthop=$(command -v lasthop)
cd /tmp
modprobe tun
"$lasthop" franc key --out /tmp/key > /dev/null
"$lasthop" franc key --hop /tmp/key --out /tmp/hop > /dev/null

# The paper's 12 Mb/s is an HT rate of 13 here. 5 % of transmissions are lost, the
# acknowledgement of 3 % is; both are retried.
medium 3 rate=13000 loss=50 ack_loss=30
access_point open
station sta 1 open
station helper 2 open
in_ns helper iw dev wlan2 interface add mon0 type monitor flags fcsfail otherbss
in_ns helper ip link set mon0 up
mac() { in_ns "$1" cat "/sys/class/net/$2/address"; }
ap_mac=$(mac ap wlan0)
sta_mac=$(mac sta wlan1)

# node NAMESPACE NAME FLAGS..: a daemon, whose log is NAME.log.
node() {
    local name=$1 node=$2
    shift 2
    # Not by in_ns: a function in the background would be a shell of its own.
    ip netns exec "$name" "$lasthop" franc run --name "$node" --socket "/tmp/$node.sock" --transport ethernet "$@" > "/tmp/$node.log" 2>&1 &
    echo $! > "/tmp/$node.pid"
}
# ends FLAGS..: both ends. `e3` is the loss between them, `e2` that from the helper. With
# `one_way` set only what the source sends is lost, and what the helper sends for it.
ends() {
    local back="--synthetic-loss 2=$e3%,3=$e2%"
    [ -z "${one_way:-}" ] || back=
    # shellcheck disable=SC2086
    node sta source --id 1 --peer 2 --interface wlan1 --key-file /tmp/key --address 10.9.0.1/24 \
        --neighbours "2=$ap_mac" $back "$@"
    node ap sink --id 2 --peer 1 --interface wlan0 --key-file /tmp/key --address 10.9.0.2/24 \
        --neighbours "1=$sta_mac" --synthetic-loss "1=$e3%,3=$e2%" "$@"
}
helper() {
    local losses="1=$e2%,2=$e2%"
    [ -z "${one_way:-}" ] || losses="1=$e2%"
    node helper helper --id 3 --role helper --between 1,2 --interface wlan2 --key-file /tmp/hop \
        --neighbours "1=$sta_mac,2=$ap_mac" --synthetic-loss "$losses" "$@"
}
stop() {
    for node in source sink helper; do
        [ -e /tmp/$node.pid ] || continue
        kill "$(cat /tmp/$node.pid)" 2> /dev/null
        wait_for 5 sh -c "! kill -0 $(cat /tmp/$node.pid)" || say "$node does not end"
        cat /tmp/$node.log >> /tmp/all-$node.log
        rm -f /tmp/$node.pid
    done
}
# count NODE NAME: a counter.
count() { "$lasthop" franc stats --json --socket "/tmp/$1.sock" | awk -F '[ :,]+' -v n="\"$2\"" '$2 == n { print $3; exit }'; }
reachable() { in_sta ping -c 1 -W 1 10.9.0.2; }
