# The walk of 62-roam-open with WPA2-PSK.
# timeout: 900

. /lib/roam.sh

roam wpa2 wpa2 simple:5:-70:60 10
