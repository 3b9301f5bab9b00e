# 27-jumbo-races with two CPUs, so with the host's clock.
# cpus: 2
# timeout: 600

. /checks/27-jumbo-races.sh
