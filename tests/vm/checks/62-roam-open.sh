# A station walks ten times from one access point to another one of the same SSID, in an open
# network: stock mac80211_hwsim, hostapd and wpa_supplicant over `lasthop medium`. Its background
# scan is "simple" with a threshold that leads to a scan and a roam at once, one that leads to
# scans in vain first, and "learn". Then with ARP, which costs a second.
# 62-roam-open.host measures number, times, phases and frames.
# timeout: 2400

. /lib/roam.sh

roam open open simple:5:-70:60 10
roam open-early open simple:5:-62:60 10
arp=yes
roam open-arp open simple:5:-70:60 3
arp=
scan_freq=
roam open-learn open learn:5:-70:60 4
