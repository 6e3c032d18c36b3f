# SPDX-License-Identifier: Apache-2.0
"""Canaries in lanes with a key (src/core/tag.h) and in samples (src/core/sample.h), as in canaries.py. A unit test must catch each; the worlds must
catch each one that lets a wrong value through."""
from canaries import Canary, Never

TAG = "src/core/tag.c"
LANE = "src/protocol/worker_lane.c"
DELIVER = "src/protocol/worker_deliver.c"
SAMPLE = "src/core/sample.c"
COMM_SAMPLE = "src/comm/sample.c"
PATHS = "src/comm/paths.c"
NONCES = "src/comm/nonces.c"

NO_KEY = Never("its communicators have no key")
NO_LIE = Never("its switches lie about exponents only to communicators that fail in any case")
SAME_SUMS = Never("all sums come out as they are, but a switch that knows old lanes could forge one")


NO_SAMPLES = Never("its ranks are nodes alone: the library repeats sums above them")


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
    defect("tag-repeats-masks", "64 fragments have one mask",
           ((TAG, "    return m->mask[id->sequence % TRIB_TAG_MASKS];", "    return m->mask[0];"),),
           "unit/test_tag", SAME_SUMS),
    defect("tag-forgets-last-words", "the words behind the last whole vector are not in the lane",
           ((TAG, "    if (left != 0) {", "    if (left > 4) {"),),
           "unit/test_tag", Never("few payloads end within a word, and a switch has to falsify just that")),
    defect("sample-same-draws", "all operations draw the same runs",
           ((TAG, "                      (uint32_t[4]){(uint32_t)number, ", "                      (uint32_t[4]){(uint32_t)(number & 0), "),),
           "unit/test_sample", NO_SAMPLES),
    defect("sample-never-last-run", "the last run of each stratum is never drawn",
           ((SAMPLE, "number % size)", "number % (size > 1 ? size - 1 : 1))"),),
           "unit/test_sample", NO_SAMPLES),
    defect("sample-in-clear", "a switch sees which runs were drawn",
           ((SAMPLE, "part[at + i] ^= stream[i];", "part[at + i] ^= (uint8_t)(stream[i] & 0);"),),
           "unit/test_sample", NO_SAMPLES),
    defect("sample-not-compared", "a result is returned although its sample is another one",
           ((COMM_SAMPLE, "    if (!repeat(comm, sampled, &wrong)) {", "    if (!repeat(comm, sampled, &wrong) && wrong > UINT64_MAX - 1) {"),),
           "unit/test_comm_sample", NO_SAMPLES),
    defect("sample-in-trees", "ranks at a tree of switches take its sums for false ones",
           ((PATHS, "comm->config.sample != 0 && echo->node", "comm->config.sample > TRIB_CHILDREN_MAX && echo->node"),),
           "unit/test_comm_sample", NO_SAMPLES),
    defect("sample-other-settings", "ranks with different samples meet",
           ((NONCES, "TRIB_PART_OF_NONCES + comm->config.sample,", "TRIB_PART_OF_NONCES,"),),
           "unit/test_comm_sample", NO_SAMPLES),
    defect("nonces-of-the-switch", "a switch that sends old nonces gets lanes under a key of before",
           ((NONCES, "    nonces[comm->config.rank] = own; /* also if a switch sent another one */\n", ""),),
           "unit/test_comm_cheat", Never("its ranks are nodes alone: the library exchanges nonces above them")),
]
