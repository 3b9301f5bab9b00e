# Debian's packages, unpacked below the cache and never installed: the guest's
# programs, and for each kernel series its image, modules, headers and the
# source of mac80211_hwsim. What is in the cache is whole: each part is made
# beside its place and then moved there, under a lock.
#
# Sourced by run and command. Uses $cache, $here, fail, note.

readonly packages_stamp=2

# need_programs PROGRAM:PACKAGE..: those, and what every guest needs of the host.
need_programs() {
    local program
    for program in "$@" qemu-system-x86_64:qemu-system-x86 cpio:cpio xz:xz-utils modprobe:kmod \
        readelf:binutils dpkg-deb:dpkg apt-get:apt flock:util-linux; do
        command -v "${program%%:*}" > /dev/null || [[ -x /sbin/${program%%:*} ]] \
            || fail "no ${program%%:*}; on Debian: apt-get install ${program#*:}"
    done
    PATH=$PATH:/usr/sbin:/sbin
}

# Fetches packages into the directory $1. Old package lists are a usual reason
# for a failure, so root renews them once.
download() {
    local directory=$1
    shift
    if (cd "$directory" && apt-get download -q "$@") > "$directory/log" 2>&1; then
        return
    fi
    if [[ $EUID -eq 0 ]]; then
        note "apt-get update"
        apt-get update -q > /dev/null 2>&1 || true
        (cd "$directory" && apt-get download -q "$@") > "$directory/log" 2>&1 && return
    fi
    tail -n 3 "$directory/log" >&2
    return 1
}

# Newest package of a series: 6.1 is linux-image-6.1.0-56-amd64, 6.12
# linux-image-6.12.117+deb12-amd64, 6.12-cloud linux-image-6.12.117+deb12-cloud-amd64,
# which has no Wi-Fi. Prints what follows linux-image-.
newest_kernel() {
    apt-cache pkgnames "linux-image-${1%-cloud}." 2> /dev/null \
        | sed -nE 's/^linux-image-//p' | of_series "$1"
}

# Of releases, a line each, the newest of a series.
of_series() {
    local number=${1%-cloud}
    sed -nE "/^${number//./\\.}\.[0-9]+(-[0-9]+|\+deb[0-9]+)?${1#"$number"}-amd64$/p" | sort -V | tail -n 1
}

# Newest kernel of a series that is in the cache.
cached_kernel() {
    find "$cache" -maxdepth 1 -type d -name 'kernel-*' -printf '%f\n' 2> /dev/null \
        | sed 's/^kernel-//' | of_series "$1"
}

# The guest's programs: prints the directory that they are unpacked in.
fetch_programs() {
    local stamp place
    stamp=$({ echo "$packages_stamp"; cat "$here/packages"; } | sha256sum | head -c 16)
    place=$cache/programs-$stamp
    if [[ ! -d $place ]]; then
        note "fetching the guest's programs"
        local new=$cache/new.programs package
        rm -rf "$new" && mkdir -p "$new/debs" "$new/tree"
        # Names without comments.
        local names
        mapfile -t names < <(grep -v '^#' "$here/packages")
        download "$new/debs" "${names[@]}" || fail "cannot download the guest's programs"
        for package in "$new"/debs/*.deb; do dpkg -x "$package" "$new/tree"; done
        rm -rf "$cache"/programs-*
        mv "$new/tree" "$place"
        rm -rf "$new"
    fi
    printf '%s\n' "$place"
}

# A kernel series: prints the directory with boot/vmlinuz, lib/modules, headers
# below usr/src, and the name of the release in `release`.
fetch_kernel() {
    local series=$1 release place
    release=$(newest_kernel "$series")
    [[ -n $release ]] || release=$(cached_kernel "$series")
    [[ -n $release ]] || fail "Debian has no kernel $series here; apt-get update may help"
    place=$cache/kernel-$release
    if [[ ! -d $place ]]; then
        note "fetching kernel $release"
        local new=$cache/new.kernel headers kbuild common package
        rm -rf "$new" && mkdir -p "$new/debs" "$new/tree"
        headers=linux-headers-$release
        common=$(depends "$headers" 'linux-headers-.*-common')
        kbuild=$(depends "$headers" 'linux-kbuild-.*')
        if ! download "$new/debs" "linux-image-$release" "$headers" "$common" "$kbuild"; then
            release=$(cached_kernel "$series")
            [[ -n $release ]] || fail "cannot download kernel $series"
            note "no newer kernel can be fetched: using $release"
            printf '%s\n' "$cache/kernel-$release"
            return
        fi
        for package in "$new"/debs/*.deb; do dpkg -x "$package" "$new/tree"; done
        mv "$new/tree/boot/vmlinuz-$release" "$new/tree/vmlinuz"
        # Where the headers include each other by absolute paths.
        grep -rlI --include=Makefile --include=.kernelvariables /usr/src/ "$new/tree/usr/src/$headers" \
            | xargs -r sed -i "s,/usr/src/,$place/usr/src/,g"
        printf '%s\n' "$release" > "$new/tree/release"
        # Whole modules are 300 MB; the guest has a few.
        prune_modules "$new/tree" "$release"
        mv "$new/tree" "$place"
        rm -rf "$new"
    fi
    printf '%s\n' "$place"
}

# First dependency of a package that matches.
depends() {
    apt-cache depends "$1" 2> /dev/null | sed -nE "s/^ *\|?Depends: ($2)$/\1/p" | head -n 1
}

# Keeps the modules that are listed in `modules` and what they depend on.
prune_modules() {
    local root=$1 release=$2 name file kept=$1/kept
    [[ -d $root/lib/modules/$release ]] || ln -s usr/lib "$root/lib"
    find "$root/lib/modules/$release/" -name '*.ko.xz' -exec xz -d {} +
    depmod -b "$root" "$release"
    mkdir -p "$kept/kernel"
    while read -r name; do
        modprobe -d "$root" -S "$release" --show-depends "$name" 2> /dev/null || true
    done < <(grep -v '^#' "$here/modules") | awk '/^insmod/ { print $2 }' | sort -u \
        | while read -r file; do cp "$file" "$kept/kernel"; done
    cp "$root/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$kept/"
    rm -rf "${root:?}/lib/modules/$release"
    mv "$kept" "$root/lib/modules/$release"
    depmod -b "$root" "$release"
}

# Files of a series' Linux, from Debian's linux-source of the same version as the
# headers where there is one, in $2/NAME: prints that directory. What follows NAME is
# a pattern of tar's and how many of the path's names before the files are dropped.
fetch_source() {
    local series=$1 place=$2/$3 pattern=$4 strip=$5
    if [[ ! -d $place ]]; then
        note "fetching the source of $3 $series"
        local new=$cache/new.source
        rm -rf "$new" && mkdir -p "$new/debs" "$new/files"
        download "$new/debs" "linux-source-$series" || fail "cannot download linux-source-$series"
        dpkg-deb --fsys-tarfile "$new"/debs/*.deb | tar -xO --wildcards "*/linux-source-$series.tar.xz" \
            | xz -dc | tar -x -C "$new/files" --strip-components "$strip" --wildcards "$pattern" \
            || fail "linux-source-$series has no $pattern"
        mv "$new/files" "$place"
        rm -rf "$new"
    fi
    printf '%s\n' "$place"
}

# mac80211_hwsim.c and .h: in drivers/net/wireless, since 6.4 in its folder virtual.
fetch_hwsim() {
    local strip=4
    dpkg --compare-versions "$1" lt 6.4 || strip=5
    fetch_source "$1" "$2" hwsim '*/drivers/net/wireless/*mac80211_hwsim.[ch]' "$strip"
}

fetch_mac80211() {
    fetch_source "$1" "$2" mac80211 '*/net/mac80211/*' 3
}
