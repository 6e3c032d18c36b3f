#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# level0.net.sh: hosts of several ranks on links of their own, through a switch, a tree of switches, and without a switch: one stream per
# host leaves. All collectives, groups and types; the bytes on each network card and direction; losses; a rank, a leader and a switch that are
# killed; a cable that is out. No rank is told which host it is on: namespaces are hosts. Ranks on one machine by name: level0.user.sh.
. "$(dirname "$0")/network.sh"
MIB=$((1 << 20))
LOAD=$BUILD_DIR/tests/integration/load
PORT=7470
MEMORY=$(ls /dev/shm 2>/dev/null | sort)

net_switch s0
net_worker w0 s0
net_worker w1 s0
net_switch t0
net_switch t1 t0
net_switch t2 t0
for i in 0 1 2 3; do
    net_worker v$i t$((1 + i / 2))
done
net_mtu 1500
net_switches_start

# hosts_start JOB EACH HOSTS COMMAND...: so many ranks on each of the hosts; in JOB, "RANK" is a rank's number. Without a switch if BOX is
# "none". Sets RANK_PIDS.
hosts_start() {
    local job=$1 each=$2 hosts=($3) rank ranks=$(($2 * $(wc -w <<<"$3")))
    shift 3
    RANK_PIDS=()
    for ((rank = 0; rank < ranks; rank++)); do
        local node=${hosts[rank / each]}
        if [ "$BOX" = none ]; then
            TRIB_RENDEZVOUS=${NET_ADDRESS[${hosts[0]}]}:$PORT TRIB_JOB=$job TRIB_RANK=$rank TRIB_RANKS=$ranks TRIB_LEVEL0=1 \
                TRIB_DEBUG=INFO nsenter --net="/run/netns/$node" "${@//RANK/$rank}" >"$TMP/$job.$rank" 2>&1 &
            PID=$!
        else
            TRIB_LEVEL0=1 TRIB_DEBUG=INFO net_rank "$job" $rank $ranks "$node" "${@//RANK/$rank}"
        fi
        RANK_PIDS+=("$PID")
    done
}
perf_right() { # JOB EACH HOSTS OPTIONS...
    local job=$1 each=$2 hosts=$3
    shift 3
    hosts_start "$job" "$each" "$hosts" "$TRIBUTARY" perf "$@"
    ranks_end 30 0
    check_right "$job" "$TMP/$job.0"
    check_in "$job: hosts" "level 0: $(wc -w <<<"$hosts") hosts" "$TMP/$job.0"
}

# Collectives of every kind, type and size, up to four at a time, every element looked at.
load_begin() { # JOB EACH HOSTS SECONDS
    hosts_start "$1" "$2" "$3" "$LOAD" "$TMP/$1.recordRANK" "$4" 4 1000000 7
}

# carries JOB NODES OUT IN: the links of these nodes carry so many per mille of the bytes that were summed, with headers: no more than a
# tenth more, which is what a busy machine's repeats take at most.
before() { # NODES
    local node
    BEFORE=()
    for node in $1; do
        BEFORE+=("$(sent_bytes "$node") $(received_bytes "$node")")
    done
}
carries() {
    local i=0 node way name
    for node in $2; do
        local was=(${BEFORE[i++]}) now=("$(sent_bytes "$node")" "$(received_bytes "$node")") share=("$3" "$4")
        for way in 0 1; do
            name=$([ $way = 0 ] && echo out || echo in)
            local bytes=$((now[way] - was[way])) least=$((TENSOR * share[way] / 1000))
            local most=$((least * (1408 + 64 + 42) / 1408 * 11 / 10 + MIB / 4))
            say "$1, $node: $bytes $name, $((bytes * 100 / TENSOR)) % of the tensor"
            check "$1, $node: $bytes $name, $least to $most" test "$bytes" -ge "$least" -a "$bytes" -le "$most"
        done
    done
}
TENSOR=$((24 * MIB)) # of three calls, two of which are perf's own checks
BYTES=(-b 8M -e 8M -n 1 -w 0)

in_all() { as_many_say ${#RANK_PIDS[@]} "$2" "$TMP/$1".*; }
are_in() { wait_for 10 in_all "$1" "$([ "$BOX" = none ] && echo 'no box:' || echo joined)" || fail "$1: not all are in"; }
leave_out() { # RANK: that of RANK_PIDS is waited for no more
    wait "${RANK_PIDS[$1]}" 2>/dev/null
    unset "RANK_PIDS[$1]"
    RANK_PIDS=("${RANK_PIDS[@]}")
}
# dies NAME EACH HOSTS RANK: all others, on its host and on others, name it within a second.
dies() {
    local job=$1 rank=$4 from
    load_begin "$job" "$2" "$3" 60
    are_in "$job"
    sleep 0.3
    from=$(now_ms)
    kill -KILL "${RANK_PIDS[rank]}"
    leave_out "$rank"
    rm -f "$TMP/$job.$rank"
    ranks_end 5 1
    known_within 1000 "$from" "$TMP/$job".[0-9]
    check_in "$job: names the dead" "rank $rank .*is gone" "$TMP/$job".[0-9]
}
# A cable is out for a second: all wait, and go on.
cut_and_mended() { # NAME EACH HOSTS NODE
    load_begin "$1" "$2" "$3" 3
    are_in "$1"
    sleep 0.5
    link_cut "$4"
    sleep 1
    link_mend "$4"
    ranks_end 15 0
}

for BOX in switch tree none; do
    case $BOX in
    tree) hosts="v0 v1 v2 v3" each=2 link=t1 ;;
    *) hosts="w0 w1" each=4 link=w1 ;;
    esac
    count=$(wc -w <<<"$hosts")
    say "$BOX: $count hosts x $each ranks: every collective, groups of them, types, with losses"
    perf_right $BOX-small $each "$hosts" -b 8 -e 512K -f 16 -n 2 -w 1
    perf_right $BOX-gather $each "$hosts" -b 1M -e 1M -n 2 -w 1 --collective allgather --uneven
    perf_right $BOX-scatter $each "$hosts" -b 1M -e 1M -n 2 -w 1 --collective reduce-scatter --uneven --in-place -o avg
    perf_right $BOX-lossy $each "$hosts" -b 256K -e 1M -f 4 -n 3 -w 1 --loss 1% --duplicate 1% --reorder 1% --seed 5
    hosts_start $BOX-groups $each "$hosts" "$BUILD_DIR/tests/integration/grouped" 64 4096 2 1
    ranks_end 20 0
    load_begin $BOX-load $each "$hosts" 2
    ranks_end 30 0
    say "$BOX: bytes on each card and direction: once the tensor, whatever the ranks of a host are"
    before "$hosts"
    perf_right $BOX-allreduce $each "$hosts" "${BYTES[@]}"
    carries $BOX-allreduce "$hosts" 1000 1000 # without a switch 2(H-1)/H, for two hosts the same
    before "$hosts"
    perf_right $BOX-bytes-gather $each "$hosts" "${BYTES[@]}" --collective allgather
    # its own share out, the others' in
    carries $BOX-bytes-gather "$hosts" $((1000 / count)) $((1000 - 1000 / count))
    before "$hosts"
    perf_right $BOX-bytes-scatter $each "$hosts" "${BYTES[@]}" --collective reduce-scatter
    carries $BOX-bytes-scatter "$hosts" $((1000 - 1000 / count)) $((1000 / count))
    if [ $BOX = tree ]; then
        say "tree: one stream for two hosts"
        before "t1 t2"
        perf_right tree-up $each "$hosts" "${BYTES[@]}"
        carries tree-up "t1 t2" 1000 1000
    fi
    say "$BOX: kill -9 of a rank, and of a leader"
    dies $BOX-dead $each "$hosts" $((each + 1))
    dies $BOX-leader $each "$hosts" $each
    say "$BOX: a cable is out for a second"
    cut_and_mended $BOX-cut $each "$hosts" $link
    if [ $BOX != none ]; then
        switch=$([ $BOX = tree ] && echo t1 || echo s0)
        say "$BOX: kill -9 of $switch, which comes back"
        load_begin $BOX-back $each "$hosts" 3
        are_in $BOX-back
        sleep 0.5
        net_switch_kill $switch
        sleep 0.2
        net_switch_start $switch
        ranks_end 15 0
        check_in "they were away" 'back at 10.99' "$TMP"/$BOX-back.0
    fi
done
say "a rank is killed on a host whose cable is out: the others hear of it when it is in again"
BOX=switch
load_begin lost 4 "w0 w1" 60
are_in lost
sleep 0.3
link_cut w1
kill -KILL "${RANK_PIDS[6]}"
leave_out 6
sleep 1
link_mend w1
ranks_end 2 1
check_in "the dead is named on its host" 'rank 6 .*is gone' "$TMP"/lost.[457]
check "no memory is left behind" test "$(ls /dev/shm 2>/dev/null | sort)" = "$MEMORY"
net_switches_stop
finish
