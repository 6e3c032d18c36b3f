#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make test`: builds and runs every test that needs no root.
set -uo pipefail
. "$(dirname "$0")/steps.sh"

tools/deps.sh build test || exit 1
release && tests tests build -LE root -E "^$not_everyday\$"
finish
