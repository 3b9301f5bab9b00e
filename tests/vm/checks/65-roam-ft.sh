# The walk of 62-roam-open with FT-PSK (802.11r): over the air, by background scans, and over the
# distribution system, by command.
# timeout: 900

. /lib/roam.sh

roam ft ft simple:5:-70:60 10
roam ft-ds ft-ds simple:300:-90:300 4
