# The measurement of the jumbo paper's figures 4 and 5 over the kernel's Wi-Fi: UDP as fast
# as it goes from an access point to its station, and ping of the same length, with payloads
# of 1 500 and 4 000 bytes; without lasthop_jumbo, so that 4 000 bytes go in fragments, and
# with it, in one frame. Over the medium at 65 and 150 Mb/s, without losses and with 10 % of
# MPDUs lost; and over stock hwsim, which has no airtime, so that the processor alone bounds.
# The page of the paper has the model's figures beside these; only order is judged here.
# timeout: 600

need_module lasthop_jumbo
. /lib/jumbo.sh
parameters=/sys/module/lasthop_medium/parameters
seconds=4

# udp PAYLOAD: prints Mb/s received, and the lost datagrams of all.
udp() {
    local mbps
    mbps=$(throughput ap 10.0.0.2 -u -b 0 -l "$1" -t "$seconds")
    echo "$mbps $(awk '/receiver/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\/[0-9]+$/) print $i }' /tmp/iperf.log)"
}

# measure NAME MTU PAYLOAD: sets mbps and ping, in ms.
measure() {
    set_mtus "$2" || die mtu "$2 refused"
    set -- "$1" "$3" $(udp "$3")
    mbps=$3
    say "$1: $2 bytes, UDP $3 Mb/s, lost $4"
    set -- "$1" $(pings ap 10.0.0.2 200 -i 0.02 -s "$2")
    ping=$5
    say "$1: ping $2 of 200, $4 ms at least, $5 in the mean"
}

# compare NAME: both payloads, without the module and with it.
compare() {
    local name=$1
    measure "$name-1500-without" 1528 1500
    mbps_1500=$mbps ping_1500=$ping
    measure "$name-4000-without" 1500 4000
    mbps_cut=$mbps ping_cut=$ping
    jumbo mtu=7935
    measure "$name-1500-with" 4028 1500
    mbps_1500_with=$mbps ping_1500_with=$ping
    measure "$name-4000-with" 4028 4000
    mbps_jumbo=$mbps ping_jumbo=$ping
    rmmod lasthop_jumbo
    judge "$name" "without: 1500 $mbps_1500 Mb/s $ping_1500 ms, 4000 $mbps_cut $ping_cut; with: 1500 $mbps_1500_with $ping_1500_with, 4000 $mbps_jumbo $ping_jumbo" \
        is "$mbps_jumbo > $mbps_1500 && $mbps_jumbo > $mbps_cut"
}

medium 2 rate=65000
cell open
iperf_server sta
throughput ap 10.0.0.2 -t 1 > /dev/null
for rate in 65000 150000; do
    for loss in 0 100; do
        echo $rate > $parameters/rate
        echo $loss > $parameters/loss
        compare "$rate-$loss"
    done
done
cell_end
modprobe -r lasthop_medium
radios 2
cell open
iperf_server sta
throughput ap 10.0.0.2 -t 1 > /dev/null
compare processor
kernel_log_clean log
