# lasthop doctor over a mac80211 with debugfs: airtime queue limits, Block Ack sessions and
# queues of stations are what the files say. 04-doctor-debugfs.host compares.
# mac80211: debugfs
# timeout: 900

command -v lasthop > /dev/null || { skip doctor-debugfs "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
. /lib/doctor.sh

medium 2 aql=1
cell wpa2
iperf_server ap
throughput sta 10.0.0.1 -t 2 > /tmp/mbps
judge traffic "$(cat /tmp/mbps) Mb/s" is "$(cat /tmp/mbps)" '>' 1
sleep 2
scene station sta wlan1 phy1
in_sta iw dev wlan1 set power_save on
scene power-save sta wlan1 phy1
scene access-point ap wlan0 phy0
if [ -e /sys/kernel/debug/ieee80211/phy1/aql_enable ]; then
    echo 0 > /sys/kernel/debug/ieee80211/phy1/aql_enable
    doctor aql-off in_debug sta
fi
