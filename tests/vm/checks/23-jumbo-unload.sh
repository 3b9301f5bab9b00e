# lasthop_jumbo: unloads with an MTU of 7 935 and traffic; what fits stays; a bridge above
# follows; AP_VLAN interfaces, which hostapd makes for stations with four addresses, are
# raised, too.
# timeout: 300

need_module lasthop_jumbo
. /lib/jumbo.sh
radios 4
jumbo mtu=7935
# A station with four addresses: hostapd adds wlan0.sta1, of type AP_VLAN.
iw dev wlan1 set 4addr on
access_point open wds_sta=1
in_ap ip address flush dev wlan0
station sta 1 open
wait_for 10 ip -n ap link show dev wlan0.sta1 || die ap-vlan "hostapd made none: $(tail -n 3 /tmp/hostapd.log | tr '\n' '|')"
ip -n ap link set wlan0.sta1 up
ip -n ap address add 10.0.0.1/24 dev wlan0.sta1
judge ap-vlan-limit "$(limit ap wlan0.sta1)" test "$(limit ap wlan0.sta1)" = 7935
ip -n ap link set wlan0.sta1 mtu 7900
ip -n sta link set wlan1 mtu 7900
judge ap-vlan-ping "packets of 7900 bytes with four addresses" ping_whole sta 10.0.0.1 7900
cell_end
rmmod lasthop_jumbo
judge ap-vlan-after "wlan1: MTU $(mtu - wlan1), limit $(limit - wlan1)" \
    test "$(mtu - wlan1) $(limit - wlan1)" = '1500 2304'
iw dev wlan1 set 4addr off

cell wpa2
jumbo mtu=7935
set_mtus 7935
# One that fits stays as somebody set it.
ip link set wlan2 mtu 2000
# A bridge takes the least MTU of its ports.
ip link add br0 type bridge
iw dev wlan3 set 4addr on
ip link set wlan3 master br0
ip link set wlan3 mtu 7935
judge bridge-raised "the bridge's MTU follows: $(mtu - br0)" test "$(mtu - br0)" = 7935
iperf_server ap
in_sta iperf3 -c 10.0.0.1 -t 4 --bidir > /tmp/iperf-unload.log 2>&1 &
traffic=$!
in_sta ping -i 0.01 -s 7000 -c 300 10.0.0.1 > /tmp/ping-unload.log 2>&1 &
pings=$!
sleep 1.5
rmmod lasthop_jumbo
judge unload "MTU $(mtu ap wlan0), $(mtu sta wlan1), limit $(limit ap wlan0), $(limit sta wlan1)" \
    test "$(mtu ap wlan0) $(mtu sta wlan1) $(limit ap wlan0) $(limit sta wlan1)" = '1500 1500 2304 2304'
judge fits "MTU 2000 stays: $(mtu - wlan2)" test "$(mtu - wlan2) $(limit - wlan2)" = '2000 2304'
judge bridge "the bridge's MTU follows: $(mtu - br0)" test "$(mtu - br0)" = 1500
wait $traffic $pings
directions=$(grep -c receiver /tmp/iperf-unload.log)
received=$(sed -n 's/.* \([0-9]*\) received.*/\1/p' /tmp/ping-unload.log)
judge survives "TCP of $directions directions ended well, $received of 300 pings of 7000 bytes, cut after the unload" \
    is "$directions == 2 && ${received:-0} >= 290"
judge works "packets of 1500 bytes" ping_whole sta 10.0.0.1 1500
ip -n ap link set wlan0 mtu 2305 2> /dev/null && fail stuck "an MTU of 2305 is accepted"
kernel_log_clean log
