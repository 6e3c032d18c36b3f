#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme.user.sh: the program and the commands of README.md, taken from its text: what is installed is enough to compile the program, and it
# starts and runs as README says.
. "$(dirname "$0")/common.sh"
README=$SOURCE_DIR/README.md
if grep -q '^TRIB_SANITIZE:[A-Z]*=.' "$BUILD_DIR/CMakeCache.txt"; then
    skip "a library with a sanitizer in it does not go with README's cc line"
fi
unset TRIB_LEVEL0

# block LANGUAGE REGEX: the first block of README in that language ("": none is said) in which a line matches.
block() {
    awk -v want="$1" -v regex="$2" '
        /^```/ && !inside { inside = 1; language = substr($0, 4); text = ""; next }
        /^```/ { inside = 0; if (language == want && text ~ regex) { printf "%s", text; exit } next }
        inside { text = text $0 "\n" }' "$README"
}

say "installing builds no tests, benchmarks or examples"
make -C "$SOURCE_DIR" -n install >"$TMP/make" 2>&1
check_in "make install" '^cmake --build build -j [0-9]+ --target tributary tributary_shared tributary_static$' "$TMP/make"
check "nothing else is built" test "$(grep -c 'cmake --build' "$TMP/make")" = 1

say "README's program, by README's commands"
mkdir "$TMP/home" "$TMP/at"
block c 'int main' >"$TMP/at/main.c"
block '' 'make install PREFIX' >"$TMP/commands"
check_in "the program" '^int main' "$TMP/at/main.c"
check_in "the commands" '^make install PREFIX=\$HOME/tributary$' "$TMP/commands"
check_in "the commands" '^cc main.c ' "$TMP/commands"
# The first line is done by what it calls: this folder is being tested, and is built.
sed -i "1s|.*|cmake --install '$BUILD_DIR' --prefix \$HOME/tributary >/dev/null|" "$TMP/commands"
expect 0 '^rank 3 of 4: the average is 1.5$' env -u LD_LIBRARY_PATH -u TRIBUTARY HOME="$TMP/home" sh -ec "cd '$TMP/at'; . '$TMP/commands'"
check "all four ranks" test "$(grep -c '^rank [0-3] of 4: the average is 1.5$' "$TMP/out")" = 4
check "nothing else is said" test "$(wc -l <"$TMP/out")" = 4
check "an installed tree can be moved" mv "$TMP/home/tributary" "$TMP/home/moved"
expect 0 '^tributary ' "$TMP/home/moved/bin/tributary" --version
finish
