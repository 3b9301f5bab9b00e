# lasthop_jumbo: drivers that it refuses, bounds or does not know; a kernel that is not its
# own, missing symbols, lockdown: one clear line, no side effect. The drivers are
# mac80211_hwsim under other names, written into copies of its file.
# timeout: 240

need_module lasthop_jumbo
. /lib/jumbo.sh
release=$(uname -r)
jumbo_file=$(find "/lib/modules/$release" -name lasthop_jumbo.ko | head -n 1)
hwsim_file=$(find "/lib/modules/$release" -name mac80211_hwsim.ko | head -n 1)

# The last line of the kernel's log, without its time.
last_line() { dmesg | grep -v 'Tainted' | tail -n 1 | sed 's/^\[[^]]*\] //'; }

# Before anything of Wi-Fi is loaded: mac80211's symbols are missing.
insmod "$jumbo_file" 2> /dev/null && fail symbols "it was loaded without mac80211"
judge symbols "$(last_line)" sh -c "dmesg | tail -n 20 | grep -q 'lasthop_jumbo: Unknown symbol'"

# driver NAME: loads mac80211_hwsim as a driver called NAME.
driver() {
    local name=$1 offset
    cp "$hwsim_file" /tmp/driver.ko
    strings -t d -n 14 "$hwsim_file" | awk '$2 == "mac80211_hwsim" && NF == 2 { print $1 }' > /tmp/offsets
    [ -s /tmp/offsets ] || die driver "no name in $hwsim_file"
    while read -r offset; do
        { printf '%s' "$name"; head -c $((14 - ${#name})) /dev/zero; } \
            | dd of=/tmp/driver.ko bs=1 seek="$offset" conv=notrunc 2> /dev/null
    done < /tmp/offsets
    # A signature that does not fit is refused, none is not: without its magic it is none.
    truncate -s $(($(stat -c %s "$hwsim_file") - 28)) /tmp/driver.ko
    error=$(insmod /tmp/driver.ko radios=1 2>&1) || die driver "$error; $(last_line)"
    wait_for 5 test -e /sys/class/net/wlan0
}
modprobe mac80211

# NAME, PARAMETERS, limit that is expected.
try() {
    local name=$1 parameters=$2 expected=$3
    # shellcheck disable=SC2086
    jumbo $parameters
    judge "$name${parameters:+ $parameters}" "limit $(limit - wlan0): $(cat /sys/class/net/wlan0/lasthop_jumbo/verdict)" \
        test "$(limit - wlan0)" = "$expected"
    rmmod lasthop_jumbo
    [ "$(limit - wlan0)" = 2304 ] || fail "$name" "limit $(limit - wlan0) after it was unloaded"
}
driver ath5k
try ath5k '' 2304
try ath5k mtu=7935 2304
try ath5k 'mtu=4000 force=1' 4000
# The allow-list does not override what is known; the first PHY is phy0.
try ath5k 'mtu=4000 phys=phy0' 2304
rmmod ath5k
# Two receive buffers: 3 852 bytes less 86 of headers.
driver ath9k
phy=$(cat /sys/class/net/wlan0/phy80211/name)
try ath9k '' 3766
try ath9k mtu=3000 3000
try ath9k 'mtu=7935 force=1' 7935
rmmod ath9k
driver nobody
phy=$(cat /sys/class/net/wlan0/phy80211/name)
try nobody mtu=7935 2304
try nobody "mtu=7935 phys=$phy" 7935
rmmod nobody

# The module of another kernel: of other options, by its version magic, and of other
# sources, by the checksum of a symbol (in front of its name in __versions).
# patched STRING OFFSET: a copy with one byte changed, OFFSET from where STRING stands.
patched() {
    local at
    cp "$jumbo_file" /tmp/other.ko
    at=$(strings -t d "$jumbo_file" | awk -v text="$1" 'index($2, text) == 1 { print $1; exit }')
    [ -n "$at" ] || die patched "no $1 in $jumbo_file"
    printf X | dd of=/tmp/other.ko bs=1 seek=$((at + $2)) conv=notrunc 2> /dev/null
}
patched vermagic= $((9 + ${#release} + 1))
insmod /tmp/other.ko 2> /dev/null && fail options "one of another kernel was loaded"
judge options "$(last_line)" sh -c 'dmesg | tail -n 3 | grep -q "lasthop_jumbo: version magic .* should be"'
patched module_layout -8
insmod /tmp/other.ko 2> /dev/null && fail sources "one of another kernel was loaded"
judge sources "$(last_line)" sh -c 'dmesg | tail -n 3 | grep -q "lasthop_jumbo: disagrees about version of symbol"'

# Lockdown cannot be taken back: it ends the check.
mount -t securityfs security /sys/kernel/security 2> /dev/null
radios 1
if echo integrity > /sys/kernel/security/lockdown; then
    insmod "$jumbo_file" 2> /dev/null && fail lockdown "it was loaded"
    judge lockdown "$(last_line)" sh -c 'dmesg | tail -n 3 | grep -qi "lockdown.*unsigned module"'
    judge lockdown-limit "the limit is $(limit - wlan0)" test "$(limit - wlan0)" = 2304
else
    skip lockdown "this kernel has none"
fi
