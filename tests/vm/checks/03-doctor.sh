# lasthop doctor over stock hwsim: what it says of a station and of an access point is what iw,
# tc and sysfs say; what it says of an emulation is what becomes of one, as root and as nobody,
# with namespaces refused in two ways; and it loads no module and leaves no namespace.
# 03-doctor.host compares.
# timeout: 900

command -v lasthop > /dev/null || { skip doctor "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
. /lib/doctor.sh

# Before anything is loaded.
lsmod | sort > /tmp/modules
doctor before
lsmod | sort | diff /tmp/modules - > /tmp/loaded
judge no-module "$(wc -l < /tmp/modules) modules before and after: $(tr '\n' '|' < /tmp/loaded)" test ! -s /tmp/loaded

radios 3
cell wpa2
iperf_server ap
throughput sta 10.0.0.1 -t 2 > /tmp/mbps
# Counters stand still while doctor and iw read them one after the other.
sleep 2
scene station sta wlan1 phy1
in_sta iw dev wlan1 set power_save on
scene power-save sta wlan1 phy1
scene access-point ap wlan0 phy0
in_debug sta su nobody -s /bin/sh -c 'lasthop doctor' > /kept/text
if command -v record > /dev/null; then
    in_sta record > /kept/record-station
    in_ap record > /kept/record-access-point
fi

# Emulations: what is said, and what becomes of one.
for module in tun veth af_packet tcp_bbr; do modprobe $module; done
emulation root
emulation nobody-tun-closed su nobody -s /bin/sh -c
chmod 666 /dev/net/tun
emulation nobody su nobody -s /bin/sh -c
echo 0 > /proc/sys/kernel/unprivileged_userns_clone
emulation nobody-no-clone su nobody -s /bin/sh -c
echo 1 > /proc/sys/kernel/unprivileged_userns_clone
echo 0 > /proc/sys/user/max_user_namespaces
emulation nobody-no-namespaces su nobody -s /bin/sh -c
judge namespaces "$(ls /run/netns | tr '\n' ' ')" test "$(ls /run/netns | wc -l)" -eq 2
