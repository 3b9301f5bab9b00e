# The guest's file system, an initramfs of two archives: the base (programs,
# libraries, kernel modules; kept in the cache) and what a run adds.
#
# Sourced by run and command. Uses $cache, $here, fail.

readonly image_stamp=2

# Programs of the packages that the guest has, by their base names.
readonly programs=(busybox dash iw hostapd hostapd_cli wpa_supplicant wpa_cli tcpdump iperf3
    ip ss tc bridge ping ethtool)

archive() {
    (cd "$1" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 --reproducible)
}

# Copies a program of the packages, with the libraries it names, to the guest.
add_program() {
    local root=$1 sys=$2 name=$3 file
    file=$(find "$sys"/{bin,sbin,usr/bin,usr/sbin} -name "$name" 2> /dev/null | head -n 1)
    [[ -n $file ]] || fail "no program $name in the packages"
    cp -L "$file" "$root/bin/$name"
    add_libraries "$root" "$file" "$sys"
}

# Libraries that a file asks for, and theirs, from below $3; from the host for
# what is not there.
add_libraries() {
    local root=$1 file=$2 sys=$3 name found
    for name in $(readelf -d "$file" 2> /dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [[ ! -e $root/lib/$name ]] || continue
        found=$(find "$sys"/{usr/lib,lib,lib64} -name "$name" 2> /dev/null | head -n 1)
        [[ -n $found ]] || found=$(ldconfig -p | sed -n "s/.*x86-64.* => \(.*\/${name//+/\\+}\)$/\1/p" | head -n 1)
        [[ -n $found ]] || fail "no library $name for ${file##*/}"
        cp -L "$found" "$root/lib/$name"
        add_libraries "$root" "$found" "$sys"
    done
}

# The base archive for a kernel: prints its path.
base_image() {
    local sys=$1 kernel=$2 release stamp place
    release=$(< "$kernel/release")
    stamp=$({ echo "$image_stamp ${sys##*/} ${programs[*]}"; cat "$here/modules"; } | sha256sum | head -c 16)
    place=$kernel/base-$stamp.cpio
    if [[ ! -e $place ]]; then
        local root=$cache/new.base name
        rm -rf "$root"
        mkdir -p "$root"/{bin,sbin,dev,etc,proc,sys,tmp,run,var,out,root,lib/firmware,lib64,lib/modules}
        ln -s ../run "$root/var/run"
        for name in "${programs[@]}"; do add_program "$root" "$sys" "$name"; done
        ln -s dash "$root/bin/sh"
        cp -L "$(find "$sys"/lib*/ "$sys"/usr/lib*/ -name 'ld-linux-x86-64.so.2' 2> /dev/null | head -n 1)" "$root/lib64/"
        # Debian's kernel knows the key of Debian's regulatory database.
        for name in regulatory.db regulatory.db.p7s; do
            cp -L "$(find "$sys" -name "$name-debian" | head -n 1)" "$root/lib/firmware/$name"
        done
        cp -r "$kernel/lib/modules/$release" "$root/lib/modules/"
        printf 'root:x:0:0:root:/:/bin/sh\n' > "$root/etc/passwd"
        printf 'root:x:0:\nnetdev:x:101:\n' > "$root/etc/group"
        printf '127.0.0.1 localhost\n' > "$root/etc/hosts"
        : > "$root/etc/nsswitch.conf"
        rm -f "$kernel"/base-*.cpio
        archive "$root" > "$place.new"
        mv "$place.new" "$place"
        rm -rf "$root"
    fi
    printf '%s\n' "$place"
}

# What a run adds: init, the library of checks, the modules built here, and files
# of the user's ($GUEST_FILES, programs with their libraries).
run_image() {
    local place=$1 kernel=$2 sys=$3 modules=$4 root=$1.root release file
    release=$(< "$kernel/release")
    mkdir -p "$root"/{bin,lib,checks} "$root/lib/modules/$release/extra"
    cp "$here/guest/init" "$root/init"
    cp "$here"/guest/*.sh "$root/lib/"
    cp "$here"/checks/*.sh "$root/checks/"
    for file in "$modules"/*.ko; do
        [[ ! -e $file ]] || cp "$file" "$root/lib/modules/$release/extra/"
    done
    # In place of the kernel's own.
    [[ ! -d $modules/updates ]] || cp -r "$modules/updates" "$root/lib/modules/$release/"
    for file in ${GUEST_FILES:-}; do
        [[ -f $file ]] || fail "GUEST_FILES: no file $file"
        cp -L "$file" "$root/bin/"
        strip "$root/bin/${file##*/}" 2> /dev/null || true
        add_libraries "$root" "$file" "$sys"
    done
    chmod +x "$root/init"
    # The index of all modules, those of the base among them.
    cp -rn "$kernel/lib/modules/$release" "$root/lib/modules/"
    depmod -b "$root" "$release"
    rm -rf "$root/lib/modules/$release/kernel"
    archive "$root" > "$place"
    rm -rf "$root"
}
