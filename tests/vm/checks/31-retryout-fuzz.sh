# Ten million random frames through lasthop_retryout's hook, in a module built
# with DEBUG=1 (make vm-test DEBUG=1), whose selftest runs at load: no warning,
# no leak, counters that add up.
# debug: yes
# timeout: 900

need_module lasthop_retryout
modprobe mac80211
modprobe lasthop_retryout || die load "$(dmesg | tail -n 1)"
fuzz=/sys/kernel/debug/lasthop_retryout/fuzz
if [ ! -e $fuzz ]; then
    skip fuzz "the module was built without DEBUG=1"
else
    judge selftest "$(dmesg | grep -o 'selftest: .*')" sh -c 'dmesg | grep -q "selftest: all cases hold"'
    echo 100000 > $fuzz
    slab=$(slab_objects '^kmalloc|^skbuff')
    seed=0
    while [ "$seed" -lt ${RETRYOUT_SEEDS:-10} ]; do
        seed=$((seed + 1))
        echo "1000000 $seed" > $fuzz || fail "fuzz-$seed" "$(cat $fuzz)"
    done
    judge fuzz "10 seeds, the last: $(cat $fuzz)" grep -q 'no complaint' $fuzz
    echo "bench 1000000" > $fuzz
    judge bench "good frames in order: $(cat $fuzz)" grep -q 'no complaint' $fuzz
    sleep 1
    after=$(slab_objects '^kmalloc|^skbuff')
    judge slab "$slab objects before, $after after" test "$((after - slab))" -lt 200
    rmmod lasthop_retryout
fi
kernel_log_clean log
