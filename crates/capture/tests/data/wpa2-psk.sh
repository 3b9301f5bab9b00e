# In the guest: four networks of mac80211_hwsim, each radio in a namespace of its own.
export PATH=/bin:/sbin:/usr/sbin:/usr/bin LD_LIBRARY_PATH=/lib
say() { echo "# $*"; }
mkdir -p /etc /var/run /run/netns /tmp/c
net() { # name of namespace, number of radio
    /bin/ip netns add $1
    iw phy phy$2 set netns name $1
    /bin/ip netns exec $1 /bin/ip link set lo up
}
in_ns() { /bin/ip netns exec "$@"; }

/bin/ip link set hwsim0 up
iw reg set US
sleep 1
tcpdump -Z root -i hwsim0 -s 0 -U -w /tmp/air.pcap 2> /tmp/tcpdump.log &
TCPDUMP=$!

ap() { # namespace, radio, address, lines of hostapd.conf
    net $1 $2
    { echo "interface=wlan$2
driver=nl80211
ctrl_interface=/tmp/c/$1
hw_mode=g
channel=1
ieee80211n=1
wmm_enabled=1
beacon_int=1000
wpa=2"; printf '%s\n' "$4"; } > /tmp/$1.conf
    in_ns $1 hostapd -B /tmp/$1.conf || say "hostapd $1 failed"
    in_ns $1 /bin/ip addr add $3/24 dev wlan$2
}
sta() { # namespace, radio, address, lines of the network block
    net $1 $2
    { echo "ctrl_interface=/tmp/c/$1
p2p_disabled=1
pmf=1
network={
scan_freq=2412"; printf '%s\n' "$4" "}"; } > /tmp/$1.conf
    in_ns $1 /bin/ip link set wlan$2 up
    [ -n "$5" ] && in_ns $1 iw dev wlan$2 set 4addr on
    in_ns $1 wpa_supplicant -B -Dnl80211 -iwlan$2 -c/tmp/$1.conf > /tmp/$1.log 2>&1 || say "wpa_supplicant $1 failed"
    in_ns $1 /bin/ip addr add $3/24 dev wlan$2
}
wait_for() { # namespace, radio
    for i in $(seq 60); do
        in_ns $1 wpa_cli -p/tmp/c/$1 -iwlan$2 status 2>/dev/null | grep -q wpa_state=COMPLETED && { say "$1 associated"; return; }
        sleep 0.5
    done
    say "$1 is not associated"; in_ns $1 wpa_cli -p/tmp/c/$1 -iwlan$2 status; cat /tmp/$1.log
}

ap home 0 10.0.0.1 'ssid=lasthop home
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=correct horse battery
wpa_group_rekey=8
wpa_ptk_rekey=7'
ap office 3 10.0.1.1 'ssid=office
ieee80211n=0
ignore_broadcast_ssid=1
wpa_key_mgmt=WPA-PSK-SHA256
rsn_pairwise=CCMP
ieee80211w=2
wds_sta=1
wpa_psk=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
ap sae 5 10.0.2.1 'ssid=third
wpa_key_mgmt=SAE
rsn_pairwise=CCMP
ieee80211w=2
sae_password=opened by nobody'
ap tkip 7 10.0.3.1 'ssid=fourth
wpa_key_mgmt=WPA-PSK
rsn_pairwise=TKIP CCMP
wpa_passphrase=known but of no use'

sta anna 1 10.0.0.2 'ssid="lasthop home"
key_mgmt=WPA-PSK
psk="correct horse battery"'
sta bert 2 10.0.0.3 'ssid="lasthop home"
key_mgmt=WPA-PSK
psk="correct horse battery"'
in_ns bert iw dev wlan2 set power_save on
sta cora 4 10.0.1.2 'ssid="office"
scan_ssid=1
key_mgmt=WPA-PSK-SHA256
ieee80211w=2
psk=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
sta dora 6 10.0.2.2 'ssid="third"
key_mgmt=SAE
ieee80211w=2
sae_password="opened by nobody"'
sta emil 8 10.0.3.2 'ssid="fourth"
key_mgmt=WPA-PSK
pairwise=CCMP
group=TKIP
psk="known but of no use"'
sta fritz 9 10.0.1.3 'ssid="office"
scan_ssid=1
key_mgmt=WPA-PSK-SHA256
ieee80211w=2
psk=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' wds

wait_for anna 1; wait_for bert 2; wait_for cora 4; wait_for dora 6; wait_for emil 8; wait_for fritz 9
in_ns home /bin/ip neigh; 
in_ns anna ping -c 3 -i 0.3 10.0.0.1
in_ns anna ping -c 3 -i 0.3 10.0.0.3
in_ns bert ping -c 2 -i 0.3 -s 1000 10.0.0.1
in_ns cora ping -c 2 -i 0.3 10.0.1.1
in_ns cora iw phy phy4 set frag 400 || say "frag failed"
in_ns cora ping -c 2 -i 0.3 -s 1000 10.0.1.1
in_ns dora ping -c 3 -i 0.3 10.0.2.1
in_ns emil ping -c 3 -i 0.3 10.0.3.1
# The interface of the access point for a station with four addresses is one of its own.
WDS=$(in_ns office ls /proc/sys/net/ipv4/conf | grep wlan3.sta); say $WDS
in_ns office /bin/ip addr add 10.0.4.1/24 dev $WDS; in_ns office /bin/ip link set $WDS up
in_ns fritz /bin/ip addr add 10.0.4.2/24 dev wlan9
in_ns fritz ping -c 3 -i 0.3 10.0.4.1
head -c 16000 /dev/zero > /tmp/zeros
in_ns home sh -c 'sleep 5 | nc -l -p 5001 > /tmp/got' & sleep 0.5
in_ns anna sh -c 'nc -w 5 10.0.0.1 5001 < /tmp/zeros'
ls -l /tmp/got
# Until the keys have been changed.
for i in $(seq 8); do
    in_ns anna ping -c 1 -w 2 10.0.0.1; in_ns bert ping -c 1 -w 2 10.0.0.2; in_ns cora ping -c 1 -w 2 10.0.1.1; sleep 0.6
done
sleep 1
kill $TCPDUMP; sleep 1; cat /tmp/tcpdump.log
cat /tmp/*.log | tail -20
cat /tmp/air.pcap > /dev/ttyS1
sync; sleep 1
