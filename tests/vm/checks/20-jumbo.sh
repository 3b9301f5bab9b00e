# lasthop_jumbo in short: loads, an MTU of 7 900 between access point and station,
# unloads, the limits are back.
# timeout: 120
# short: yes

need_module lasthop_jumbo
. /lib/jumbo.sh
radios 2
cell open
ip -n ap link set wlan0 mtu 2305 2> /dev/null && fail stock "an MTU of 2305 without the module"
jumbo mtu=7935
judge limit "$(limit ap wlan0) and $(limit sta wlan1) bytes" \
    test "$(limit ap wlan0) $(limit sta wlan1)" = '7935 7935'
set_mtus 7900 || fail mtu "7900 is refused"
judge ping "packets of 7900 bytes" ping_whole sta 10.0.0.1 7900
ping_whole sta 10.0.0.1 7901 && fail longer "a packet of 7901 bytes passes at an MTU of 7900"
rmmod lasthop_jumbo
judge unload "MTU $(mtu ap wlan0), $(mtu sta wlan1), limit $(limit ap wlan0), $(limit sta wlan1)" \
    test "$(mtu ap wlan0) $(mtu sta wlan1) $(limit ap wlan0) $(limit sta wlan1)" = '1500 1500 2304 2304'
judge after "packets of 1500 bytes" ping_whole sta 10.0.0.1 1500
