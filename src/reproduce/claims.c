/* SPDX-License-Identifier: Apache-2.0 */
/* claims.c: every number of a paper that is looked at here, in the order of the papers. What comes out is in
 * experiments; here is what was printed, in our words, and why ours differs. Read next: reproduce.h. */
#include <stddef.h>

#include "reproduce/reproduce.h"

#define TABLE1_REASON                                                                                               \
    "Equation (3) has the bus and the adders alone; the prototype's parser, buffers and ports take seven or eight " \
    "cycles of 5 ns more"
#define TABLE1_OTHER                                                                                             \
    "Equation (3) says nothing of packets that are not added; without its adders it has the bus alone, and the " \
    "prototype takes five or six cycles of 5 ns more"

#define PER_PACKET                                                                                                    \
    "the paper's adders work while the next packet comes; a CPU does one thing after the other, beside the senders, " \
    "which share this machine"
#define CPU_ALONE "the paper has no such number; of ours it depends least on what else the machine does"
#define SEALED_ONCE \
    "the paper has no such number; a sum is sealed with its checksum once for all four, a packet passed on each time"

static const struct reproduce_claim claims[] = {
    {"panama-fig1", "largest-share", "Fig. 1a", "of all GPUs and models the largest share of communication is",
     REPRODUCE_PRINTED, 0.70, 0.01, "", NULL},
    {"panama-fig1", "p100-least", "Fig. 1b", "a P100 with 10 Gbps gains least by", REPRODUCE_PRINTED, 1.15, 0.01,
     "times",
     "InceptionV3 with 23.8 million parameters; its auxiliary head, with which it has 27.2 million, would give 1.16"},
    {"panama-fig1", "p100-most", "Fig. 1b", "and gains most by", REPRODUCE_PRINTED, 1.53, 0.01, "times", NULL},
    {"panama-fig1", "least-of-share", "Fig. 1b", "the smallest gain, of an A100, is that of the smallest share, 0.11:",
     REPRODUCE_PRINTED, 1.06, 0.01, "times", NULL},
    {"panama-fig1", "most-of-share", "Fig. 1b",
     "the largest gain, of a P100, is that of the largest share, 0.70:", REPRODUCE_PRINTED, 1.53, 0.01, "times", NULL},
    {"panama-fig1", "bound", "section 2", "against a ring the time of communication falls at most by",
     REPRODUCE_AT_MOST, 2, 0, "times", "a ring of 1,000 workers"},

    {"panama-sum", "total", "section 2", "1,000 workers, a model of 1 GB and 1,000 iterations make", REPRODUCE_PRINTED,
     2, 1, "PB", NULL},

    {"panama-fig2", "least", "section 2", "transfers begin with a few KB, with at most", REPRODUCE_AT_MOST, 10, 0, "KB",
     NULL},
    {"panama-fig2", "most", "section 2", "and reach hundreds of GB, at least", REPRODUCE_AT_LEAST, 100, 0, "GB",
     "ImageNet, with what it is validated with"},
    {"panama-fig2", "most-of-introduction", "section 1", "in the introduction they reach tens of GB, at most",
     REPRODUCE_AT_MOST, 100, 0, "GB",
     "sections 1 and 2 say two things of one cluster; data sets are larger than section 1 says"},
    {"panama-fig2", "aggregation", "section 3", "gradients that are summed in the network are of more than",
     REPRODUCE_AT_LEAST, 40, 0, "MB",
     "GoogLeNet, one of section 7's six models, without its auxiliary heads, with which it has 13.0 million parameters "
     "and 52 MB; all others are larger than 90 MB"},
    {"panama-fig2", "small-sums", "section 2",
     "what reinforcement learning and k-means sum is left to other ways: it is of less than", REPRODUCE_AT_MOST, 40, 0,
     "MB", NULL},

    {"panama-eq", "prototype-rate", "section 6", "64 bits at 200 MHz carry a port of", REPRODUCE_AT_LEAST, 10, 0,
     "Gbps", NULL},
    {"panama-eq", "adder-trees", "section 6", "for that the prototype has as many trees of adders as",
     REPRODUCE_PRINTED, 2, 1, "", NULL},
    {"panama-eq", "prototype-adders", "Table 2", "the prototype has, for four ports, as many adders as",
     REPRODUCE_PRINTED, 6, 1, "", NULL},
    {"panama-eq", "adders-per-parser", "appendix A", "with 512 bits there are more adders than parsers, about",
     REPRODUCE_PRINTED, 16, 1, "times", "128 ports; 16 (N - 1) / N"},

    {"panama-table1", "512", "Table 1", "a packet of 512 bytes is added within", REPRODUCE_PRINTED, 370, 1, "ns",
     TABLE1_REASON},
    {"panama-table1", "1024", "Table 1", "a packet of 1,024 bytes is added within", REPRODUCE_PRINTED, 695, 1, "ns",
     TABLE1_REASON},
    {"panama-table1", "1500", "Table 1", "a packet of 1,500 bytes is added within", REPRODUCE_PRINTED, 987.5, 0.1, "ns",
     TABLE1_REASON ". 1,500 bytes are 187.5 words: half a cycle, which is not measured but computed"},
    {"panama-table1", "512-other", "Table 1", "another packet of 512 bytes passes within", REPRODUCE_PRINTED, 340, 1,
     "ns", TABLE1_OTHER},
    {"panama-table1", "1024-other", "Table 1", "another packet of 1,024 bytes passes within", REPRODUCE_PRINTED, 665, 1,
     "ns", TABLE1_OTHER},
    {"panama-table1", "1500-other", "Table 1", "another packet of 1,500 bytes passes within", REPRODUCE_PRINTED, 957.5,
     0.1, "ns", TABLE1_OTHER},
    {"panama-table1", "adding", "Table 1", "so adding takes, at each size,", REPRODUCE_PRINTED, 30, 1, "ns",
     "by equation (3), two levels of adders of 10 ns"},

    {"panama-table2", "luts", "Table 2", "the prototype's LUTs are", REPRODUCE_PRINTED, 4461, 1, "", NULL},
    {"panama-table2", "flip-flops", "Table 2", "its flip-flops are", REPRODUCE_PRINTED, 2339, 1, "", NULL},
    {"panama-table2", "luts-share", "Table 2", "its LUTs are of a VU19P's", REPRODUCE_PRINTED, 1.03, 0.01, "%",
     "1.03 % is the share of a Virtex-7 690T, which has 433,200 and is the FPGA of the board; a VU19P has 4,085,760"},
    {"panama-table2", "flip-flops-share", "Table 2", "its flip-flops are of a VU19P's", REPRODUCE_PRINTED, 0.26, 0.01,
     "%", "0.26 % is the share of a Virtex-7 690T, which has 866,400; a VU19P has 8,171,520"},

    {"panama-fig7", "one-input", "Fig. 7", "adding one input carries, of what passing on does, at least",
     REPRODUCE_AT_LEAST, 0.886, 0, "times", PER_PACKET},
    {"panama-fig7", "one-input-cpu", "Fig. 7", "which costs the switch's CPU, per packet, at most", REPRODUCE_AT_MOST,
     1.129, 0, "times", CPU_ALONE},
    {"panama-fig7", "all-inputs", "section 6", "adding four inputs carries, of what passing on does, at least",
     REPRODUCE_AT_LEAST, 0.886, 0, "times", PER_PACKET},
    {"panama-fig7", "all-inputs-cpu", "section 6", "which costs the switch's CPU, per packet, at most",
     REPRODUCE_AT_MOST, 1.129, 0, "times", SEALED_ONCE},

    {"panama-fig8", "p99-to-ring", "Fig. 8a", "at 80 % load a ring's 99th percentile of short flows is, of PANAMA's,",
     REPRODUCE_PRINTED, 4.5, 0.1, "times",
     "that percentile is a flow of some 20 MB, which takes 26 ms alone. A ring over DCTCP shares links with it, and "
     "its bytes are twice PANAMA's: for 4.5 it would have to take far more than a share. What the paper's ring is sent "
     "with is not said"},
    {"panama-fig8", "mean-to-ring", "section 1", "and its mean", REPRODUCE_PRINTED, 2, 1, "times",
     "as the percentile: flows share with a ring as with each other"},
    {"panama-fig8", "p99-to-no-control", "section 7",
     "without congestion control (SwitchML*) that percentile is, of PANAMA's,", REPRODUCE_PRINTED, 3.5, 0.1, "times",
     "it hangs on SwitchML*'s window, which the paper does not print: with 128 fragments in each tree, instead of in "
     "all four, it is 3.97 times"},
    {"panama-fig8", "p99-ideal", "Fig. 8a", "at every load the ideal's percentile is, of PANAMA's, at most",
     REPRODUCE_AT_MOST, 1, 0, "times", NULL},
    {"panama-fig8", "p99-panama-switchml", "Fig. 8a", "PANAMA's is, of SwitchML*'s, at most", REPRODUCE_AT_MOST, 1, 0,
     "times", NULL},
    {"panama-fig8", "p99-switchml-ring", "Fig. 8a", "SwitchML*'s is, of a ring's, at most", REPRODUCE_AT_MOST, 1, 0,
     "times",
     "with 128 fragments in each tree, instead of in all four, it is 2.97 times: queues then stay above the threshold "
     "of marks, where flows have one packet a round trip left, and a ring's connections give way"},
    {"panama-fig8", "long-to-ring", "Fig. 8b", "long flows' throughput beside PANAMA is, of that beside a ring,",
     REPRODUCE_PRINTED, 1.33, 0.01, "times",
     "with --quick few flows are long; at k = 16 and 80 % it is 1.43 times (docs/PERF.md)"},
    {"panama-fig8", "training-to-ring", "Fig. 8c", "with a ring an iteration takes, of PANAMA's time,",
     REPRODUCE_PRINTED, 1.34, 0.01, "times",
     "with up to 24 workers; at k = 16 it is 0.89 times, and a ring the faster one (docs/PERF.md). PANAMA's switches "
     "OR the marks of all workers, so that a mark on any of their links cuts the windows of all: where each heeds its "
     "own alone it is 1.67 times"},
    {"panama-fig8", "training-to-no-control", "Fig. 8c", "PANAMA's time is, of SwitchML*'s,", REPRODUCE_PRINTED, 1.05,
     0.01, "times", "as PANAMA's switches OR marks (training-to-ring); without flows both are at the line's rate"},
    {"panama-fig8", "training-switchml-panama", "Fig. 8c", "at every load SwitchML*'s time is, of PANAMA's, at most",
     REPRODUCE_AT_MOST, 1, 0, "times", NULL},
    {"panama-fig8", "training-panama-ring", "Fig. 8c", "PANAMA's is, of a ring's, at most", REPRODUCE_AT_MOST, 1, 0,
     "times", "with 4 to 24 workers: at k = 16, with 23 to 95, it is 1.12 times at 80 % (docs/PERF.md)"},

    {"panama-fig8", "training-0.88-panama", "Fig. 8c", "PANAMA-0.88's is, of PANAMA's, at most", REPRODUCE_AT_MOST, 1,
     0, "times", NULL},
    {"panama-fig8", "training-0.94-panama", "Fig. 8c", "and PANAMA-0.94's, at most", REPRODUCE_AT_MOST, 1, 0, "times",
     "with --quick no job has more than 16 workers, and of fewer nobody lacks: such a job is PANAMA's with 64 bytes "
     "less of gradients in a packet"},
    {"panama-fig8", "p99-panama-0.88", "Fig. 8a",
     "PANAMA's 99th percentile of short flows is, of that beside PANAMA-0.88, at most", REPRODUCE_AT_MOST, 1, 0,
     "times", "with --quick a draw decides: before flows stood still after a mark, as Linux's do, it was 0.99 times"},
    {"panama-fig8", "p99-panama-0.94", "Fig. 8a", "and of that beside PANAMA-0.94, at most", REPRODUCE_AT_MOST, 1, 0,
     "times",
     "with --quick no job has more than 16 workers, and of fewer nobody lacks: such a job is PANAMA's with 64 bytes "
     "less of gradients in a packet. At k = 8 it is 0.99 times (docs/PERF.md)"},

    {"panama-fig8", "own-training-to-ring", "Fig. 8c",
     "where each worker heeds the marks of its own way alone, PANAMA's time is, of a ring's, at most",
     REPRODUCE_AT_MOST, 1, 0, "times",
     "not the paper's: what our scheme does (docs/DECISIONS.md). At k = 16 and 80 % it is 0.60 times (docs/PERF.md)"},
    {"panama-fig8", "own-p99-to-ring", "Fig. 8a",
     "and the 99th percentile of short flows is, of that beside a ring, at most", REPRODUCE_AT_MOST, 1, 0, "times",
     "not the paper's. At 80 % it is 0.97 times at k = 8, 0.84 at k = 16 (docs/PERF.md)"},
    {"panama-fig8", "own-mean-to-ring", "section 1", "and their mean", REPRODUCE_AT_MOST, 1, 0, "times",
     "not the paper's. At k = 16 and 80 % it is 0.83 times (docs/PERF.md)"},

    {"panama-fig9", "to-single-trees", "Fig. 9",
     "beside flows four trees take, of the best single tree's time, at most", REPRODUCE_AT_MOST, 1, 0, "times",
     "at full size too (docs/PERF.md)"},
    {"panama-fig9", "to-ring", "Fig. 9", "four trees take, of a ring's time, at most", REPRODUCE_AT_MOST, 1, 0, "times",
     "without flows; at full size too (docs/PERF.md)"},
    {"panama-fig9", "single-tree-to-ring", "Fig. 9", "at some load a single tree takes, of a ring's time, more than",
     REPRODUCE_AT_LEAST, 1, 0, "times", "with eight senders; at full size too (docs/PERF.md)"},
    {"panama-fig9", "own-marks", "Fig. 9",
     "beside flows, where each worker heeds the marks of its own way alone, four trees take, of their time with the "
     "marks of all, at most",
     REPRODUCE_AT_MOST, 1, 0, "times", "not the paper's: what our scheme does (docs/DECISIONS.md)"},

    {"panama-fig10", "fair", "Fig. 10a", "a job and a flow share a link equally: the smaller has at least",
     REPRODUCE_AT_LEAST, 45, 0, "%",
     "45 % is taken for equal. With Fig. 5's epochs as printed it was a quarter: one burst of marks lies in two "
     "epochs, which cut twice; here the window is cut as DCTCP's is, once for each window. The job has the "
     "larger part since both stand still in the round trip after a cut, as Linux has it (docs/DECISIONS.md): before, "
     "the smaller had 48.5 %. At full size it is 44.1 %"},
    {"panama-fig10", "own-fair", "Fig. 10a", "and where each worker heeds the marks of its own way alone",
     REPRODUCE_AT_LEAST, 45, 0, "%", "not the paper's: what our scheme does (docs/DECISIONS.md)"},
    {"panama-fig10", "starved", "Fig. 10b", "without the job's congestion control the flow is starved: it has at most",
     REPRODUCE_AT_MOST, 5, 0, "%",
     "the paper prints no number; a twentieth is taken for starved. At full size too (docs/PERF.md)"},

    {"panama-partial", "share-0.94", "section 7", "of the workers' packets PANAMA-0.94 waits for a share of",
     REPRODUCE_PRINTED, 0.94, 0.01, "", NULL},
    {"panama-partial", "share-0.88", "section 7", "and PANAMA-0.88 for a share of", REPRODUCE_PRINTED, 0.88, 0.01, "",
     NULL},
    {"panama-partial", "ignored", "section 7",
     "the slowest link is ignored: where others fill it, 0.94 takes, of its time without them, at most",
     REPRODUCE_AT_MOST, 1.1, 0, "times", NULL},
    {"panama-partial", "not-ignored", "section 7", "PANAMA, which waits for it, takes, of the time of 0.94, more than",
     REPRODUCE_AT_LEAST, 1.1, 0, "times", NULL},
    {"panama-partial", "ours-waits", "section 7",
     "all workers at one switch, our panama:15/16 takes, of the time of 0.94, more than", REPRODUCE_AT_LEAST, 1.1, 0,
     "times",
     "not the paper's: ours leaves the slow rank out as well, but the first window is of all, and the others are never "
     "ahead of it by more than a window, so a link that stays slow counts"},
    {"panama-partial", "ours-leaves-out", "section 7", "there PANAMA takes, of the time of our panama:15/16, more than",
     REPRODUCE_AT_LEAST, 1.1, 0, "times",
     "not the paper's. Below sixteen leaves with a worker each ours would wait for all, as a switch leaves out none "
     "but ranks of its own, and never all"},
    {"panama-partial", "lead", "section 7",
     "nothing in that rule holds sums back: they get ahead of the slow rank by more fragments than its window has,",
     REPRODUCE_AT_LEAST, 128, 0, "",
     "the paper does not speak of it. Without bound: half of the operation, however long that is, and no sum here has "
     "any of the slow rank's gradients"},

    {"panama-fig11", "bus-for-100", "appendix A", "100 Gbps at 200 MHz need a bus of", REPRODUCE_PRINTED, 512, 1,
     "bits", NULL},
    {"panama-fig11", "asic-rate", "Fig. 11", "512 bits at 1 GHz carry", REPRODUCE_PRINTED, 512, 1, "Gbps", NULL},

    {"panama-fig12", "luts", "Fig. 12", "128 ports of 100 Gbps take of a VU19P's LUTs less than", REPRODUCE_AT_MOST, 35,
     0, "%", "about half of the bound: twice the adders would come near it. Of a Virtex-7 690T they would be 175 %"},
    {"panama-fig12", "flip-flops", "Fig. 12", "and of a VU19P's flip-flops less than", REPRODUCE_AT_MOST, 5, 0, "%",
     NULL},
    {"panama-fig12", "ports", "section 6", "at 100 Gbps an FPGA could have more ports than", REPRODUCE_AT_LEAST, 100, 0,
     "", "as many as it has logic for; pins and timing are not looked at"},

    {"panama-fig13", "area", "Fig. 13", "the adders of 128 ports of 400 Gbps take", REPRODUCE_PRINTED, 5.94, 0.01,
     "mm2", "5.949, cut and not rounded; by the square of 180/7 it would be 2.88"},

    {"panama-fig14", "fpga-most", "Fig. 14", "from 100 Gbps on an FPGA's latency is at most", REPRODUCE_AT_MOST, 133, 0,
     "ns", "182.2 at 128 ports, 172.2 at 64, by equation (3); it gives 132.2 for 4 ports alone"},
    {"panama-fig14", "asic-most", "Fig. 14", "from 100 Gbps on an ASIC's latency is at most", REPRODUCE_AT_MOST, 133, 0,
     "ns", "100 Gbps at 128 ports; at 64 ports 128.8, and 64.4 at 400 Gbps and 128 ports"},

    {"atp-rows", "row-1", "Figure 6", "a row of the workers 00101 has the counter", REPRODUCE_PRINTED, 2, 1, "", NULL},
    {"atp-rows", "row-2", "Figure 6", "a row of the workers 01101 has the counter", REPRODUCE_PRINTED, 3, 1, "", NULL},
    {"atp-rows", "row-3", "Figure 6", "a row of the workers 10001 has the counter", REPRODUCE_PRINTED, 2, 1, "", NULL},

    {"atp-pool", "static-served", "slide \"Static Allocation\"",
     "of 100 aggregators each of two jobs has 50, so of 80 fragments under way those with a row are at most",
     REPRODUCE_AT_MOST, 50, 0, "", "a hash puts several fragments on one of its rows; others stay empty"},
    {"atp-pool", "alone", "slide \"Limited Switch Memory\"",
     "a job that needs 80 of the 100, and has them to itself, gets", REPRODUCE_AT_LEAST, 80, 0, "",
     "by a hash as printed: 100 (1 - 0.99^80) are hit. The released code has a hash that never meets itself within a "
     "job. Ours holds a row for as long as it fills, and no round trip more, so it needs fewer than are under way"},
    {"atp-pool", "shared", "slide \"Limited Switch Memory\"", "two such jobs at a time have together at most",
     REPRODUCE_AT_MOST, 100, 0, "", NULL},

    {"atp-single", "to-switchml", "slide \"Single Job Performance\"",
     "of seven models ATP's throughput is, of SwitchML's, at least", REPRODUCE_AT_LEAST, 0.95, 0, "times", NULL},
    {"atp-single", "to-servers", "slide \"Single Job Performance\"", "of BytePS's, N to N, at least",
     REPRODUCE_AT_LEAST, 0.95, 0, "times", NULL},
    {"atp-single", "to-server", "slide \"Single Job Performance\"", "of BytePS's, N to 1, at least", REPRODUCE_AT_LEAST,
     0.95, 0, "times", NULL},
    {"atp-single", "to-ring", "slide \"Single Job Performance\"", "and of Horovod's at least", REPRODUCE_AT_LEAST, 0.95,
     0, "times", NULL},
    {"atp-single", "vgg-to-resnet", "slide \"Single Job Performance\"",
     "the least that a VGG gains over BytePS, N to N, is, of the most that a ResNet gains, more than",
     REPRODUCE_AT_LEAST, 1, 0, "times", NULL},

    {"atp-jobs", "enough", "slide \"Dynamic (ATP) vs Static\"",
     "with enough memory dynamic is about as fast as static, at least", REPRODUCE_AT_LEAST, 0.95, 0, "times", NULL},
    {"atp-jobs", "little", "slide \"Dynamic (ATP) vs Static\"", "with less it is faster, by more than",
     REPRODUCE_AT_LEAST, 1, 0, "times", NULL},
    {"atp-jobs", "even", "slide \"Dynamic (ATP) vs Static\"", "and the three jobs are served alike, at least",
     REPRODUCE_AT_LEAST, 0.95, 0, "", "not the paper's: the slides say nothing of it"},

    {"atp-esa", "most", "ESA, abstract", "priorities shorten jobs, in the mean, by up to", REPRODUCE_PRINTED, 1.35,
     0.01, "times",
     "the setting is not at hand; ours depends on the pool. Jobs that turn others away lose priority here: by an "
     "earlier rule, of rows alone, it was 1.3671 times"},
    {"atp-esa", "least", "ESA, abstract", "and with each pool by more than", REPRODUCE_AT_LEAST, 1, 0, "times",
     "not the paper's"},
    {"atp-esa", "equal", "ESA, abstract", "and so do equal priorities, by up to at least", REPRODUCE_AT_LEAST, 1.35, 0,
     "times", "not the paper's: no job is told to be more urgent, and each loses priority where it is in the way"},

    {"atp-literal", "wrong", "released code", "of 300 runs these have a wrong sum, at least", REPRODUCE_AT_LEAST, 1, 0,
     "runs", "not the paper's. Most come from a lost answer: the server changes the byte order of its sum once more"},
    {"atp-literal", "unnoticed", "released code", "these have a wrong sum whose lane is right, at least",
     REPRODUCE_AT_LEAST, 1, 0, "runs", "not the paper's. A lane tells which parts are in a sum, not their byte order"},
    {"atp-literal", "leaked", "released code", "these leave rows that nobody frees, at least", REPRODUCE_AT_LEAST, 1, 0,
     "runs", "not the paper's. A late part takes a row behind its answer"},
    {"atp-literal", "dropped", "released code", "in these a sum with new parts is dropped, at least",
     REPRODUCE_AT_LEAST, 1, 0, "runs",
     "not the paper's. Its parts come again when timers end; our server asks for them at once"},
    {"atp-literal", "endless", "released code", "these do not end, at least", REPRODUCE_AT_LEAST, 1, 0, "runs",
     "not the paper's. A server has one tensor, and no answer to a worker that is one behind"},
    {"atp-literal", "ours", "scheme `atp`",
     "with the same faults runs with a wrong sum, a leaked row or no end are at most", REPRODUCE_AT_MOST, 0, 0, "runs",
     "not the paper's"},

    {"atp-straggler", "kept", "A2TP, benchmark.md",
     "the job without a straggler keeps its rate: of that alone, at least", REPRODUCE_AT_LEAST, 0.95, 0, "times",
     "\"still maintains a high aggregation throughput (about 50Gbps in our environment)\", of an unknown one alone"},
    {"atp-straggler", "first-come", "A2TP, benchmark.md", "with first come, first served it does not: at most",
     REPRODUCE_AT_MOST, 0.95, 0, "times", "not the paper's; the least of both stragglers and three pools"},
    {"atp-straggler", "aimd", "A2TP, benchmark.md", "nor with ATP's AIMD: at most", REPRODUCE_AT_MOST, 0.95, 0, "times",
     "not the paper's"},
    {"atp-straggler", "occupied", "A2TP, result.csv", "the straggling job has of all rows at most", REPRODUCE_AT_MOST,
     4.37, 0, "%",
     "the size of A2TP's pool is not at hand: ours has 16 rows, and the job 4 of them; of 64 or 256 rows it is 4 or 1 "
     "%"},
    {"atp-straggler", "straggling", "A2TP, result.csv", "and sums at a rate of at least", REPRODUCE_AT_LEAST, 14.5, 0,
     "Gbps", "of 20 that UDP leaves there, of a fair share here"},
    {"atp-straggler", "late-gain", "A2TP, benchmark.md", "and gains over first come, first served, at least",
     REPRODUCE_AT_LEAST, 0.95, 0, "times", "not the paper's: with a late worker it is no slower"},
    {"atp-straggler", "equal-gain", "A2TP, benchmark.md",
     "equal jobs that straggle are together as fast as with first come, first served, at least", REPRODUCE_AT_LEAST,
     0.95, 0, "times", "not the paper's"},
    {"atp-straggler", "even", "A2TP, benchmark.md", "and they are served alike: Jain's index of at least",
     REPRODUCE_AT_LEAST, 0.95, 0, "", "not the paper's"},

    {"goat-memory", "resnet18", "slide \"Evaluation: Setup\"", "ResNet-18 has", REPRODUCE_PRINTED, 44, 1, "MB",
     "of 2^20 bytes, float32"},
    {"goat-memory", "resnet50", "slide \"Problem: Switch Memory Limitation\"", "ResNet-50 has", REPRODUCE_PRINTED, 98,
     1, "MB", "of 2^20 bytes; Keras' model with biases, 25,636,712 parameters, has 97.8"},
    {"goat-memory", "vgg16", "slide \"Problem: Switch Memory Limitation\"", "VGG-16 has", REPRODUCE_PRINTED, 528, 1,
     "MB", "of 2^20 bytes"},
    {"goat-memory", "exceeds", "slide \"Problem: Switch Memory Limitation\"",
     "both exceed the memory of a Tofino 2, 64 MB, and of a Tofino 1, 22 MB, by at least", REPRODUCE_AT_LEAST, 1, 0,
     "times", NULL},

    {"goat-example", "atp", "slide \"A Motivating Example\"", "with ATP the server receives, in messages,",
     REPRODUCE_PRINTED, 7, 1, "", "one of three gradients is added, the parts of the others arrive one by one"},
    {"goat-example", "atp-by-arrival", "slide \"A Motivating Example\"",
     "and so it does if a row is free again behind its sum, and workers send one after the other:", REPRODUCE_PRINTED,
     7, 1, "", "in step they need 3"},
    {"goat-example", "goat", "slide \"A Motivating Example\"", "with GOAT it receives", REPRODUCE_PRINTED, 3, 1, "",
     NULL},

    {"goat-ps", "resnet18", "slide \"Evaluation: Overhead\"",
     "with 16 workers and ResNet-18 GOAT saves, of the server's bytes,", REPRODUCE_PRINTED, 93.8, 0.1, "%",
     "1 - 1/16: each gradient is summed at one switch, as form (4) has it; three Tofino 1 hold the model"},
    {"goat-ps", "resnet50", "slide \"Evaluation: Overhead\"", "and with ResNet-50, of the slide's second plot,",
     REPRODUCE_PRINTED, 93.8, 0.1, "%",
     "three Tofino 1 hold 66 of 98 MB: 66/98 x 15/16. These are the digits of the slide on scalability, by chance or "
     "not"},
    {"goat-ps", "resnet50-printed", "slide \"Evaluation: Overhead\"", "and by Algorithm 1 as printed",
     REPRODUCE_PRINTED, 93.8, 0.1, "%", "its plan has 98 MB in memories of 66"},
    {"goat-ps", "least-cost", "slide \"Problem Formulation\"",
     "and the plan with the least bytes x hops, with ResNet-18,", REPRODUCE_PRINTED, 93.8, 0.1, "%",
     "equation (1) counts hops, so it adds a gradient near its workers, at several switches"},

    {"goat-cost", "leaf-spine", "slide \"Evaluation: Scalability\"",
     "on a leaf-spine network GOAT saves, of the bytes x hops without aggregation,", REPRODUCE_PRINTED, 63.1, 0.1, "%",
     "true hops, and the least cost. Where the digits of the slide may come from: `script-data`"},
    {"goat-cost", "fat-tree", "slide \"Evaluation: Scalability\"", "and on a fat tree", REPRODUCE_PRINTED, 63.1, 0.1,
     "%", "as on the leaf-spine network"},
    {"goat-cost", "script-data", "data of the authors' repository", "13,680 against 37,103 MB x hops, 35 workers, are",
     REPRODUCE_PRINTED, 63.1, 0.1, "%",
     "the digits of the slide. The script adds a random 10 to 20 GB x hops to the plan without aggregation, and takes "
     "0.9 to 1.5 off ATP's"},
    {"goat-cost", "script-hops", "script of the authors' repository",
     "without that, hops counted as there, form (4), it saves", REPRODUCE_PRINTED, 63.1, 0.1, "%",
     "not the paper's. The script counts one hop fewer than links on each way"},
    {"goat-cost", "script-exact", "script of the authors' repository", "and the least cost, with these hops, saves",
     REPRODUCE_PRINTED, 63.1, 0.1, "%", "not the paper's"},
    {"goat-cost", "to-none", "slide \"Evaluation: Scalability\"",
     "on both networks GOAT costs, of no aggregation, at most", REPRODUCE_AT_MOST, 0.65, 0, "times", "not the paper's"},
    {"goat-cost", "to-atp", "slide \"Evaluation: Scalability\"", "and of ATP with a fifth of the workers late, at most",
     REPRODUCE_AT_MOST, 0.75, 0, "times", "not the paper's"},
    {"goat-cost", "order", "slide \"Evaluation: Scalability\"",
     "in every draw GOAT costs no more than ATP, and ATP no more than no aggregation: at most", REPRODUCE_AT_MOST, 1, 0,
     "times", NULL},
    {"goat-cost", "printed", "slide \"Algorithm Design\"",
     "Algorithm 1 as printed costs, of the least cost found, on both networks more than", REPRODUCE_AT_LEAST, 1, 0,
     "times",
     "not the paper's, which claims \"a constant approximation ratio\" and prints none. Form (4) leaves out the way "
     "from "
     "a worker to its switch"},

    {"goat-bound", "divided", "equation (1)",
     "our plan costs, of the relaxed problem's bound, where gradients fill the memory, at most", REPRODUCE_AT_MOST,
     1.01, 0, "times", "not the paper's"},
    {"goat-bound", "other", "equation (1)", "and where they leave some free, at most", REPRODUCE_AT_MOST, 1.06, 0,
     "times", "not the paper's. The bound takes each memory as what whole gradients can fill"},
    {"goat-bound", "greedy", "equation (1)", "the greedy plan alone costs at most", REPRODUCE_AT_MOST, 1.06, 0, "times",
     "not the paper's"},
    {"goat-bound", "repaired-memory", "slide \"Algorithm Design\"",
     "Algorithm 1 with a null item in each knapsack, and repair, exceeds the memory by at most", REPRODUCE_AT_MOST, 0,
     0, "bytes", "not the paper's"},
    {"goat-bound", "collapse", "equation (1)",
     "the relaxed problem has, with one gradient of all bytes, of its optimum with eight", REPRODUCE_PRINTED, 1, 1e-6,
     "times", "not the paper's. So the linear program does not grow with the gradients"},

    {"goat-dynamics", "exact", "slide \"Evaluation: Network Dynamic\"",
     "however many workers are late, GOAT costs, of ATP, at most", REPRODUCE_AT_MOST, 1, 0, "times", NULL},
    {"goat-dynamics", "slide", "slide \"Evaluation: Network Dynamic\"", "and form (4) at most", REPRODUCE_AT_MOST, 1, 0,
     "times", NULL},
    {"goat-dynamics", "script-data", "data of the authors' repository",
     "and in their data, without late workers, 62,520 against 56,780 MB x hops, at most", REPRODUCE_AT_MOST, 1, 0,
     "times", "the slide says \"always\"; the script takes a random amount off ATP's"},

    {"goat-overfill", "most", "Algorithm 1", "plans keep the memory: beyond it are, of the bytes at switches, at most",
     REPRODUCE_AT_MOST, 0, 0, "%", "a switch is drawn for each gradient by itself, whatever it holds already"},
    {"goat-overfill", "least", "Algorithm 1", "and in the case with the least, at most", REPRODUCE_AT_MOST, 0, 0, "%",
     "the more gradients, the nearer to the mean, which fits"},

    {"goat-throughput", "throughput", "slide \"Evaluation: Throughput\"",
     "eight workers train faster with aggregation, by up to", REPRODUCE_PRINTED, 53.3, 0.1, "%",
     "neither the baseline nor the GPUs are named; the faster the GPU, the larger the gain"},
    {"goat-throughput", "accuracy", "slide \"Evaluation: Accuracy\"", "and reach an accuracy sooner, by up to",
     REPRODUCE_PRINTED, 1.77, 0.01, "times",
     "no training here: equal sums need equally many iterations, so this is the ratio of throughputs. The slides' 1.77 "
     "is not 1.533, so they have different baselines"},
};

const struct reproduce_claim *reproduce_claim_at(uint32_t index)
{
    return index < sizeof claims / sizeof claims[0] ? &claims[index] : NULL;
}
