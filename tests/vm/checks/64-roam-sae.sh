# The walk of 62-roam-open with WPA3-SAE: each time with a new authentication, and with the
# cached key that the station has from its earlier visits.
# timeout: 1500

. /lib/roam.sh

roam sae sae simple:5:-70:60 10
roam sae-cached sae-cached simple:5:-70:60 10
