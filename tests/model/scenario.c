/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c: the worlds that are searched, and what follows from their trees. Each is as small as what it shows
 * allows, so that its whole space is searched. Read next: settings.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/slot.h"
#include "model.h"

/* clang-format off */
#define ONE            {.collective = TRIB_ALLREDUCE, .elements = 1}
#define WHOLE(n)       {.collective = TRIB_ALLREDUCE, .elements = MODEL_WHOLE * ((n) - 1) + 1} /* n fragments */
#define STAR(n)        .ranks = (n), .switches = 1
#define OPS1           .ops = 1, .op = {ONE}
#define OPS2           .ops = 2, .op = {ONE, ONE}
#define OPS3           .ops = 3, .op = {ONE, ONE, ONE}
#define FRAGMENTS(n)   .ops = 1, .op = {WHOLE(n)}
#define FORK(n)        .ranks = (n), .switches = 3 /* a root and two inner switches */
#define CHAIN(n)       .is_chain = true, .ranks = (n), .switches = (n), .parent = {0, 0, 1}, .leaf = {0, 1, 2} /* a rank at each */
#define INTEGERS       .type = TRIB_INT32, .wire = TRIB_FLOAT32
#define BLOCKS         .type = TRIB_FLOAT32, .wire = TRIB_INT32 /* floats that travel as integers */
#define FLOATS         .type = TRIB_FLOAT32, .wire = TRIB_FLOAT32, .is_rough = true
#define POOL(s, w)     .train = 1, .roots = 1, .operations = 1, .slots = (s), .window = (w)
#define TICKS          .time = MODEL_TIME_TICKS
#define PLAIN          POOL(1, 1), TICKS, INTEGERS
#define CAST(r)        {.collective = TRIB_BROADCAST, .elements = 1, .root = (r)}
#define OTHERS(bits)   .others = (bits)
#define BARRIER        {.collective = TRIB_BARRIER}
#define RING           .has_peers = true, .session_marks = true
#define HYBRID(m)      RING, .group = (m)
#define CAPS(n)        .cap = 1, .budget = {[BUDGET_CAP] = (n)}
#define COMBINE(n)     .rows = (n), TICKS, INTEGERS
#define POOLS(l, d, r, p) .budget = {[BUDGET_LOSS] = (l), [BUDGET_DUPLICATE] = (d), [BUDGET_RESTART] = (r), [BUDGET_POOL] = (p)}
#define BEHIND(n)      .ranks = (n), .switches = 2, .leaf = {1, 1, 1} /* all behind one combiner */
#define DEEP(n)        .ranks = (n), .switches = 3, .parent = {0, 0, 1} /* a server, and two combiners in line */
#define QUORUM(q, n)   TICKS, .type = TRIB_FLOAT32, .wire = TRIB_FLOAT32, .quorum = (q), .quorum_of = (n)
#define MARKS(m, l, d, r) .has_numbers = true, .budget = {[BUDGET_MARKED] = (m), [BUDGET_LOSS] = (l), [BUDGET_DUPLICATE] = (d), [BUDGET_RESTART] = (r)}
#define REDUCE(r)      {.collective = TRIB_REDUCE, .elements = 1, .root = (r)}
#define GATHER(n)      {.collective = TRIB_ALLGATHER, .elements = (n)} /* of all shares */
#define SCATTER(n)     {.collective = TRIB_REDUCE_SCATTER, .elements = (n)}
#define FAULTS(l, d, e, r) .budget = {[BUDGET_LOSS] = (l), [BUDGET_DUPLICATE] = (d), [BUDGET_EARLY] = (e), [BUDGET_RESTART] = (r)}

static const struct model_scenario scenarios[] = {
    {PLAIN, .name = "pair", .about = "2 ranks, 1 slot, 3 operations with the same buffers; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), OPS3}}, FAULTS(1, 1, 0, 0), .is_quick = true},
    {PLAIN, .name = "pair-early", .about = "2 ranks, 1 slot, 2 operations in place; 1 loss, 1 copy, 1 early timer", .rounds = 2,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 1, 1, 0), .in_place = true},
    {PLAIN, .name = "pair-losses", .about = "2 ranks, 1 slot, 3 operations; 2 losses, 1 copy", .rounds = 2,
     .job = {{STAR(2), OPS3}}, FAULTS(2, 1, 0, 0)},
    {PLAIN, .name = "three", .about = "3 ranks, 1 slot, 2 operations; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(3), OPS2}}, FAULTS(1, 1, 0, 0), .is_quick = true},
    {POOL(2, 2), TICKS, INTEGERS, .name = "slots", .about = "2 ranks, 2 slots, an operation of 4 fragments; 1 loss, 1 copy", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(4)}}, FAULTS(1, 1, 0, 0)},
    {.roots = 2, .slots = 1, .window = 1, .train = 1, .operations = 1, TICKS, INTEGERS, .name = "roots", .about = "2 ranks, 2 roots with a slot each, an operation of 4 fragments; 1 loss", .rounds = 4,
     .job = {{STAR(2), FRAGMENTS(4)}}, FAULTS(1, 0, 0, 0)},
    {.roots = 2, .weight = {2, 1}, .slots = 1, .window = 1, .train = 1, .operations = 1, TICKS, INTEGERS, .name = "weights", .about = "2 ranks, 2 roots of weights 2 and 1 with a slot each, an operation of 4 fragments; 1 loss", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(4)}}, FAULTS(1, 0, 0, 0)},
    {PLAIN, .name = "restart", .about = "2 ranks, 1 slot, 3 operations; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), OPS3}}, FAULTS(1, 0, 0, 1), .is_quick = true},
    {PLAIN, .name = "restart-copy", .about = "2 ranks, 1 slot, 2 operations; the switch restarts, 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 1, 0, 1)},
    {PLAIN, .name = "restarts", .about = "2 ranks, 1 slot, 2 operations; the switch restarts twice", .rounds = 2,
     .job = {{STAR(2), OPS2}}, FAULTS(0, 0, 0, 2)},
    {POOL(2, 1), TICKS, INTEGERS, .name = "restart-slots", .about = "2 ranks, 2 slots, one in flight, an operation of 3 fragments; the switch restarts", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(3)}}, FAULTS(0, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "restart-three", .about = "3 ranks, 1 slot, 2 operations; the switch restarts", .rounds = 2,
     .job = {{STAR(3), OPS2}}, FAULTS(0, 0, 0, 1)},
    {PLAIN, .name = "same-boot", .about = "2 ranks, 1 slot, 2 operations; a restart that draws the boot id of before, 1 loss", .rounds = 3,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 0, 0, 1), .same_boot = true},
    {PLAIN, .name = "tree", .about = "2 inner switches with a rank each, 2 operations; 1 loss, 1 copy", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS2}}, FAULTS(1, 1, 0, 0)},
    {PLAIN, .name = "tree-three", .about = "2 inner switches with 2 and 1 ranks, 2 operations; 1 loss", .rounds = 3,
     .job = {{FORK(3), .leaf = {1, 1, 2}, OPS2}}, FAULTS(1, 0, 0, 0)},
    {PLAIN, .name = "tree-mixed", .about = "a rank and an inner switch with 2 ranks below the root, 2 operations; 1 loss", .rounds = 3,
     .job = {{.ranks = 3, .switches = 2, .leaf = {0, 1, 1}, OPS2}}, FAULTS(1, 0, 0, 0)},
    {PLAIN, .name = "tree-deep", .about = "3 levels, ranks at the 2nd and 3rd, 2 operations; 1 loss", .rounds = 3,
     .job = {{.ranks = 2, .switches = 4, .parent = {0, 0, 1, 0}, .leaf = {2, 3}, OPS2}}, FAULTS(1, 0, 0, 0)},
    {PLAIN, .name = "tree-restart", .about = "2 inner switches with a rank each, 2 operations; one of the 3 switches restarts", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS2}}, FAULTS(0, 0, 0, 1)},
    {PLAIN, .name = "chain", .about = "3 racks of a rank each, the third behind the second; 1 loss, 1 copy", .rounds = 3,
     .job = {{CHAIN(3), OPS1}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), INTEGERS, .name = "chain-restart", .about = "3 racks of a rank each, the third behind the second; one of the 3 switches restarts, 1 loss", .rounds = 4,
     .job = {{CHAIN(3), OPS1}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "chain-two", .about = "2 racks of 2 and 1 ranks; one of the 2 switches restarts, 1 loss", .rounds = 4,
     .job = {{.is_chain = true, .ranks = 3, .switches = 2, .leaf = {0, 0, 1}, OPS1}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "chain-mixed", .about = "3 racks of a rank, of 2, and of a rank behind it; 1 loss, 1 copy", .rounds = 4,
     .job = {{.is_chain = true, .ranks = 4, .switches = 3, .parent = {0, 0, 1}, .leaf = {0, 1, 1, 2}, OPS1}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), INTEGERS, .name = "chain-four", .about = "4 racks of a rank each, in chains of two and one; 1 loss", .rounds = 4,
     .job = {{.is_chain = true, .ranks = 4, .switches = 4, .parent = {0, 0, 1, 0}, .leaf = {0, 1, 2, 3}, OPS1}}, FAULTS(1, 0, 0, 0)},
    {PLAIN, .name = "batch", .about = "2 ranks, 1 slot, 3 operations, two packets at once; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), OPS3}}, FAULTS(1, 1, 0, 0), .batches = true},
    {PLAIN, .name = "batch-restart", .about = "2 ranks, 1 slot, 2 operations, two packets at once; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 0, 0, 1), .batches = true},
    {PLAIN, .name = "batch-tree", .about = "2 inner switches with a rank each, 2 operations, two packets at once; 1 loss", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS2}}, FAULTS(1, 0, 0, 0), .batches = true},
    {PLAIN, .name = "batch-tree-restart", .about = "2 inner switches with a rank each, two packets at once; one of the 3 switches restarts, 1 loss", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS1}}, FAULTS(1, 0, 0, 1), .batches = true},
    {POOL(1, 1), INTEGERS, .name = "batch-three", .about = "2 inner switches with 2 and 1 ranks, two packets at once; one of the 3 switches restarts, 1 loss", .rounds = 4,
     .job = {{FORK(3), .leaf = {1, 1, 2}, OPS1}}, FAULTS(1, 0, 0, 1), .batches = true},
    {POOL(1, 1), INTEGERS, .name = "batch-mixed", .about = "a rank and an inner switch with 2 ranks below the root, two packets at once; one of the 2 switches restarts, 1 loss", .rounds = 4,
     .job = {{.ranks = 3, .switches = 2, .leaf = {0, 1, 1}, OPS1}}, FAULTS(1, 0, 0, 1), .batches = true},
    {POOL(1, 1), INTEGERS, .name = "batch-deep", .about = "3 levels, ranks at the 2nd and 3rd, two packets at once; one of the 4 switches restarts, 1 loss", .rounds = 3,
     .job = {{.ranks = 2, .switches = 4, .parent = {0, 0, 1, 0}, .leaf = {2, 3}, OPS1}}, FAULTS(1, 0, 0, 1), .batches = true},
    {POOL(2, 2), INTEGERS, .name = "batch-tree-slots", .about = "2 inner switches with a rank each, 2 slots, an operation of 3 fragments, two packets at once; 1 loss", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, FRAGMENTS(3)}}, FAULTS(1, 0, 0, 0), .batches = true},
    {POOL(1, 1), TICKS, FLOATS, .name = "floats", .about = "3 ranks, 1 slot, floats whose sum depends on the order, and NaN; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(3), .ops = 1, .op = {{.collective = TRIB_ALLREDUCE, .elements = 2}}}}, FAULTS(1, 1, 0, 0)},
    {PLAIN, .name = "kinds", .about = "2 ranks, 1 slot, a broadcast, a barrier, an allreduce; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 3, .op = {CAST(1), BARRIER, ONE}}}, FAULTS(1, 0, 0, 1)},
    {PLAIN, .name = "reduce", .about = "2 ranks, 1 slot, reduces to rank 1, to rank 0, and an allreduce; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 3, .op = {REDUCE(1), REDUCE(0), ONE}}}, FAULTS(1, 0, 0, 1), .is_quick = true},
    {PLAIN, .name = "reduce-copy", .about = "2 ranks, 1 slot, 2 reduces; the switch restarts, 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), .ops = 2, .op = {REDUCE(1), REDUCE(0)}}}, FAULTS(1, 1, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "reduce-three", .about = "3 ranks, 1 slot, a reduce and an allreduce; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(3), .ops = 2, .op = {REDUCE(1), ONE}}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "reduce-tree", .about = "2 inner switches with 2 and 1 ranks, a reduce; one of the 3 switches restarts, 1 loss", .rounds = 4,
     .job = {{FORK(3), .leaf = {1, 1, 2}, .ops = 1, .op = {REDUCE(2)}}}, FAULTS(1, 0, 0, 1)},
    {PLAIN, .name = "gather", .about = "2 ranks, 1 slot, an allgather, then an allreduce; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 2, .op = {GATHER(2), ONE}}}, FAULTS(1, 0, 0, 1)},
    {PLAIN, .name = "scatter", .about = "2 ranks, 1 slot, a reduce-scatter, then an allreduce; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 2, .op = {SCATTER(2), ONE}}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "scatter-three", .about = "3 ranks, 1 slot, a reduce-scatter; the switch restarts", .rounds = 2,
     .job = {{STAR(3), .ops = 1, .op = {SCATTER(3)}}}, FAULTS(0, 0, 0, 1)},
    {POOL(1, 1), TICKS, BLOCKS, .name = "scatter-blocks", .about = "2 ranks, 1 slot, a reduce-scatter of floats that travel as integers; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 1, .op = {SCATTER(2)}}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), TICKS, BLOCKS, .name = "blocks", .about = "2 ranks, 1 slot, floats as integers with exponents ahead; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), FRAGMENTS(2)}}, FAULTS(1, 0, 0, 1)},
    {.roots = 1, .slots = 2, .window = 2, .train = 1, .operations = 2, TICKS, INTEGERS, .name = "overlap", .about = "2 ranks, 2 slots, 3 operations of which 2 are under way; 1 loss, 1 copy", .rounds = 3,
     .job = {{STAR(2), OPS3}}, FAULTS(1, 1, 0, 0)},
    {PLAIN, .name = "idle", .about = "2 ranks, 1 slot, 2 operations, idle marks by the session; 1 loss, 1 restart", .rounds = 1,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 0, 0, 1), .session_marks = true},
    {PLAIN, .name = "close", .about = "2 ranks, 1 slot, 2 operations, then they close, one perhaps too early; 1 loss, 1 restart", .rounds = 1,
     .job = {{STAR(2), OPS2}}, .budget = {[BUDGET_LOSS] = 1, [BUDGET_LINGER] = 1, [BUDGET_RESTART] = 1}, .closes = true},
    {PLAIN, .name = "death", .about = "2 ranks, 1 slot, a rank dies; beside it another job with 1 rank", .rounds = 2,
     .job = {{STAR(2), OPS2}, {STAR(1), OPS1}}, .budget = {[BUDGET_LOSS] = 1, [BUDGET_DEATH] = 1}},
    {PLAIN, .name = "heir", .about = "2 ranks, a rank dies, and another job of 2 gets the memory; 1 loss", .rounds = 2,
     .job = {{STAR(2), OPS2}, {STAR(2), OPS1}}, .budget = {[BUDGET_LOSS] = 1, [BUDGET_DEATH] = 1}, .sharing = SHARING_HEIR},
    {PLAIN, .name = "swap", .about = "2 jobs of 2 and 1 ranks; the switch restarts, and each gets the other's memory", .rounds = 2,
     .job = {{STAR(2), OPS1}, {STAR(1), OPS2}}, FAULTS(0, 0, 0, 1), .sharing = SHARING_SWAP},
    {PLAIN, .name = "differ", .about = "3 ranks, 1 slot, an operation, then one of 3 fragments on one rank and 2 on the others; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(3), .ops = 2, .op = {ONE, WHOLE(2)}, OTHERS(1U << 1), .other = WHOLE(3)}}, FAULTS(1, 1, 0, 0), .is_quick = true},
    {POOL(2, 2), TICKS, INTEGERS, .name = "differ-slots", .about = "2 ranks, 2 slots, an operation, then one of 3 fragments meets one of 2; 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), .ops = 2, .op = {ONE, WHOLE(3)}, OTHERS(1U << 1), .other = WHOLE(2)}}, FAULTS(1, 1, 0, 0)},
    {PLAIN, .name = "differ-restart", .about = "2 ranks, 1 slot, an allreduce, then a broadcast meets a barrier; the switch restarts, 1 loss", .rounds = 2,
     .job = {{STAR(2), .ops = 2, .op = {ONE, CAST(0)}, OTHERS(1U << 1), .other = BARRIER}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "differ-tree", .about = "2 inner switches with 2 and 1 ranks, an operation that has another count on one of the 2; one of the 3 switches restarts, 1 loss", .rounds = 2,
     .job = {{FORK(3), .leaf = {1, 1, 2}, OPS1, OTHERS(1U << 1), .other = {.collective = TRIB_ALLREDUCE, .elements = 2}}}, FAULTS(1, 0, 0, 1)},
    {PLAIN, .name = "differ-mixed", .about = "a rank and an inner switch with 2 ranks below the root, 2 operations, the last of which is a broadcast on the rank; 1 loss", .rounds = 2,
     .job = {{.ranks = 3, .switches = 2, .leaf = {0, 1, 1}, OPS2, OTHERS(1U), .other = CAST(0)}}, FAULTS(1, 0, 0, 0)},
    {POOL(4, 2), INTEGERS, .name = "caps", .about = "2 ranks, 4 slots, an operation of 4 fragments; the switch tells another cap, 1 or 2, twice", .rounds = 1,
     .job = {{STAR(2), FRAGMENTS(4)}}, CAPS(2)},
    {POOL(4, 2), INTEGERS, .name = "caps-tree", .about = "2 inner switches with a rank each, 4 slots, an operation of 3 fragments; a switch tells another cap, 1 or 2, twice", .rounds = 2,
     .job = {{FORK(2), .leaf = {1, 2}, FRAGMENTS(3)}}, CAPS(2), .is_quick = true},
    {POOL(2, 2), TICKS, INTEGERS, RING, .name = "ring-2", .about = "a ring of 2 ranks, 2 slots, an allreduce of 3 fragments; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(2), FRAGMENTS(3)}}, FAULTS(1, 1, 0, 0), .is_quick = true},
    {POOL(1, 1), TICKS, INTEGERS, RING, .name = "ring-slot", .about = "a ring of 2 ranks, 1 slot, 2 operations in place; 1 loss, 1 copy, 1 early timer", .rounds = 1,
     .job = {{STAR(2), OPS2}}, FAULTS(1, 1, 1, 0), .in_place = true},
    {POOL(2, 2), TICKS, INTEGERS, RING, .name = "ring-3", .about = "a ring of 3 ranks, 2 slots, 2 fragments; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(3), FRAGMENTS(2)}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, RING, .name = "ring-kinds", .about = "a ring of 2 ranks, 1 slot, a broadcast, a barrier, an allreduce; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(2), .ops = 3, .op = {CAST(1), BARRIER, ONE}}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, RING, .name = "ring-parts", .about = "a ring of 2 ranks, 1 slot, a reduce, an allgather, a reduce-scatter; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(2), .ops = 3, .op = {REDUCE(1), GATHER(2), SCATTER(2)}}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, RING, .name = "ring-reduce", .about = "a ring of 3 ranks, 1 slot, a reduce, then an allreduce; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(3), .ops = 2, .op = {REDUCE(1), ONE}}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, HYBRID(2), .name = "hybrid", .about = "2 groups of 2 ranks, 1 slot, an allreduce of 1 fragment; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(4), OPS1}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, HYBRID(2), .name = "hybrid-slot", .about = "2 groups of 2 ranks, 1 slot, an allreduce of 2 fragments; 1 loss", .rounds = 1,
     .job = {{STAR(4), FRAGMENTS(2)}}, FAULTS(1, 0, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, HYBRID(2), .name = "hybrid-cast", .about = "2 groups of 2 ranks, 1 slot, a broadcast; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(4), .ops = 1, .op = {CAST(1)}}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), TICKS, INTEGERS, HYBRID(2), .name = "hybrid-reduce", .about = "2 groups of 2 ranks, 1 slot, a reduce; 1 loss, 1 copy", .rounds = 1,
     .job = {{STAR(4), .ops = 1, .op = {REDUCE(2)}}}, FAULTS(1, 1, 0, 0)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum", .about = "2 ranks of which 1 will do, 1 slot, an operation of 3 fragments; 1 loss, 1 copy", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(3)}}, FAULTS(1, 1, 0, 0), .is_quick = true},
    {POOL(2, 1), QUORUM(1, 2), .name = "quorum-slots", .about = "2 ranks of which 1 will do, 2 slots, one in flight, 2 operations of 2 fragments; 1 loss", .rounds = 3,
     .job = {{STAR(2), .ops = 2, .op = {WHOLE(2), WHOLE(2)}}}, FAULTS(1, 0, 0, 0)},
    {POOL(1, 1), QUORUM(2, 3), .name = "quorum-three", .about = "3 ranks of which 2 will do, 1 slot, 2 operations; 1 loss", .rounds = 3,
     .job = {{STAR(3), OPS2}}, FAULTS(1, 0, 0, 0)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum-restart", .about = "2 ranks of which 1 will do, 1 slot, an operation of 3 fragments; the switch restarts, 1 loss", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(3)}}, FAULTS(1, 0, 0, 1)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum-tree-restart", .about = "an inner switch with 2 ranks of which 1 will do below the root, 1 slot, 2 operations; one of the 2 switches restarts", .rounds = 3,
     .job = {{.ranks = 2, .switches = 2, .leaf = {1, 1}, OPS2}}, FAULTS(0, 0, 0, 1)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum-top", .about = "a rank, which may lack, and an inner switch with the other below the root, 1 slot, 3 operations; 1 loss", .rounds = 3,
     .job = {{.ranks = 2, .switches = 2, .leaf = {1, 0}, OPS3}}, FAULTS(1, 0, 0, 0)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum-top-restart", .about = "a rank, which may lack, and an inner switch with the other below the root, 1 slot, 2 operations; one of the 2 switches restarts", .rounds = 3,
     .job = {{.ranks = 2, .switches = 2, .leaf = {1, 0}, OPS2}}, FAULTS(0, 0, 0, 1)},
    {POOL(1, 1), QUORUM(1, 2), .name = "quorum-few", .about = "2 inner switches with a rank, and with 2 of which 1 will do, 1 slot, 2 operations", .rounds = 3,
     .job = {{FORK(3), .leaf = {1, 2, 2}, OPS2}}, FAULTS(0, 0, 0, 0)},
    {POOL(1, 1), QUORUM(2, 3), .name = "quorum-differ", .about = "3 ranks of which 2 will do, 1 slot, an operation, then one that has another count on a rank; the switch restarts", .rounds = 2,
     .job = {{STAR(3), OPS2, OTHERS(1U), .other = {.collective = TRIB_ALLREDUCE, .elements = 2}}}, FAULTS(0, 0, 0, 1)},
    {PLAIN, .name = "marks", .about = "2 ranks, 1 slot, 2 operations; 2 packets come marked, 1 loss, 1 copy", .rounds = 2,
     .job = {{STAR(2), OPS2}}, MARKS(2, 1, 1, 0)},
    {POOL(1, 1), INTEGERS, .name = "marks-three", .about = "3 ranks of which one does not know its child number, 1 slot, an operation; 2 packets come marked, 1 loss", .rounds = 2,
     .job = {{STAR(3), OPS1}}, MARKS(2, 1, 0, 0), .untold = 1U << 1},
    {POOL(6, 3), INTEGERS, .cap = 3, .name = "marks-windows", .about = "a rank, 6 slots, windows of 1 to 3, operations of 4 and 2 fragments; 3 packets come marked, 1 loss", .rounds = 2,
     .job = {{STAR(1), .ops = 2, .op = {WHOLE(4), WHOLE(2)}}}, MARKS(3, 1, 0, 0), .is_quick = true},
    {POOL(4, 2), INTEGERS, .cap = 2, .name = "marks-windows-two", .about = "2 ranks, 4 slots, windows of 1 or 2, an operation of 3 fragments; 1 packet comes marked", .rounds = 2,
     .job = {{STAR(2), FRAGMENTS(3)}}, MARKS(1, 0, 0, 0)},
    {POOL(4, 1), INTEGERS, .cap = 2, .name = "marks-ahead", .about = "2 ranks, 4 slots, one in flight, 3 operations of 4, 4 and 2 fragments; 1 packet comes marked", .rounds = 2,
     .job = {{STAR(2), .ops = 3, .op = {WHOLE(4), WHOLE(4), WHOLE(2)}}}, MARKS(1, 0, 0, 0)},
    {POOL(1, 1), INTEGERS, .name = "marks-tree", .about = "2 inner switches with 2 and 1 ranks, an operation; 2 packets come marked, 1 loss", .rounds = 3,
     .job = {{FORK(3), .leaf = {1, 1, 2}, OPS1}}, MARKS(2, 1, 0, 0)},
    {POOL(1, 1), INTEGERS, .name = "marks-untold", .about = "2 inner switches with a rank each, of which one is told its child number at any moment, or never, 2 operations; 2 packets come marked", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS2}}, .has_numbers = true, .untold = 1U << (MODEL_RANKS + 1),
     .budget = {[BUDGET_MARKED] = 2, [BUDGET_NUMBER] = 1}, .is_quick = true},
    {POOL(1, 1), INTEGERS, .name = "marks-restart", .about = "2 ranks, 1 slot, 2 operations; 2 packets come marked, the switch restarts", .rounds = 2,
     .job = {{STAR(2), OPS2}}, MARKS(2, 0, 0, 1)},
    {POOL(1, 1), INTEGERS, .name = "marks-tree-restart", .about = "2 inner switches with a rank each, an operation; 2 packets come marked, one of the 3 switches restarts", .rounds = 3,
     .job = {{FORK(2), .leaf = {1, 2}, OPS1}}, MARKS(2, 0, 0, 1)},
    {POOL(1, 1), QUORUM(1, 2), .name = "marks-quorum", .about = "2 ranks of which 1 will do, 1 slot, an operation of 3 fragments; 2 packets come marked, 1 loss", .rounds = 3,
     .job = {{STAR(2), FRAGMENTS(3)}}, MARKS(2, 1, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine", .about = "2 ranks behind a combiner with a row, 1 slot, an operation; 1 loss, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), OPS1}}, POOLS(1, 1, 0, 0), .is_quick = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-two", .about = "2 ranks behind a combiner with a row, 1 slot, 2 operations; 1 loss, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), OPS2}}, POOLS(1, 1, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-restart", .about = "2 ranks behind a combiner with a row, 1 slot, 2 operations; the server or the combiner restarts", .rounds = 2,
     .job = {{BEHIND(2), OPS2}}, POOLS(0, 0, 1, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-restart-copy", .about = "2 ranks behind a combiner with a row, 1 slot, an operation; the server or the combiner restarts, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), OPS1}}, POOLS(0, 1, 1, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-pool", .about = "2 ranks behind a combiner with a row, 1 slot, an operation; the row is lost, 1 loss, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), OPS1}}, POOLS(1, 1, 0, 1)},
    {POOL(1, 1), COMBINE(1), .name = "combine-pool-two", .about = "2 ranks behind a combiner with a row, 1 slot, 2 operations; the row is lost, 1 loss", .rounds = 3,
     .job = {{BEHIND(2), OPS2}}, POOLS(1, 0, 0, 1)},
    {POOL(1, 1), COMBINE(1), .name = "combine-three", .about = "a combiner with a row and 2 ranks behind it, and a rank at the server, 1 slot, 2 operations; 1 loss", .rounds = 2,
     .job = {{.ranks = 3, .switches = 2, .leaf = {1, 1, 0}, OPS2}}, POOLS(1, 0, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-fork", .about = "combiners with 2 and 1 ranks behind them, 1 slot, an operation; 1 loss", .rounds = 2,
     .job = {{FORK(3), .leaf = {1, 1, 2}, OPS1}}, POOLS(1, 0, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-deep", .about = "a combiner behind a combiner, with a row each, 2 ranks, 1 slot, an operation; 1 loss, 1 copy", .rounds = 2,
     .job = {{DEEP(2), .leaf = {2, 2}, OPS1}}, POOLS(1, 1, 0, 0), .is_quick = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-deep-three", .about = "a combiner behind a combiner, with a row each, 2 ranks at the one and a rank at the other, 1 slot, an operation; 1 loss", .rounds = 2,
     .job = {{DEEP(3), .leaf = {2, 2, 1}, OPS1}}, POOLS(1, 0, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-deep-pool", .about = "a combiner behind a combiner, with a row each, 2 ranks, 1 slot, an operation; one loses its row, 1 loss", .rounds = 3,
     .job = {{DEEP(2), .leaf = {2, 1}, OPS1}}, POOLS(1, 0, 0, 1)},
    {POOL(1, 1), COMBINE(1), .name = "combine-deep-restart", .about = "a combiner behind a combiner, with a row each, 2 ranks, 1 slot, an operation; the server or a combiner restarts", .rounds = 2,
     .job = {{DEEP(2), .leaf = {2, 1}, OPS1}}, POOLS(0, 0, 1, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-all", .about = "3 ranks behind a combiner with a row, 1 slot, an operation; 1 loss", .rounds = 2,
     .job = {{BEHIND(3), OPS1}}, POOLS(1, 0, 0, 0)},
    {POOL(2, 2), COMBINE(1), .name = "combine-slots", .about = "2 ranks behind a combiner with a row, 2 slots, an operation of 3 fragments; 1 loss", .rounds = 2,
     .job = {{BEHIND(2), FRAGMENTS(3)}}, POOLS(1, 0, 0, 0)},
    {POOL(2, 2), COMBINE(2), .name = "combine-rows", .about = "2 ranks behind a combiner with 2 rows, 2 slots, an operation of 2 fragments; 1 loss, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), FRAGMENTS(2)}}, POOLS(1, 1, 0, 0)},
    {POOL(2, 2), COMBINE(1), .pieces = 2, .name = "combine-pieces", .about = "2 ranks behind a combiner that adds every second fragment, in a row, 2 slots, an operation of 2 fragments; 1 loss, 1 copy", .rounds = 2,
     .job = {{BEHIND(2), FRAGMENTS(2)}}, POOLS(1, 1, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-reduce", .about = "2 ranks behind a combiner with a row, 1 slot, a reduce, then an allreduce; 1 loss", .rounds = 2,
     .job = {{BEHIND(2), .ops = 2, .op = {REDUCE(1), ONE}}}, POOLS(1, 0, 0, 0)},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 0, 0), .is_quick = true, .is_alike = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-five", .about = "2 jobs of 3 and 2 ranks behind one combiner with a row, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(3), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 0, 0), .is_alike = true, .is_long = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-three", .about = "2 jobs of 3 ranks behind one combiner with a row, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(3), OPS1}, {BEHIND(3), OPS1}}, POOLS(0, 0, 0, 0), .is_alike = true, .is_long = true},
    {POOL(1, 1), COMBINE(2), .name = "combine-jobs-three-rows", .about = "2 jobs of 3 ranks behind one combiner with 2 rows, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(3), OPS1}, {BEHIND(3), OPS1}}, POOLS(0, 0, 0, 0), .is_alike = true, .is_long = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-copy", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each; 1 copy", .rounds = 1,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 1, 0, 0), .is_alike = true, .is_long = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-loss", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each; 1 loss", .rounds = 2,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(1, 0, 0, 0), .is_alike = true},
    {POOL(1, 1), COMBINE(2), .name = "combine-jobs-rows", .about = "2 jobs of 2 ranks behind one combiner with 2 rows, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 0, 0), .is_alike = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-priority", .about = "2 jobs of 2 ranks behind one combiner with a row, the other's priority higher, 1 slot, an operation each; 1 copy", .rounds = 1,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, .priority = {0, 2}, POOLS(0, 1, 0, 0), .is_alike = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-order", .about = "2 jobs of 2 ranks and of one priority behind one combiner with a row, the other's operations before, 1 slot, an operation each", .rounds = 1,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, .priority = {2, 2}, .order = {1, 2}, POOLS(0, 0, 0, 0), .is_quick = true, .is_alike = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-pool", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each; the row is lost", .rounds = 2,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 0, 1), .is_alike = true},
    {POOL(1, 1), COMBINE(1), .name = "combine-jobs-restart", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each; the server or the combiner restarts", .rounds = 2,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 1, 0), .is_alike = true},
    {POOL(1, 1), .rows = 1, INTEGERS, .name = "combine-jobs-anew", .about = "2 jobs of 2 ranks behind one combiner with a row, 1 slot, an operation each; one of them begins anew, at the server or the combiner", .rounds = 2,
     .job = {{BEHIND(2), OPS1}, {BEHIND(2), OPS1}}, POOLS(0, 0, 1, 0), .is_alone = true},
};
/* clang-format on */

const char *scenario_scheme(const struct model_scenario *scenario)
{
    if (scenario->rows != 0) {
        return "atp";
    }
    if (scenario->cap != 0 || scenario->quorum_of != 0 || scenario->has_numbers) {
        return "panama";
    }
    if (scenario->job[0].is_chain) {
        return "rina";
    }
    return !scenario->has_peers ? NULL : scenario->group == 0 ? "ring" : "hybrid";
}

const struct model_scenario *scenario_at(uint32_t index)
{
    return index < sizeof scenarios / sizeof *scenarios ? &scenarios[index] : NULL;
}

uint8_t model_violated(struct model *model, const char *word, const char *format, ...)
{
    va_list arguments;

    if (model->forgiven != NULL && strstr(model->forgiven, word) != NULL) {
        return 0;
    }
    if (model->violations == MODEL_VIOLATIONS) {
        return MODEL_VIOLATIONS;
    }
    struct violation *violation = &model->violation[model->violations++];
    violation->word = word;
    va_start(arguments, format);
    (void)vsnprintf(violation->text, sizeof violation->text, format, arguments);
    va_end(arguments);
    return (uint8_t)model->violations;
}

uint32_t model_job_of(const struct model *model, uint32_t rank)
{
    return model->jobs > 1 && rank >= model->first_rank[1] ? 1 : 0;
}

uint32_t model_sockets(const struct model *model, uint32_t job)
{
    return model->scenario->has_peers ? 0 : model->scenario->job[job].switches * model->scenario->roots;
}

/* ---- trees ---- */

uint32_t scenario_lowest(const struct model *model, uint32_t job, uint32_t child)
{
    return child < MODEL_RANKS ? child : trib_lowest(model->behind[job][child - MODEL_RANKS]);
}

uint8_t scenario_child(const struct model *model, uint32_t job, uint32_t at, uint32_t child)
{
    uint8_t i = 0;

    while (model->child[job][at][i] != child) {
        i++;
    }
    return i;
}

static void add_child(struct model *model, uint32_t job, uint32_t at, uint32_t child)
{
    uint8_t *list = model->child[job][at];
    uint32_t i = model->children[job][at]++;

    for (; i > 0 && scenario_lowest(model, job, list[i - 1]) > scenario_lowest(model, job, child); i--) {
        list[i] = list[i - 1];
    }
    list[i] = (uint8_t)child;
}

static void grow_tree(struct model *model, uint32_t job)
{
    const struct model_job *j = &model->scenario->job[job];

    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        uint32_t at = j->leaf[rank];
        uint32_t depth = 0;
        for (;; at = j->parent[at]) {
            model->path[job][rank][depth++] = (uint8_t)at;
            model->behind[job][at] |= UINT64_C(1) << rank;
            if (at == 0) {
                break;
            }
        }
        model->depth[job][rank] = depth;
    }
    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        add_child(model, job, j->leaf[rank], rank);
        for (uint32_t at = j->leaf[rank]; at != 0 && model->scenario->rows != 0;) { /* of all combiners on the path */
            at = j->parent[at];
            add_child(model, job, at, rank);
        }
    }
    for (uint32_t at = 1; at < j->switches && model->scenario->rows == 0; at++) {
        add_child(model, job, j->parent[at], MODEL_RANKS + at);
    }
}

/* ---- the model of a scenario ---- */

const struct model_op *scenario_op(const struct model *model, uint32_t rank, uint32_t op)
{
    uint32_t job = model_job_of(model, rank);
    const struct model_job *j = &model->scenario->job[job];
    bool is_other = (j->others >> (rank - model->first_rank[job]) & 1) != 0;

    return is_other && scenario_differs(j, op) ? &j->other : &j->op[op];
}

struct trib_operation scenario_operation(const struct model *model, uint32_t rank, uint32_t op)
{
    const struct model_op *o = scenario_op(model, rank, op);
    struct trib_operation kind = {.collective = o->collective};
    bool is_barrier = o->collective == TRIB_BARRIER;
    bool has_shares = trib_operation_has_shares(&kind);

    return (struct trib_operation){
        .collective = o->collective,
        .count = o->elements / (has_shares ? model->scenario->job[model_job_of(model, rank)].ranks : 1),
        .type = is_barrier ? TRIB_TYPE_NONE : model->scenario->type,
        .reduction = trib_operation_reduces(&kind) ? TRIB_SUM : TRIB_REDUCTION_NONE,
        .root = o->root,
        .priority = model->scenario->order[model_job_of(model, rank)],
        .token = op,
    };
}

static void lay_out_operations(struct model *model, uint32_t job, uint32_t rank)
{
    const struct model_job *j = &model->scenario->job[job];
    struct trib_session_config session;
    uint64_t first = 0;

    settings_session(model, job, &session);
    if (model->scenario->has_peers && session.wire == TRIB_INT32) {
        session.wire = TRIB_FLOAT32; /* on a ring no exponents are agreed upon */
    }
    for (uint32_t i = 0; i < j->ops; i++) {
        struct trib_operation operation = scenario_operation(model, rank, i);
        trib_layout_init(&model->layout[rank][i], &session, &operation, i);
        model->op_first[rank][i] = first;
        first += model->layout[rank][i].sequences;
    }
}

void model_open(struct model *model, const struct trib_scheme *scheme, const struct model_scenario *scenario)
{
    uint32_t every = model->verify_every;
    bool is_unreduced = model->is_unreduced;

    memset(model, 0, sizeof *model);
    model->verify_every = every;
    model->is_unreduced = is_unreduced;
    model->scheme = scheme;
    model->scenario = scenario;
    model->jobs = scenario->job[1].ranks != 0 ? 2 : 1;
    for (uint32_t job = 0; job < model->jobs; job++) {
        model->first_rank[job] = model->ranks;
        model->ranks += scenario->job[job].ranks;
        uint32_t switches = scenario->job[job].switches;
        model->sockets = switches > model->sockets ? switches : model->sockets;
        grow_tree(model, job);
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        lay_out_operations(model, model_job_of(model, rank), rank);
    }
    model->regions = scenario->sharing == SHARING_HEIR ? 1 : model->jobs;
    model->sockets = scenario->has_peers ? 0 : model->sockets * scenario->roots;
    model->nodes = model->ranks + model->regions * model->sockets;
    model->store = store_open();
    machine_open(model);
}

void model_close(struct model *model)
{
    machine_close(model);
    store_close(model->store);
}
