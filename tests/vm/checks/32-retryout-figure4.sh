# The paper's Figure 4, injected frame by frame into the real mac80211 of an
# access point (stock hwsim): after each reception as many segments were
# delivered, MPDUs marked and ignored as in the figure. Needs a module built
# with DEBUG=1, which has the file inject.
# debug: yes
# timeout: 180

need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
radios 2
modprobe lasthop_retryout
[ -e $debug/inject ] || { skip figure-4 "the module was built without DEBUG=1"; return 0; }

# column NAME: of the access point's line of TID 0.
column() { awk -v n="$1" -v a="$(in_ap cat /sys/class/net/wlan0/address)" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == n) c = i } $2 == a && $3 == 0 { print $c }' $debug/stations; }

# SEQUENCE KIND DELIVERED MARKED IGNORED, since the beginning, row by row of
# the figure; 5 and 9 are delivered with what is before them.
figure_4='1 good 1 0 0|2 bad 1 0 0|3 good 1 0 0|4 bad 1 0 0|5 good 1 0 0
6 bad 1 0 0|7 good 1 0 0|8 good 1 0 0
2 bad 1 0 0|4 bad 1 0 0|9 bad 1 0 0|10 bad 1 0 0
2 good 3 0 0|4 bad 4 1 0|9 good 4 1 0|10 bad 4 1 0
6 good 8 1 0
4 bad 8 1 0|10 good 9 1 0
4 good 9 1 1'

is_agreed() { [ -n "$(column head)" ] && [ "$(column head)" != - ]; }

# run NAME START [FIGURE]: injects it; the sequence number 1 is START. All at
# once, since mac80211 gives a gap up after 100 ms.
run() {
    local wrong
    echo "${3:-$figure_4}" | tr '|' '\n' \
        | awk -v s="$2" '{ print (s + $1 - 1) % 4096, $2, $3, $4, $5 }' > /tmp/expected
    cut -d ' ' -f 1,2 /tmp/expected > /tmp/injected
    # In one write.
    cat /tmp/injected > $debug/inject || { fail "$1" "it cannot be injected"; return; }
    cat $debug/inject > /tmp/found
    wrong=$(diff /tmp/expected /tmp/found | grep -c '^[<>]')
    [ "$wrong" -eq 0 ] || diff /tmp/expected /tmp/found | head -n 12
    judge "$1" "$(wc -l < /tmp/found) receptions; lines that differ in delivered, marked, ignored: $wrong" test "$wrong" -eq 0
}
# The same where marks are only counted: what is behind 4 waits for it.
dry_run=$(echo "$figure_4" | tr '|' '\n' | awk 'NR >= 14 && NR < 20 { $3 = 3 } NR == 20 { $3 = 10 } 1')

cell open
in_sta ping -q -c 5 -i 0.05 10.0.0.1 > /dev/null
wait_for 10 is_agreed || die agreement "$(cat $debug/stations)"
run figure-4 "$(column head)"
run again "$(column head)"
# Up to the place where numbers begin anew.
seq "$(column head)" 4089 | sed 's/$/ good/' > /tmp/up
awk '{ print > "/tmp/up-" int(NR / 64) }' /tmp/up
for part in $(ls /tmp/up-* | sort -V); do cat "$part" > $debug/inject; done
run wrapped 4090
cell_end

rmmod lasthop_retryout
modprobe lasthop_retryout dry_run=1
cell open
in_sta ping -q -c 5 -i 0.05 10.0.0.1 > /dev/null
wait_for 10 is_agreed || die agreement "$(cat $debug/stations)"
run dry-run "$(column head)" "$dry_run"
cp $debug/stations /tmp/stations
keep /tmp/stations
rmmod lasthop_retryout
kernel_log_clean log
