# lasthop_jumbo: 1 000 times loaded, an MTU of 7 935 set at both ends, and unloaded, under
# traffic: no warning in the log, no MTU that stays, and no growth of the kernel's slabs.
# 29-jumbo-cycles-cpus has other numbers.
# timeout: 1500

need_module lasthop_jumbo
. /lib/jumbo.sh
cycles=${cycles:-1000} long=${long:-7935}
radios 2
cell wpa2
iperf_server ap
module=$(modinfo lasthop_jumbo 2> /dev/null | sed -n 's/^filename: *//p')
[ -e "$module" ] || module=$(find /lib/modules -name lasthop_jumbo.ko | head -n 1)

# Objects in use, of caches that shed what is free first.
slabs() {
    for cache in /sys/kernel/slab/*/shrink; do echo 1 > "$cache"; done 2> /dev/null
    awk '/^kmalloc-(8|16|32|64|96|128|192|256|512|1k) |^kernfs_node_cache |^skbuff_head_cache |^sock_inode_cache / { print $1, $2 }' /proc/slabinfo
}

# Traffic as long as it takes: TCP up, datagrams of 7 000 bytes, which are cut at 1 500.
(while :; do in_sta iperf3 -c 10.0.0.1 -b 2M -t 20 -l 7000; sleep 0.2; done) > /tmp/traffic.log 2>&1 &
tcp=$!
in_sta ping -i 0.02 -s 6972 10.0.0.1 > /tmp/ping-cycles.log 2>&1 &
datagrams=$!

# COUNT: the cycles. Runs where wlan0 is; sysfs there is that of the namespace.
cat > /tmp/cycles.sh <<'END'
module=$1 count=$2 long=$3 stuck=0 failed=0 unset=0
while [ "$count" -gt 0 ]; do
    insmod "$module" mtu="$long" || failed=$((failed + 1))
    echo "$long" > /sys/class/net/wlan0/mtu || unset=$((unset + 1))
    ip -n sta link set wlan1 mtu "$long" || unset=$((unset + 1))
    rmmod lasthop_jumbo || failed=$((failed + 1))
    read -r mtu < /sys/class/net/wlan0/mtu
    [ "$mtu" = 1500 ] || stuck=$((stuck + 1))
    count=$((count - 1))
done
echo "$failed $unset $stuck"
END
in_ap sh /tmp/cycles.sh "$module" 30 "$long" > /tmp/warm-up
before=$(slabs)
begin=$(now)
set -- $(in_ap sh /tmp/cycles.sh "$module" "$cycles" "$long")
seconds=$(calculate "$(now) - $begin" %.0f)
judge cycles "$cycles in $seconds s of the guest: $1 loads or unloads failed, $2 MTUs refused, $3 stayed" \
    test "$*" = '0 0 0'
after=$(slabs)
kill "$tcp" "$datagrams"
pkill iperf3 2> /dev/null
wait
received=$(grep -c 'bytes from' /tmp/ping-cycles.log)
transfers=$(grep -c receiver /tmp/traffic.log)
judge traffic "$received pings and $transfers TCP transfers meanwhile" is "$received > 500 && $transfers > 0"
judge restored "MTU $(mtu ap wlan0), $(mtu sta wlan1), limit $(limit ap wlan0), $(limit sta wlan1)" \
    test "$(mtu ap wlan0) $(mtu sta wlan1) $(limit ap wlan0) $(limit sta wlan1)" = '1500 1500 2304 2304'
# One object a cycle would be as many more as there are cycles.
growth=$({ echo "$before"; echo -; echo "$after"; } | awk '
    $1 == "-" { second = 1; next }
    !second { before[$1] = $2; next }
    { d = $2 - before[$1]; if (d > most || name == "") { most = d; name = $1 } }
    END { print most, name }')
judge slabs "${growth#* } grew most, by ${growth%% *} objects" test "${growth%% *}" -lt $((cycles / 2))
echo "$before" > /tmp/slabs-before.log
echo "$after" > /tmp/slabs-after.log
judge modules "no trace of it in /proc/modules" sh -c '! grep -q lasthop /proc/modules'
kernel_log_clean log
