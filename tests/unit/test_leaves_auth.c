/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves_auth.c: keys and ids of authenticated packets (keys/auth.h), as the controller gives them to ranks and to
 * switches below it: what each sender takes for its own id and for that of its parent, the parent has as well, in trees,
 * chains, behind combiners and where a host has several ways; and each incarnation has a key of its own. With lenders:
 * test_switches_auth.c. */
#include "leaves_harness.h"

#include "control/jobs/state.h"

#define SEEDS 24
#define ROOTS 2 /* of the recorder */
#define RANKS 6U
#define KEY 0x1234
#define SHORT (100 * TRIB_MILLISECOND_NS)

static void give_keys(struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        world->rank[i].join.join.key = KEY;
    }
}

static void use_scheme(struct world *world, const char *scheme)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        (void)snprintf(world->rank[i].join.join.settings.scheme, 16, "%s", scheme);
    }
}

/* ---- what must be so ---- */

static bool is_open(const struct node *node)
{
    return !node->is_dead && node->recorder.open_now != 0;
}

static uint16_t own_id(const struct node *node, uint32_t root)
{
    return trib_auth_switch(node->recorder.auth[root].below, root);
}

static const struct node *node_at(const struct world *world, const struct trib_address *address)
{
    for (unsigned i = 0; i < world->nodes; i++) {
        if (trib_address_same_host(&world->node[i].config.listen, address)) {
            return &world->node[i];
        }
    }
    fail_msg("no switch is at that address");
    return NULL;
}

/* No two switches of a root have one id, and the root's place has number 0. */
static void expect_own_ids(const struct world *world, uint32_t root)
{
    assert_int_equal(world->node[0].recorder.auth[root].below, 0);
    for (unsigned i = 0; i < world->nodes; i++) {
        for (unsigned k = 0; k < i; k++) {
            assert_true(!is_open(&world->node[i]) || !is_open(&world->node[k]) ||
                        own_id(&world->node[i], root) != own_id(&world->node[k], root));
        }
    }
}

/* A switch and its parent have the same two ids. */
static void expect_parent(const struct world *world, const struct node *node, uint32_t root)
{
    const struct recorder *r = &node->recorder;
    const struct node *parent = node_at(world, &r->parent[root]);
    assert_true(is_open(parent));
    assert_int_equal(r->auth[root].parent, parent->recorder.auth[root].below);
    for (uint32_t rank = 0; rank < world->ranks; rank++) {
        if (r->sender[rank][root] != TRIB_AUTH_ALL) {
            assert_int_equal(parent->recorder.sender[rank][root], own_id(node, root));
        }
    }
}

/* And so have the rank that sends, and what it sends to. */
static void expect_rank(const struct node *to, const struct rank *rank, uint32_t root)
{
    uint32_t number = rank->join.join.rank;
    const struct trib_auth_key *above = &to->recorder.auth[root];
    uint8_t own[TRIB_AUTH_KEY], heard[TRIB_AUTH_KEY];
    trib_auth_make_sender_key(above->bytes, to->recorder.sender[number][root], own);
    trib_auth_make_sender_key(above->bytes, trib_auth_switch(above->below, root), heard);
    assert_memory_equal(rank->auth.own, own, sizeof own);
    assert_memory_equal(rank->auth.heard, heard, sizeof heard);
    assert_int_equal(rank->auth.parent, above->below);
    assert_int_equal(to->recorder.sender[number][root], trib_auth_rank(number));
}

/* senders: the ranks that send, by bits. */
static void expect_ids(const struct world *world, uint32_t senders)
{
    const uint8_t *key = world->node[0].recorder.auth[0].bytes;
    assert_true(trib_auth_is_set(key));
    for (uint32_t root = 0; root < ROOTS; root++) {
        expect_own_ids(world, root);
        for (unsigned i = 0; i < world->nodes; i++) {
            const struct node *node = &world->node[i];
            if (is_open(node)) {
                assert_memory_equal(node->recorder.auth[root].bytes, key, TRIB_AUTH_KEY);
                assert_int_equal(node->recorder.has_parent, i != 0);
                const struct trib_agent *agent = i != 0 ? &node->leaf.agent : &node->jobs.agent;
                assert_int_equal(trib_agent_held_by_tenant(agent, KEY), agent->memory_used); /* its quota counts */
            }
            if (is_open(node) && i != 0) {
                expect_parent(world, node, root);
            }
        }
        for (uint32_t rank = 0; rank < world->ranks; rank++) {
            if ((senders >> rank & 1) != 0) {
                expect_rank(world->rank[rank].home, &world->rank[rank], root);
            }
        }
    }
}

/* ---- shapes ---- */

static void tree__ids_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 10);
        give_keys(&world);
        tree_run(&world);
        assert_true(all_run(&world, 1));
        expect_ids(&world, 0x3ff);
        assert_int_equal(world.node[3].recorder.auth[0].parent, world.node[2].recorder.auth[0].below);
        world_end(&world);
    }
}

static void chain__ids_agree(void **state)
{
    (void)state;
    unsigned differ = 0; /* racks whose parents differ by root */
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static const unsigned homes[5] = {0, 3, 4, 1, 2};
        struct world world;
        world_init(&world, seed);
        struct node *root = node_add(&world, NULL);
        for (unsigned i = 1; i < 4; i++) {
            (void)node_add(&world, root);
        }
        (void)node_add(&world, &world.node[2]);
        ranks_make(&world, 10);
        use_scheme(&world, "rina");
        give_keys(&world);
        for (uint32_t i = 0; i < 10; i++) {
            world.rank[i].home = &world.node[homes[i % 5]];
        }
        tree_run(&world);
        assert_true(all_run(&world, 1));
        expect_ids(&world, 0x3ff);
        for (unsigned i = 1; i < 4; i++) {
            differ += world.node[i].recorder.auth[0].parent != world.node[i].recorder.auth[1].parent;
        }
        world_end(&world);
    }
    assert_true(differ > 0);
}

/* Two combiners below the server, or one below another; hosts: two of three ranks, whose sessions pass anywhere. */
static void servers_make(struct world *world, uint64_t seed, bool is_deep, bool has_hosts)
{
    world_init(world, seed);
    struct node *root = node_add(world, NULL);
    struct node *first = node_add(world, root);
    (void)node_add(world, is_deep ? first : root);
    ranks_make(world, RANKS);
    use_scheme(world, "atp");
    give_keys(world);
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].home = &world->node[(i + (has_hosts ? seed : 0)) % 3];
        world->rank[i].join.join.host = has_hosts ? 7 + i / 3 : 0;
        world->rank[i].join.join.level0 = has_hosts;
    }
}

static void combiners__ids_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        servers_make(&world, seed, seed & 1, false);
        tree_run(&world);
        assert_true(all_run(&world, 1));
        expect_ids(&world, 0x3f);
        world_end(&world);
    }
}

/* Only leaders, ranks 0 and 3, send; they have come to one place. */
static void hosts__leaders_have_the_ids(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        servers_make(&world, seed, false, true);
        tree_run(&world);
        assert_int_equal(world.node[0].recorder.children, 2);
        expect_ids(&world, 0x09);
        world_end(&world);
    }
}

/* ---- incarnations ---- */

/* Different from all before: a receiver's numbers begin anew with it. */
static void expect_new(uint8_t keys[][TRIB_AUTH_KEY], unsigned count, const struct world *world)
{
    memcpy(keys[count], world->node[0].recorder.auth[0].bytes, TRIB_AUTH_KEY);
    for (unsigned i = 0; i < count; i++) {
        assert_memory_not_equal(keys[i], keys[count], TRIB_AUTH_KEY);
    }
}

static void lose(struct world *world, unsigned victim)
{
    node_kill(&world->node[victim], false);
    tick(world, SHORT);
    node_restart(&world->node[victim]);
    tick(world, SHORT);
    tick(world, SHORT);
}

static void incarnation__has_a_new_key(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint8_t keys[8][TRIB_AUTH_KEY];
        struct world world;
        tree_make(&world, seed, 8);
        give_keys(&world);
        tree_run(&world);
        for (unsigned i = 0; i < 8; i++) {
            uint32_t boot = world.rank[0].boot;
            for (uint32_t rank = 0; rank < world.ranks; rank++) {
                assert_true(world.rank[rank].is_running);
                assert_int_equal(world.rank[rank].boot, boot);
            }
            expect_ids(&world, 0xff);
            expect_new(keys, i, &world);
            lose(&world, (unsigned)((seed + i) % 4));
            assert_int_not_equal(world.rank[0].boot, boot);
        }
        world_end(&world);
    }
}

/* ---- without a key ---- */

static void no_key__nobody_is_given_one(void **state)
{
    static const struct trib_auth_key none = {.below = 0};
    static const struct trib_sender_keys none_of_rank = {.parent = 0};
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        use_scheme(&world, seed % 3 == 0 ? "switchml" : seed % 3 == 1 ? "rina" : "atp");
        tree_run(&world);
        assert_true(all_run(&world, 1));
        for (unsigned i = 0; i < world.nodes; i++) {
            assert_memory_equal(&world.node[i].recorder.auth[0], &none, sizeof none);
            assert_memory_equal(&world.node[i].recorder.auth[1], &none, sizeof none);
        }
        for (uint32_t i = 0; i < world.ranks; i++) {
            assert_memory_equal(&world.rank[i].auth, &none_of_rank, sizeof none_of_rank);
        }
        world_end(&world);
    }
}

/* WELCOME and ROOT_OPEN have the item if and only if there is a key. */
static void no_key__no_item(void **state)
{
    static const uint8_t items[2][4] = {{0x80, 0x32, 0, 67}, {0x80, 0x30, 0, 37}};
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *item = items[i];
        message = (struct trib_message){.kind = i == 0 ? TRIB_MESSAGE_WELCOME : TRIB_MESSAGE_ROOT_OPEN};
        size_t without = trib_message_encode(&message, bytes);
        assert_null(memmem(bytes, without, item, sizeof items[0]));
        if (i == 0) {
            message.welcome.auth.own[31] = message.welcome.auth.heard[0] = 1;
        } else {
            message.root_open.auth.bytes[31] = 1;
        }
        size_t with = trib_message_encode(&message, bytes);
        assert_non_null(memmem(bytes, with, item, sizeof items[0]));
        assert_int_equal(with, without + sizeof items[0] + item[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree__ids_agree),
        cmocka_unit_test(chain__ids_agree),
        cmocka_unit_test(combiners__ids_agree),
        cmocka_unit_test(hosts__leaders_have_the_ids),
        cmocka_unit_test(incarnation__has_a_new_key),
        cmocka_unit_test(no_key__nobody_is_given_one),
        cmocka_unit_test(no_key__no_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
