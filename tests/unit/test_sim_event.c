/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_event.c: the event set against a list that is searched: the same order, whatever is pushed, moved, tied or
 * far away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "sim/network/event.h"

#define LINKS 300U
#define TIMERS 40U

/* The twin: when each arrival and timer is due. */
struct twin {
    uint64_t arrivals[LINKS];
    uint64_t timers[TIMERS];
};

static uint32_t twin_pop(struct twin *t, uint64_t until, uint64_t *due)
{
    uint32_t best = SIM_NONE;

    *due = SIM_NEVER;
    for (uint32_t i = 0; i < TIMERS; i++) {
        if (t->timers[i] < *due) {
            *due = t->timers[i];
            best = i;
        }
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        bool is_first =
            best == SIM_NONE || (best >= SIM_ARRIVAL && (i ^ sim_tie(*due)) < ((best & ~SIM_ARRIVAL) ^ sim_tie(*due)));
        if (t->arrivals[i] < *due || (t->arrivals[i] == *due && *due != SIM_NEVER && is_first)) {
            *due = t->arrivals[i];
            best = i | SIM_ARRIVAL;
        }
    }
    if (*due > until || best == SIM_NONE) {
        return SIM_NONE;
    }
    if (best >= SIM_ARRIVAL) {
        t->arrivals[best & ~SIM_ARRIVAL] = SIM_NEVER;
    } else {
        t->timers[best] = SIM_NEVER;
    }
    return best;
}

/* How far ahead: ties, near, within the calendar, beyond it. */
static uint64_t draw_ahead(struct trib_prng *prng, uint64_t horizon)
{
    switch (trib_prng_below(prng, 8)) {
    case 0:
        return 0;
    case 1:
        return trib_prng_below(prng, 40 * horizon);
    case 2:
    case 3:
        return horizon / 4; /* in step with others */
    default:
        return trib_prng_below(prng, horizon);
    }
}

static void act(struct sim_events *e, struct twin *t, struct trib_prng *prng, uint64_t horizon)
{
    uint64_t due = e->now_ps + draw_ahead(prng, horizon);
    uint32_t link = (uint32_t)trib_prng_below(prng, LINKS);
    uint32_t timer = (uint32_t)trib_prng_below(prng, TIMERS);

    if (t->arrivals[link] == SIM_NEVER && !trib_prng_chance(prng, 0.1)) {
        t->arrivals[link] = due;
        sim_events_push(e, link, due);
    }
    if (trib_prng_chance(prng, 0.2)) {
        t->timers[timer] = trib_prng_chance(prng, 0.2) ? SIM_NEVER : due;
        sim_timer_set(e, timer, t->timers[timer]);
    }
    assert_true(sim_timer_due(e, timer) == t->timers[timer]);
}

static void one_world(uint64_t seed)
{
    static const uint64_t horizons[] = {1000, 100000, 2200000, 50000000, UINT64_C(10000000000)};
    struct trib_prng prng = {.state = seed};
    uint64_t horizon = horizons[trib_prng_below(&prng, 5)];
    uint32_t burst = 1 + (uint32_t)trib_prng_below(&prng, 200);
    struct sim_events e;
    struct twin t;

    memset(&t, 0xff, sizeof t);
    assert_true(sim_events_init(&e, LINKS, horizon, trib_prng_below(&prng, horizon)));
    for (uint32_t i = 0; i < burst; i++) {
        act(&e, &t, &prng, horizon);
    }
    for (uint32_t step = 0; step < 3000; step++) {
        uint64_t due = 0;
        uint64_t until = trib_prng_chance(&prng, 0.05) ? e.now_ps + trib_prng_below(&prng, horizon) : SIM_NEVER;
        uint32_t expected = twin_pop(&t, until, &due);
        assert_true(sim_events_pop(&e, until) == expected);
        assert_true(expected == SIM_NONE || e.now_ps == due);
        uint64_t pushes = trib_prng_below(&prng, 3) + (expected == SIM_NONE);
        for (uint64_t i = 0; i < pushes; i++) {
            act(&e, &t, &prng, horizon);
        }
    }
    sim_events_deinit(&e);
}

static void pop__gives_what_a_list_gives(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        one_world(seed);
    }
}

/* All at one time: each once, in the order that the time gives, and in no more time than sorting takes. */
static void pop__orders_ties(void **state)
{
    enum { MANY = 100000 };
    struct sim_events e;

    (void)state;
    assert_true(sim_events_init(&e, MANY, 2200000, 51200));
    sim_timer_set(&e, 7, 1000000);
    for (uint32_t i = 0; i < MANY; i++) {
        sim_events_push(&e, (uint32_t)((uint64_t)i * 7919 % MANY), 1000000);
    }
    assert_int_equal(sim_events_pop(&e, SIM_NEVER), 7);
    uint64_t last = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t link = sim_events_pop(&e, SIM_NEVER) & ~SIM_ARRIVAL;
        assert_true(link < MANY && (link ^ sim_tie(1000000)) + UINT64_C(1) > last);
        last = (link ^ sim_tie(1000000)) + UINT64_C(1);
    }
    assert_int_equal(sim_events_pop(&e, SIM_NEVER), SIM_NONE);
    sim_events_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pop__gives_what_a_list_gives),
        cmocka_unit_test(pop__orders_ties),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
