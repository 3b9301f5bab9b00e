# The guest itself: kernel, modules, and that a fault in the kernel's log is found.
# short: yes

ok kernel "$(uname -r), up after $(now) s, $(awk '/MemFree/ { print int($2 / 1024) }' /proc/meminfo) MiB free"

# The scan of the log must see what the kernel would print.
kernel_log_mark
kernel_log_clean log-before
echo 'WARNING: CPU: 0 PID: 1 at a line written by 01-boot.sh' > /dev/kmsg
judge log-scan "a warning that was written is found" test "$(kernel_faults | wc -l)" -eq 1
kernel_log_mark

judge numbers "decimal comparisons work" is 1.5 '<' 2
judge arithmetic "$(calculate 10/4)" test "$(calculate 10/4)" = 2.50
radios 2
judge radios "$(ls /sys/class/ieee80211 | tr '\n' ' ')" test "$(ls /sys/class/ieee80211 | wc -l)" -eq 2
modprobe -r mac80211_hwsim
judge unload "no radio is left" test ! -e /sys/class/ieee80211/phy0
