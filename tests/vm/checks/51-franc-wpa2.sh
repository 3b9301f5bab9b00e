# FRANC's helper in a WPA2 network: what the ends send is encrypted with keys that
# the helper, a station of the same network, does not have. The link works
# without it, and it says why it is of no use.
# timeout: 240

command -v lasthop > /dev/null || { skip franc-wpa2 "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
lasthop=$(command -v lasthop)
modprobe tun
"$lasthop" franc key --out /tmp/key > /dev/null
"$lasthop" franc key --hop /tmp/key --out /tmp/hop > /dev/null
radios 3
access_point wpa2
station sta 1 wpa2
station helper 2 wpa2
in_ns helper iw dev wlan2 interface add mon0 type monitor
in_ns helper ip link set mon0 up
node() {
    local name=$1
    shift
    # Not by in_ns: a function in the background would be a shell of its own.
    ip netns exec "$name" "$lasthop" franc run --name "$name" --socket "/tmp/$name.sock" --transport ethernet "$@" > "/tmp/$name.log" 2>&1 &
}
node sta --id 1 --peer 2 --helpers 3 --interface wlan1 --key-file /tmp/key --address 10.9.0.1/24
node ap --id 2 --peer 1 --helpers 3 --interface wlan0 --key-file /tmp/key --address 10.9.0.2/24
node helper --id 3 --role helper --between 1,2 --interface wlan2 --monitor mon0 --key-file /tmp/hop
wait_for 20 in_sta ping -c 1 -W 1 10.9.0.2 || die link "no ping: $(cat /tmp/sta.log /tmp/ap.log)"
set -- $(pings sta 10.9.0.2 300 -i 0.03)
judge link "$1 of 300 came back" test "$1" -eq 300
count() { "$lasthop" franc stats --json --socket "/tmp/helper.sock" | awk -F '[ :,]+' -v n="\"$1\"" '$2 == n { print $3; exit }'; }
judge protected "$(count overheard_protected) encrypted frames, $(count overheard) datagrams overheard" \
    test "$(count overheard_protected)" -gt 300 -a "$(count overheard)" -eq 0
line=$(grep 'nothing of this link was readable on mon0' /tmp/helper.log)
judge told "$line" test -n "$line"
kill $(pidof lasthop)
wait_for 5 sh -c '! pidof lasthop'
