/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.c: the published control logic, in step(). It knows no sequences, lanes or operations. Read next:
 * panama_literal_switch.c. */
#include "published/panama_literal/accelerator.h"

#include "core/assert.h"
#include "published/panama_literal/panama_literal.h"

#define NOWHERE UINT32_MAX

struct accelerator {
    struct trib_accelerator_config config;
    size_t jobs_at, expected_at, ports_at, places_at, entries_at, payloads_at, counters_at, rows_at, row_size;
};

struct job {
    uint64_t ports; /* Ports_bitmap; 0: the job is not set up */
    uint32_t communicator;
    uint32_t unused;
};

static void *at(const struct accelerator *a, size_t offset)
{
    return (char *)(uintptr_t)a + offset;
}

static struct job *job_at(const struct accelerator *a, uint32_t job)
{
    return (struct job *)at(a, a->jobs_at) + job;
}

static uint64_t *expected_at(const struct accelerator *a, uint32_t job, uint32_t tree)
{
    return (uint64_t *)at(a, a->expected_at) + job * a->config.trees + tree;
}

static uint32_t *waiting_at(const struct accelerator *a, uint32_t port)
{
    return (uint32_t *)at(a, a->ports_at) + port;
}

/* Entries of a port: the waiting ones in the order of arrival, then the free ones. */
static uint32_t *places_of(const struct accelerator *a, uint32_t port)
{
    return (uint32_t *)at(a, a->places_at) + (size_t)port * a->config.room;
}

static struct trib_packet *packet_in(const struct accelerator *a, uint32_t port, uint32_t place)
{
    return (struct trib_packet *)at(a, a->entries_at) + (size_t)port * a->config.room + places_of(a, port)[place];
}

static void *payload_in(const struct accelerator *a, uint32_t port, uint32_t place)
{
    size_t entry = (size_t)port * a->config.room + places_of(a, port)[place];

    return (char *)at(a, a->payloads_at) + entry * a->config.payload;
}

static void *row_of(const struct accelerator *a, uint32_t port)
{
    return (char *)at(a, a->rows_at) + port * a->row_size;
}

static struct trib_accelerator_counters *counters_of(const struct accelerator *a)
{
    return at(a, a->counters_at);
}

/* ---- memory ---- */

static size_t lay_out(struct accelerator *a, const struct trib_accelerator_config *config)
{
    size_t entries = (size_t)config->ports * config->room;
    size_t end = (sizeof *a + 63) & ~(size_t)63;

    a->row_size = trib_row_size(TRIB_BFLOAT16, config->payload); /* any type is possible */
    a->jobs_at = trib_node_place(&end, config->jobs * sizeof(struct job));
    a->expected_at = trib_node_place(&end, (size_t)config->jobs * config->trees * sizeof(uint64_t));
    a->ports_at = trib_node_place(&end, config->ports * sizeof(uint32_t));
    a->places_at = trib_node_place(&end, entries * sizeof(uint32_t));
    a->entries_at = trib_node_place(&end, entries * sizeof(struct trib_packet));
    a->payloads_at = trib_node_place(&end, entries * config->payload);
    a->counters_at = trib_node_place(&end, sizeof(struct trib_accelerator_counters));
    a->rows_at = trib_node_place(&end, config->ports * a->row_size);
    return end;
}

size_t trib_accelerator_size(const struct trib_accelerator_config *config)
{
    struct accelerator scratch;

    return lay_out(&scratch, config);
}

size_t trib_accelerator_state_size(const void *memory)
{
    return ((const struct accelerator *)memory)->counters_at;
}

void trib_accelerator_init(void *memory, const struct trib_accelerator_config *config)
{
    struct accelerator *a = memory;

    TRIB_ASSERT(config->ports >= 1 && config->ports <= TRIB_CHILDREN_MAX && config->jobs >= 1 && config->trees >= 1);
    TRIB_ASSERT(config->room >= 1 && config->payload <= TRIB_PAYLOAD_MAX);
    (void)lay_out(a, config);
    a->config = *config;
    for (uint32_t port = 0; port < config->ports; port++) {
        for (uint32_t place = 0; place < config->room; place++) {
            places_of(a, port)[place] = place;
        }
    }
}

void trib_accelerator_set_job(void *memory, uint32_t job, uint32_t communicator, uint64_t ports)
{
    struct accelerator *a = memory;

    TRIB_ASSERT(job < a->config.jobs);
    *job_at(a, job) = (struct job){.ports = ports, .communicator = communicator};
    for (uint32_t tree = 0; tree < a->config.trees; tree++) {
        *expected_at(a, job, tree) = 0;
    }
}

uint64_t trib_accelerator_expected(const void *memory, uint32_t job, uint32_t tree)
{
    return *expected_at(memory, job, tree);
}

uint32_t trib_accelerator_waiting(const void *memory, uint32_t port)
{
    return *waiting_at(memory, port);
}

const struct trib_packet *trib_accelerator_at(const void *memory, uint32_t port, uint32_t place)
{
    return packet_in(memory, port, place);
}

const struct trib_accelerator_counters *trib_accelerator_counters(const void *memory)
{
    return counters_of(memory);
}

/* ---- receiving ---- */

static bool has_shape(const struct accelerator *a, const struct trib_packet *packet)
{
    size_t size = packet->type == TRIB_BYTES ? 1 : trib_type_size((enum trib_type)packet->type);

    return packet->payload_len == 0 ||
           (packet->payload_len <= a->config.payload && size != 0 && packet->payload_len % size == 0);
}

static bool is_for_job(const struct accelerator *a, const struct trib_packet *packet, uint32_t port)
{
    for (uint32_t job = 0; job < a->config.jobs; job++) {
        if ((job_at(a, job)->ports >> port & 1) != 0 && job_at(a, job)->communicator == packet->communicator) {
            return packet->tree < a->config.trees;
        }
    }
    return false;
}

enum trib_drop trib_accelerator_receive(void *memory, uint32_t port, const struct trib_packet *packet)
{
    struct accelerator *a = memory;

    if (port >= a->config.ports || !is_for_job(a, packet, port)) {
        return TRIB_DROP_SOURCE;
    }
    if (!has_shape(a, packet)) {
        return TRIB_DROP_SHAPE;
    }
    if (*waiting_at(a, port) == a->config.room) {
        counters_of(a)->full++;
        return TRIB_DROP_FULL;
    }
    uint32_t place = (*waiting_at(a, port))++;
    trib_panama_keep(packet_in(a, port, place), packet);
    if (packet->payload_len != 0) {
        memcpy(payload_in(a, port, place), packet->payload, packet->payload_len);
    }
    return TRIB_DROP_NONE;
}

/* ---- the rule ---- */

/* The heads of one tree of one job. */
struct heads {
    uint64_t ports;  /* ports of the job */
    uint64_t there;  /* ports of the job with a head */
    uint64_t equal;  /* ports with the Expected VID at the head */
    uint64_t behind; /* ports with an older VID at the head */
    uint64_t next;   /* lowest VID ahead; UINT64_MAX: none */
    uint32_t first;  /* lowest of the equal ports; if none, of all ports */
    uint32_t place[TRIB_CHILDREN_MAX];
};

/* Place of this tree's head among the packets at the port. With one FIFO only the front packet can be the head. */
static uint32_t head_place(const struct accelerator *a, uint32_t port, uint32_t communicator, uint32_t tree)
{
    bool has_queues = (a->config.readings & TRIB_PANAMA_QUEUES) != 0;
    uint32_t look = has_queues ? *waiting_at(a, port) : *waiting_at(a, port) != 0;

    for (uint32_t place = 0; place < look; place++) {
        const struct trib_packet *packet = packet_in(a, port, place);
        if (packet->communicator == communicator && packet->tree == tree) {
            return place;
        }
    }
    return NOWHERE;
}

/* False: the job is not set up. */
static bool find_heads(const struct accelerator *a, uint32_t job, uint32_t tree, struct heads *heads)
{
    const struct job *j = job_at(a, job);
    uint64_t expected = *expected_at(a, job, tree);

    *heads = (struct heads){.ports = j->ports, .next = UINT64_MAX};
    if (j->ports == 0) {
        return false;
    }
    for (uint64_t left = j->ports; left != 0; left &= left - 1) {
        uint32_t port = (uint32_t)__builtin_ctzll(left);
        heads->place[port] = head_place(a, port, j->communicator, tree);
        if (heads->place[port] == NOWHERE) {
            continue;
        }
        heads->there |= UINT64_C(1) << port;
        uint64_t vid = packet_in(a, port, heads->place[port])->bitmap;
        heads->equal |= (uint64_t)(vid == expected) << port;
        heads->behind |= (uint64_t)(vid < expected) << port;
        heads->next = vid > expected && vid < heads->next ? vid : heads->next;
    }
    heads->first = (uint32_t)__builtin_ctzll(heads->equal != 0 ? heads->equal : j->ports);
    return true;
}

/* Removes the heads of these ports and returns their number. Removed entries are reused last, so their contents stay
 * valid for now. */
static uint32_t pop(struct accelerator *a, const struct heads *heads, uint64_t ports)
{
    uint32_t count = 0;

    for (; ports != 0; ports &= ports - 1, count++) {
        uint32_t port = (uint32_t)__builtin_ctzll(ports);
        uint32_t *places = places_of(a, port);
        uint32_t place = heads->place[port], entry = places[place];
        memmove(places + place, places + place + 1, (a->config.room - place - 1) * sizeof *places);
        places[a->config.room - 1] = entry;
        (*waiting_at(a, port))--;
    }
    return count;
}

/* Packet memory divided by jobs, as printed: each tree of a job gets as much as the job. */
static uint16_t own_cap(const struct accelerator *a)
{
    uint32_t shares = 0;

    for (uint32_t job = 0; job < a->config.jobs; job++) {
        shares += job_at(a, job)->ports != 0;
    }
    shares *= (a->config.readings & TRIB_PANAMA_CAP_BY_TREE) != 0 ? a->config.trees : 1;
    TRIB_ASSERT(shares > 0); /* the packet's job is one of them */
    uint32_t cap = a->config.room / shares;
    return cap > UINT16_MAX ? UINT16_MAX : (uint16_t)cap;
}

/* The adder trees: ((p0 + p1) + (p2 + p3)) + ..., in any order of arrival. Returns the row with the sum. */
static void *add_up(struct accelerator *a, const struct heads *heads)
{
    const struct trib_packet *first = packet_in(a, heads->first, heads->place[heads->first]);
    const struct trib_value_kernels *k = a->config.kernels;
    enum trib_type type = (enum trib_type)first->type;
    uint64_t loaded = heads->equal;

    for (uint64_t left = heads->equal; left != 0; left &= left - 1) {
        uint32_t port = (uint32_t)__builtin_ctzll(left);
        trib_row_load(k, type, row_of(a, port), payload_in(a, port, heads->place[port]), first->payload_len);
    }
    for (uint32_t span = 1; span < a->config.ports; span *= 2) {
        for (uint32_t port = 0; port + span < a->config.ports; port += 2 * span) {
            if ((loaded >> (port + span) & 1) == 0) {
                continue;
            }
            if ((loaded >> port & 1) == 0) {
                memcpy(row_of(a, port), row_of(a, port + span), a->row_size);
            } else {
                trib_row_merge(k, type, (enum trib_reduction)first->reduction, row_of(a, port), row_of(a, port + span),
                               first->payload_len);
            }
            loaded |= UINT64_C(1) << port;
        }
    }
    trib_row_finish(k, type, row_of(a, 0), first->payload_len);
    return row_of(a, 0);
}

/* True if the payloads of the equal heads can be added. The paper's packets have one shape; our packets must not be
 * added past a row's end. */
static bool fit(const struct accelerator *a, const struct heads *heads)
{
    const struct trib_packet *first = packet_in(a, heads->first, heads->place[heads->first]);

    for (uint64_t left = heads->equal; left != 0; left &= left - 1) {
        uint32_t port = (uint32_t)__builtin_ctzll(left);
        const struct trib_packet *packet = packet_in(a, port, heads->place[port]);
        if (trib_panama_is_miss(packet) || packet->payload_len != first->payload_len || packet->type != first->type) {
            return false;
        }
    }
    return true;
}

/* Writes the MISS that replaces a sum: the header of the first head. */
static void give_miss(struct accelerator *a, const struct heads *heads, uint64_t vid, struct trib_packet *packet)
{
    *packet = *packet_in(a, heads->first, heads->place[heads->first]);
    packet->bitmap = vid;
    packet->flags = TRIB_FLAG_RESEND;
    packet->payload_len = packet->contributors = 0;
    packet->payload = NULL;
    packet->lane = 0;
    packet->window_cap = own_cap(a);
    counters_of(a)->misses++;
}

static void count_absent(struct accelerator *a, uint64_t ports)
{
    counters_of(a)->lacking += ports != 0;
    for (uint64_t left = ports; left != 0; left &= left - 1) {
        counters_of(a)->absent[__builtin_ctzll(left)]++;
    }
}

/* Writes the sum, with the header of the first head. True: all packets had FIN. */
static bool give_sum(struct accelerator *a, const struct heads *heads, struct trib_packet *packet)
{
    void *payload = payload_in(a, heads->first, heads->place[heads->first]);
    uint16_t ecn = 0, all = UINT16_MAX, contributors = 0, cap = own_cap(a);
    uint64_t lane = 0, ranks = 0;

    for (uint64_t left = heads->equal; left != 0; left &= left - 1) {
        uint32_t port = (uint32_t)__builtin_ctzll(left);
        const struct trib_packet *head = packet_in(a, port, heads->place[port]);
        ecn |= head->flags & TRIB_FLAG_ECN;
        all &= head->flags;
        contributors = (uint16_t)(contributors + head->contributors);
        cap = head->window_cap != 0 && head->window_cap < cap ? head->window_cap : cap;
        lane += head->lane;
        ranks |= trib_panama_ranks(head);
    }
    *packet = *packet_in(a, heads->first, heads->place[heads->first]);
    packet->flags = (uint16_t)(ecn | (all & TRIB_FLAG_FIN));
    packet->contributors = contributors;
    packet->window_cap = cap;
    packet->lane = lane;
    if (a->config.may_lack != 0) {
        trib_panama_set_ranks(packet, ranks);
        count_absent(a, heads->ports & ~heads->equal);
    }
    if (packet->payload_len != 0) {
        memcpy(payload, add_up(a, heads), packet->payload_len);
        packet->payload = payload;
    }
    counters_of(a)->sums++;
    return (all & TRIB_FLAG_FIN) != 0;
}

enum moved { STILL = 0, MOVED, OUT };

/* Partial aggregation: drops heads of sums that were sent already. */
static void drop_late(struct accelerator *a, const struct heads *heads, uint64_t expected)
{
    struct trib_accelerator_counters *counters = counters_of(a);

    for (uint64_t left = heads->behind; left != 0; left &= left - 1) {
        uint32_t port = (uint32_t)__builtin_ctzll(left);
        uint64_t ahead = expected - packet_in(a, port, heads->place[port])->bitmap;
        counters->lead = ahead > counters->lead ? ahead : counters->lead;
    }
    counters->late += pop(a, heads, heads->behind);
}

/* True if enough equal heads are present for a sum. */
static bool is_enough(const struct accelerator *a, const struct heads *heads)
{
    uint32_t lacking = trib_count_bits(heads->ports & ~heads->equal);

    return heads->equal != 0 && lacking <= a->config.spare && fit(a, heads);
}

/* One pass of section 5, "control logic". */
static enum moved step(struct accelerator *a, uint32_t job, uint32_t tree, struct trib_packet *packet)
{
    uint64_t *expected = expected_at(a, job, tree);
    struct heads heads;

    if (!find_heads(a, job, tree, &heads)) {
        return STILL;
    }
    if (heads.behind != 0 && a->config.spare != 0) {
        drop_late(a, &heads, *expected);
        return MOVED;
    }
    if (heads.there != heads.ports && !is_enough(a, &heads)) {
        return STILL;
    }
    if (heads.behind != 0 && (a->config.readings & TRIB_PANAMA_DISCARD) != 0) {
        counters_of(a)->stale += pop(a, &heads, heads.behind);
        return MOVED;
    }
    if (is_enough(a, &heads)) {
        *expected = give_sum(a, &heads, packet) ? 0 : *expected + 1;
        (void)pop(a, &heads, heads.equal);
        return OUT;
    }
    /* All behind: the register counts until it wraps. For a VID of 32 bits and 200 MHz that takes 21 seconds, for our
     * VID 16 days. */
    if (heads.equal == 0 && heads.next == UINT64_MAX) {
        return STILL;
    }
    bool has_miss = (a->config.readings & TRIB_PANAMA_MISS) != 0;
    if (heads.equal == 0 && !has_miss) {
        *expected = heads.next; /* as if counted one by one */
        return MOVED;
    }
    /* All ahead, as after a restart: no worker waits for more results than a port has room for. */
    if (heads.equal == 0 && heads.next - *expected > a->config.room) {
        *expected = heads.next - a->config.room;
    }
    if (has_miss) {
        give_miss(a, &heads, *expected, packet);
    }
    counters_of(a)->dropped += pop(a, &heads, heads.equal);
    ++*expected;
    return has_miss ? OUT : MOVED;
}

bool trib_accelerator_next(void *memory, struct trib_packet *packet)
{
    struct accelerator *a = memory;
    bool has_moved = true;

    while (has_moved) {
        has_moved = false;
        for (uint32_t job = 0; job < a->config.jobs; job++) {
            for (uint32_t tree = 0; tree < a->config.trees; tree++) {
                enum moved moved = step(a, job, tree, packet);
                if (moved == OUT) {
                    return true;
                }
                has_moved |= moved == MOVED;
            }
        }
    }
    return false;
}
