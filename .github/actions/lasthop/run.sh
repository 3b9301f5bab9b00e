#!/usr/bin/env bash
# Runs lasthop with the inputs of action.yml as variables. The status is lasthop's: that of a failing
# command, 1 for an unmet expectation, 2 for a wrong input.

set -euo pipefail

fail() {
    echo "error: $1" >&2
    exit 2
}

# Prints the path of the program.
find_program() {
    if [[ -n ${LASTHOP_PROGRAM-} ]]; then
        [[ -x $LASTHOP_PROGRAM ]] || fail "program: $LASTHOP_PROGRAM cannot be executed"
        printf '%s\n' "$LASTHOP_PROGRAM"
    elif command -v lasthop; then
        return
    else
        download
    fi
}

# Downloads the static program of a release, checks it against the release's checksums, and prints
# its path.
download() {
    local folder machine release=()
    machine=$(uname -m)
    folder=$(mktemp -d -p "${RUNNER_TEMP:-/tmp}")
    [[ -z ${LASTHOP_VERSION-} ]] || release=("v${LASTHOP_VERSION#v}")
    gh release download "${release[@]}" --repo "$LASTHOP_REPOSITORY" --dir "$folder" \
        --pattern "lasthop-[0-9]*-$machine-linux.tar.gz" --pattern SHA256SUMS >&2 \
        || fail "$LASTHOP_REPOSITORY has no release ${LASTHOP_VERSION-} with a program for $machine"
    (cd "$folder" && sha256sum --quiet --check --ignore-missing SHA256SUMS >&2) \
        || fail "the program is not the one in SHA256SUMS"
    tar -xzf "$folder"/lasthop-*.tar.gz -C "$folder" --strip-components=1
    printf '%s\n' "$folder/bin/lasthop"
}

[[ -n ${LASTHOP_SCENARIO-} || -n ${LASTHOP_PLACE-} ]] || fail "scenario or place is missing"
[[ -z ${LASTHOP_SCENARIO-} || -z ${LASTHOP_PLACE-} ]] || fail "scenario and place exclude each other"

arguments=(simulate)
[[ -z ${LASTHOP_COMMAND-} ]] || arguments=(emulate)
if [[ -n ${LASTHOP_PLACE-} ]]; then
    arguments+=(--place "$LASTHOP_PLACE")
else
    arguments+=("$LASTHOP_SCENARIO")
fi
while IFS= read -r line; do
    [[ -z ${line// /} ]] || arguments+=(--expect "$line")
done <<< "${LASTHOP_EXPECT-}"
while IFS= read -r line; do
    [[ -z ${line// /} ]] || arguments+=(--set "$line")
done <<< "${LASTHOP_SET-}"
if [[ -n ${LASTHOP_DURATION-} ]]; then
    case ${arguments[0]} in
        emulate) arguments+=(--duration "$LASTHOP_DURATION") ;;
        *) arguments+=(--set "duration=$LASTHOP_DURATION") ;;
    esac
fi
[[ -z ${LASTHOP_SEED-} ]] || arguments+=(--seed "$LASTHOP_SEED")
[[ -z ${LASTHOP_JUNIT-} || -z ${LASTHOP_EXPECT//[[:space:]]/} ]] || arguments+=(--junit "$LASTHOP_JUNIT")
[[ -z ${LASTHOP_OUT-} ]] || arguments+=(--out "$LASTHOP_OUT")
[[ -z ${LASTHOP_COMMAND-} ]] || arguments+=(-- bash -c "$LASTHOP_COMMAND")

# Ubuntu 24.04 restricts the user namespaces that an emulation needs.
restricted=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [[ ${arguments[0]} = emulate && -n ${CI-} && $(cat $restricted 2> /dev/null || true) = 1 ]]; then
    sudo -n sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0
fi

program=$(find_program)
exec "$program" "${arguments[@]}"
