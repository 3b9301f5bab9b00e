# The access point of a station falls silent ten times, while another one of the same SSID is in
# reach: when mac80211 notices, what it sends before it gives up, and how the station comes back.
# 66-roam-loss.host measures it.
# timeout: 900

. /lib/roam.sh

# A leg: the access point at hand is 50 dB weaker for `away` seconds, and back for `rest`. The
# level of carrier sense is so low that it does not change.
near=30 far=-20 away=25 rest=15
walk_seconds() { echo $((first + $1 * (away + rest) + 2)); }
silences() {
    awk -v legs="$1" -v odd="$2" -v first="$first" -v away="$away" -v rest="$rest" -v near="$near" -v far="$far" -v shift="$shift" 'BEGIN {
        for (leg = odd; leg < legs; leg += 2) {
            begin = first + leg * (away + rest + shift)
            printf "%s{ from = \"%.3fs\", snr = \"%ddB\" }, { from = \"%.3fs\", snr = \"%ddB\" }", (leg > odd) ? ", " : "", begin, far, begin + away, near
        }
    }'
}
walk_scenario() {
    cat > scenario.toml << END
name = "silence"
duration = "$(($(walk_seconds "$1") + 60))s"
[channel]
width = "20MHz"
carrier_sense = "-120dBm"
[[node]]
name = "ap1"
role = "access-point"
[[node]]
name = "ap2"
role = "station"
[[node]]
name = "sta"
role = "station"
[[link]]
between = ["ap1", "ap2"]
snr = "30dB"
[[link]]
between = ["ap1", "sta"]
snr = "${near}dB"
snr_changes = [$(silences "$1" 0)]
[[link]]
between = ["ap2", "sta"]
snr = "${near}dB"
snr_changes = [$(silences "$1" 1)]
END
}
span=$away roam loss open simple:300:-90:300 10
