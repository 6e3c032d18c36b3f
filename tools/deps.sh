#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sees to it that the Debian packages of the named groups are there:  tools/deps.sh build test ...
#   build  compiler, make, cmake: all that `make demo` needs        http   HTTP/JSON of the daemon (optional)
#   tls    keys of jobs (optional)
#   test   cmocka                                                    bench  the peers of `make bench`
#   plan   the solver of `tributary plan` (optional)
#   ns3    the simulator's peer in `make test-all` (optional)        torch  what tools/torch.sh makes a virtual environment with (optional)
#   aarch64  a compiler for 64-bit ARM and an emulator for it (optional)
#   all    everything else that `make test-all` and `make lint` use
# Installs what is missing as root or when CI is set, asks on a terminal, else prints the command and fails.
set -euo pipefail

packages() {
    case $1 in
    build) echo gcc libc6-dev make cmake pkg-config ;;
    test) echo libcmocka-dev ;;
    plan) echo coinor-libclp-dev ;;
    tls) echo libssl-dev ;;
    http) echo libmicrohttpd-dev libjansson-dev libcurl4-openssl-dev ;;
    all) echo g++ clang libclang-rt-dev llvm clang-format clang-tidy cppcheck ccache ninja-build python3 iproute2 ethtool util-linux curl prometheus ;;
    ns3) echo g++ libns3-dev ;;
    aarch64) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user ;;
    bench) echo g++ libgloo-dev libopenmpi-dev openmpi-bin iproute2 python3 ;;
    torch) echo python3 python3-venv ;;
    *)
        echo "deps.sh: no group \"$1\"; there are build test http tls plan ns3 aarch64 all bench torch" >&2
        exit 2
        ;;
    esac
}

# A compiler or a cmake that did not come from a package counts as well.
have() {
    case $1 in
    gcc | make | cmake | pkg-config | clang | clang-format | clang-tidy | cppcheck | python3 | ethtool | curl)
        command -v "$1" >/dev/null && return 0 ;;
    gcc-aarch64-linux-gnu) command -v aarch64-linux-gnu-gcc >/dev/null && return 0 ;;
    qemu-user) command -v qemu-aarch64 >/dev/null && return 0 ;;
    python3-venv) # what it is for: a venv of a Python without it has no pip
        python3 -c 'import ensurepip, venv' 2>/dev/null && return 0 ;;
    esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

[ $# -gt 0 ] || { sed -n '3,11s/^# //p' "$0"; exit 2; }
missing=()
for group in "$@"; do
    list=$(packages "$group")
    for package in $list; do
        have "$package" || missing+=("$package")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

command="apt-get install -y --no-install-recommends ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (names of the Debian packages; install what your system calls them)" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ] && [ "${CI:-}" != true ]; then
    if ! [ -t 0 ] || ! command -v sudo >/dev/null; then
        echo "missing packages; as root:  apt-get update && $command" >&2
        exit 1
    fi
    read -r -p "Run \"sudo $command\"? [y/N] " answer
    [ "$answer" = y ] || { echo "not installed: ${missing[*]}" >&2; exit 1; }
fi

apt() { # RUNLEVEL: what comes with a daemon does not start it
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing: ${missing[*]}"
install() { apt install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
# The second try is for a machine whose package lists are missing or old.
if ! install && ! { apt update >"$log" 2>&1 && install; }; then
    cat "$log" >&2
    echo "failed; as root:  apt-get update && $command" >&2
    exit 1
fi
