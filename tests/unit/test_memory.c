/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c: memory that is there once it is used, and can be given back; sockets and combiners take
 * theirs so as well. Mirrors src/io/memory.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/memory.h"
#include "net/port.h"
#include "net/resolve.h"
#include "protocol/combiner.h"

#define PAGES 2048U /* more than one call of mincore looks at */

static size_t page;
static uint8_t *memory;

static void map__holds_nothing_at_first(void **state)
{
    (void)state;
    memory = trib_memory_map(PAGES * page);
    assert_non_null(memory);
    assert_int_equal(trib_memory_held(memory, PAGES * page), 0);
    memory[0] = 1;
    memory[(PAGES - 1) * page] = 2;
    assert_int_equal(trib_memory_held(memory, PAGES * page), 2 * page);
    assert_int_equal(memory[1], 0);
    trib_memory_unmap(memory, PAGES * page);
    assert_null(trib_memory_map(SIZE_MAX / 2));
    trib_memory_unmap(NULL, 0);
}

/* Whole pages go, the rest of the range is zeroed, what is around it stays. */
static void give_back__is_exact(void **state)
{
    size_t size = 8 * page;
    const struct {
        size_t from, to, held;
    } cases[] = {
        {0, 8, 0},
        {1, 7, 2},
        {2, 3, 7},
    };
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        for (size_t shift = 0; shift <= 64; shift += 64) {
            struct trib_range ranges[TRIB_IDLE_RANGES] = {
                {cases[at].from * page + shift, (cases[at].to - cases[at].from) * page - 2 * shift},
            };
            memory = trib_memory_map(size);
            assert_non_null(memory);
            memset(memory, 0xa5, size);
            trib_memory_give_back(memory, ranges, 1);
            /* Pages that the range has a part of stay. */
            assert_int_equal(trib_memory_held(memory, size) / page,
                             cases[at].held + (shift != 0 ? (cases[at].to - cases[at].from == 1 ? 1 : 2) : 0));
            for (size_t i = 0; i < size; i++) {
                uint8_t expected = i >= ranges[0].at && i < ranges[0].at + ranges[0].bytes ? 0 : 0xa5;
                if (memory[i] != expected) {
                    fail_msg("byte %zu of case %zu: %u", i, at, memory[i]);
                }
            }
            trib_memory_unmap(memory, size);
        }
    }
}

/* Less than a page, and nothing. */
static void give_back__of_little_zeroes(void **state)
{
    struct trib_range ranges[TRIB_IDLE_RANGES] = {{100, 50}, {300, 0}};
    (void)state;
    memory = trib_memory_map(page);
    assert_non_null(memory);
    memset(memory, 1, page);
    trib_memory_give_back(memory, ranges, 2);
    assert_int_equal(memory[99] + memory[100] + memory[149] + memory[150] + memory[300], 3);
    trib_memory_unmap(memory, page);
}

#define SPARES 64U
#define SPARE_FAULTS 4U /* more than 20 if its memory is written to */

static uint64_t page_faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_minflt;
}

/* A rank opens one for each shard that its switch may have, and 1,024 ranks of a machine would take 1.6 GB. Memory of
 * the sanitizers comes on top. */
static void open__spare_sockets_take_no_memory_until_they_are_used(void **state)
{
    (void)state;
    struct trib_port_config config = {.payload = TRIB_PAYLOAD_MAX, .buffer = 1 << 20, .trains = true, .is_spare = true};
    struct trib_port *spare[SPARES];
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    uint64_t before = page_faults();
    for (uint32_t i = 0; i < SPARES; i++) {
        assert_int_equal(trib_port_open(&config, &spare[i], NULL), TRIB_OK);
        trib_port_set_backlog(spare[i], 0);
    }
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
    assert_true(page_faults() - before < (uint64_t)SPARES * SPARE_FAULTS);
#endif
    for (uint32_t i = 0; i < SPARES; i++) {
        assert_int_equal(trib_port_use(spare[i], NULL), TRIB_OK);
    }
    assert_true(page_faults() > before);
    before = page_faults();
    for (uint32_t i = 0; i < SPARES; i++) { /* as the close of a communicator that follows marks does */
        trib_port_set_backlog(spare[i], 1);
        trib_port_set_backlog(spare[i], 0);
    }
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
    assert_true(page_faults() - before < SPARES);
#endif
    for (uint32_t i = 0; i < SPARES; i++) {
        trib_port_close(spare[i]);
    }
}

#define ROWS 65536U /* of 128 bytes, beside their payloads and 4 bytes for each */

/* A switch admits and dismisses a job at each start of one: that costs nothing for rows that the job does not hold. */
static void admit__touches_no_row(void **state)
{
    (void)state;
    const struct trib_combiner_config config = {
        .kernels = trib_value_kernels(), .rows = ROWS, .payload = 64, .members = 2, .is_zeroed = true};
    const struct trib_combiner_grant grant = {.behind = 7, .communicator = 1, .generation = 2, .rows = ROWS};
    size_t size = trib_combiner_size(&config);
    memory = trib_memory_map(size);
    assert_non_null(memory);
    trib_combiner_init(memory, &config);
    size_t before = trib_memory_held(memory, size);
    assert_true(before < 8 * (size_t)ROWS);
    trib_combiner_admit(memory, 0, &grant);
    trib_combiner_dismiss(memory, 0);
    trib_combiner_admit(memory, 0, &grant);
    assert_true(trib_memory_held(memory, size) <= before + 8 * page);
    trib_memory_unmap(memory, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map__holds_nothing_at_first),
        cmocka_unit_test(give_back__is_exact),
        cmocka_unit_test(give_back__of_little_zeroes),
        cmocka_unit_test(open__spare_sockets_take_no_memory_until_they_are_used),
        cmocka_unit_test(admit__touches_no_row),
    };
    page = (size_t)sysconf(_SC_PAGESIZE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
