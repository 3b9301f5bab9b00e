# The modules that are tested, built against a kernel's headers: those of
# kernel/ and the medium. Built in a copy, so that two kernels do not share
# object files and a run that is killed leaves none; kept until a source
# changes.
#
# Sourced by run. Uses $cache, $here, $workspace, fail, note.

# The make that called this one, if any, means its own targets.
unset MAKEFLAGS MFLAGS MAKELEVEL

# 6.12's headers ask for type information (BTF), which pahole makes; modules work
# without. kernel/Makefile does the same by itself.
without_btf=()
command -v pahole > /dev/null || without_btf=(CONFIG_DEBUG_INFO_BTF_MODULES=)

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

# Builds mac80211 with MAC80211_DEBUGFS, which Debian's kernels lack, and puts it into
# $3/updates, where modprobe finds it before the kernel's own. cfg80211 does not change.
build_mac80211() {
    local kernel=$1 series=$2 place=$3 log=$4 kept=$1/mac80211-debugfs-3 source
    if [[ ! -d $kept ]]; then
        source=$(fetch_mac80211 "$series" "$kernel")
        note "building mac80211 with debugfs for $(< "$kernel/release")"
        local new=$cache/new.mac80211
        rm -rf "$new" && cp -r "$source" "$new"
        # Its tracepoints are looked for beside the headers of the kernel.
        sed -i 's,TRACE_INCLUDE_PATH ../../net/mac80211,TRACE_INCLUDE_PATH .,' "$new"/trace*.h
        cp "$here/mac80211/wiphy_locked.h" "$new/"
        sed -i '0,/^#include "/s,,#include "wiphy_locked.h"\n&,' "$new"/debugfs_{sta,netdev}.c
        # Checks probe what tx.c has of FQ-CoDel (43-fq-codel.sh), and when Minstrel-HT makes its
        # statistics (41-minstrel.sh): functions stay functions, with their arguments where the
        # ABI has them.
        local object
        for object in tx rc80211_minstrel_ht; do
            echo "CFLAGS_$object.o += -fno-inline-small-functions -fno-inline-functions-called-once" \
                "-fno-inline-functions -fno-partial-inlining -fno-ipa-cp -fno-ipa-sra" >> "$new/Makefile"
        done
        if ! make -C "$(headers "$kernel")" M="$new" CONFIG_MAC80211_DEBUGFS=y "${without_btf[@]}" \
            KCFLAGS="$with_debugfs" modules > "$log" 2>&1; then
            rm -rf "$new"
            return 1
        fi
        mkdir "$new.kept"
        # 30 MB are symbols for debuggers.
        strip --strip-debug "$new/mac80211.ko" -o "$new.kept/mac80211.ko"
        cp "$new/Module.symvers" "$new.kept/"
        mv "$new.kept" "$kept"
        rm -rf "$new"
    fi
    mkdir -p "$place/updates"
    cp "$kept/mac80211.ko" "$place/updates/"
}
# What its structures, and a driver's, are compiled with then.
readonly with_debugfs=-DCONFIG_MAC80211_DEBUGFS=1

# Builds the medium for a kernel and puts it into $3; $5 is 1 if it is for the
# mac80211 of build_mac80211.
build_medium() {
    local kernel=$1 series=$2 place=$3 log=$4 debugfs=$5 source kept for_mac80211=()
    [[ -e $here/medium/Kbuild ]] || return 0
    kept=$kernel/medium-$(digest "$here/medium")${debugfs:+-debugfs-3}.ko
    if [[ ! -e $kept ]]; then
        source=$(fetch_hwsim "$series" "$kernel")
        note "building the medium for $(< "$kernel/release")${debugfs:+, mac80211 with debugfs}"
        local new=$cache/new.medium
        rm -rf "$new" && cp -r "$here/medium" "$new"
        [[ -z $debugfs ]] || for_mac80211=(KCFLAGS="$with_debugfs"
            KBUILD_EXTRA_SYMBOLS="$kernel/mac80211-debugfs-3/Module.symvers")
        if ! "$new/change" "$source" "$new" > "$log" 2>&1 \
            || ! make -C "$(headers "$kernel")" M="$new" "${without_btf[@]}" "${for_mac80211[@]}" modules >> "$log" 2>&1; then
            rm -rf "$new"
            return 1
        fi
        find "$kernel" -maxdepth 1 -name "medium-*.ko" -mtime +7 -delete
        mv "$new/lasthop_medium.ko" "$kept"
        rm -rf "$new"
    fi
    cp "$kept" "$place/lasthop_medium.ko"
}
