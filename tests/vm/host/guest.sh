# One check in one guest: boots it, reads what it prints, and what the check's
# part on the host (checks/NAME.host) finds in what the guest kept.
#
# Sourced by run. Uses $here, $results, $scratch, $clock, header, variant_of.

# Prints the lines of a check, and nothing else of what it wrote.
run_check() {
    local series=$1 name=$2 out=$results/$1/$2 limit clock_of memory image=$scratch/$1 variant options=()
    limit=$(($(header "$name" timeout 120) * ${TIMES:-1}))
    clock_of=${clock:-$(header "$name" clock instructions)}
    variant=$(variant_of "$name")
    memory=$(header "$name" memory 512)
    rm -rf "$out"
    mkdir -p "$out/kept"
    # With a clock that counts instructions, one nanosecond each, the guest's
    # times do not depend on what else the machine does.
    [[ $clock_of == host ]] || options+=(-icount shift=0,sleep=off)
    # If run is killed by what it cannot catch, this shell ends, and with it QEMU.
    local me=$BASHPID status=0 watch
    (while kill -0 $$ 2> /dev/null; do sleep 1; done; kill "$me") 8>&- &
    watch=$!
    setpriv --pdeathsig KILL timeout --foreground -k 5 "$limit" \
        setpriv --pdeathsig KILL \
        qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
        -accel tcg -cpu qemu64 -smp 1 -m "$memory" "${options[@]}" \
        -rtc base=2026-01-01,clock=vm \
        -kernel "$image/vmlinuz" -initrd "$image/$variant.initrd" \
        -append "console=ttyS1 loglevel=5 panic=-1 mitigations=off check=$name" \
        -serial "file:$out/log" -serial "file:$out/console" \
        -virtfs "local,path=$out/kept,mount_tag=kept,security_model=none" \
        < /dev/null > "$out/qemu" 2>&1 || status=$?
    kill "$watch" 2> /dev/null || true
    {
        tr -d '\r' < "$out/log" | grep -E '^(ok|FAIL|skip) ' || true
        if ! tr -d '\r' < "$out/log" | grep -q '^done$'; then
            if ((status == 124 || status == 137)); then
                echo "FAIL guest: not done after $limit s"
            else
                echo "FAIL guest: ended before the check did: $(tail -n 1 "$out/console" "$out/qemu" 2>/dev/null | tr -d '\r' | tr -s '\n' ' ')"
            fi
        elif [[ -x $here/checks/$name.host ]]; then
            (cd "$out/kept" && timeout 120 "$here/checks/$name.host" 2> "$out/host") \
                | grep -E '^(ok|FAIL|skip) ' || echo "FAIL host: $name.host printed nothing: $(tail -n 1 "$out/host")"
        fi
    } | sed -E "s/^(ok|FAIL|skip) /\1 $series $name: /" > "$out/lines"
    [[ -s $out/lines ]] || echo "FAIL $series $name: checked nothing" > "$out/lines"
    # In one write, so that guests in parallel do not mix lines.
    flock "$scratch/summary" tee -a "$scratch/summary" < "$out/lines"
}
