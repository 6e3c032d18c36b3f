# SPDX-License-Identifier: Apache-2.0
"""Canaries in lanes with a key (src/core/tag.h), as in canaries.py. A unit test must catch each; the worlds must
catch each one that lets a wrong value through."""
from canaries import Canary, Never

TAG = "src/core/tag.c"
LANE = "src/protocol/worker_lane.c"
DELIVER = "src/protocol/worker_deliver.c"

NO_KEY = Never("its communicators have no key")
NO_LIE = Never("its switches lie about exponents only to communicators that fail in any case")
SAME_SUMS = Never("all sums come out as they are, but a switch that knows old lanes could forge one")


def defect(name, about, edits, test, world):
    return Canary(name, "I12", about, edits=edits, world=world, search=NO_KEY, test=test)


TAGS = [
    defect("tag-without-values", "lanes prove the ranks of a sum, and not its values",
           ((LANE, "    return form->wire == TRIB_BYTES ||", "    return false && form->wire == TRIB_BYTES &&"),),
           "unit/test_worker_tag", ("oracle", "buffer")),
    defect("tag-without-exponent", "lanes of words in different units are added",
           ((LANE, "        lane = trib_tag_add(lane, trib_tag_exponent(tag, *worker_exponent(w, sequence)));\n", ""),
            (LANE, "trib_tag_times(w->config.session.ranks, one)", "trib_tag_times(0, one)")),
           "unit/test_worker_tag", NO_LIE),
    defect("tag-exponent-of-none", "a rank takes an exponent that no rank has had",
           ((TAG, "    return count >= 1 && count <= tag->ranks;", "    return count <= tag->ranks;"),),
           "unit/test_worker_tag", NO_LIE),
    defect("tag-exponent-too-small", "a rank takes an exponent below its own",
           ((DELIVER, "packet->exponent >= f->exponent;", "packet->exponent >= f->exponent || w->flights != 0;"),),
           "unit/test_worker_tag", NO_LIE),
    defect("tag-repeats-masks", "eight fragments have one mask",
           ((TAG, "    return m->mask[id->sequence % TRIB_TAG_BATCH];", "    return m->mask[0];"),),
           "unit/test_tag", SAME_SUMS),
    defect("tag-forgets-last-words", "the words behind the last whole vector are not in the lane",
           ((TAG, "    if (left != 0) {", "    if (left > 4) {"),),
           "unit/test_tag", Never("few payloads end within a word, and a switch has to falsify just that")),
]
