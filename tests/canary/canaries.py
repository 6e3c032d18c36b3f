# SPDX-License-Identifier: Apache-2.0
"""The table of canaries: defects that the tests must notice. Each names the invariant that it breaks (docs/ARCHITECTURE.md), its edits (file,
text that occurs there exactly once, text in its place), and the checks that may catch it in the worlds and in the search.

A canary that lets a wrong set of contributions into a result must be caught by the lane and nothing else (I12); what the lane can not see,
by the oracle or by what the invariant is about. Where a finder can not catch one by its nature, Never says why, and a unit test must.
Read next: run.py.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Never:
    """This finder cannot catch it, by its nature."""
    why: str


@dataclass(frozen=True)
class Canary:
    name: str
    invariant: str
    about: str
    edits: tuple = ()
    world: object = ()   # checks of tests/world that may catch it, or Never
    search: object = ()  # the same for tests/model
    test: str = ""       # a unit test that must fail
    first: str = ""      # the scenario of the search that is asked first: the one that has what the defect needs
    seed: int = 0        # the world, with trees, that is asked first, where few have what the defect needs; 0: none
    scheme: str = "switchml"


LANE_H = "src/core/lane.h"
OPERATION = "src/core/operation.c"
SLOT = "src/core/slot.h"
SWITCH = "src/protocol/switch.c"
ANSWER = "src/protocol/switch_answer.c"
PARENT = "src/protocol/switch_parent.c"
AGENT = "src/control/agents/agent.c"
SWITCH_QUORUM = "src/protocol/switch_quorum.c"
SWITCH_PACE = "src/protocol/switch_pace.c"
SWITCH_H = "src/protocol/switch_memory.h"
WORKER = "src/protocol/worker.c"
WORKER_SEND = "src/protocol/worker_send.c"
WORKER_RECEIVE = "src/protocol/worker_receive.c"
WORKER_RECOVER = "src/protocol/worker_recover.c"
WORKER_QUORUM = "src/protocol/worker_quorum.c"
WORKER_PACE = "src/protocol/worker_pace.c"
WORKER_DELIVER = "src/protocol/worker_deliver.c"
WORKER_LANE = "src/protocol/worker_lane.c"
SWITCH_RESULT = "src/protocol/switch_result.c"
SWITCH_UP = "src/protocol/switch_up.c"
SWITCH_ASK = "src/protocol/switch_ask.c"
WORKER_LATE = "src/protocol/worker_late.c"
JOB = "src/control/jobs/job.c"
JOBS = "src/control/jobs/jobs.c"
MARKS = "src/control/jobs/marks.c"
OPENING = "src/control/jobs/opening.c"
RECALL = "src/control/jobs/recall.c"
START = "src/control/jobs/start.c"
PLACEMENTS = "src/control/jobs/placements.c"
ROOTS = "src/control/roots/roots.c"
SCALAR = "src/core/value_scalar.c"
FLOW = "src/core/flow.c"
ENGINE = "src/host/engine.c"
SMALL = "src/host/small.c"
LARGE = "src/host/large.c"
SEGMENT = "src/host/segment.c"
BELLS = "src/host/bells.c"
COPY = "src/host/copy.c"
HOST_COUNTS = "src/host/counts.c"
RINA_WORKER = "src/published/rina_literal/rina_literal_worker.c"
RINA_SWITCH = "src/published/rina_literal/rina_literal_switch.c"
HOST_OPERATION = "src/host/operation.c"
RING_SUM = "src/schemes/ring/ring_worker_sum.c"
RING_RECEIVE = "src/schemes/ring/ring_worker_receive.c"


LANE = ("lane",)
ORACLE = ("oracle",)
HANG = ("hang",)

SUMS = Never("its worlds ask for sums only")
NO_CLOCK = Never("it has no clock: that a loss is found later costs it nothing")
PROBED_ALL_THE_SAME = Never("who lacks M asks for it by PROBE as well, so the marks come all the same, only later")
OLD_BOOT = Never("an old result is right, an old M is not above the new one, and an old ASK costs a packet")

ONE_DIGEST_ONE_FORM = Never("operations of one digest have one form in it")

MARKS_NOT_KEPT = Never("it does not keep whose parts came marked")

NO_HOST = Never("its ranks are not on one host")
NO_CONTROL = Never("it has no control plane")
NO_JOB = Never("no job may run this published rule, so it runs none either")

# Two fragments share a slot, and nobody looks which of them it holds.
MIXED_FRAGMENTS = (
    (SWITCH, """    uint32_t index = trib_window_slot(&n->window, packet->sequence);
    struct trib_slot *slot = switch_slot(n, index);
    bool opened""", """    uint32_t index = trib_window_slot(&n->window, packet->sequence) / 2;
    struct trib_slot *slot = switch_slot(n, index);
    bool opened"""),
    (SWITCH, "    TRIB_ASSERT(slot->sequence == packet->sequence);\n", "    slot->sequence = packet->sequence;\n"),
)

CANARIES = [
    # ---- I1: a slot is owned by the exact key ----
    Canary(
        "key-not-looked-at", "I1", "two fragments share a slot, and each goes into the sum that it finds there",
        edits=MIXED_FRAGMENTS,
        world=LANE, search=LANE, first="slots"),
    Canary(
        "window-too-wide", "I1", "a rank may send one fragment more than there are slots",
        edits=((WORKER_SEND, "    if (trib_window_dense(&w->window, w->next[root]) >= below + r->reach) {",
                "    if (trib_window_dense(&w->window, w->next[root]) > below + r->reach) {"),),
        world=("assert",), search=("assert",)),
    Canary(
        "generation-believed", "I1", "a switch adds what another generation sent",
        edits=((SWITCH, """    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->boot != n->config.boot) {
        trib__switch_boot_hint""", """    if (packet->boot != n->config.boot) {
        trib__switch_boot_hint"""),),
        world=("lane", "error"), search=("foreign", "lane"), first="heir"),
    Canary(
        "switchml-literal", "I1", "the published two-version rule (a known bug): one overtaken resend makes a wrong sum",
        world=LANE, search=LANE, scheme="switchml-literal"),

    Canary(
        "result-for-another", "I1", "a worker takes the result of any fragment that had the same slot",
        edits=((WORKER_DELIVER, "    if (f->state != FLIGHT_SENT || f->sequence != packet->sequence) {\n        return worker_was_sent",
                "    if (f->state != FLIGHT_SENT) {\n        return worker_was_sent"),),
        world=("oracle", "buffer"), search=("oracle", "buffer"), first="roots"),

    # ---- I2: complete means that the bitmap contains the required set ----
    Canary(
        "one-is-missing", "I2", "a sum is complete without its first child",
        edits=((SLOT, "return (slot->present & required) == required;", "return (slot->present | 1) == (required | 1);"),),
        world=LANE, search=LANE),
    Canary(
        "counter-beside-bitmap", "I2", "completeness is a counter's business, which counts duplicates as well (a known bug)",
        edits=((SLOT, """    if ((slot->present & children) != 0) {
        return (""", """    if ((slot->present & children) != 0) {
        ((struct trib_slot *)(uintptr_t)slot)->copies++;
        return ("""),
               (SLOT, "return (slot->present & required) == required;",
                "return __builtin_popcountll(slot->present & required) + (int)slot->copies >= __builtin_popcountll(required);"),
               (SLOT, "    uint64_t lane;\n    uint32_t digest;", "    uint64_t lane;\n    uint64_t copies;\n    uint32_t digest;"),
               (SLOT, "sizeof(struct trib_slot) == 64", "sizeof(struct trib_slot) == 72"),
               ("src/protocol/combiner_memory.h", "    uint8_t unused[32];", "    uint8_t unused[24];")),
        world=LANE, search=LANE),
    Canary(
        "partial-as-result", "I2", "a switch below the root hands its own sum down as the result of all",
        edits=((SWITCH, """    if (n->config.has_parent) {
        switch_due(n, index, DUE_PARTIAL);
    } else {""", """    {"""),),
        world=LANE, search=LANE, first="tree"),

    Canary(
        "branch-counted-once", "I2", "a switch counts the payloads of a child that is a switch as one",
        edits=((SWITCH, "    *parts = is_sum ? packet->contributors : 1;", "    *parts = 1;"),),
        world=("hang", "shape"), search=("hang", "shape"), first="tree-three"),

    # ---- I3: what is older than M opens no slot ----
    Canary(
        "stale-opens-slot", "I3", "a contribution below M opens a slot",
        edits=((SWITCH, """    if (packet->sequence < n->communicator_mark) {
        return TRIB_DROP_STALE; /* everybody has its result (I3) */
    }
    if (packet->kind == TRIB_PROBE) {""", "    if (packet->kind == TRIB_PROBE) {"),),
        world=("assert", "leak"), search=("assert", "leak")),
    Canary(
        "mark-of-the-first", "I3", "M is the largest of the marks instead of the smallest",
        edits=((SWITCH, "lowest = n->marks[child] < lowest ? n->marks[child] : lowest;",
                "lowest = lowest == UINT64_MAX || n->marks[child] > lowest ? n->marks[child] : lowest;"),),
        world=("mark", "assert", "lane", "hang"), search=("mark", "assert", "lane", "hang")),
    Canary(
        "mark-of-one-subtree", "I3", "a switch below the root takes the marks that it hears for those of all",
        edits=((SWITCH, """    if (!n->config.has_parent) {
        trib__switch_raise_mark(n, n->lowest);
    }""", "    trib__switch_raise_mark(n, n->lowest);"),),
        world=("mark", "assert", "lane", "hang"), search=("mark", "assert", "lane", "hang"), first="tree"),

    # ---- I4: a duplicate changes nothing, and repeats are few ----
    Canary(
        "duplicate-added", "I4", "a duplicate is added once more",
        edits=((SLOT, """    if ((slot->present & children) != 0) {
        return (children & ~slot->present) == 0 ? TRIB_DROP_DUPLICATE : TRIB_DROP_OVERLAP;
    }
""", ""),),
        world=LANE + ("assert",), search=LANE + ("assert",)),  # an assertion of the slot comes before the lane
    Canary(
        "repeats-without-limit", "I4", "a switch answers every PROBE, however soon it comes again",
        edits=((SWITCH_H, "    bool first = (*answered & bit) == 0;", "    bool first = true;"),),
        world=("storm", "path"), search=("repeat",)),
    Canary(
        "resends-without-limit", "I4", "a worker sends again at every ASK, however soon it comes again",
        edits=((WORKER_RECEIVE, "    if (times->resent_ns != 0 && now_ns - times->resent_ns < half) {",
                "    if (times->resent_ns != 0 && half == 0) {"),),
        world=("storm",), search=("repeat",)),

    Canary(
        "every-result-to-all", "I4", "a switch below the root hands a result down to all each time that it comes",
        edits=((SWITCH_RESULT, """    if (slot->has_result) {
        return TRIB_DROP_DUPLICATE;
    }
""", ""),),
        world=("storm", "path", "clean", "assert"), search=("repeat", "assert"), first="tree", seed=3824),  # the slot asserts that it gets one result

    # ---- I5: nothing feeds itself ----
    Canary(
        "asks-feed-themselves", "I5", "a duplicate is answered with ASK, which brings a duplicate (a known bug: our first design)",
        edits=((SWITCH, "        return drop;\n    }\n    n->held += opened;",
                """        if (drop == TRIB_DROP_DUPLICATE) {
            struct answer again = {.sequence = packet->sequence, .child = (uint16_t)child, .kind = TRIB_ASK};
            (void)trib__switch_queue_answer(n, &again);
        }
        return drop;
    }
    n->held += opened;"""),
               (WORKER_RECEIVE, "    if (times->resent_ns != 0 && now_ns - times->resent_ns < half) {",
                "    if (times->resent_ns != 0 && half == 0) {")),
        world=("storm", "noise", "misuse"), search=("storm", "repeat")),
    Canary(
        "held-is-probed", "I5", "HELD is answered with a PROBE, which is answered with HELD",
        edits=((WORKER_RECEIVE, """    if (packet->sequence == w->mark) {
        w->held_sequence = packet->sequence;""", """    if (worker_flight(w, worker_flight_index(w, packet->sequence))->state == FLIGHT_SENT) {
        trib__worker_queue(w, worker_flight_index(w, packet->sequence), PENDING_PROBE);
    }
    if (packet->sequence == w->mark) {
        w->held_sequence = packet->sequence;"""),
               (SWITCH_H, "    bool first = (*answered & bit) == 0;", "    bool first = true;")),
        world=("storm", "noise", "misuse"), search=("storm", "repeat")),

    # ---- I6: memory cannot leak ----
    Canary(
        "slot-kept", "I6", "the last slot below M is not freed (a known bug: the leak)",
        edits=((SWITCH_RESULT, "if (!trib_slot_is_empty(slot) && slot->sequence < mark) {",
                "if (!trib_slot_is_empty(slot) && slot->sequence + 1 < mark) {"),),
        world=("leak", "assert"), search=("leak", "assert")),
    Canary(
        "idle-too-early", "I6", "a worker gives back the copies that others may still ask for",
        edits=((WORKER, " || trib__worker_lowest_mark(w) != w->end ||", " ||"),),
        world=("retained", "hang", "lane", "oracle"), search=Never("it gives no memory back"), test="unit/test_switchml_worker"),
    Canary(
        "idle-marks-lost", "I6", "a switch does not hear the marks that idle ranks tell their sessions",
        edits=((SWITCH, """    if (n->joined & bit) {
        take_mark(n, child, mark);
        return;""", """    if (n->joined & bit) {
        return;"""),),
        world=PROBED_ALL_THE_SAME, search=HANG, first="idle", test="unit/test_switchml_switch"),

    Canary(
        "marks-stay-below", "I6", "a switch below the root tells its parent M instead of the marks that it hears",
        edits=((SWITCH_UP, "        .mark = n->lowest < most ? n->lowest : most,",
                "        .mark = n->communicator_mark < most ? n->communicator_mark : most,"),),
        world=("hang", "leak", "mark"), search=("hang", "leak", "mark"), first="tree"),

    Canary(
        "room-forgotten", "I6", "a switch whose windows have caps takes what comes, whatever memory it has",
        edits=((SWITCH_H, "return trib_window_dense(&n->window, sequence) < n->mark_dense + n->room;",
                "return trib_window_dense(&n->window, sequence) < n->mark_dense + n->window.slots;"),),
        world=("leak",), search=Never("ranks keep to a cap, and no switch of its worlds with caps restarts"), test="unit/test_panama",
        scheme="panama", seed=2215),

    # ---- I7: membership comes from the control plane ----
    Canary(
        "child-by-header", "I7", "a switch believes the header which child a packet comes from",
        edits=((SWITCH, "uint64_t children = trib_combiner_ranks(from.children, packet);",
                "uint64_t children = UINT64_C(1) << packet->node % TRIB_CHILDREN_MAX;"),),
        world=("lane", "hang", "error"), search=("lane", "hang"), first="tree"),

    # ---- I8: every wait is bounded, every error names its cause ----
    Canary(
        "sent-is-believed", "I8", "a worker that hears that the result was sent goes on waiting for it",
        edits=((WORKER_RECEIVE, "    if (is_awaited && (packet->flags & TRIB_FLAG_RESEND) != 0 && !f->is_lost) {",
                "    if (is_awaited && packet->flags == UINT16_MAX) {"),),
        world=HANG, search=HANG),
    Canary(
        "no-timers", "I8", "a worker never wakes",
        edits=((WORKER_RECOVER, """    uint64_t earliest = worker_aside(w)->next_deadline_ns;

    if (w->boot == 0) {
        return TRIB_NEVER;""", """    uint64_t earliest = worker_aside(w)->next_deadline_ns;

    if (earliest != 0) {
        return TRIB_NEVER;"""),),
        world=HANG, search=HANG),
    Canary(
        "no-offer-asked", "I8", "after a restart nobody is asked for the result that he has kept",
        edits=((ANSWER, """    if (finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
    return hold_prober""", "    return hold_prober"),),
        world=HANG, search=HANG, first="restart"),
    Canary(
        "header-kept", "I8", "a rank that got a header only keeps nothing but that: after a restart nobody has what the root of a reduce lacks",
        edits=((WORKER_DELIVER, "        f->is_own = form->parts > 1;\n",
                "        f->payload_len = form->parts > 1 ? 0 : f->payload_len;\n"),),
        world=("hang", "retained"), search=("shape", "hang"), first="reduce"),
    Canary(
        "own-part-offered", "I2", "a rank that got a header only OFFERs its own part as if it were the result",
        edits=((WORKER_DELIVER, "        f->is_own = form->parts > 1;\n", ""),),
        world=("lane", "oracle"), search=("oracle", "buffer"), first="reduce"),
    Canary(
        "part-given-from-buffer", "I11", "what a rank with a header only gives again is in its caller's buffer, which is his again",
        edits=((WORKER_DELIVER, "if (f->sequence == sequence && f->copy != COPY_IN_WIRE) {",
                "if (f->sequence == sequence && f->copy == COPY_IN_RECV) {"),),
        world=("buffer", "retained", "oracle", "crash"), search=("buffer", "retained", "oracle", "crash", "assert"), first="reduce"),
    Canary(
        "offer-stays-below", "I8", "a switch below the root keeps an OFFER to itself, and the others wait for a sum that cannot be",
        edits=((SWITCH, """        if (n->config.has_parent) {
            switch_due(n, trib_window_slot(&n->window, packet->sequence), DUE_OFFER);
        }
""", ""),),
        world=Never("the parent asks for the OFFER in the end: a timeout later, within the bound"), search=HANG, first="batch-tree-restart",
        test="unit/test_switchml_tree_restart"),
    Canary(
        "probes-stay-below", "I8", "a switch below the root does not pass PROBEs on, and what its own hop loses is lost",
        edits=((ANSWER, "    trib__switch_probe_up(n, sequence, r, now_ns);\n", ""),),
        world=HANG, search=HANG, first="tree"),
    Canary(
        "gaps-unasked", "I8", "a gap in a rank's stream is not asked for, and waits for a timeout",
        edits=((SWITCH_ASK, "    (void)trib__switch_queue(n, TRIB_ASK, child, trib_window_sequence(&n->window, n->config.root, at), bitmap);\n", ""),),
        world=Never("the RTO finds every loss as well, within the bound"), search=NO_CLOCK, test="unit/test_switchml_switch_recover"),
    Canary(
        "old-boot-heard", "I8", "a worker obeys what a switch sent before it booted anew",
        edits=((WORKER_RECEIVE, "    if (w->boot == 0 || packet->boot != w->boot) {", "    if (w->boot == 0) {"),),
        world=OLD_BOOT, search=OLD_BOOT, test="unit/test_switchml_worker"),
    Canary(
        "mismatch-names-one-twice", "I8", "who ran another operation is named, and with whom he differs is not",
        edits=((SWITCH, "    return (uint16_t)other;", "    return (uint16_t)child;"),),
        world=("error",), search=("error",), first="differ", test="unit/test_switchml_switch"),

    # ---- I9: all ranks get the same bits ----
    Canary(
        "rows-not-merged", "I9", "the rows of a slot are not added up",
        edits=((SLOT, "    while (*level < 6) {", "    while (*level < 1) {"),),
        world=ORACLE, search=ORACLE, first="three"),
    Canary(
        "top-of-the-tree", "I9", "the last step of the tree is left out, which only 33 children need",
        edits=((SLOT, "    while (*level < 6) {", "    while (*level < 5) {"),),
        world=ORACLE, search=Never("it has not 33 ranks"), test="unit/test_slot"),
    Canary(
        "sum-by-arrival", "I9", "payloads are added in the order in which they come",
        edits=((SWITCH, """    void *row = switch_child_row(n, index, child);

    if (n->rows > 1 ? slot->loaded >> (child ^ 1U) & 1 : slot->loaded) {""", """    void *row = switch_row(n, index, packet->reduction != TRIB_REDUCTION_NONE ? 0 : child / 2);

    if (slot->loaded != 0) {"""),
               (SLOT, "    while (*level < 6) {", "    while (*level < 1) {")),
        world=ORACLE, search=ORACLE, first="floats"),
    Canary(
        "nan-as-it-comes", "I9", "the scalar kernels keep whatever NaN the CPU gives",
        edits=((SCALAR, "    return value == value ? value : nan_f32();", "    return value;"),),
        world=ORACLE, search=ORACLE, first="floats"),
    Canary(
        "zeros-of-one-sign", "I9", "the minimum of 0 and -0 is the one that came first",
        edits=((SCALAR, "a == b ? from_bits(bits_of(a) | bits_of(b)) : nan", "a == b ? a : nan"),),
        world=ORACLE, search=SUMS, test="unit/test_value_reduce"),

    # ---- I10: contributions meet only if their operations are the same ----
    Canary(
        "digest-unchecked", "I10", "contributions of different operations are added",
        edits=((SLOT, """TRIB_DROP_OVERLAP;
    }
    if (slot->digest != packet->digest) {
        return TRIB_DROP_DIGEST;
    }
""", """TRIB_DROP_OVERLAP;
    }
"""),),
        world=LANE, search=LANE, first="differ", test="unit/test_switchml_switch"),

    Canary(
        "misfit-unsaid", "I10", "parts of one digest and different types wait for each other, and nobody is named",
        edits=((SWITCH, "    if (drop == TRIB_DROP_DIGEST || drop == TRIB_DROP_SHAPE) {\n        take_misfit(",
                "    if (drop == TRIB_DROP_DIGEST) {\n        take_misfit("),),
        world=ONE_DIGEST_ONE_FORM, search=ONE_DIGEST_ONE_FORM, test="unit/test_switchml_switch"),
    Canary(
        "every-reduction-a-sum", "I10", "a switch adds up whatever it is asked for",
        edits=((SWITCH, "trib_row_add(k, type, (enum trib_reduction)slot->reduction, row,", "trib_row_add(k, type, TRIB_SUM, row,"),),
        world=ORACLE, search=SUMS, test="unit/test_switchml_reduce"),

    # ---- I11: the caller's buffers are the caller's ----
    Canary(
        "copy-after-done", "I11", "what a rank keeps of a result stays in the caller's buffer, which is his again",
        edits=((WORKER_DELIVER, "        retain_rest(w, o);\n", ""),),
        world=("buffer", "oracle", "crash"), search=("buffer", "oracle", "crash"), first="restart"),
    Canary(
        "late-result-delivered", "I11", "a worker delivers every result of a fragment that it knows, the second one as well",
        edits=((WORKER_DELIVER, "    if (f->state != FLIGHT_SENT || f->sequence != packet->sequence) {\n        return worker_was_sent",
                "    if (f->state == FLIGHT_FREE || f->sequence != packet->sequence) {\n        return worker_was_sent"),),
        world=("buffer", "oracle", "assert", "crash"), search=("buffer", "oracle", "assert", "crash")),
    Canary(
        "place-cleared", "I11", "a worker clears the place of a result when it sends its part",
        edits=((WORKER_SEND, "    packet->payload_len = form->len;\n    packet->payload = block;", """    if (o->operation.recv != NULL && o->operation.recv != o->operation.send) {
        __builtin_memset(worker_recv_at(o, &form->piece), 0, form->len);
    }
    packet->payload_len = form->len;
    packet->payload = block;"""),),
        world=("buffer",), search=("buffer", "oracle")),

    # ---- flows and rings ----
    Canary(
        "ring-unsettled", "I11", "a result that comes round does not settle what was sent before it",
        edits=((RING_SUM, "            trib_flow_settle(ring_sender(w, way), sending->flow, now_ns);", "            (void)now_ns;"),),
        world=("assert",), search=("assert",), first="ring-2"),
    Canary(
        "flow-unasked-limit", "I8", "a flow does not ask for a limit that holds it back",
        edits=((FLOW, "    if (s->in_flight == 0 && !s->is_blocked) {", "    if (s->in_flight == 0) {"),),
        world=HANG, search=HANG, first="ring-kinds"),

    Canary(
        "part-without-the-other", "I2", "where two parts of a sum meet, the first that comes is taken for both",
        edits=((RING_RECEIVE, "    return slot->got == trib__ring_needs(w, slot->owner, slot->is_carried);",
                "    return (slot->got & trib__ring_needs(w, slot->owner, slot->is_carried)) != 0;"),),
        world=LANE, search=LANE, first="hybrid"),
    Canary(
        "ring-lane-unchecked", "I12", "a rank of a ring takes every lane",
        edits=((RING_RECEIVE, "    return packet->lane == keys * trib__ring_odd(w, sequence, packet->digest) ? TRIB_DROP_NONE : TRIB_DROP_LANE;",
                "    return TRIB_DROP_NONE;"),),
        world=("lane", "oracle"), search=Never("its ranks are right, so it has no wrong lane to check"),
        test="unit/test_hybrid"),

    # ---- sums that may lack ranks (PANAMA's quorum): the exception of I2 ----
    Canary(
        "quorum-after-restart", "I2", "a switch latches again what an earlier boot of it may have latched with other ranks",
        edits=((SWITCH_QUORUM, "n->full_below = trib_window_dense_below(&n->window, n->config.root, n->lowest) + n->window.slots;",
                "n->full_below = 0;"),),
        world=("list", "lane"), search=("list",), first="quorum-restart", test="unit/test_quorum", scheme="panama:1/2"),
    Canary(
        "quorum-late-added", "I2", "a part that comes late goes into a result that others have already",
        edits=((SWITCH, """    if (slot->is_latched && trib__switch_is_late(n, index, child, packet)) {
        return slot->digest != packet->digest ? TRIB_DROP_DIGEST : trib__switch_late(n, child, packet, now_ns);
    }
""", """    if (slot->is_latched && trib__switch_is_late(n, index, child, packet)) {
        slot->present &= ~(UINT64_C(1) << child);
    }
"""),),
        world=("list", "lane", "oracle"), search=("list", "lane", "oracle", "shape"), first="quorum", test="unit/test_quorum_rules",
        scheme="panama:1/2"),
    Canary(
        "quorum-too-few", "I2", "a switch leaves one more rank out than may lack",
        edits=((SWITCH_QUORUM, "trib_count_bits(lack) <= n->config.spare &&",
                "trib_count_bits(lack) <= n->config.spare + 1 &&"),),
        world=("list", "shape"), search=("list", "shape"), first="quorum-three", scheme="panama:1/2"),
    Canary(
        "quorum-taken-and-sent", "I2", "a rank gives its part of what it has taken the result of already",
        edits=((WORKER_QUORUM, "        w->next[root] = trib_window_next(&w->window, w->next[root]);\n", "        return;\n"),),
        world=("assert", "list"), search=("assert",), first="quorum-slots", scheme="panama:1/2"),
    Canary(
        "quorum-rows-apart", "I9", "at the latch the rows of a sum are not brought together",
        edits=((SWITCH_QUORUM, "    for (uint32_t level = 1; level < 6; level++) {", "    for (uint32_t level = 6; level < 6; level++) {"),),
        world=ORACLE, search=ORACLE, first="quorum-three", test="unit/test_quorum_rules", scheme="panama:1/2"),
    Canary(
        "quorum-list-unchecked", "I12", "a worker does not look whether the lane is that of the ranks that are listed",
        edits=((WORKER_LANE, "    uint64_t keys = list != NULL ?", "    if (list != NULL) {\n        return true;\n    }\n    uint64_t keys = list != NULL ?"),),
        world=("oracle", "list", "buffer"), search=Never("its switches are right, so it has no wrong list to check"),
        test="unit/test_quorum_rules", scheme="panama:1/2"),
    Canary(
        "quorum-unsent-from-anywhere", "I3", "a rank takes a result that no switch can have had room for",
        edits=((WORKER_LATE, "        return TRIB_DROP_WINDOW; /* impossible from a switch that takes its parts */\n", ""),),
        world=Never("no switch says so, and who lies has to guess the digest"),
        search=Never("its switches are right, and admit what they sum"), test="unit/test_quorum_rules", scheme="panama:1/2"),

    # ---- marks of congestion: what a result says of each child's way ----
    Canary(
        "mark-of-the-one-before", "I1", "a mark that lies in a slot counts for the fragment that has it next",
        edits=((SWITCH_PACE, "    uint64_t before = slot->flags & TRIB_FLAG_ECN ? *switch_marked(n, index) : 0;",
                "    uint64_t before = *switch_marked(n, index);"),),
        world=MARKS_NOT_KEPT, search=("bitmap",), first="marks", test="unit/test_panama", scheme="panama"),
    Canary(
        "mark-of-another-child", "I1", "a switch notes the mark of a part for the child behind its sender",
        edits=((SWITCH, "        trib__switch_mark(n, index, children);",
                "        trib__switch_mark(n, index, UINT64_C(1) << (child + 1) % n->config.children);"),),
        world=MARKS_NOT_KEPT, search=("bitmap",), first="marks", test="unit/test_panama", scheme="panama"),
    Canary(
        "mark-not-named", "I2", "a result names nobody whose part came marked",
        edits=((ANSWER, "    packet->bitmap = slot->flags & TRIB_FLAG_ECN ? *switch_marked(n, index) : 0;", "    packet->bitmap = 0;"),),
        world=MARKS_NOT_KEPT, search=("bitmap",), first="marks", test="unit/test_panama", scheme="panama"),
    Canary(
        "mark-above-not-named", "I2", "what is on the way between a switch and its parent is of nobody below it",
        edits=((SWITCH_RESULT, "    bool is_of_all = packet->kind == TRIB_RESULT && trib_result_is_marked(packet, n->child);", "    bool is_of_all = false;"),),
        world=MARKS_NOT_KEPT, search=("bitmap",), first="marks-tree", test="unit/test_panama", scheme="panama"),
    Canary(
        "mark-of-any-child", "I1", "a rank takes the marks of all for its own, though it knows its number",
        edits=((WORKER_PACE, "!f->is_old && trib_result_is_marked(result, r->child),", "!f->is_old && trib_result_is_marked(result, 0),"),),
        world=MARKS_NOT_KEPT, search=("pace",), first="marks", test="unit/test_panama_marks", scheme="panama"),

    # ---- I12: the lane ----
    Canary(
        "lane-not-added", "I12", "a switch keeps the last lane instead of their sum",
        edits=((SLOT, "    slot->lane += packet->lane;", "    slot->lane = packet->lane;"),),
        world=LANE, search=LANE),
    Canary(
        "lane-of-one-offered", "I12", "a rank OFFERs the result of all with its own lane",
        edits=((WORKER_DELIVER, "    f->lane = form->parts > 1 && packet->payload_len == 0 ? f->lane : packet->lane;\n", ""),),
        world=LANE, search=LANE, first="restart"),
    Canary(
        "lane-unchecked", "I12", "a worker takes every lane",
        edits=((WORKER_DELIVER, "    return w->lanes->holds(w, o, form, packet) ? TRIB_DROP_NONE : TRIB_DROP_LANE;",
                "    return TRIB_DROP_NONE;"),),
        world=("path", "oracle"), search=Never("its switches are right, so it has no wrong lane to check"),
        test="unit/test_switchml_worker"),
    Canary(
        "lane-without-sequence", "I12", "lanes are the same for every fragment, and slots mix fragments: only the oracle is left",
        edits=(*MIXED_FRAGMENTS,
               (LANE_H, "    h = trib_mix64(h ^ (((uint64_t)id->attempt << 48) | id->sequence));",
                "    h = trib_mix64(h ^ ((uint64_t)id->attempt << 48));")),
        world=ORACLE, search=ORACLE, first="slots"),

    # ---- ranks of one host (src/host): no packets, so no worlds and no search ----
    Canary(
        "host-results-too-early", "I2", "a rank copies out a chunk that others have not added up yet",
        edits=((LARGE, """        if (!trib_host_all_have(host, true, step - 1)) {
            return TRIB_HOST_WAITS;
        }
        /* A failed rank may""", """        if (!trib_host_all_have(host, true, step - 2)) {
            return TRIB_HOST_WAITS;
        }
        /* A failed rank may"""),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-sum-of-old-parts", "I2", "a rank adds up its share of a chunk before all have staged it",
        edits=((LARGE, """        if (!trib_host_all_have(host, false, step)) {
            return TRIB_HOST_WAITS;
        }
        if (k == 1 && !trib_host_all_agree""", """        if (!trib_host_all_have(host, false, step - 1)) {
            return TRIB_HOST_WAITS;
        }
        if (k == 1 && !trib_host_all_agree"""),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-one-is-missing", "I2", "nobody waits for the last rank",
        edits=((HOST_COUNTS, "    while (host->cursor < host->ranks) {\n        if (!has_reached",
                "    while (host->cursor + 1 < host->ranks) {\n        if (!has_reached"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-small-areas-shared", "I1", "small operations that follow each other lie in the same area",
        edits=((SEGMENT, "    return first + ((size_t)(step % 2) * host->ranks + rank) * TRIB_HOST_SMALL;",
                "    return first + (size_t)(step * 0 + rank) * TRIB_HOST_SMALL;"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-staging-shared", "I1", "chunks that follow each other lie in the same staging area",
        edits=((SEGMENT, "    return first + ((size_t)(step % 2) * host->ranks + rank) * host->chunk;",
                "    return first + (size_t)(step * 0 + rank) * host->chunk;"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-result-shared", "I1", "sums of chunks that follow each other lie in the same area",
        edits=((SEGMENT, "    return first + (size_t)(step % 2) * host->chunk;", "    return first + (size_t)(step * 0) * host->chunk;"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-broadcast-too-far-ahead", "I1", "the root of a broadcast is a chunk further ahead than it has areas",
        edits=((LARGE, "trib_host_all_have(host, true, step - half);", "trib_host_all_have(host, true, step - half - 1);"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-broadcast-unstaged", "I2", "a rank takes a chunk of a broadcast that the root has not staged",
        edits=((LARGE, "    if (!trib_host_one_has(host, root, false, step + 1)) {", "    if (!trib_host_one_has(host, root, false, step)) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-lent-too-short", "I11", "who sends from shared memory ends while others still read there",
        edits=((LARGE, "        if (k == host->steps && !host->is_shared && !has_results(host)) {",
                "        if (k == host->steps && !has_results(host)) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-broadcast-lent-too-short", "I11", "the root of a broadcast from shared memory ends when the others have begun",
        edits=((LARGE, "    return trib_host_all_have(host, true, end) ? trib_host_finish(host) : TRIB_HOST_WAITS;",
                "    return trib_host_all_have(host, true, end - 1) ? trib_host_finish(host) : TRIB_HOST_WAITS;"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-record-unread", "I11", "what was read from a rank that has failed is written to the caller",
        edits=((COPY, "        if (trib_host_has_record(host)) {", "        if (false) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-operations-uncompared", "I10", "a rank adds up whatever the others have staged",
        edits=((HOST_OPERATION, "            host->other = rank;\n            return false;", "            host->other = rank;"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-shares-uncompared", "I10", "shares that differ in the same total are taken for equal",
        edits=((HOST_OPERATION, "&own, sizeof own) != 0 ||\n            !has_own_shares(host, rank)) {",
                "&own, sizeof own) != 0 ||\n            (false && !has_own_shares(host, rank))) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-owner-in-his-place", "I9", "the owner of a share adds his part in his place instead of last",
        edits=((LARGE, "                                .last = host->rank,", "                                .last = TRIB_HOST_NOBODY,"),
               (SMALL, "                                .last = host->rank,", "                                .last = TRIB_HOST_NOBODY,")),
        world=NO_HOST, search=NO_HOST, test="property/test_host_sum"),
    Canary(
        "host-small-share-of-another", "I9", "a small reduce-scatter adds up the share of the rank before",
        edits=((SMALL, "    size_t before = trib_host_share_first(host, host->rank) * host->element;\n    struct trib_host_sum",
                "    size_t before = trib_host_share_first(host, host->rank > 0 ? host->rank - 1 : 0) * host->element;\n    struct trib_host_sum"),),
        world=NO_HOST, search=NO_HOST, test="property/test_host_sum"),
    Canary(
        "host-no-second-look", "I8", "who is about to sleep does not look once more, and sleeps on",
        edits=((BELLS, "    if (trib_host_is_due(host)) {", "    if (false) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),
    Canary(
        "host-left-unnoticed", "I8", "who has closed is waited for",
        edits=((ENGINE, "    if (verdict != TRIB_HOST_WAITS || !trib_host_has_left(host)) {", "    if (verdict != TRIB_HOST_WAITS || (!trib_host_has_left(host) || true)) {"),),
        world=NO_HOST, search=NO_HOST, test="unit/test_host_steps"),

    # ---- C-1 to C-22: control planes (tests/world/check_control.c) ----
    Canary(
        "control-slots-stay", "C-2", "a communicator ends at the control plane, and its slots stay open",
        edits=((AGENT, "    agent->plane->close(agent->plane->plane, opening->communicator);\n", ""),),
        world=("control",), search=NO_CONTROL, test="unit/test_leaves_faults"),
    Canary(
        "control-ready-early", "C-3", "READY comes when one rank has registered",
        edits=((START, "        if (!job->ranks[i].is_registered) {\n            return;", "        if (!job->ranks[0].is_registered) {\n            return;"),),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_server"),
    Canary(
        "control-other-train", "C-4", "the slots are opened with another train than WELCOME says",
        edits=((OPENING, "        .train = job->grant.train,", "        .train = job->grant.train + 1,"),),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_roots"),
    Canary(
        "control-root-differs", "C-4", "the roots of a communicator are opened with different numbers of slots",
        edits=((PLACEMENTS, "    if (placement->carrier == TRIB_CARRIER_REMOTE) {\n        message.root_open.key",
                "    message.root_open.session.slots += root;\n    if (placement->carrier == TRIB_CARRIER_REMOTE) {\n        message.root_open.key"),),
        world=("control",), search=NO_CONTROL, test="unit/test_roots"),
    Canary(
        "control-children-backwards", "C-5", "children are numbered from the last rank to the first",
        edits=((OPENING, "    for (uint32_t i = 0; i < job->settings.ranks; i++) {\n        branch[i] = UINT16_MAX;",
                "    for (uint32_t i = job->settings.ranks; i-- > 0;) {\n        branch[i] = UINT16_MAX;"),),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_leaves"),
    Canary(
        "control-child-no-switch", "C-5", "a switch below is opened as if it was a rank",
        edits=((OPENING, "        branch->is_switch = next != 0 && !trib_job_has_servers(job);",
                "        branch->is_switch = false;"),),
        world=("control",), search=NO_CONTROL, test="unit/test_leaves"),
    Canary(
        "control-same-boot", "C-6", "every incarnation has the same boot",
        edits=((START, "    bool fresh = boot != 0 && boot != job->grant.boot;", "    bool fresh = true;"),
               (START, "    for (uint32_t i = 0; fresh && i < job->settings.ranks; i++) {\n        fresh = job->ranks[i].known_boot != boot;\n    }\n", ""),
               (START, "jobs->incarnation++;\n    } while", "jobs->incarnation;\n    } while")),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_leaves_faults"),
    Canary(
        "control-switch-taken-for-rank", "C-7", "when a switch below is lost, a rank behind it is called dead",
        edits=((JOBS, "    if (!job || rank->via == 0 || job->state == TRIB_JOB_JOINING) {\n        end_session",
                "    if (!job || rank->via == 0 || true) {\n        end_session"),),
        world=("control",), search=NO_CONTROL, test="unit/test_leaves_faults"),
    Canary(
        "control-mark-believed", "C-11", "a rank that tells its mark hears it again as M",
        edits=((MARKS, "    mark = trib_job_places(jobs, job)->mark(jobs, job);\n    trib_placements_tell_mark(jobs, job, mark, false);",
                "    trib_placements_tell_mark(jobs, job, trib_job_places(jobs, job)->mark(jobs, job), false);"),),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_server"),
    Canary(
        "control-closed-early", "C-12", "a rank that closes is let go although others lack what it has",
        edits=((MARKS, "        if (rank->session && rank->is_closing && mark >= rank->mark) {", "        if (rank->session && rank->is_closing) {"),),
        world=("control",), search=NO_CONTROL, test="unit/test_server"),
    Canary(
        "control-waits-for-ever", "C-13", "no time limits how long ranks are waited for after a recall",
        edits=((RECALL, "    job->deadline_ns = now_ns + time_to_return(jobs, job);", "    (void)time_to_return(jobs, job);\n    job->deadline_ns = UINT64_MAX;"),),
        world=("assert",), search=NO_CONTROL, test="unit/test_leaves_faults"),
    Canary(
        "control-crossed-register", "C-3", "REGISTER that had crossed a RECALL counts for the next boot",
        edits=((RECALL, "message->kind == TRIB_MESSAGE_ABORT;", "message->kind == TRIB_MESSAGE_ABORT ||\n                    message->kind == TRIB_MESSAGE_REGISTER;"),),
        world=("assert",), search=NO_CONTROL, test="unit/test_recall"),
    Canary(
        "control-recalled-counts", "C-6", "a rank that was recalled is let in before it has said JOIN",
        edits=((JOB, "        all = all && job->ranks[i].session && !job->ranks[i].is_recalled;", "        all = all && job->ranks[i].session;"),),
        world=("assert",), search=NO_CONTROL, test="unit/test_recall"),
    Canary(
        "control-below-not-awaited", "C-3", "READY does not wait for the switches below",
        edits=((PLACEMENTS, "(!placement->remote || (placement->is_ready && stands));", "(!placement->remote || stands);"),),
        world=("control",), search=NO_CONTROL, test="unit/test_leaves"),
    Canary(
        "control-below-not-registered", "C-3", "a switch below another one alone hears that its ranks have registered",
        edits=((PLACEMENTS, "at != 0; at = job->below[at - 1].parent[t]) {", "at != 0; at = 0) {"),),
        world=("error", "hang", "control"), search=NO_CONTROL, test="unit/test_leaves"),
    Canary(
        "control-below-skips-parent", "C-5", "a switch below another one is to send its sums to the root",
        edits=((PLACEMENTS, "    if (inner->parent[root] != 0) {", "    if (false) {"),),
        world=("control",), search=NO_CONTROL, test="unit/test_leaves"),
    Canary(
        "control-chain-cut-at-once", "C-5", "scheme rina: all roots have the ring of racks cut at one place",
        edits=(("src/schemes/scheme.h", "uint32_t cut = (root / 2 + (root % 2 == 0 ? racks / 2 : 0)) % racks;", "uint32_t cut = racks / 2;"),),
        world=("control", "path"), search=NO_CONTROL, test="unit/test_leaves_chain", scheme="rina"),
    Canary(
        "control-own-switch-too-small", "C-9", "scheme rina: a rank is to go on at a switch with fewer shards than there are roots",
        edits=(("src/control/jobs/meeting.c", "    bool is_large = leaf->shards >= job->grant.roots;", "    bool is_large = job->grant.roots > 0;"),),
        world=("error", "hang", "control"), search=NO_CONTROL, test="unit/test_leaves_chain", scheme="rina"),
    Canary(
        "control-own-switch-of-another", "C-5", "scheme rina: a rank is to go on at a switch on another rank's host",
        edits=(("src/control/jobs/meeting.c", "           trib_address_same_host(&leaf->peer, &session->peer);", "           session->leaf;"),),
        world=("error", "hang", "control"), search=NO_CONTROL, test="unit/test_leaves_chain", scheme="rina"),
    Canary(
        "control-grant-drawn-again", "C-15", "ranks that come back get another train",
        edits=((START, "        job->grant.boot = next_boot(jobs, job);", "        job->grant.boot = next_boot(jobs, job);\n        job->grant.train += job->is_return;"),),
        world=("control",), search=NO_CONTROL, test="unit/test_comm_failure"),
    Canary(
        "control-root-of-next-rank", "C-9", "a root is dealt to the rank behind the one that offers it",
        edits=((ROOTS, "            offers->rank[offers->count++] = (uint16_t)i;",
                "            offers->rank[offers->count++] = (uint16_t)(i + 1);"),),
        world=("control", "assert"), search=NO_CONTROL, test="unit/test_roots"),
    Canary(
        "control-ends-another", "C-18", "the death of a rank ends a communicator that it is no member of as well",
        edits=((JOBS, "    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);\n}",
                "    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);\n    if (jobs->first) {\n"
                "        trib_job_fail(jobs, jobs->first, TRIB_ERR_REFUSED, text);\n    }\n}"),),
        world=("control",), search=NO_CONTROL, test="unit/test_owner"),
    Canary(
        "control-reads-clock", "C-20", "a communicator takes the time from the clock instead of from its caller",
        edits=((RECALL, "    job->deadline_ns = now_ns + time_to_return(jobs, job);",
                "    job->deadline_ns = trib_clock_ns() + time_to_return(jobs, job);"),),
        world=("assert", "control", "hang", "error", "repeat"), search=NO_CONTROL, test="unit/test_leaves_faults"),
    Canary(
        "control-remembers", "C-21", "boots depend on the control planes that this process has had before",
        edits=((START, "    uint32_t boot;\n    do {",
                "    uint32_t boot;\n    static uint32_t more;\n    jobs->incarnation += more++ & 1;\n    do {"),),
        world=("repeat",), search=NO_CONTROL, test="unit/test_switches"),
    Canary(
        "control-closed-stays", "C-19", "a communicator that all have closed stays known",
        edits=((MARKS, "    jobs->stats.closed++;\n    trib_job_free(jobs, job);\n", "    jobs->stats.closed++;\n"),),
        world=("control",), search=NO_CONTROL, test="unit/test_server"),
    Canary(
        "rina-literal-not-pulled", "-", "rina-literal: a rank sends parts that no PULL has named",
        edits=((RINA_WORKER, "(own->pulled[root] > next ? own->pulled[root] - next : 0);", "(own->pulled[root] > next ? own->pulled[root] - next : 1);"),),
        world=NO_JOB, search=NO_JOB, test="unit/test_rina_literal"),
    Canary(
        "rina-literal-tasks-early", "-", "rina-literal: an agent has its switch pull what the racks before have not sent",
        edits=((RINA_SWITCH, "(!has_before || *arrived_of(n, own, dense) == dense + 1)", "(!has_before || *arrived_of(n, own, dense) != 0 || n->mark_dense == 0)"),),
        world=NO_JOB, search=NO_JOB, test="unit/test_rina_literal"),
    Canary(
        "rina-literal-no-mark", "-", "rina-literal: the ACK of a marked sum does not say so",
        edits=((RINA_SWITCH, "(packet->flags & TRIB_FLAG_ECN) != 0 ? TRIB_RINA_MARKED", "(packet->flags & TRIB_FLAG_FIN) != 0 ? TRIB_RINA_MARKED"),),
        world=NO_JOB, search=NO_JOB, test="unit/test_rina_literal"),
    Canary(
        "rina-literal-full-speed", "-", "rina-literal: a mark does not halve the window of an agent",
        edits=((RINA_SWITCH, "trib_congestion_window_init(&own->flow, TRIB_CONGESTION_AIMD, most);",
                "trib_congestion_window_init(&own->flow, TRIB_CONGESTION_FIXED, most);"),),
        world=NO_JOB, search=NO_JOB, test="unit/test_rina_literal"),
    Canary(
        "rina-literal-waits", "I8", "rina-literal: a rank that no PULL has reached waits for ever, if it is no agent's",
        edits=((RINA_WORKER, "due_ns < timeout_ns && waits_for_pull(w) ? due_ns", "due_ns < timeout_ns && may_have_agent(w, 0) && waits_for_pull(w) ? due_ns"),),
        world=NO_JOB, search=NO_JOB, test="unit/test_rina_literal"),
]
