# lasthop_jumbo: which interfaces it raises and what it leaves alone: parameters out of
# range, the allow-list, later interfaces, namespaces, AP_VLAN, monitors, devices that are
# no Wi-Fi, interfaces and PHYs that go away while it is loaded.
# timeout: 240

need_module lasthop_jumbo
. /lib/jumbo.sh
radios 4
# Devices that are none of its business.
ip link add veth0 type veth peer name veth1
ip link add br0 type bridge
ip link add dummy0 type dummy 2> /dev/null || ip link add dummy0 type veth peer name dummy1
others() { for device in lo veth0 veth1 br0 dummy0 hwsim0; do echo "$device $(mtu - "$device") $(limit - "$device")"; done; }
before=$(others)

# Refused parameters: not loaded, one clear line, nothing changed.
for parameters in mtu=2304 mtu=7936 mtu=0 mtu=-1 mtu=4294967296 mtu=abc mtu= phys= phys=phy0,,phy1 force=maybe \
    "phys=$(seq -s , 1 33)"; do
    dmesg -c > /dev/null
    kernel_lines=0
    if modprobe lasthop_jumbo "$parameters" 2> /dev/null; then
        fail "refuse-$parameters" "it was loaded"
        rmmod lasthop_jumbo
    elif [ "$(limit - wlan0)" != 2304 ]; then
        fail "refuse-$parameters" "the limit is $(limit - wlan0)"
    else
        line=$(dmesg | grep lasthop_jumbo | tail -n 1 | sed 's/^\[[^]]*\] //')
        judge "refuse-$parameters" "$line" test -n "$line"
    fi
done

# The bounds themselves.
for bytes in 2305 7935; do
    jumbo mtu=$bytes
    judge "limit-$bytes" "$(limit - wlan0)" test "$(limit - wlan0)" = $bytes
    rmmod lasthop_jumbo
done
jumbo
judge default "the paper's 4000: $(limit - wlan3)" test "$(limit - wlan3)" = 4000
judge others "as they were: $(echo $before)" test "$(others)" = "$before"
judge others-sysfs "no files at $(ls -d /sys/class/net/*/lasthop_jumbo | grep -vc wlan) other devices" \
    sh -c '! ls -d /sys/class/net/*/lasthop_jumbo | grep -qv wlan'
rmmod lasthop_jumbo

# Two PHYs of four, one of them named twice, and one that does not exist.
jumbo mtu=7935 phys=phy0,phy2,phy2,phy77
judge allow-list "$(limit - wlan0) $(limit - wlan1) $(limit - wlan2) $(limit - wlan3)" \
    test "$(limit - wlan0) $(limit - wlan1) $(limit - wlan2) $(limit - wlan3)" = '7935 2304 7935 2304'
judge allow-list-absent "$(dmesg | grep -c 'no interface of a PHY called phy77 yet') line about phy77" \
    sh -c "dmesg | grep -q 'no interface of a PHY called phy77 yet'"
judge allow-list-sysfs "no files at wlan1" test ! -e /sys/class/net/wlan1/lasthop_jumbo
judge sysfs "$(cat /sys/class/net/wlan0/lasthop_jumbo/limit /sys/class/net/wlan0/lasthop_jumbo/limit_before \
    /sys/class/net/wlan0/lasthop_jumbo/mtu_before /sys/class/net/wlan0/lasthop_jumbo/verdict | tr '\n' ' ')" \
    test "$(cat /sys/class/net/wlan0/lasthop_jumbo/limit /sys/class/net/wlan0/lasthop_jumbo/limit_before \
        /sys/class/net/wlan0/lasthop_jumbo/mtu_before | tr '\n' ' ')" = '7935 2304 1500 '

# Later interfaces: on a PHY that is named and on one that is not; a monitor.
iw phy phy0 interface add later0 type managed
iw phy phy1 interface add later1 type managed
iw phy phy0 interface add mon0 type monitor
iw phy phy2 interface add mesh0 type mp
judge later "$(limit - later0) $(limit - later1) $(limit - mesh0)" \
    test "$(limit - later0) $(limit - later1) $(limit - mesh0)" = '7935 2304 7935'
judge monitor "limit $(limit - mon0): none, as without the module" test "$(limit - mon0)" = 0
# Renamed, into another namespace and back, with its MTU.
ip link set later0 mtu 7000
ip link set later0 name renamed0
namespace place phy0
judge namespace "limit $(limit place renamed0), MTU $(mtu place renamed0), in sysfs $(in_ns place cat /sys/class/net/renamed0/lasthop_jumbo/limit)" \
    test "$(limit place renamed0) $(mtu place renamed0) $(in_ns place cat /sys/class/net/renamed0/lasthop_jumbo/limit)" = '7935 7000 7935'
# A namespace that ends gives its PHY back to the first.
ip netns del place
wait_for 5 test -e /sys/class/net/renamed0
judge namespace-end "limit $(limit - renamed0), MTU $(mtu - renamed0)" \
    test "$(limit - renamed0) $(mtu - renamed0)" = '7935 7000'
# Interfaces that go away, one with a file of it open.
exec 7< /sys/class/net/mesh0/lasthop_jumbo/limit
iw dev mesh0 del
iw dev renamed0 del
exec 7<&-
judge gone "$(ls -d /sys/class/net/*/lasthop_jumbo | wc -l) interfaces left" \
    test "$(echo /sys/class/net/*/lasthop_jumbo)" = '/sys/class/net/wlan0/lasthop_jumbo /sys/class/net/wlan2/lasthop_jumbo'
rmmod lasthop_jumbo
judge restored "$(limit - wlan0) $(limit - wlan1) $(limit - wlan2) $(limit - later1)" \
    test "$(limit - wlan0) $(limit - wlan1) $(limit - wlan2) $(limit - later1)" = '2304 2304 2304 2304'
judge restored-sysfs "no files left" sh -c '! ls -d /sys/class/net/*/lasthop_jumbo 2> /dev/null'
judge others-after "as they were" test "$(others)" = "$before"

# The radios themselves go away while it is loaded, and come back.
jumbo mtu=7935
ip link set wlan1 mtu 7935
rmmod mac80211_hwsim
ls -d /sys/class/net/*/lasthop_jumbo 2> /dev/null && fail radios-gone "files are left"
radios 2
judge radios-return "limit $(limit - wlan0)" test "$(limit - wlan0)" = 7935
rmmod lasthop_jumbo
judge radios-restored "limit $(limit - wlan0)" test "$(limit - wlan0)" = 2304
kernel_log_clean log
