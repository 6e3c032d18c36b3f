#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Python with torch, this tree's tributary-torch and pytest:
#   tools/torch.sh prepare | install | test [JUNIT.xml] [PYTEST ARGUMENT...] | suite RANKS [TEST...]
#   prepare  makes the virtual environment TORCH_VENV (build/torch-venv): with the machine's torch if its Python has one, else
#            with the CPU build of torch from pip's sources and download.pytorch.org; exits with 77 and a word if there is none
#   install  the same, and builds and installs the wheel of this tree there
#   test     the same, then runs bindings/python/tests, or those that are named
#   suite    the same, then runs PyTorch's own tests of a backend, or those that are named, and with gloo those that do not pass
# Needs a release build in build/ (make) for the library and the switch.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${TORCH_VENV:-$PWD/build/torch-venv}
build=${BUILD_DIR:-$PWD/build}
version=${TORCH_VERSION:-2.13.0+cpu} # "+cpu" cannot be had from PyPI by accident, with its gigabytes of CUDA

has_torch() { "$venv/bin/python" -c 'import torch, pytest, setuptools, expecttest' 2>/dev/null; }

get() { "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" >>"$venv/pip.log" 2>&1; }

prepare() {
    has_torch && return
    local with=()
    python3 -c 'import torch' 2>/dev/null && with=(--system-site-packages)
    rm -rf "$venv"
    tools/deps.sh torch || { echo "torch: left out: no python3 that makes virtual environments"; exit 77; }
    python3 -m venv "${with[@]}" "$venv" || { echo "torch: left out: python3 makes no virtual environment"; exit 77; }
    get 'setuptools>=77' pytest numpy expecttest || true
    [ ${#with[@]} -gt 0 ] || get "torch==$version" || get --index-url https://download.pytorch.org/whl/cpu "torch==$version" || true
    has_torch || { echo "torch: left out: neither is it here nor could pip get torch $version: $(tail -n 1 "$venv/pip.log")"; exit 77; }
}

# As a user would, but with the library that is built already.
install() {
    TRIBUTARY_BUILD_DIR=$build "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
        ./bindings/python
}

command=${1:-}
shift || true
case $command in
prepare) prepare ;;
install)
    prepare
    install
    ;;
test)
    prepare
    install
    junit=()
    case ${1:-} in *.xml) junit=(--junitxml="$1"); shift ;; esac
    [ $# -gt 0 ] || set -- bindings/python/tests
    TRIBUTARY=$build/bin/tributary SOURCE_DIR=$PWD PYTHONDONTWRITEBYTECODE=1 \
        exec "$venv/bin/python" -m pytest -p no:cacheprovider -q "${junit[@]}" "$@"
    ;;
suite)
    prepare
    install
    TRIBUTARY=$build/bin/tributary SOURCE_DIR=$PWD PYTHONDONTWRITEBYTECODE=1 \
        exec "$venv/bin/python" bindings/python/tests/suite.py compare "$@"
    ;;
*)
    sed -n '3,10s/^# //p' "$0"
    exit 2
    ;;
esac
