# lasthop_jumbo: loaded and unloaded while interfaces appear, get other MTUs and names, move
# between namespaces and go, and while its files are read: no warning in the log, no limit
# that stays.
# timeout: 600

need_module lasthop_jumbo
. /lib/jumbo.sh
radios 3
ip netns add place

# Each runs until the file goes.
touch /tmp/going
appear() {
    while [ -e /tmp/going ]; do
        iw phy phy0 interface add "x$1" type managed && ip link set "x$1" mtu 7935
        ip link set "x$1" name "y$1"
        ip link set "y$1" up
        iw dev "y$1" del
        appeared=$((appeared + 1))
        echo $appeared > "/tmp/appeared-$1"
    done 2> /dev/null
}
move() {
    while [ -e /tmp/going ]; do
        iw phy phy1 set netns name place
        ip -n place link set wlan1 mtu 7000
        ip netns exec place cat /sys/class/net/wlan1/lasthop_jumbo/limit
        # The PHY returns by the namespace's process, which is this one's child.
        ip netns exec place iw phy phy1 set netns $$
        ip link set wlan1 mtu 7935
        moved=$((moved + 1))
        echo $moved > /tmp/moved
    done > /dev/null 2>&1
}
watch() {
    while [ -e /tmp/going ]; do
        cat /sys/class/net/*/lasthop_jumbo/* /sys/module/lasthop_jumbo/unaggregated
        seen=$((seen + 1))
        echo $seen > /tmp/seen
        sleep 0.02
    done > /dev/null 2>&1
}
appear 1 &
appear 2 &
move &
watch &
cycles=100 count=0 failed=0
while [ $count -lt $cycles ]; do
    modprobe lasthop_jumbo mtu=$((count % 2 ? 7935 : 4000)) || failed=$((failed + 1))
    ip link set wlan2 mtu 4000
    rmmod lasthop_jumbo || failed=$((failed + 1))
    [ "$(cat /sys/class/net/wlan2/mtu)" = 1500 ] || failed=$((failed + 1))
    count=$((count + 1))
done
rm /tmp/going
wait
judge cycles "$cycles, of which $failed failed" test $failed = 0
judge others "$(cat /tmp/appeared-1) and $(cat /tmp/appeared-2) interfaces appeared, $(cat /tmp/moved) moves, files read $(cat /tmp/seen) times" \
    is "$(cat /tmp/appeared-1) > 20 && $(cat /tmp/moved) > 20 && $(cat /tmp/seen) > 20"
limits=$(for name in wlan0 wlan1 wlan2; do limit - $name || limit place $name; done 2> /dev/null | tr '\n' ' ')
judge limits "$limits" test "$limits" = '2304 2304 2304 '
kernel_log_clean log
