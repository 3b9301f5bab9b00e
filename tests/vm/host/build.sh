# The modules that are tested, built against a kernel's headers: those of
# kernel/ and the medium. Built in a copy, so that two kernels do not share
# object files and a run that is killed leaves none; kept until a source
# changes.
#
# Sourced by run. Uses $cache, $here, $workspace, fail, note.

# The make that called this one, if any, means its own targets.
unset MAKEFLAGS MFLAGS MAKELEVEL

# The headers of a kernel.
headers() {
    local kernel=$1
    printf '%s\n' "$kernel/usr/src/linux-headers-$(< "$kernel/release")"
}

# Name of what a directory holds: changes when a source does.
digest() {
    (cd "$1" && find . -path ./build -prune -o -type f ! -name '*.o' ! -name '*.ko' ! -name '.*' ! -name '*.mod*' -print0 \
        | LC_ALL=C sort -z | xargs -0 sha256sum) | sha256sum | head -c 16
}

# Builds kernel/ for a kernel and puts the modules into $2; $4 is 1 for those with
# their selftests (DEBUG=1). Writes what make said to $3, and returns 1 if it does not
# build; without kernel/ there are none.
build_modules() {
    local kernel=$1 place=$2 source=$workspace/kernel kept log=$3 debug=$4
    [[ -e $source/Makefile ]] || return 0
    kept=$kernel/modules-$(digest "$source")${debug:+-debug}
    if [[ ! -d $kept ]]; then
        note "building kernel/ for $(< "$kernel/release")${debug:+ with DEBUG=1}"
        local new=$cache/new.modules
        rm -rf "$new" && cp -r "$source" "$new" && mkdir "$new.ko"
        # Modules that `make -C kernel` has built for other kernels.
        rm -rf "$new/build"
        if ! make -C "$new" KDIR="$(headers "$kernel")" ${debug:+DEBUG=1} > "$log" 2>&1; then
            rm -rf "$new" "$new.ko"
            return 1
        fi
        find "$new" -name '*.ko' -exec cp {} "$new.ko" \;
        # Other worktrees have their own; those that nobody used for long go.
        find "$kernel" -maxdepth 1 -name "modules-*" -mtime +7 -exec rm -rf {} +
        mv "$new.ko" "$kept"
        rm -rf "$new"
    fi
    find "$kept" -name '*.ko' -exec cp {} "$place" \;
}

# Builds the medium for a kernel and puts it into $3.
build_medium() {
    local kernel=$1 series=$2 place=$3 log=$4 source kept
    [[ -e $here/medium/Kbuild ]] || return 0
    kept=$kernel/medium-$(digest "$here/medium").ko
    if [[ ! -e $kept ]]; then
        source=$(fetch_hwsim "$series" "$kernel")
        note "building the medium for $(< "$kernel/release")"
        local new=$cache/new.medium
        rm -rf "$new" && cp -r "$here/medium" "$new"
        if ! "$new/change" "$source" "$new" > "$log" 2>&1 \
            || ! make -C "$(headers "$kernel")" M="$new" modules >> "$log" 2>&1; then
            rm -rf "$new"
            return 1
        fi
        find "$kernel" -maxdepth 1 -name "medium-*.ko" -mtime +7 -delete
        mv "$new/lasthop_medium.ko" "$kept"
        rm -rf "$new"
    fi
    cp "$kept" "$place/lasthop_medium.ko"
}
