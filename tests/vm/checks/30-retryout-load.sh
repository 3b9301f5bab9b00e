# lasthop_retryout loads and unloads under traffic, over stock hwsim: 1 000
# cycles without a warning, a leak or a broken connection. What is wrong at load
# is refused with one line and no effect.
# timeout: 600

cycles=${RETRYOUT_CYCLES:-1000}
need_module lasthop_retryout
debug=/sys/kernel/debug/lasthop_retryout
value() { awk -v n="$1" '$1 == n { print $2 }' $debug/summary; }
# Lines of the module since line $1, each once: modprobe tries twice, and of a
# parameter the kernel itself says that it is invalid.
lines_since() { dmesg | tail -n "+$(($1 + 1))" | grep lasthop_retryout: | grep -v 'invalid for parameter\|taint\|selftest:' | sed 's/^[^]]*] //' | sort -u; }
# refused NAME LINE ARGUMENT..: does not load, says LINE, leaves nothing.
refused() {
    local name=$1 line=$2 before lines
    shift 2
    before=$(dmesg | wc -l)
    if modprobe lasthop_retryout "$@" 2> /dev/null; then
        fail "$name" "it loads"
        rmmod lasthop_retryout
        return
    fi
    lines=$(lines_since "$before")
    judge "$name" "$lines" refused_well "$lines" "$line"
}
refused_well() { [ "$(echo "$1" | wc -l)" -eq 1 ] && echo "$1" | grep -q "$2" && [ ! -e $debug ]; }

radios 2
refused bad-table 'ascending' table=50000:2,25000:5
refused bad-step 'ascending' table=50000
refused bad-weight '1 to 256' weight=0
refused bad-stations '1 to 1024' stations_max=4096
refused bad-share '50 to 101' tcp_share=200
echo 0 > /proc/sys/kernel/ftrace_enabled
refused no-ftrace 'ftrace_enabled'
echo 1 > /proc/sys/kernel/ftrace_enabled
kernel_log_mark

# The agreement is from before: it is ended once, and the next is followed.
cell open
iperf_server ap
in_sta iperf3 -c 10.0.0.1 -t 2000 -b 4M > /dev/null 2>&1 &
sleep 1
# So many frames are counted as went through.
modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
sleep 2
judge adopted "$(value agreements) agreements, $(value frames) frames" test "$(value agreements)" -ge 1
judge warns "$(grep -c fcsfail $debug/summary) line about failed frames" grep -q 'warning: no frame with a failed' $debug/summary
cp $debug/summary $debug/stations /tmp
keep /tmp/summary /tmp/stations
rmmod lasthop_retryout
slab=$(slab_objects '^kmalloc|^skbuff')
done=0
while [ "$done" -lt "$cycles" ] && modprobe lasthop_retryout && rmmod lasthop_retryout; do done=$((done + 1)); done
judge cycles "$done load and unload cycles under TCP" test "$done" -eq "$cycles"
sleep 2
after=$(slab_objects '^kmalloc|^skbuff')
judge slab "$slab objects before, $after after" test "$((after - slab))" -lt 500
set -- $(pings sta 10.0.0.1 20 -i 0.05)
judge alive "$1 of 20 pings came back, $4 ms" test "$1" -eq 20
kernel_log_clean log
