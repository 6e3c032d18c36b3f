/* SPDX-License-Identifier: Apache-2.0 */
/* demo_check.c: what must hold after the three trainings, and the tables on the terminal. Every number was measured in
 * this run, but those that the tables call computed. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "demo.h"

#define MEGA 1e-6

const struct demo_count demo_counts[] = {
    {"packets lost on purpose", offsetof(struct trib_comm_stats, injected_loss)},
    {"packets doubled on purpose", offsetof(struct trib_comm_stats, injected_duplicate)},
    {"packets reordered on purpose", offsetof(struct trib_comm_stats, injected_reorder)},
    {"probes sent (no result in time)", offsetof(struct trib_comm_stats, probes_sent)},
    {"asks received (switch lacks a part)", offsetof(struct trib_comm_stats, asks_received)},
    {"contributions sent again", offsetof(struct trib_comm_stats, contributions_resent)},
    {"held answers (others are missing)", offsetof(struct trib_comm_stats, held_received)},
    {"finished results offered to the switch", offsetof(struct trib_comm_stats, offers_sent)},
    {"results that came by multicast", offsetof(struct trib_comm_stats, multicast_received)},
    {"duplicates dropped", offsetof(struct trib_comm_stats, dropped_duplicate)},
    {"registrations with the new switch", offsetof(struct trib_comm_stats, reregistrations)},
    {"failures of the contributor check", offsetof(struct trib_comm_stats, lane_failures)},
};
const size_t demo_counts_count = sizeof(demo_counts) / sizeof(demo_counts[0]);

double demo_gradient_bytes(const struct demo_run *run)
{
    return run->epochs == 0 ? 0.0 : (double)run->epochs * run->epoch[0].steps * NET_PARAMETERS * sizeof(float);
}

double demo_goodput(const struct demo_run *run)
{
    double seconds = 0.0;
    for (uint32_t i = 0; i < run->epochs; i++) {
        seconds += run->epoch[i].exchange_seconds;
    }
    return seconds > 0.0 ? demo_gradient_bytes(run) / seconds : 0.0;
}

uint64_t demo_sum(const struct demo_run *run, size_t offset)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->ranks; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&run->rank[i].stats + offset, sizeof(value));
        sum += value;
    }
    return sum;
}

__attribute__((format(printf, 3, 4))) static void check(struct demo *demo, bool holds, const char *format, ...)
{
    struct demo_check *c = &demo->check[demo->checks++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->text, sizeof(c->text), format, arguments);
    va_end(arguments);
    c->holds = holds;
}

static double last_accuracy(const struct demo_run *run)
{
    return run->epoch[run->epochs - 1].accuracy;
}

static bool same_hashes(const struct demo *demo)
{
    bool same = true;
    for (uint32_t i = 0; i < DEMO_WORKERS; i++) {
        same = same && demo->clean.rank[i].hash == demo->clean.rank[0].hash;
        same = same && demo->faults.rank[i].hash == demo->clean.rank[0].hash;
    }
    return same;
}

static void check_results(struct demo *demo)
{
    double clean = last_accuracy(&demo->clean);
    double faults = last_accuracy(&demo->faults);
    double single = last_accuracy(&demo->single);
    check(demo, same_hashes(demo), "the final weights of all %d workers in both runs are the same, bit by bit",
          DEMO_WORKERS);
    check(demo, clean >= DEMO_ACCURACY_MIN && faults >= DEMO_ACCURACY_MIN && single >= DEMO_ACCURACY_MIN,
          "test accuracy %.2f %%, %.2f %% with faults, %.2f %% in a single process; at least %.0f %%", 100.0 * clean,
          100.0 * faults, 100.0 * single, 100.0 * DEMO_ACCURACY_MIN);
    check(demo, demo->difference <= DEMO_DIFFERENCE_MAX,
          "no weight differs by more than %.1e from the single process's; bound %.0e", demo->difference,
          DEMO_DIFFERENCE_MAX);
}

/* The kernel must have carried at least every gradient up, and the sum down once. */
static void check_wire(struct demo *demo)
{
    double least = demo_gradient_bytes(&demo->clean) * (DEMO_WORKERS + 1);
    double clean = (double)demo->clean.loopback_bytes;
    double faults = (double)demo->faults.loopback_bytes;
    check(demo, clean >= least && faults >= least,
          "the bytes were on the wire: loopback carried %.0f and %.0f MB, at least %.0f", MEGA * clean, MEGA * faults,
          MEGA * least);
    double sent = (double)DEMO_SUM(&demo->clean, bytes_sent) / DEMO_WORKERS / demo_gradient_bytes(&demo->clean);
    double received = (double)DEMO_SUM(&demo->clean, bytes_received) / DEMO_WORKERS / demo_gradient_bytes(&demo->clean);
    check(demo, sent >= 1.0 && sent < demo_ring_factor() && received >= 1.0,
          "clean run: a worker sent %.2f x and received %.2f x its gradients; a ring %.2f x", sent, received,
          demo_ring_factor());
}

static bool is_restarted(const struct demo_run *run)
{
    bool all = run->restarts == 1;
    for (uint32_t i = 0; i < run->ranks; i++) {
        all = all && run->rank[i].stats.reregistrations >= 1;
    }
    return all;
}

static void check_faults(struct demo *demo)
{
    const struct demo_run *f = &demo->faults;
    uint64_t lost = DEMO_SUM(f, injected_loss);
    uint64_t doubled = DEMO_SUM(f, injected_duplicate);
    uint64_t reordered = DEMO_SUM(f, injected_reorder);
    uint64_t clean = DEMO_SUM(&demo->clean, injected_loss) + DEMO_SUM(&demo->clean, injected_duplicate) +
                     DEMO_SUM(&demo->clean, injected_reorder);
    check(demo, lost > 0 && doubled > 0 && reordered > 0 && clean == 0,
          "faults were injected: %" PRIu64 " packets lost, %" PRIu64 " doubled, %" PRIu64
          " reordered; none in the clean run",
          lost, doubled, reordered);
    check(demo, DEMO_SUM(f, contributions_resent) > 0 && DEMO_SUM(f, probes_sent) > 0,
          "they were recovered from: %" PRIu64 " probes, %" PRIu64 " contributions sent again",
          DEMO_SUM(f, probes_sent), DEMO_SUM(f, contributions_resent));
    check(demo, is_restarted(f),
          "the switch was killed in training epoch %u, gone for %.2f s; all workers registered anew", f->restart_epoch,
          f->outage_seconds);
    check(demo, DEMO_SUM(f, lane_failures) + DEMO_SUM(&demo->clean, lane_failures) == 0,
          "every sum held every worker's part exactly once (contributor check of every packet)");
}

bool demo_check_all(struct demo *demo)
{
    bool all = true;
    check_results(demo);
    check_wire(demo);
    check_faults(demo);
    for (size_t i = 0; i < demo->checks; i++) {
        all = all && demo->check[i].holds;
    }
    return all;
}

void demo_print_hashes(const struct demo *demo)
{
    printf("\nHash of the final weights     clean              with faults\n");
    for (uint32_t i = 0; i < DEMO_WORKERS; i++) {
        printf("  rank %u                      %016" PRIx64 "   %016" PRIx64 "\n", i, demo->clean.rank[i].hash,
               demo->faults.rank[i].hash);
    }
}

static void row(const char *name, double sent, double received, double gradient)
{
    printf("  %-38s %7.3f MB  %8.3f MB   %5.2f x\n", name, MEGA * sent, MEGA * received, sent / gradient);
}

static void print_bytes(const struct demo *demo)
{
    const struct demo_run *runs[] = {&demo->clean, &demo->faults};
    double gradient = sizeof(float) * (double)NET_PARAMETERS;
    printf("\nBytes of one worker for one training step             sent    received    sent/gradient\n");
    for (size_t i = 0; i < 2; i++) {
        double steps = DEMO_WORKERS * demo_gradient_bytes(runs[i]) / gradient;
        row(i == 0 ? "tributary, clean (measured)" : "tributary, with faults (measured)",
            (double)DEMO_SUM(runs[i], bytes_sent) / steps, (double)DEMO_SUM(runs[i], bytes_received) / steps, gradient);
    }
    row("ring, 2(N-1)/N (computed)", demo_ring_factor() * gradient, demo_ring_factor() * gradient, gradient);
    row("parameter server: worker (computed)", gradient, gradient, gradient);
    row("parameter server: server (computed)", DEMO_WORKERS * gradient, DEMO_WORKERS * gradient, gradient);
    printf("  measured: UDP payload with our 64-byte headers, everything the run sent, %s\n"
           "  computed: gradient bytes alone, no headers; a switch box has one port per worker, a server one for all\n",
           demo->clean.rank[0].stats.multicast ? "results by multicast" : "results by unicast");
}

void demo_print_tables(const struct demo *demo)
{
    print_bytes(demo);
    printf("\nOf all workers together (the switch loses, doubles and reorders as well)\n"
           "                                                   clean   with faults\n");
    for (size_t i = 0; i < demo_counts_count; i++) {
        printf("  %-42s %10" PRIu64 "  %12" PRIu64 "\n", demo_counts[i].name,
               demo_sum(&demo->clean, demo_counts[i].offset), demo_sum(&demo->faults, demo_counts[i].offset));
    }
    printf("  %-42s %5.0f MB/s  %7.0f MB/s\n", "goodput of a worker while in allreduce",
           MEGA * demo_goodput(&demo->clean), MEGA * demo_goodput(&demo->faults));
    printf("  %-42s %8.1f s  %10.1f s\n", "the whole training", demo->clean.seconds, demo->faults.seconds);
}

void demo_print_checks(const struct demo *demo)
{
    printf("\n");
    for (size_t i = 0; i < demo->checks; i++) {
        printf("  %s  %s\n", demo->check[i].holds ? "ok    " : "FAILED", demo->check[i].text);
    }
}
