# A guest: the command that boots it (run and command), and one check in one guest:
# reads what it prints, and what the check's part on the host (checks/NAME.host) finds in
# what the guest kept.
#
# Sourced by run and command. run_check uses $here, $results, $scratch, $clock, $cpus,
# header, variant_of.

# guest_command KERNEL INITRD MEMORY CPUS CLOCK SHIFT WORDS: sets `guest` to QEMU's command.
# MEMORY is in MiB. CLOCK is `host`, or `instructions` of 2^SHIFT nanoseconds each: then the
# guest's times do not depend on what else the machine does, idle time is skipped, and there
# is one CPU, since two do not boot. With the host's clock each has a thread of its own.
# WORDS are added to the kernel's command line. The date at which it boots is always the
# same, and its CPU has no random numbers of its own.
guest_command() {
    local clock_options=(-accel tcg,thread=multi)
    [[ $5 == host ]] || clock_options=(-accel tcg -icount "shift=$6,sleep=off")
    guest=(qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot
        -cpu qemu64 -smp "$4" -m "$3" "${clock_options[@]}" -rtc base=2026-01-01,clock=vm
        -kernel "$1" -initrd "$2"
        -append "console=ttyS1 panic=-1 mitigations=off $7")
}

# Prints the lines of a check, and nothing else of what it wrote.
run_check() {
    local series=$1 name=$2 out=$results/$1/$2 limit clock_of cpus_of memory image=$scratch/$1 variant guest
    local begin=$SECONDS
    limit=$(($(header "$name" timeout 120) * ${TIMES:-1}))
    cpus_of=${cpus:-$(header "$name" cpus 1)}
    clock_of=${clock:-$(header "$name" clock "$( ((cpus_of > 1)) && echo host || echo instructions)")}
    variant=$(variant_of "$name")
    memory=$(header "$name" memory 512)
    rm -rf "$out"
    mkdir -p "$out/kept"
    if [[ $clock_of != host && $cpus_of != 1 ]]; then
        echo "FAIL $series $name: with a clock of instructions there is one CPU" | tee -a "$scratch/summary"
        return
    fi
    guest_command "$image/vmlinuz" "$image/$variant.initrd" "$memory" "$cpus_of" "$clock_of" 0 \
        "loglevel=5 check=$name"
    # If run is killed by what it cannot catch, this shell ends, and with it QEMU.
    local me=$BASHPID status=0 watch
    (while kill -0 $$ 2> /dev/null; do sleep 1; done; kill "$me") 8>&- &
    watch=$!
    setpriv --pdeathsig KILL timeout --foreground -k 5 "$limit" \
        setpriv --pdeathsig KILL \
        "${guest[@]}" \
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
    echo "$((SECONDS - begin)) $series $name" >> "$scratch/seconds"
}
