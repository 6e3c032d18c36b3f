#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sample.user.sh: sums that ranks with a key repeat in part (TRIB_SAMPLE): right sums at a switch, with losses and after its restart, of other
# schemes and without a switch; refusals by name; and the probability in words. Lies of a switch: tests/unit/test_comm_sample.c.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
QUICK=(-b 8 -e 64K -f 64 -n 2 -w 0)
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
expect_line 2 'samples of sums \(TRIB_SAMPLE\): there is no key \(TRIB_KEY_FILE\)' env TRIB_SAMPLE=10 "$T" perf --workers 2 "${QUICK[@]}"
expect_line 2 'TRIB_SAMPLE' env TRIB_SAMPLE=1000001 "$T" perf --workers 2 "${QUICK[@]}"
has_keys || finish

mkdir "$TMP/keys"
for name in job op; do "$T" key new "$TMP/$name.key" >/dev/null; done
"$T" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null
export TRIB_KEY_FILE=$TMP/job.key
expect 0 '^other sums +not sampled \(TRIB_SAMPLE=1000' "$T" info
TRIB_SAMPLE=1000 expect 0 '^other sums +sampled .*1 - \(1 - 1/1000\)\^n or more; 5000 with 99\.3 %' "$T" info
OPERATOR=(--keys "$TMP/keys" --key "$TMP/op.key")
start root "${OPERATOR[@]}" --threads 2

say "right sums"
for scheme in switchml panama; do
    for wire in float32 bfloat16; do
        ranks "$scheme-$wire" "root root root" "${QUICK[@]}" --sample 7 --scheme $scheme --wire $wire
        ranks_end 30 0
        check_right "$scheme, wire $wire" "$TMP/$scheme-$wire.0"
    done
done
check_in "the probability is stated" '^# other sums are sampled: .* 1 - \(1 - 1/7\)\^n or more' "$TMP/panama-bfloat16.0"
check "ranks of one host come one by one" sh -c '! grep -q "level 0" "$1"' - "$TMP/panama-bfloat16.0"
ranks losses "root root root" -b 1M -e 1M -n 10 --sample 20 --loss 1%
ranks_end 60 0
check_right "with losses" "$TMP/losses.0"
quiet_port
expect 0 '^# 0 wrong elements' "$T" perf --workers 3 --rendezvous "127.0.0.1:$QUIET_PORT" --sample 5 "${QUICK[@]}"
ranks back "root root" -b 4M -e 4M -n 100 -w 0 --sample 100
SWITCH_LOG=$TMP/root.log
wait_for 10 runs_job back
sleep 0.2
again root
ranks_end 60 0
check_right "after a restart" "$TMP/back.0"

say "where ranks do not know the order of additions"
start leaf $(below root) "${OPERATOR[@]}"
ranks tree "root leaf" "${QUICK[@]}" --sample 5
ranks_end 30 1
check_in "a tree of switches" 'samples of sums \(TRIB_SAMPLE\) need one switch that all ranks join' "$TMP/tree.1"
for place in "atp switch" "goat switch" "panama:7/8 switch" "ring rendezvous"; do
    read -r scheme kind <<<"$place"
    expect_line 2 'samples of sums \(TRIB_SAMPLE\): (in this scheme|with a quorum)' "$T" perf --workers 8 --"$kind" 127.0.0.1:1 --scheme "$scheme" \
        --sample 5 "${QUICK[@]}"
done
stop leaf root
finish
