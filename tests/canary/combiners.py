# SPDX-License-Identifier: Apache-2.0
"""Canaries in combiners and in roots behind combiners, as in canaries.py. Worlds and search have no combiners yet; a unit or property test must
catch each."""
from canaries import Canary, Never

COMBINER = "src/protocol/combiner.c"
COMBINED = "src/protocol/switch_combined.c"
ASK = "src/protocol/switch_ask.c"
SLOT = "src/core/slot.h"

NONE_HERE = Never("it has no combiners")

NOTE_ONCE = (SLOT, "TRIB_ASSERT(children != 0 && (slot->present & children) == 0);",
             "TRIB_ASSERT(children != 0);")


def defect(name, invariant, about, edits, test):
    return Canary(name, invariant, about, edits=edits, world=NONE_HERE, search=NONE_HERE, test=test)


COMBINERS = [
    defect("combiner-any-communicator", "I1", "a row is found without the communicator",
           ((COMBINER, "return row->member == member && trib_slot_holds(",
             "return member < UINT32_MAX && trib_slot_holds("),),
           "unit/test_combiner_rows"),
    defect("combiner-any-boot", "I3", "parts for two boots of a root are added",
           ((COMBINER, "row->boot == packet->boot && ",
             ""),),
           "unit/test_combiner_rows"),
    defect("combiner-any-generation", "I3", "a part of another generation is added",
           ((COMBINER, "packet->generation == m->generation && is_sound(",
             "is_sound("),),
           "unit/test_combiner_rows"),
    defect("combiner-any-operation", "I10", "parts of two operations are added",
           ((COMBINER, "slot->digest == packet->digest &&",
             "slot->digest != 0 &&"),),
           "unit/test_combiner_rows"),
    defect("combiner-any-use", "I2", "a sum says of ranks that they do not want the result, and they do",
           ((COMBINER, "(slot->unwanted == 0) == is_wanted &&",
             "(is_wanted || !is_wanted) &&"),),
           "property/test_combiner"),
    defect("combiner-adds-again", "I4", "a combiner adds a part that is in the row",
           ((COMBINER, "bool is_here = is_like(row, packet) && (ranks & ~row->slot.present) == 0;",
             "bool is_here = false;"),
            (COMBINER, "bool is_new = (ranks & row->slot.present) == 0 && ",
             "bool is_new = "),
            NOTE_ONCE),
           "property/test_combiner"),
    defect("combiner-counts", "I2", "a row is complete with as many parts as there are ranks",
           ((COMBINER, "if ((row->slot.present & member_at(c, row->member)->behind) == member_at(c, row->member)->behind) {",
             "if (row->slot.parts == trib_count_bits(member_at(c, row->member)->behind)) {"),),
           "unit/test_combiner_rows"),
    defect("combiner-highest-mark", "I3", "a sum has the largest of the marks, so M is too high",
           ((COMBINER, "row->mark = packet->mark < row->mark ? packet->mark : row->mark;",
             "row->mark = packet->mark > row->mark || row->mark == UINT64_MAX ? packet->mark : row->mark;"),),
           "property/test_combiner"),
    defect("combiner-any-name", "I7", "a sender speaks for ranks that are not behind it, at a combiner",
           ((COMBINER, "if (ranks == 0 || (ranks & ~sender) != 0) {",
             "if (ranks == 0) {"),),
           "unit/test_combiner_rows"),
    defect("combiner-list-of-a-rank", "I7", "the list in a rank's own part goes on to the root",
           ((COMBINER, "        packet->bitmap = 0;\n",
             ""),),
           "unit/test_combiner_rows"),
    defect("combiner-adds-the-asked", "I8", "a combiner adds parts that the root has asked for, which must pass alone",
           ((COMBINER, "(TRIB_FLAG_RESEND | TRIB_FLAG_COLLISION | TRIB_FLAG_QUORUM)",
             "(TRIB_FLAG_COLLISION | TRIB_FLAG_QUORUM)"),),
           "unit/test_combiner_rows"),
    defect("combiner-keeps-from-probes", "I8", "a PROBE leaves the sum of its fragment in the row",
           ((COMBINER, "c->counters.flushed += holds(row, member, packet->sequence) && send_on(c, row);",
             "(void)row;"),),
           "unit/test_combiner_rows"),
    defect("combiner-row-below-M", "I6", "a row that nobody needs any more is not given away",
           ((COMBINER, "    if (is_over(c, row)) {",
             "    if (is_over(c, row) && row->member == UINT32_MAX) {"),),
           "unit/test_combiner_pool"),
    defect("combiner-row-beyond", "I6", "a part that M will never pass has a row",
           ((COMBINER, "m->span != 0 && packet->sequence >= m->mark + m->span",
             "m->span == UINT64_MAX"),),
           "unit/test_combiner_pool"),
    defect("combiner-row-after-the-end", "I6", "the rows of a communicator that has ended stay",
           ((COMBINER, "        if (row->member == member && !trib_slot_is_empty(&row->slot)) {\n            free_row(c, row);",
             "        if (row->member == member && !trib_slot_is_empty(&row->slot)) {\n            (void)c;"),),
           "property/test_combiner"),
    defect("combiner-memory-after-the-end", "I6", "the memory of sums that wait is lost with their communicator",
           ((COMBINER, "            give_buffer(c, row.buffer);",
             "            (void)row;"),),
           "unit/test_combiner_pool"),
    defect("combined-adds-mixed", "I4", "the root adds a sum although some of its parts are there",
           ((SLOT, "return (children & ~slot->present) == 0 ? TRIB_DROP_DUPLICATE : TRIB_DROP_OVERLAP;",
             "if ((children & ~slot->present) == 0) {\n            return TRIB_DROP_DUPLICATE;\n        }"),
            NOTE_ONCE),
           "property/test_combiner"),
    defect("combined-mixed-unasked", "I8", "the root drops a sum for a part of it, and asks nobody for the rest",
           ((COMBINED, "for (; lack != 0; lack &= lack - 1) {",
             "for (lack = 0; lack != 0; lack &= lack - 1) {"),),
           "unit/test_switch_combined"),
    defect("combined-any-name", "I7", "a sender speaks for ranks that are not behind it, at the root",
           ((COMBINED, "return (named & ~behind) == 0 ? named : 0;",
             "return named;"),),
           "unit/test_switch_combined"),
    defect("combined-asks-for-gaps", "I5", "the root asks for parts that wait at combiners",
           ((ASK, "if (n->config.has_combiners || (n->config.branches >> child & 1) != 0) {",
             "if ((n->config.branches >> child & 1) != 0) {"),
            (ASK, "    if (n->config.has_combiners) {\n",
             "    if (n->config.has_combiners && n->config.has_parent) {\n")),
           "unit/test_switch_combined"),
]
