# SPDX-License-Identifier: Apache-2.0
"""Canaries in io, switchd, control and comm, as in canaries.py. Worlds and search cannot see them; a unit test must."""
from canaries import Canary, Never

FAULTS = "src/net/faults.c"
PORT = "src/net/port.c"
PIPE = "src/net/pipe.c"
UDP = "src/net/udp.c"
UDP_SEND = "src/net/udp_send.c"
TRAIN = "src/net/train.c"
INJECT = "src/net/inject.c"
NAP = "src/io/nap.h"
MEMBERS = "src/switchd/members.c"
SHARD = "src/switchd/shard.c"
WORKER_SEND = "src/protocol/worker_send.c"
PLANE = "src/switchd/plane.c"
TREE = "src/switchd/tree.c"
CAPS = "src/switchd/caps.c"
AGENT = "src/control/agents/agent.c"
REMOTE = "src/control/agents/remote.c"
MASTERS = "src/control/roots/masters.c"
SWITCHES = "src/control/roots/switches.c"
LEAVES = "src/control/roots/leaves.c"
GATHER = "src/host/gather.c"
JOBS = "src/control/jobs/jobs.c"
JOB = "src/control/jobs/job.c"
JOB_MARKS = "src/control/jobs/marks.c"
JOB_DIFFER = "src/control/jobs/differ.c"
JOB_JOIN = "src/control/jobs/join.c"
JOB_BEGIN = "src/control/jobs/begin.c"
JOB_CUT = "src/control/jobs/cut.c"
JOB_START = "src/control/jobs/start.c"
LOADS = "src/control/roots/loads.c"
OWNER = "src/control/jobs/owner.c"
MISSING = "src/control/jobs/missing.c"
JOB_STALL = "src/control/jobs/stall.c"
SWITCH_MISSING = "src/protocol/switch_missing.c"
PLACEMENTS = "src/control/jobs/placements.c"
ANSWERS = "src/control/jobs/answers.c"
CONNECTIONS = "src/control/server/connections.c"
ROUNDS = "src/control/server/rounds.c"
KEYED = "src/control/server/keyed.c"
CHANNELS = "src/control/server/channels.c"
OUTBOX = "src/control/words/outbox.c"
COMM_QUEUE = "src/comm/queue.c"
COMM_JOIN = "src/comm/join.c"
COMM_CONNECT = "src/comm/connect.c"
COMM_WORKER = "src/comm/worker.c"
PEERS = "src/control/jobs/peers.c"
WORDS = "src/control/words/words.c"
PATHS = "src/comm/paths.c"
COMM_PEERS = "src/comm/peers.c"
SPLIT = "src/comm/split.c"
LEVEL0_PLAN = "src/comm/level0_plan.c"

TREES = "src/control/roots/trees.c"
WORKER_PACE = "src/protocol/worker_pace.c"
WORKER_RECOVER = "src/protocol/worker_recover.c"

NO_DRIVER = Never("it drives nodes itself, without sockets and sessions")
NO_RATE = Never("sums are right at any rate")
NO_SILENCE = Never("it looks at the names of stalls that come, and all of its ranks come back")
NO_WORDS = Never("what is said to people is no part of its states")

DRIVERS = [
    Canary(
        "io-any-source", "I7", "a socket of a multicast group takes packets from any address",
        edits=((UDP, "(udp->only.len == 0 || trib_address_equal(&udp->from, &udp->only))",
                "true"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp"),
    Canary(
        "io-train-uncut", "I1", "a received train is one packet",
        edits=((PORT, "arrival->len = left < delivery->segment ? left : delivery->segment;",
                "arrival->len = left;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp"),
    Canary(
        "io-mark-unheard", "I8", "a packet that the network has marked comes without ECN",
        edits=((PORT, "        packet->flags |= TRIB_FLAG_ECN;",
                "        packet->flags |= 0;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp_marks"),
    Canary(
        "io-train-goes-on", "I1", "a train goes on after its short packet, so that the kernel cuts it elsewhere",
        edits=((TRAIN, "bool ended = train->bytes < train->packets * train->segment;",
                "bool ended = false;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp"),
    Canary(
        "io-overtakes", "I4", "results for single ranks overtake those for a group, and look like losses: each costs a probe and a repeat",
        edits=((PORT, "if ((set->hearers & bits) != 0) {",
                "if ((set->hearers & bits) != 0 && false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_port"),
    Canary(
        "io-switch-naps-always", "I8", "a switch naps although a rank waits for one result",
        edits=((SHARD, "naps ? shard->awaited / 2 : 0;", "naps || true ? shard->awaited / 2 : 0;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "io-asks-without-looking", "I8", "a wait with a limit of 0 takes no packets, so a job whose ranks do that alone hangs",
        edits=(("src/comm/drive.c", "if (is_done || (now >= until_ns && has_looked)) {", "if (is_done || now >= until_ns) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm"),
    Canary(
        "io-results-unordered", "I1", "a caller hears that its tensor is whole before all threads can see that",
        edits=(("src/protocol/worker_state.c", "    worker_order_results(w);\n    if (w->events_count == 0) {", "    if (w->events_count == 0) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switchml_worker"),
    Canary(
        "io-switch-naps-for-two", "I8", "a job pays for the naps of another one at the same switch",
        edits=((SHARD, "now_ns - shard->shared_ns >= TRIB_SHARD_SHARED_NS;", "true;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "io-more-at-the-end", "I8", "a rank says that more will follow when nothing will",
        edits=((WORKER_SEND, "if (w->end - sequence > sequence + 1 - w->mark) {", "if (w->end > sequence) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switchml_worker"),
    Canary(
        "io-nap-for-the-last", "I8", "a rank sleeps on although the last packet that it waits for has come",
        edits=((NAP, "if (awaited < TRIB_NAP_FEWEST) {",
                "if (awaited == 0) {"),
               (NAP, "uint64_t length_ns = awaited / TRIB_NAP_PART * nap->interval_ns;",
                "uint64_t length_ns = (awaited / TRIB_NAP_PART + 1) * nap->interval_ns;")),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_nap"),
    Canary(
        "io-injected-from-another", "I7", "a packet that the injector held comes out as another sender's",
        edits=((FAULTS, "faults->sender_index | (faults->below.is_marked ? TAG_MARKED : 0)",
                "0 * faults->sender_index | (faults->below.is_marked ? TAG_MARKED : 0)"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp"),
    Canary(
        "io-pipe-of-any-address", "I7", "a neighbour in the same process gets what is for another address",
        edits=((PIPE, "if (to != NULL && trib_address_equal(to, &pipe->peer) && put(",
                "if (to != NULL && put("),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_udp"),
    Canary(
        "io-held-for-ever", "I8", "the injector has no deadline for the packets that it holds",
        edits=((INJECT, "        if (inject->held[i].used && inject->held[i].due_ns < first) {",
                "        if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_inject"),
    Canary(
        "io-source-not-said", "I7", "packets leave from an address of the kernel's choice",
        edits=((UDP_SEND, "        add_source(&control, to);\n",
                ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_nics"),
    Canary(
        "switch-any-source", "I7", "a shard takes packets of a communicator from any address",
        edits=((MEMBERS, "    uint64_t hash = trib_mix64(((uint64_t)communicator << 16) | trib_address_port(from));",
                "    uint64_t hash = trib_mix64((uint64_t)communicator << 16);\n    if (from != NULL) {\n        return (uint32_t)hash;\n    }"),
               (MEMBERS, "            trib_address_equal(trib_member_source_address(source), from) && ",
                "            "),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_members"),
    Canary(
        "switch-any-communicator", "I1", "a shard looks for a child by its address alone",
        edits=((MEMBERS, "source->hash == hash && source->node->member->communicator == communicator &&",
                "source->hash == hash &&"),
               (MEMBERS, "trib_mix64(((uint64_t)communicator << 16) | trib_address_port(from))",
                "trib_mix64(trib_address_port(from) + 0 * communicator)"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_members"),
    Canary(
        "switch-path-of-the-past", "I3", "an answer of another boot proves the path to the parent",
        edits=((SHARD, "    if (answer->boot != member->boot || answer->generation",
                "    if (answer->generation"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane_tree"),
    Canary(
        "switch-unproved-child", "C-10", "an address that has not proved itself gets answers of full size",
        edits=((SHARD, ".payload_len = is_proved ? probe->payload_len : 0,", ".payload_len = probe->payload_len,"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "switch-headers-without-end", "C-10", "an address that has not proved itself gets an answer to each PATH",
        edits=((SHARD, "    if (!is_proved && node->headers[child]++ >= TRIB_PATH_HEADERS) {", "    if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "switch-path-too-short", "I8", "a short answer proves that full packets pass to the parent",
        edits=((SHARD, "    member->has_answer |= answer->payload_len == member->payload;",
                "    member->has_answer = true;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane_tree"),
    Canary(
        "switch-unproved-address", "I7", "sums go to addresses that have not proved themselves",
        edits=((SHARD, "    bits &= node->proved;\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "switch-lent-overwritten", "I11", "a node is given a packet while a train still refers to its payload",
        edits=((SHARD, "    if (to->lent == shard->flushes) {",
                "    if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_shard"),
    Canary(
        "switch-parent-is-child", "I7", "one address may be parent and child of a communicator",
        edits=((PLANE, "        is_apart = is_apart && !trib_address_equal(opening->parent, &opening->branches[i].from);",
                ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "switch-multicast-is-for-all", "I8", "where results go by multicast, switches below get none",
        edits=(("src/switchd/shard.c", "        bits &= ~hearers;", "        bits = 0;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane_tree"),
    Canary(
        "switch-mark-of-one-shard", "I6", "the highest M of the shards is told for that of all",
        edits=((PLANE, "            smallest = mark < smallest ? mark : smallest;",
                "            smallest = smallest == TRIB_NEVER || mark > smallest ? mark : smallest;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "switch-unregistered-counts", "I2", "a child of several ranks is in before all of them have registered",
        edits=((TREE, "        if (one == TRIB_NEVER) {\n            return false;\n        }",
                "        if (one == TRIB_NEVER) {\n            continue;\n        }"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_tree"),
    Canary(
        "switch-led-mark-counts", "I6", "M waits for ranks that their leader sends for",
        edits=((TREE, "        tree->marks[rank] = TRIB_SEQUENCE_MAX;",
                "        tree->marks[rank] = mark;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_tree"),
    Canary(
        "switch-caps-of-one", "I6", "caps are reckoned as if one child sent",
        edits=((CAPS, "    return (uint64_t)member->sources * trib",
                "    return (uint64_t)trib"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_caps"),
    Canary(
        "switch-blames-another", "I10", "of two ranks that differ one is named twice",
        edits=((SHARD, "trib_tree_lowest(member->tree, node->number, event.child)",
                "trib_tree_lowest(member->tree, node->number, event.other)"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_plane"),
    Canary(
        "control-closed-too-early", "I6", "a rank may leave before the others have what it contributed to",
        edits=((JOB_MARKS, "rank->session && rank->is_closing && mark >= rank->mark)",
                "rank->session && rank->is_closing)"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-mark-falls", "I6", "a rank's mark is the one that it said last",
        edits=((JOB_MARKS, "    rank->mark = mark > rank->mark ? mark : rank->mark;", "    rank->mark = mark;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server_rules"),
    Canary(
        "control-mark-above-all", "I3", "a mark above every sequence is taken",
        edits=((JOB_MARKS, "    if (mark > TRIB_SEQUENCE_MAX) {", "    if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-mark-before-register", "I3", "a mark is taken of a rank that has not registered",
        edits=((WORDS, "{AFTER_REGISTER | RECALLED, NO, AFTER_REGISTER}", "{AFTER_WELCOME | RECALLED, NO, AFTER_REGISTER}"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server_rules"),
    Canary(
        "control-memory-kept", "C-14", "what a job had is not given back when it ends",
        edits=((AGENT, "    agent->memory_used -= opening->bytes;\n",
                ""),),
        world=("control", "assert"), search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-quota-by-group", "C-14", "each communicator of a job may take what the job may have",
        edits=((AGENT, "                         .others = trib_agent_others_of_job(agent, opening),",
                "                         .others = 0,"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_owner"),
    Canary(
        "control-job-of-before", "C-1", "a communicator whose ranks bring its job again stays in the one that it began",
        edits=((JOB_JOIN, "!trib_owner_adopt(jobs, job, message, message->join.known.job_token)", "false"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_owner"),
    Canary(
        "control-job-stays", "C-19", "a job stays when its last communicator has ended",
        edits=((OWNER, "    *at = owner->next;\n    free(owner);\n", ""),),
        world=("assert",), search=NO_DRIVER, test="unit/test_owner"),
    Canary(
        "control-load-stays", "C-22", "the trees of a job that has ended still load links",
        edits=((LOADS, "    trib_choose_take(&loads->choose, job->loads, job->load_count);\n", "    (void)loads;\n"),),
        world=("assert",), search=NO_DRIVER, test="unit/test_trees"),
    Canary(
        "control-load-of-before", "C-22", "a job that is recalled loads links as before",
        edits=((LOADS, "    if (loads && !job->stale_back) {", "    if (loads && !job->stale_back && !job->is_recalled) {"),),
        world=("assert",), search=NO_DRIVER, test="unit/test_trees"),
    Canary(
        "control-process-unfound", "C-22", "a rank that takes the place of another is not found by its process",
        edits=((JOB_JOIN, "    trib_process_enter(jobs, job, message->join.rank);\n", ""),),
        world=("assert",), search=NO_DRIVER, test="unit/test_trees"),
    Canary(
        "control-served-of-before", "C-8", "an agent has a communicator in its list whose slots are closed",
        edits=((PLACEMENTS, "    leave_agents(job);\n", ""),),
        world=("assert",), search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-wait-unlisted", "C-22", "an agent that is back does not start the jobs that wait for it",
        edits=((SWITCHES, "        trib_job_wait(jobs, job);\n", ""),),
        world=("assert",), search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-job-of-any-token", "I7", "a stranger who knows the name of a derived communicator takes a place in it",
        edits=((OWNER, "    return !is_derived || trib_join_job_token(join) == job->owner->token;",
                "    return !is_derived || true;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_owner"),
    Canary(
        "control-job-guessed", "I7", "a JOIN with nearly the token of a job charges it",
        edits=((OWNER, "    while (owner && owner->token != token) {", "    while (owner && (owner->token ^ token) > 1) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_owner"),
    Canary(
        "control-quota-by-parts", "I6", "each root of a job may take what one job may have",
        edits=((AGENT, ".bytes = opening->bytes + more,", ".bytes = more,"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_agent"),
    Canary(
        "control-cut-for-good", "C-7", "the others have only the time of a rank that was cut",
        edits=((JOB_CUT, "        job->cut = 0;\n        job->deadline_ns = usual_deadline(jobs, job);\n",
                "        job->cut = 0;\n        job->cut_cause[0] = (char)(jobs->count > 0);\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_cut"),
    Canary(
        "control-cut-in-clear", "C-7", "a dead rank without a key is waited for",
        edits=((JOB_CUT, "    return job->key != 0 && has_run", "    return has_run"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_cut"),
    Canary(
        "control-cut-without-end", "I8", "a dead rank with a key is waited for too long",
        edits=((JOB_CUT, "    job->deadline_ns = trib_time_earlier(job->deadline_ns, deadline_ns);\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_cut"),
    Canary(
        "control-dead-beside-an-agent", "I8", "a rank that dies after a recall is waited for",
        edits=((JOBS, "    if (!is_cut) {\n        trib_job_miss", "    if (job == NULL) {\n        trib_job_miss"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_recall"),
    Canary(
        "control-way-ends-rank", "C-7", "a rank whose way ends after a recall is dead",
        edits=((JOBS, "    if (!is_cut) {\n        trib_job_miss", "    if (job != NULL) {\n        trib_job_miss"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_leaves_faults"),
    Canary(
        "control-cut-keeps-name", "I8", "a job that was killed refuses its next launch",
        edits=((JOB_JOIN, "    if (job && job->cut != 0 && job->key", "    if (job && job->cut > job->settings.ranks && job->key"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_cut"),
    Canary(
        "control-quota-of-one-job-alone", "C-14", "each job of a key may take what all may have",
        edits=((AGENT, "    uint64_t others = trib_agent_held_by_tenant(agent, tenant) - need->opening->bytes;",
                "    uint64_t others = 0;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_begin"),
    Canary(
        "control-tenant-unsaid", "C-14", "memory at a switch below counts for no key",
        edits=((PLACEMENTS, "                                                 .tenant = job->key,\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_leaves_auth"),
    Canary(
        "control-tenant-unread", "C-14", "memory that a controller elsewhere asks for counts for no key",
        edits=((MASTERS, "    lending->root.opening.tenant = message->root_open.tenant;\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_masters"),
    Canary(
        "control-jobs-by-address", "I6", "ranks of one key may begin any number of jobs, from many addresses",
        edits=((JOB_BEGIN, "key != 0 && job->key == key", "key != 0 && job->key == ~key"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_begin"),
    Canary(
        "control-half-open", "I6", "roots stay open where not all of them could be opened",
        edits=((AGENT, "    trib_agent_shut(agent, opening); /* the data plane may have closed all of them */\n",
                ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_agent"),
    Canary(
        "control-agent-without-root", "I8", "a job waits for an agent that has no root of it",
        edits=((PLACEMENTS, "    job->placements = left;\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_placements"),
    Canary(
        "control-asked-at-once", "I8", "an agent is asked again before it has answered, and its answers are out of turn",
        edits=((MISSING, "    if (!placement->is_asked) {\n", "    if (true) {\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_placements"),
    Canary(
        "control-all-lenders-one", "I8", "packets to one lender take the room in the socket of another",
        edits=((PLACEMENTS, "return one->remote == two->remote;", "return true;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_placements"),
    Canary(
        "control-lost-for-one", "C-8", "the loss of an agent ends one of the incarnations that have roots there",
        edits=((SWITCHES, "    while (*served) {\n", "    if (*served) {\n"),),
        world=("assert",), search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-agent-names-death", "C-7", "an agent that refuses a job can say that a rank is dead",
        edits=((PLACEMENTS, " && said != TRIB_ERR_PEER", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-late-word", "C-6", "what an agent says of an incarnation that is over is taken for the present one",
        edits=((SWITCHES, "job->grant.boot != message->of.boot || ", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-not-shut", "C-2", "an agent elsewhere is not told that an incarnation is over",
        edits=((PLACEMENTS, "        if (number(job, i)->carrier == TRIB_CARRIER_REMOTE) {\n",
                "        if (false) {\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-any-nonce", "C-17", "HELLO is taken of a process that has not seen this session's CONTROL",
        edits=((REMOTE, "message->hello.nonce != remote->nonce || ", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-one-switch-twice", "C-17", "one switch by two addresses is two agents",
        edits=((SWITCHES, "at->life == remote->life", "false"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-session-before", "C-17", "a controller that comes again has two sessions at an agent",
        edits=((JOBS, "master->id != now->id", "true"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_masters"),
    Canary(
        "control-never-shut", "C-2", "an agent elsewhere does not hear that an incarnation is over",
        edits=((PLACEMENTS, "        if (number(job, i)->carrier == TRIB_CARRIER_REMOTE) {\n            trib_placement_tell(",
                "        if (number(job, i)->carrier == TRIB_CARRIER_RANK) {\n            trib_placement_tell("),),
        world=("leak", "control"), search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-left-open", "C-2", "what was opened on a session outlives it",
        edits=((MASTERS, "    while ((lending = find_of(masters, master)) != NULL) {",
                "    while (false && (lending = find_of(masters, master)) != NULL) {"),),
        world=("control", "error"), search=NO_DRIVER, test="unit/test_masters"),
    Canary(
        "control-nonsense-ends-others", "C-18", "nonsense about one communicator has no end there",
        edits=((MASTERS, "        give_up(masters, lending, message, status, answer.fail.text);\n", "        ;\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_masters"),
    Canary(
        "control-one-more-job", "C-2", "two jobs have slots of one communicator at an agent",
        edits=((AGENT, "    if (!other || other == opening) {", "    if (true) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_masters"),
    Canary(
        "control-welcome-early", "C-2", "ranks are told of roots that are not open",
        edits=((JOB_START, "    if (trib_placements_are_open(job)) {", "    if (true) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_switches"),
    Canary(
        "control-refused-for-all", "I8", "a new job ends that one agent refuses, though others have room",
        edits=((SWITCHES, "            trib_job_unplace(jobs, job);\n        }\n        if (does_without(", "            ;\n        }\n        if (does_without("),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_trees_faults"),
    Canary(
        "control-group-of-two", "I7", "two jobs get one multicast group",
        edits=((JOB_START, "        if (job != owner && job->grant.group == group) {",
                "        if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server_rules"),
    Canary(
        "control-any-token", "I7", "ranks come back with any token",
        edits=((JOB_JOIN, "a->token == b->token && ",
                ""),
               (JOB_JOIN, " &&\n            job->grant.token == known->token) {",
                ") {"),
               (JOB_JOIN, " && other->grant.token != known->token) {",
                " && false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server_rules"),
    Canary(
        "control-any-salt", "I12", "ranks come back with another key of their lanes",
        edits=((JOB_JOIN, "return a->salt == b->salt && ",
                "return "),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server_rules"),
    Canary(
        "control-settings-unlike", "I10", "ranks with different wires join one job",
        edits=((JOB_DIFFER, """        {"wire", trib_type_name((enum trib_type)a->wire), trib_type_name((enum trib_type)b->wire)},\n""",
                ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-stranger-ends-job", "I8", "ranks whose settings differ end a job before those who agree have come",
        edits=((JOB_DIFFER, "now_ns + APART_NS", "now_ns + 1"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_roots"),
    Canary(
        "control-root-leaves", "I8", "a rank whose root others need may leave without a word",
        edits=((ANSWERS, "return is_root && job->is_open && !job->ranks[rank].has_left", "return false && is_root"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_roots_faults"),
    Canary(
        "control-peer-leaves", "I8", "a rank of a ring may leave without a word before the others are done",
        edits=((PEERS, "return job->state == TRIB_JOB_RUNNING ? \"a rank\" : NULL;", "(void)job;\n    return NULL;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_peers"),
    Canary(
        "control-way-stays", "I8", "no rank of a silent combiner may come to the server",
        edits=((JOB_JOIN, " || trib_job_has_detour(job);\n}\n\n/* The rank had", ";\n}\n\n/* The rank had"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_leaves_servers"),
    Canary(
        "control-way-ends-job", "I8", "a combiner that shuts down ends jobs that have their sums at the server",
        edits=((LEAVES, "        if (has_begun && trib_job_has_detour(job)) {", "        if (has_begun && job == NULL) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_leaves_servers"),
    Canary(
        "control-way-narrow", "I8", "a combiner that returns with fewer shards ends jobs that the server could go on with",
        edits=((JOB_JOIN, "known->communicator == 0 || known->roots <= roots) {", "known->communicator == 0 || roots > 0) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_leaves_servers"),
    Canary(
        "host-empty-message", "I8", "rank 0 sends lines to a rank that has them all, and so may have hung up",
        edits=((GATHER, "bool is_empty = message.fd_count == 0;", "bool is_empty = message.fd_count > TRIB_PASSING_MOST;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_gather"),
    Canary(
        "control-death-unsaid", "I8", "the first two ranks do not hear that another one is dead",
        edits=((JOB, "        } else if (rank->session) {\n            jobs->output.send(jobs->output.owner, rank->session, &message);\n            trib_rank_let_go",
                "        } else if (rank->session) {\n            if (i > 1) {\n                jobs->output.send(jobs->output.owner, rank->session, &message);\n            }\n            trib_rank_let_go"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-flood", "I5", "a session may say as much as it likes",
        edits=((CONNECTIONS, "    return connection->paid_ns <= connections->now_ns;",
                "    return true;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_connections"),
    Canary(
        "control-closed-is-watched", "I6", "a child of fork keeps a closed session in the set of those that are watched",
        edits=((CONNECTIONS, "    (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_connections"),
    Canary(
        "control-closed-twice", "I7", "a server closes a descriptor a second time, when its number is another thread's",
        edits=((ROUNDS, "        connections->epoll_fd = -1;\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_server"),
    Canary(
        "control-job-without-key", "I7", "a switch that takes jobs with a key only takes one without",
        edits=((KEYED, "said == 0 && config->keys && config->keys->is_for_jobs", "said == 0 && !config->keys"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_keyed"),
    Canary(
        "control-key-of-another", "I7", "a rank says the id of a key that its session does not have",
        edits=((KEYED, "    if (said != known) {", "    if (false) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_keyed"),
    Canary(
        "control-key-stays", "I7", "bytes of messages stay in the buffers of sessions",
        edits=((OUTBOX, "    trib_wipe(bytes + *len, count);\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_session_client"),
    Canary(
        "control-way-in-a-circle", "C-16", "a switch may be below itself",
        edits=((CHANNELS, "is_twice || at->below->identity == message->hello.identity;", "is_twice || false;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_channels"),
    Canary(
        "control-end-taken-for-loss", "C-7", "a rank behind a switch that has died counts as one whose way is lost",
        edits=((CHANNELS, "        trib_jobs_expel(connections->jobs, &channel->session, \"its session closed\", connections->now_ns);",
                "        trib_jobs_gone(connections->jobs, &channel->session, \"its session closed\", connections->now_ns);"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_channels"),
    Canary(
        "comm-lost-goes-on", "I3", "a rank whose session is lost sends on",
        edits=((COMM_CONNECT, "        pause_node(comm, now_ns);\n        comm->state_deadline_ns = comm->outage_deadline_ns;\n",
                "        comm->state_deadline_ns = comm->outage_deadline_ns;\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_turns"),
    Canary(
        "comm-recalled-goes-on", "I3", "a rank that is recalled sends on",
        edits=((COMM_CONNECT, "    pause_node(comm, now_ns);\n    trib_comm_forget_root(comm);\n",
                "    trib_comm_forget_root(comm);\n"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_recall"),
    Canary(
        "comm-one-path-for-all", "I8", "one root that answers proves the paths to all",
        edits=((PATHS, "    *paths |= UINT64_C(1) << from.root;",
                "    *paths |= ~UINT64_C(0) >> (64 - comm->root_count);"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_turns"),
    Canary(
        "comm-path-untried", "I8", "a rank that goes to its server takes the paths there for tried",
        edits=((PATHS, " && !comm->is_untried;", ";"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_detour"),
    Canary(
        "comm-server-unheard", "I8", "a job that begins does not come to the server that is named",
        edits=(("src/comm/comm.c", "    if (server->len > 0) {", "    if (server == NULL) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_detour"),
    Canary(
        "comm-unproved-root", "C-10", "probes of full size go to addresses that have not proved themselves",
        edits=((PATHS, "(is_proved ? comm->config.payload : 0)",
                "(is_proved || comm->root_count > 0 ? comm->config.payload : 0)"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_probes"),
    Canary(
        "comm-unproved-peer", "C-10", "a ring neighbour that has not proved its address gets packets of full size",
        edits=((COMM_PEERS, "    answer.payload_len = is_proved ? packet->payload_len : 0;\n", ""),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_probes"),
    Canary(
        "comm-any-welcome", "I12", "a rank that comes back takes another key of its lanes",
        edits=((COMM_JOIN, "grant->communicator == known->communicator && grant->salt == known->salt &&",
                "grant->communicator == known->communicator &&"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_turns"),
    Canary(
        "comm-window-in-digest", "I8", "ranks that were granted different windows, at two places, never meet again",
        edits=((COMM_WORKER, "session->lookahead = (grant->slots + 1) / 2 * grant->roots;",
                "session->lookahead = grant->window * grant->roots;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_session"),
    Canary(
        "comm-ready-any-time", "I3", "READY is taken whatever the session's state",
        edits=((WORDS, "{\"READY\", ready, {NO, NO, REGISTERED}",
                "{\"READY\", ready, {NO, NO, AFTER_JOIN}"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_comm_turns"),
    Canary(
        "comm-group-too-early", "I11", "a group is done when its first operation is",
        edits=((COMM_QUEUE, "    if (--whole->left == 0) {",
                "    --whole->left;\n    if (true) {"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_collectives"),
    Canary(
        "comm-split-key-unsigned", "I9", "split orders negative keys behind the others",
        edits=((SPLIT, "        return a->key < b->key ? -1 : 1;",
                "        return (uint32_t)a->key < (uint32_t)b->key ? -1 : 1;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_split"),
    Canary(
        "comm-slice-too-long", "I11", "the last part of a share is as long as the others",
        edits=((LEVEL0_PLAN, "    return left < plan->chunk ? left : plan->chunk;\n}\n\n/* Where",
                "    return left == 0 ? 0 : plan->chunk;\n}\n\n/* Where"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_level0"),
    Canary(
        "control-plan-unheeded", "I4", "a switch that has refused is named to a planned job again",
        edits=((TREES, "is_good = !has_refused_lately(jobs, planned->switches[k], now_ns);",
                "is_good = now_ns + 1 != 0;"),),
        world=NO_DRIVER, search=NO_DRIVER, test="unit/test_trees_planned"),
    Canary(
        "worker-rate-unkept", "I5", "a rank with a rate sends as its windows allow",
        edits=((WORKER_PACE, "    if (now_ns < end_ns) {\n        return true;",
                "    if (now_ns == 0) {\n        return true;"),),
        world=NO_RATE, search=NO_RATE, test="unit/test_worker_rate"),
    Canary(
        "worker-rate-saved-up", "I5", "after a rest a rank with a rate sends all that it could have sent",
        edits=((WORKER_PACE, "now_ns - end_ns < most_ns ? end_ns : now_ns - most_ns;",
                "end_ns + 0 * most_ns;"),),
        world=NO_RATE, search=NO_RATE, test="unit/test_worker_rate"),
    Canary(
        "worker-rate-in-trains", "I5", "a rank with a rate sends a train at once, however many ranks share a buffer",
        edits=((WORKER_PACE, "uint64_t bytes = w->config.rate * BURST_NS / UINT64_C(1000000000), most",
                "uint64_t bytes = BURST_MAX, most"),),
        world=NO_RATE, search=NO_RATE, test="unit/test_worker_rate"),
    Canary(
        "roots-silent-apart", "I8", "a root that was silent with others hears of a rank that is back after its own timeout",
        edits=((WORKER_RECOVER, "        worker_aside(w)->roots[i].tail_backoff = worker_aside(w)->roots[i].quiet_backoff = 0;",
                "        worker_aside(w)->roots[root].tail_backoff = 0 * i;"),),
        world=Never("it happens in one of 12,000"), search=Never("the model has no clock"),
        test="unit/test_switchml_worker_recover"),
    Canary(
        "held-back-unsaid", "I8", "a rank waits for the mark of another without a word, as nothing of its own is outstanding",
        edits=((WORKER_RECOVER, "    if (f == NULL && !is_held_back(w, &sequence, &sent_ns)) {",
                "    if (f == NULL && (!is_held_back(w, &sequence, &sent_ns) || now_ns != 0)) {"),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_switchml_worker"),
    Canary(
        "held-back-too-soon", "I8", "a rank that was idle complains at once of ranks that are not late",
        edits=((WORKER_RECOVER, "    *since_ns = sent_ns > times->risen_ns ? sent_ns : times->risen_ns;",
                "    *since_ns = sent_ns < times->risen_ns ? sent_ns : times->risen_ns;"),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_switchml_worker"),
    Canary(
        "held-back-by-itself", "I8", "a rank that was off its core complains of others before it has read what came",
        edits=((WORKER_RECOVER, "        times->quiet_backoff < EQUAL_TIMEOUTS) {", "        times->quiet_backoff > 1000) {"),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_switchml_worker"),
    Canary(
        "held-back-elsewhere", "I8", "who holds a root's window back is asked of another root",
        edits=((WORKER_RECOVER, "    *sequence = trib_window_sequence(&w->window, root, below);",
                "    *sequence = trib__worker_lowest_mark(w);"),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_switchml_worker"),
    Canary(
        "held-back-unnamed", "I8", "who takes no results is not named, and all others wait for that rank",
        edits=((SWITCH_MISSING, "slot->has_result ? behind(n, slot->sequence) : 0;",
                "slot->has_result && n->config.children == 0 ? behind(n, slot->sequence) : 0;"),),
        world=("error",), search=NO_WORDS, test="unit/test_switchml_switch"),
    Canary(
        "held-back-by-the-left", "I8", "a rank that has finished ends the job for one that has left, whose result it has itself",
        edits=((JOB_STALL, "stall->since_ms >= LEFT_MS && !is_ahead(&job->ranks[index], stall->sequence);",
                "stall->since_ms >= LEFT_MS;"),
               (JOB_STALL, "!is_ahead(&job->ranks[index], stall->sequence) || ", "true || "),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_server_stall"),
    Canary(
        "silent-behind-a-switch", "I8", "a stopped rank behind a switch is not named, but the switch",
        edits=((MISSING, "    return is_long && is_any;", "    return is_long && !is_any;"),),
        world=NO_SILENCE, search=NO_WORDS, test="unit/test_server_stall"),
]
