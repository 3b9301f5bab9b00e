# FRANC's helper on real Wi-Fi: an access point and a station are the ends of a
# coded link in an open network, a second station is the helper. Without a
# monitor interface it hears nothing of them (Linux 4.2 and later); with one it
# overhears both directions, retransmissions and damaged frames left out, and
# helps. The medium has airtime, losses and retries.
# timeout: 300

. /lib/franc.sh

e3=40 e2=0

# 1. As before: promiscuous, and deaf.
ends --helpers 3
helper
wait_for 20 reachable || die link "no ping through the coded link: $(cat /tmp/source.log /tmp/sink.log)"
in_sta ping -q -i 0.02 -c 200 -s 1000 10.9.0.2 > /dev/null
heard=$(count helper innovative)
judge managed "the helper's managed interface heard $heard combinations" test "${heard:-x}" -eq 0
stop

# 2. With the monitor interface, of both directions.
ends --helpers 3
helper --monitor mon0
wait_for 20 reachable || die link "no ping through the coded link"
iperf_server ap
mbps=$(throughput sta 10.9.0.2 -t 4)
"$lasthop" franc stats --json --socket /tmp/helper.sock > /tmp/helper.json
"$lasthop" franc stats --socket /tmp/helper.sock | sed 's/^/# /'
for end in source sink; do "$lasthop" franc stats --json --socket "/tmp/$end.sock" > "/tmp/$end.json"; done
overheard=$(count helper overheard)
damaged=$(count helper overheard_bad_fcs)
innovative=$(count helper innovative)
coded=$(count helper coded_sent)
again=$(count helper overheard_again)
judge overheard "$overheard datagrams overheard, $damaged damaged frames left out, $again retransmissions, $(count helper replayed) replayed" \
    test "$overheard" -gt 1000 -a "$damaged" -gt 20 -a "$again" -gt 5
judge both-directions "of the station $(awk '/"heard"/ { print $2 + 0; exit }' /tmp/helper.json), of the access point $(awk '/"heard"/ { n++ } n == 2 { print $2 + 0; exit }' /tmp/helper.json)" \
    test "$(awk '/"heard"/ && $2 + 0 > 100 { n++ } END { print n + 0 }' /tmp/helper.json)" -eq 2
judge helps "$innovative combinations of use to the helper, it sent $coded; TCP $mbps Mb/s at 40 % loss" test "$coded" -gt 100
judge intact "$(count sink corrupt) corrupt, $(count sink unauthentic) not authentic" test "$(count sink corrupt)" -eq 0
judge quiet-log "$(wc -l < /tmp/helper.log) lines of the helper" sh -c '! grep -q "encrypted\|is down" /tmp/helper.log'
keep /tmp/helper.json /tmp/source.json /tmp/sink.json
stop
