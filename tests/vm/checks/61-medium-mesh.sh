# lasthop medium under mesh and ad hoc interfaces: three radios in a line, of which the ends
# do not hear each other. mac80211's mesh finds the way over the middle one; an ad hoc network
# has none.
# timeout: 240

command -v lasthop > /dev/null || { skip medium-mesh "no lasthop in this guest: GUEST_FILES=\$PWD/target/release/lasthop"; exit 0; }
lasthop=$(command -v lasthop)
cd /tmp

modprobe mac80211_hwsim radios=3
regulatory
# A scenario has one access point: here it is the node in the middle.
cat > scenario.toml << END
name = "line"
[[node]]
name = "middle"
role = "access-point"
[[node]]
name = "left"
role = "station"
[[node]]
name = "right"
role = "station"
[[link]]
between = ["left", "right"]
path_loss = "200dB"
END
"$lasthop" medium scenario.toml --json --radio middle=phy0 --radio left=phy1 --radio right=phy2 > medium.json 2> medium.log &
medium=$!
wait_for 10 grep -q ^ready medium.log || die medium "not ready: $(cat medium.log)"
namespace left phy1
namespace right phy2

# joins NAMESPACE N TYPE: brings wlanN up as TYPE with 10.0.0.(N + 1)/24.
on() { if [ "$1" = middle ]; then shift; "$@"; else in_ns "$@"; fi; }
joins() {
    on "$1" ip link set "wlan$2" down
    on "$1" iw dev "wlan$2" set type "$3"
    on "$1" ip link set "wlan$2" up
    case $3 in
        mp) on "$1" iw dev "wlan$2" mesh join line freq 5180 HT20 ;;
        ibss) on "$1" iw dev "wlan$2" ibss join line 5180 HT20 fixed-freq 02:11:22:33:44:55 ;;
    esac
    on "$1" ip address replace "10.0.0.$(($2 + 1))/24" dev "wlan$2"
}
leaves() {
    case $3 in mp) on "$1" iw dev "wlan$2" mesh leave ;; ibss) on "$1" iw dev "wlan$2" ibss leave ;; esac
}
all() { "$1" middle 0 "$2"; "$1" left 1 "$2"; "$1" right 2 "$2"; }

all joins mp
peers() { [ "$(iw dev wlan0 station dump | grep -c 'mesh plink:.*ESTAB')" -eq 2 ]; }
judge mesh-peers "$(wait_for 20 peers; iw dev wlan0 station dump | grep -c 'mesh plink:.*ESTAB') of 2 links of the middle node" peers
wait_for 10 in_ns left ping -c 1 -W 1 10.0.0.3
set -- $(pings left 10.0.0.3 50 -i 0.05)
judge mesh-ping "$1 of 50 pings between the ends, $4 ms" is "$1 >= 48 && $4 < 20"
hop=$(in_ns left iw dev wlan1 mpath dump | awk -v mac="$(in_ns right cat /sys/class/net/wlan2/address)" '$1 == mac { print $2 }')
judge mesh-path "the way goes over $hop" test "$hop" = "$(cat /sys/class/net/wlan0/address)"
iperf_server right
mesh=$(throughput left 10.0.0.3 -t 3)
iperf_server left
in_ns right iperf3 -s -D > /dev/null 2>&1
direct=$(iperf3 -c 10.0.0.2 -t 3 -f m | awk '/receiver/ { for (i = 2; i <= NF; i++) if ($i == "Mbits/sec") v = $(i - 1) } END { print v + 0 }')
judge mesh-throughput "TCP $mesh Mb/s over two hops, $direct over one" is "$mesh > 1 && $mesh < 0.7 * $direct"
all leaves mp

all joins ibss
wait_for 20 in_ns left ping -c 1 -W 1 10.0.0.1
set -- $(pings left 10.0.0.1 20 -i 0.05)
judge ibss-ping "$1 of 20 pings to the neighbour, $4 ms" is "$1 >= 19 && $4 < 20"
set -- $(pings left 10.0.0.3 5 -i 0.2 -W 1)
judge ibss-hidden "$1 of 5 pings to who is not heard" test "$1" -eq 0
kill -INT $medium
wait $medium
judge end "status $?" test -s medium.json
