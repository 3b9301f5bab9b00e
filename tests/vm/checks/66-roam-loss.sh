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
link_of() { printf 'snr = "%sdB"\nsnr_changes = [%s]\n' $near "$(silences "$2" $(($1 - 1)))"; }
channel_keys='carrier_sense = "-120dBm"'
span=$away roam loss open simple:300:-90:300 10
