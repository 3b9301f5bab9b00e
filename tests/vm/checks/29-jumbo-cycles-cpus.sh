# 24-jumbo-cycles with two CPUs, so with the host's clock: fewer cycles, and an MTU of
# 4 000, for which the module sets no probe: see README.md for QEMU and code that changes.
# cpus: 2
# timeout: 600

cycles=300 long=4000
. /checks/24-jumbo-cycles.sh
