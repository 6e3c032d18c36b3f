/* SPDX-License-Identifier: Apache-2.0 */
/* experiments.c: every experiment, in the order of the papers, with its assumptions. Read next: reproduce.h,
 * panama.h. */
#include <stddef.h>
#include <string.h>

#include "plan/lp.h"
#include "reproduce/atp.h"
#include "reproduce/goat.h"
#include "reproduce/panama.h"
#include "reproduce/rina.h"

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static const struct reproduce_experiment experiments[] = {
    {"panama-fig1", "PANAMA", "Share of communication, and what adding in the network can gain", false,
     LIST("Which five models: those of TensorFlow's benchmarks of 2017, the suite that the paper names.",
          "Times to compute are not printed. P100: images per second of that suite on one GPU, with its batches of 64, "
          "and 512 for AlexNet. Of V100 and A100 nothing is known to us: what is said of them is checked only as far "
          "as shares and gains belong together.",
          "A gradient is a float32 for each parameter, sent once and its sum received once, one after the other: 2 x "
          "bytes / rate.",
          "Communication is not hidden behind computing; adding in the network halves it: gain = 1 / (1 - share / 2)."),
     panama_fig1, NULL},
    {"panama-sum", "PANAMA", "Bytes of a training job", false,
     LIST("Sent and received bytes both count: 2 x workers x model x iterations."), panama_sum, NULL},
    {"panama-fig2", "PANAMA", "What is sent at a time in a shared cluster", false,
     LIST("The figure is lost, and the text has no number but its ends: transfers of published models and data stand "
          "for its bars. A few KB are read as at most 10, hundreds of GB as at least 100, tens of GB as at most 100.",
          "Gradients: a float32 for each parameter; the six models of section 7, BERT base, and Megatron-LM's of 8.3 "
          "billion parameters.",
          "Data sets: CIFAR-10, and ImageNet of 2012, which the paper trains with.",
          "Pipelines: what leaves ResNet50's first stage and VGG16's convolutions for a batch of 64. Parts of one "
          "layer: a sum of Megatron-LM's largest model, batch 8, 1,024 words, width 3,072, float16.",
          "Reinforcement learning: DQN (Nature 2015) and PPO's networks of two layers of 64 units (2017). k-means: "
          "HiBench's 10 centres of 20 dimensions, float64."),
     panama_fig2, NULL},
    {"panama-eq", "PANAMA", "The accelerator's rate, adders and latency: equations (1) to (3)", false,
     LIST("Prototype: 64 bits, 200 MHz, 4 ports, adders of 10 ns."), panama_eq, NULL},
    {"panama-table1", "PANAMA", "Latency of the prototype", false,
     LIST("By equation (3), which is the paper's own; nothing is measured here.",
          "Packets that are not added: equation (3) without its adders."),
     panama_table1, NULL},
    {"panama-table2", "PANAMA", "Logic of the prototype", false,
     LIST("VU19P: 4,085,760 LUTs and 8,171,520 flip-flops (AMD's selection guide).",
          "Costs of a parser, a buffer, an adder and the control are Table 2's own."),
     panama_table2, NULL},
    {"panama-fig7", "PANAMA", "What a switch carries that passes packets on, or adds them", false,
     LIST(
         "The figure is lost; of sizes the text says nothing: packets of about 512, 1,024 and 1,500 bytes, as in Table "
         "1; of our payloads, in steps of 64 bytes, 476, 988 and 1,500.",
         "Instead of four iperf on two servers: four processes that send through a switch with one thread on the "
         "loopback, and get as much back. All ways have the same packets in and out, and the same senders.",
         "FPGA-noagg: scheme `forward`, which returns a packet to who sent it, and adds nothing. FPGA-agg: four "
         "communicators of one rank each, whose bitmap has one bit, as the paper's. What the paper has not measured: "
         "all four are added.",
         "NoFPGA, servers without anything between them, has no counterpart: whoever sends, sends to the switch.",
         "\"Consistent\" is taken for at least 0.886, as the paper's own FPGA-agg varies down to 8.86 of 10 Gbps; of "
         "CPU time at most 1 / 0.886. Each number is of the packet size that is worst, and the median of rounds of "
         "what one way has beside the other in the same round.",
         "Every element is looked at before the timed calls and after the last; one that is wrong is an error."),
     NULL, NULL},
    {"panama-fig8", "PANAMA", "Training jobs beside flows in a shared cluster", true,
     LIST(
         "A fat tree of 10 Gbps and 1 us: k = 16 (--sweep), 8, or 6 with --quick; jobs of 16 to 96, 4 to 24, 4 to 16 "
         "workers. No server has two jobs; the lowest that are free are close.",
         "Load: what flows offer, 20 %, and of each server with a worker the share of time in which a ring's bytes "
         "take its link on an empty network. Jobs stay; a load has as many as come nearest to it, the same for all "
         "schemes, drawn once.",
         "The weights of the six models are not printed: by their bytes, as with equal ones all servers together make "
         "72 % at most. Times to compute: P100, batch 32 (AlexNet 512), not hidden. GoogLeNet is below 40 MB, and on a "
         "ring with every scheme.",
         "Flows: 10 % WebSearch, 10 % DataMining, in packets as pFabric has them; all of WebSearch are short.",
         "Packets of 9,000 bytes, instead of 1,500, and jobs at 1/4: the levers of docs/SIMULATOR.md. Marks from 85 "
         "packets of 1,500 bytes on, also in servers' own queues, which nothing else would bound. Ports have as much "
         "memory as they need, instead of PAUSE.",
         "Ring: 2 (N - 1) steps over DCTCP connections that stay. PANAMA, SwitchML*: four trees where there are as "
         "many. SwitchML*'s window is not printed: its slots at 10 Gbps, 128 (NSDI'21, of 128 bytes there), of "
         "our 1,408 bytes, or 160 KB in larger packets, a quarter in each tree.",
         "PANAMA-0.88 and -0.94: sums of 7/8 and 15/16 of the workers, rounded up. Who may lack is not said: here each "
         "eighth or sixteenth worker's edge switch may leave out one of its own, of k / 2 at most; the others "
         "wait for all of theirs.",
         "Ideal: short flows, long flows, and PANAMA's jobs, each with the network for itself.",
         "Flows and iterations count that begin in 2 s (--quick 0.3 s) after a warm-up, until all have ended. Times of "
         "iterations are means of jobs, at full scale."),
     panama_fig8, &panama_fig8_sweep},
    {"panama-fig9", "PANAMA", "One job on four trees, on each alone, and on a ring, beside long flows", true,
     LIST("Fig. 3 is lost: a fat tree of k = 4, 16 hosts, four cores, which are the roots of the four trees; 10 Gbps, "
          "1 us.",
          "Workers: one of the two hosts of each edge switch. The others send, one after the other from left to right, "
          "a long flow each to the host across, by ECMP.",
          "The model's size is not printed: 102.2 MB (ResNet-50), --quick 8 MB. Times are means of eight draws of the "
          "flows' ways: in one draw a tree that no flow crosses is faster than four, of which each has a fixed "
          "quarter.",
          "PANAMA-AggN: the same job, and only core N may add. Ring: 2 (N - 1) steps, in each of which a worker sends "
          "an N-th to the next one, over a connection with DCTCP that stays.",
          "Beside the paper's: SwitchML*, four trees with fixed windows of 32 fragments each; not with --quick, our "
          "scheme `ring`.",
          "Lossless: ports have as much memory as they need, instead of PAUSE."),
     panama_fig9, NULL},
    {"panama-fig10", "PANAMA", "A job and a flow on one link", true,
     LIST("Topology, round trips and models are not printed: two leaves below a spine, one bottleneck of 10 Gbps, "
          "equal round trips of 40 us, marks from 85 packets on; a job of two workers on one tree.",
          "Without congestion control: a fixed window of 128 fragments (scheme switchml).",
          "Shares are taken from 0.4 s on, 0.15 s after the job began."),
     panama_fig10, NULL},
    {"panama-partial", "PANAMA", "Sums that do not wait for the slowest, by the published rule", true,
     LIST("PANAMA-0.94 and -0.88 are 15/16 and 7/8 of an accelerator's ports, rounded up; of the last ones nothing is "
          "said: what comes for a sum that has left is dropped.",
          "Our simulator, scheme `panama-literal`, which no job may run: sixteen workers under sixteen leaves and one "
          "spine of 10 Gbps, window at most 128; four long flows with DCTCP share the last worker's way up. Beside "
          "ours: all sixteen at one switch, and the flows from the last worker's own host, whose queue marks.",
          "One operation of 4,096 fragments: over several, late packets of one are summed into the next, since VIDs "
          "begin anew (docs/DECISIONS.md).",
          "A tenth more time is taken for none."),
     panama_partial, NULL},
    {"panama-fig11", "PANAMA", "Rate of a port", false, LIST("A bus has a power of two of bits."), panama_fig11, NULL},
    {"panama-fig12", "PANAMA", "Logic against ports", false,
     LIST("The paper's formula: a parser and a buffer per port, adders by equation (2), one control, with Table 2's "
          "costs; 512 bits for 100 Gbps."),
     panama_fig12, NULL},
    {"panama-fig13", "PANAMA", "Area against ports", false,
     LIST("0.93686 mm2 for an adder at 180 nm, as printed; to 7 nm by the table that the paper cites (Stillmaker and "
          "Baas), where 180 nm is 320 times as large.",
          "Adders alone; 512 bits."),
     panama_fig13, NULL},
    {"panama-fig14", "PANAMA", "Cut-through latency", false,
     LIST("By equation (3): FPGA at 200 MHz with adders of 10 ns, ASIC at 1 GHz with adders of 6 ns, the narrowest bus "
          "of a power of two that has the rate.",
          "Fig. 14a, b: 64 ports, 64 to 1,500 bytes. Fig. 14c, d: 1,500 bytes, 4 to 128 ports. Which rates were drawn "
          "is not printed: 100 and 400 Gbps."),
     panama_fig14, NULL},
    {"atp-rows", "ATP", "Rows of a switch's memory", false,
     LIST("Of the paper only a lecture's slides are at hand. Their figure 6 has three rows, of workers as bits and a "
          "counter: ours have no counter, the bits alone tell which workers are in."),
     atp_rows, NULL},
    {"atp-fields", "ATP", "Fields of a row of a switch's memory", false,
     LIST("Widths are printed in the head of figure 6. Ours are of the product's rows (src/core/slot.h) and packets "
          "(docs/PROTOCOL.md). Widths of the packet's fields (figure 5) are lost."),
     atp_fields, NULL},
    {"atp-bert", "ATP", "BERT-Large on two clusters", false,
     LIST(
         "A DGX-2H has 16 V100 (NVIDIA's data sheet); the slide has the products alone.",
         "Of batches, precision and the network the slide says nothing, so nothing is simulated: each time is computed "
         "from the other one."),
     atp_bert, NULL},
    {"atp-racks", "ATP", "A job of 64 workers at one switch, and in two racks", true,
     LIST("BERT-Large's gradients, 1,341 MB (float32), are summed once over 64 workers with a server; packets of 9,000 "
          "bytes, 64 MB of rows, at 1/4, or 1/32 with --quick. A simulated server has no more than 64 workers, so the "
          "slides' 92 nodes are left out.",
          "One switch: 65 links of 100 Gbps and 1 us, 6.5 Tbps together. Two racks: two such switches with 33 hosts "
          "each, and a spine that does not add. The server is in the second rack."),
     atp_racks, NULL},
    {"atp-pool", "ATP", "Two jobs that need 80 of 100 rows each", false,
     LIST("The product's combiner, with 80 fragments of a job under way, the first part of each: rows are found by a "
          "hash of the communicator and the sequence, which names the first of four.",
          "Static: each job has its half of the rows. Dynamic: both have all."),
     atp_pool, NULL},
    {"atp-single", "ATP", "One job of eight workers, against the baselines", true,
     LIST("Bars are lost: what the text says of them is their order. \"Comparable\" is taken for at least 0.95.",
          "Star of 100 Gbps and 1 us, a host more than workers, as the slides' nine servers; packets of 9,000 bytes, "
          "jobs at 1/4, or 1/32 with --quick. Ports have as much memory as they need.",
          "GPUs are not named. Times to compute: P100 and V100 (`tributary sim --models`); VGG11 and VGG19 by "
          "multiplications, 7.6 and 19.6 of VGG16's 15.5 billion. Nothing is hidden behind computing.",
          "BytePS, N to N: a server at each worker. Horovod: a ring in 2 (N - 1) steps with DCTCP. No scheme pays for "
          "its hosts' stacks, so TCP and RDMA are one."),
     atp_single, NULL},
    {"atp-jobs", "ATP", "Three jobs that share rows by four policies", true,
     LIST("Eight workers and a server for each job, all on one switch, where the slides have nine servers in all; "
          "VGG16, computing drawn within 2 %. Staggered: starts are a third of an iteration apart.",
          "PTA, the rows of a job's peak: the fewest, in steps of a half more, with 99 % of the rate that 4,096 rows "
          "give. Pools of 0.25 to 4 PTA; 3 and more are enough. About the same is taken for at least 0.95.",
          "Static: a third of the rows each. Dynamic: all rows for all jobs, as jobs have them unless told otherwise: "
          "equal priorities of 128, which a job loses if its rows are in the way of others, as in A2TP's case "
          "(docs/DECISIONS.md). First come: the published rule. ESA's order: priorities 200, 100 and 0, in the order "
          "of starts, then of numbers, as of equal jobs the first has the least left.",
          "Late worker: the last worker of the third job computes for a fifth longer, about as long as a sum takes. "
          "Times are of the other two jobs.",
          "Of summing alone: computing is the same. Even: Jain's index of the three jobs' times. Each number is of the "
          "pool that is worst."),
     atp_jobs, NULL},
    {"atp-esa", "ATP", "ESA's priorities, against first come, first served", true,
     LIST(
         "Of ESA (arXiv 2201.06398) only the abstract is at hand: rows are taken from jobs of a lower priority, and "
         "jobs end sooner by up to 1.35 times in the mean. A priority is of a job here, the shortest iteration first, "
         "and of no single packet. A job loses half of its priority if a row of it turns another's part away, and each "
         "whole sum adds 1 again. Equal priorities are 255 for all.",
         "Three jobs of eight workers and a server on one switch of 100 Gbps and 1 us: 10, 40 and 160 MB an iteration, "
         "the same bytes in all; 200 us of computing, drawn within 10 %. Pools of 4 to 64 rows of 8,192 bytes."),
     atp_esa, NULL},
    {"atp-literal", "ATP", "The published rules where packets are lost and late, against ours", false,
     LIST("Rules of the released code (github.com/in-ATP/ATP, ddca27f) for switch, server and worker, scheme "
          "`atp-literal`, which no job may run, with our header and lane; a worker's timer is 1 ms. Beside them scheme "
          "`atp`.",
          "Without the control plane that frees old rows by a timestamp, which the slides have and the code has not.",
          "300 runs: two jobs of three workers, six tensors of 12 packets each, six rows, windows of 8; hops of 10 us. "
          "0.1 % of packets are lost, and 0.1 % late by up to 3 ms, half of these as copies.",
          "No end: no worker gets a sum for 3 s. The code exits after 20 s."),
     atp_literal, NULL},
    {"atp-straggler", "ATP", "A2TP's case: a job beside one that waits for a worker", true,
     LIST(
         "Of A2TP (Li et al., EuroSys'23) only the released code is at hand: a benchmark of two jobs with four workers "
         "and a server each at one switch of 100 Gbps, UDP of 80 Gbps beside a worker of the second, and sample data. "
         "Here four long flows with DCTCP share that worker's link, and hosts mark.",
         "A2TP gives each worker a second window, for rows. Ours is no window: a job loses priority at the combiner if "
         "its rows are in the way of others (docs/DECISIONS.md). All jobs have priority 255, or 0: first come, "
         "first served, as in ATP.",
         "Beside it a job with a late worker, the last: 2 MB an iteration, 100 us of computing, 200 us at the last "
         "worker. Equal jobs are three of these, which start 100 us apart. Pools of 16, 64 and 256 rows of 1,408 "
         "bytes; star, 1 us.",
         "Rates are of gradients, from 2 ms on. A row is free here as soon as its sum has left, so a job without a "
         "straggler holds next to none, and A2TP's 41 to 55 % of it have no counterpart."),
     atp_straggler, NULL},
    {"goat-memory", "GOAT", "Models beside the memory of a switch", false,
     LIST("A model has a float32 for each parameter of torchvision's, in MB of 2^20 bytes."), goat_memory, NULL},
    {"goat-example", "GOAT", "The example of three workers", false,
     LIST(
         "The figure is lost. Three workers with a gradient each for three parts of a model; three switches in a line, "
         "with room for one gradient each; all workers at the first of them, the server behind the third.",
         "ATP adds at the first switch of a worker, as the slides on baselines have it."),
     goat_example, NULL},
    {"goat-ps", "GOAT", "Bytes that the server receives", false,
     LIST(
         "Two leaves and a spine with Tofino 1, 22 MB each; 17 hosts, where the testbed has nine servers. Gradients of "
         "1 MB; means of 40 draws of hosts."),
     goat_ps, NULL},
    {"goat-cost", "GOAT", "Bytes x hops on two networks", false,
     LIST("Sizes are those of the script in the authors' repository (github.com/Fangjin98/randomized-rounding, "
          "babbc1a): 10 spines and 10 leaves of five hosts, five of the switches add, 35 workers; a fat tree with k = "
          "8, ten switches, 70 workers; 16 gradients of 15 MB, 60 MB a switch. Means of 40 draws.",
          "The slides do not define a distance: it is the links of a shortest way. Form (4) is the slides' "
          "maximisation; "
          "it equals equation (1) where every switch is on a shortest way to the server.",
          "GOAT is the plan of our greedy planner: the lowest cost found among plans that fit the memory. ATP is as on "
          "the slides: each worker sends to its nearest switch, which adds the first gradients that fit; late workers "
          "send to the server. Geryon does not aggregate."),
     goat_cost, NULL},
    {"goat-bound", "GOAT", "Plans against the bound of the relaxed problem", false,
     LIST("All switches add, and have 20, 22 or 60 MB; 240 MB in 24 to 240 gradients; 32 workers on the leaf-spine "
          "network, 15 and 64 on fat trees with k = 4 and 8; three draws.",
          "Rounded up to a thousandth. The collapsed problem is compared on the leaf-spine network of `goat-cost` with "
          "20 workers and eight gradients."),
     goat_bound, NULL},
    {"goat-dynamics", "GOAT", "Bytes x hops with late workers", false,
     LIST("Networks and sizes as in `goat-cost`. Late workers' parts go to the server in ATP; a GOAT switch keeps its "
          "memory for them, so its cost stays. 0 to 50 % are late, in each of 40 draws."),
     goat_dynamics, NULL},
    {"goat-overfill", "GOAT", "Algorithm 1 and the memory of switches", false,
     LIST(
         "All switches add, and have 22 MB; 240 MB in 16 to 240 gradients; 32 workers on the leaf-spine network, 64 on "
         "the fat tree with k = 8; means of 40 draws.",
         "Form (4), as printed, has a closed form when relaxed: the switches farthest from the server take all that "
         "they can hold. The \"min-max sum\" of step 2 is by largest first."),
     goat_overfill, NULL},
    {"goat-packets", "GOAT", "Packets that the server receives", true,
     LIST("Scheme `goat` in the simulator: two leaves of nine hosts and a spine, 100 Gbps, 1 us. The workers are dealt "
          "over both leaves, the server is at the first. ResNet-50, 98 MB, in 16 pieces; sizes at 1/4, or 1/32 with "
          "--quick.",
          "Packets keep to their path to the server, so a switch counts for the workers whose path passes it. GOAT is "
          "our greedy planner, and form (4) the slides' one. A plan does not count that a sum is added again at a "
          "second switch which has the piece.",
          "ATP is scheme `atp` with the same memory. Its rows are used again within an iteration, so the memory of a "
          "window is enough."),
     goat_packets, NULL},
    {"goat-throughput", "GOAT", "Training on three switches", true,
     LIST("Scheme `atp`, with a row for every part, stands for GOAT with memory for the model: as many parts are "
          "added (`goat-packets`), but at the first switch of each worker. The baseline is one server without "
          "aggregation (`ps`).",
          "Eight workers and a server on two leaves and a spine, 100 Gbps, 1 us; jobs at 1/4, or 1/32 with --quick. "
          "Computing: a P100's 164 ms for ResNet-50; ResNet-18 by multiplications, 1.8 of 4.1 billion."),
     goat_throughput, NULL},
    {"rina-bom", "Rina", "Rates of trees, and steps of chains, as switches are replaced", false,
     LIST(
         "Section III-B: sums go to a server over a spanning tree, of shortest ways, the lowest where several are as "
         "short; all workers send at the rate of the fullest link. The server is at the first worker's switch.",
         "Fat tree: the 13 switches of that tree, not all 20. Best and mean are of all 8,192 choices. Dragonfly: 72 "
         "workers, all 36 switches; best is one by one, the mean of 2,000 draws.",
         "Section IV-D: switches of hosts first, by their workers, then those with the most workers below. A rack that "
         "\"exceeds two nodes\" is one of at least two, as the paper's own racks have two."),
     rina_bom, NULL},
    {"rina-steps", "Rina", "Steps of a chunk", true,
     LIST(
         "Scheme `rina-literal`, which no job may run, in our simulator: the paper's agents, with its PULL, "
         "windows and ACKs. Results go back along the chain (`rina-literal` in docs/SIMULATOR.md). One packet of each "
         "chunk.",
         "A step is a packet that a host sends because of one that came; the longest row of these from a worker's part "
         "to a worker's sum is counted."),
     rina_steps, NULL},
    {"rina-eq3", "Rina", "What uneven hosts cost a ring: equation (3)", false,
     LIST("Message by message, 300 draws: each step of each worker is normal, of deviation 1. A rack of two waits for "
          "its slower worker, so N, and not G, is under the logarithm.",
          "The paper has a barrier after each step."),
     rina_eq3, NULL},
    {"rina-fig10", "Rina", "Throughput of training", true,
     LIST(
         "Rates, overheads and times to compute are not printed: hosts' links of 25 Gbps and 10 us, so a step takes 20 "
         "us; other links 1 us; 30 ms for a batch, 200 ms of ResNet101 and BERT base. Packets of 9,000 bytes, sizes "
         "and delays at 1/4; with --quick ResNet50 alone, 1,500 bytes, 1/32.",
         "Dragonfly: 64 of 72 hosts, as ATP names 64 workers. Half: racks, 4 of 8 and 16 of 32; of ATP in the fat tree "
         "6 of 13, as printed.",
         "ATP: scheme `atp`, but each switch that adds on the way is a combiner, as Fig. 5 counts them. It and the one "
         "server are on the first worker's host. H-AR: `hybrid:2`. A ring is `ring-steps`; ours, `ring`.",
         "Rina as published is `rina-literal`, ours `rina`, 16 chains at most. In a published step the PULL takes 20 "
         "us "
         "more, as it goes to the switch and back. Claims are of the least, or the largest, ratio of all models in "
         "both networks."),
     rina_fig10, NULL},
    {"rina-fig11", "Rina", "Throughput as switches are replaced one by one", true,
     LIST("ResNet50, as in `rina-fig10`, at 1/4, and 1/64 with --quick, where the dragonfly has only its two ends.",
          "By the paper's accounts: 2 G - 1 steps of 1 ms and (2 G - 1)/G of the gradients; ATP sums up, then down, at "
          "the rate of `rina-bom`.",
          "Only switches of racks are in chains, so Rina's curves end with these."),
     rina_fig11, NULL},
    {"rina-fig12", "Rina", "The testbed: two racks of four hosts", true,
     LIST("Two leaves and a spine, 100 Gbps and 1 us; ResNet50, 9,000 bytes, 1/16 with --quick. No computing: of "
          "summing alone.",
          "One switch: the first rack's. Footnote 1: hosts below switches that add have links of 20 Gbps, and others, "
          "and all of a ring, of 100.",
          "Bars are lost, and the unit of BERT base is per 10 s in one place and per 5 s in another."),
     rina_fig12, NULL},
};

const struct reproduce_experiment *reproduce_experiment_at(uint32_t index)
{
    return index < sizeof experiments / sizeof experiments[0] ? &experiments[index] : NULL;
}

const struct reproduce_experiment *reproduce_experiment_find(const char *name)
{
    for (uint32_t i = 0; i < sizeof experiments / sizeof experiments[0]; i++) {
        if (strcmp(experiments[i].name, name) == 0) {
            return &experiments[i];
        }
    }
    return NULL;
}

bool reproduce_lacks_solver(const struct reproduce_experiment *experiment)
{
    return experiment->run == goat_bound && !trib_lp_is_there();
}
