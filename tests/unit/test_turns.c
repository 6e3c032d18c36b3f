/* SPDX-License-Identifier: Apache-2.0 */
/* test_turns.c: who may say which message when (docs/PROTOCOL.md, "Sessions"): every kind, of every sender, at every
 * stage, against the rules written down once more here; and a control plane that is told each kind where it has no
 * place. What ranks do of it: test_comm_turns.c; lenders: test_masters.c; switches below: test_channels.c, test_uplinks.c. Mirrors the table of
 * src/control/words/words.c and src/control/jobs/turn.c. */
#include "control/jobs/recall.h"
#include "unit/roots_harness.h"

#define BIT(sender) (1U << TRIB_SENDER_##sender)
#define UP BIT(RANK)
#define DOWN BIT(CONTROL)

/* The senders that may say it from the first stage to the last. */
struct rule {
    enum trib_message_kind kind;
    unsigned senders;
    enum trib_stage first, last;
};

#define FROM(stage, kind, senders)                                           \
    {                                                                        \
        TRIB_MESSAGE_##kind, senders, TRIB_STAGE_##stage, TRIB_STAGE_CLOSING \
    }
#define AT(stage, kind, senders)                                             \
    {                                                                        \
        TRIB_MESSAGE_##kind, senders, TRIB_STAGE_##stage, TRIB_STAGE_##stage \
    }
#define TO(stage, kind, senders, end)                                      \
    {                                                                      \
        TRIB_MESSAGE_##kind, senders, TRIB_STAGE_##stage, TRIB_STAGE_##end \
    }

static const struct rule RULES[] = {
    AT(FIRST, JOIN, UP),
    AT(RECALLED, JOIN, BIT(RANK)),
    AT(FIRST, CONTROL, BIT(MASTER)),
    AT(JOINING, WELCOME, DOWN),
    AT(JOINING, AWAY, DOWN),
    AT(JOINING, RING, BIT(CONTROL)),
    AT(JOINING, ROOT_OPEN, BIT(CONTROL)),
    AT(JOINING, ROOT_CHILD, BIT(CONTROL)),
    AT(JOINING, HELLO, BIT(AGENT)),
    FROM(JOINING, AWAY, BIT(AGENT)),
    FROM(JOINING, ABORT, UP),
    FROM(JOINING, FAIL, DOWN | BIT(AGENT)),
    FROM(JOINING, CLOSED, DOWN),
    FROM(JOINING, PING, UP | BIT(MASTER) | BIT(AGENT)),
    FROM(JOINING, PONG, UP | BIT(MASTER) | DOWN | BIT(AGENT)),
    TO(WELCOMED, PATHS, UP, PROVED),
    TO(PROVED, REGISTER, UP, RUNNING),
    FROM(WELCOMED, OPERATION, UP),
    FROM(WELCOMED, STALL, UP),
    FROM(JOINING, CLOSE, UP),
    FROM(WELCOMED, DISPUTE, UP),
    FROM(WELCOMED, GONE, BIT(RANK)),
    FROM(WELCOMED, ROOT_READY, BIT(RANK)),
    FROM(WELCOMED, ROOT_MISSING, BIT(RANK) | BIT(MASTER) | BIT(CONTROL)),
    FROM(WELCOMED, ROOT_OPEN, BIT(MASTER)),
    FROM(WELCOMED, ROOT_CHILD, BIT(MASTER)),
    FROM(WELCOMED, ROOT_JOIN, BIT(MASTER) | BIT(CONTROL)),
    FROM(WELCOMED, DESCRIBE, DOWN),
    FROM(JOINING, MISSING, DOWN),
    FROM(REGISTERED, MARK, UP | DOWN),
    FROM(REGISTERED, PROGRESS, BIT(RANK)),
    AT(REGISTERED, READY, BIT(CONTROL)),
    FROM(REGISTERED, ROOT_READY, BIT(AGENT)),
    FROM(REGISTERED, ROOT_MISSING, BIT(AGENT)),
    FROM(REGISTERED, DISPUTE, BIT(AGENT)),
    FROM(WELCOMED, ROOM, BIT(AGENT)),
    FROM(WELCOMED, ROOT_SHUT, BIT(MASTER)),
    FROM(REGISTERED, ROOT_REFUSED, BIT(AGENT)),
    AT(JOINING, ROOT_OPENED, BIT(RANK)),
    FROM(REGISTERED, ROOT_OPENED, BIT(AGENT)),
    FROM(RUNNING, GONE, BIT(CONTROL)),
    AT(FIRST, HELLO, BIT(LEAF)),
    AT(JOINING, CHALLENGE, BIT(UPPER)),
    AT(JOINING, PROOF, BIT(LEAF)),
    FROM(WELCOMED, CHANNEL, BIT(LEAF)),
    FROM(WELCOMED, BYTES, BIT(LEAF) | BIT(UPPER)),
    FROM(WELCOMED, END, BIT(LEAF) | BIT(UPPER)),
    FROM(JOINING, FAIL, BIT(UPPER)),
    FROM(JOINING, AWAY, BIT(UPPER)),
    FROM(JOINING, PING, BIT(LEAF) | BIT(UPPER)),
    FROM(JOINING, PONG, BIT(LEAF) | BIT(UPPER)),
    FROM(WELCOMED, ROOT_OPEN, BIT(UPPER)),
    FROM(WELCOMED, ROOT_CHILD, BIT(UPPER)),
    FROM(WELCOMED, ROOT_JOIN, BIT(UPPER)),
    FROM(WELCOMED, ROOT_MARK, BIT(UPPER)),
    FROM(WELCOMED, ROOT_PROBE, BIT(UPPER)),
    FROM(WELCOMED, ROOT_SHUT, BIT(UPPER)),
    FROM(WELCOMED, ROOT_MISSING, BIT(UPPER) | BIT(LEAF)),
    FROM(WELCOMED, MISSING, BIT(UPPER)),
    FROM(WELCOMED, ROOT_OPENED, BIT(LEAF)),
    FROM(WELCOMED, ROOT_READY, BIT(LEAF)),
    FROM(WELCOMED, ROOT_REFUSED, BIT(LEAF)),
    FROM(WELCOMED, DISPUTE, BIT(LEAF)),
    FROM(WELCOMED, BYE, BIT(LEAF)),
    FROM(JOINING, RECALL, BIT(CONTROL)),
    /* Whatever it may have said before it heard of that. */
    AT(RECALLED, PATHS, BIT(RANK)),
    AT(RECALLED, REGISTER, BIT(RANK)),
    AT(RECALLED, MARK, BIT(RANK)),
    AT(RECALLED, PROGRESS, BIT(RANK)),
    AT(RECALLED, OPERATION, BIT(RANK)),
    AT(RECALLED, CLOSE, BIT(RANK)),
    AT(RECALLED, ABORT, BIT(RANK)),
    AT(RECALLED, STALL, BIT(RANK)),
    AT(RECALLED, GONE, BIT(RANK)),
    AT(RECALLED, DISPUTE, BIT(RANK)),
    AT(RECALLED, ROOT_OPENED, BIT(RANK)),
    AT(RECALLED, ROOT_READY, BIT(RANK)),
    AT(RECALLED, ROOT_MISSING, BIT(RANK)),
    AT(RECALLED, PING, BIT(RANK)),
    AT(RECALLED, PONG, BIT(RANK)),
};

static bool is_ruled(enum trib_message_kind kind, enum trib_sender sender, enum trib_stage stage)
{
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
        const struct rule *rule = &RULES[i];
        if (rule->kind == kind && (rule->senders >> sender & 1) != 0 && stage >= rule->first && stage <= rule->last) {
            return true;
        }
    }
    return false;
}

static void table__every_kind_of_every_sender_at_every_stage(void **state)
{
    (void)state;
    for (int kind = TRIB_MESSAGE_NONE + 1; kind < TRIB_MESSAGE_KIND_COUNT; kind++) {
        bool is_said = false;
        for (int sender = 0; sender < TRIB_SENDER_COUNT; sender++) {
            bool is_of = false;
            for (int stage = 0; stage < TRIB_STAGE_COUNT; stage++) {
                bool wanted = is_ruled((enum trib_message_kind)kind, (enum trib_sender)sender, (enum trib_stage)stage);
                if (wanted != trib_message_is_in_turn((enum trib_message_kind)kind, (enum trib_sender)sender,
                                                      (enum trib_stage)stage)) {
                    fail_msg("%s of sender %d at stage %d: %d wanted", trib_message_name((enum trib_message_kind)kind),
                             sender, stage, wanted);
                }
                is_of = is_of || wanted;
            }
            assert_int_equal(trib_message_is_of((enum trib_message_kind)kind, (enum trib_sender)sender), is_of);
            is_said = is_said || is_of;
        }
        assert_true(is_said); /* or the kind is needless */
    }
}

/* Fields that the codec takes. */
static struct trib_message plain(enum trib_message_kind kind)
{
    struct trib_message message = {.kind = kind};
    if (kind == TRIB_MESSAGE_JOIN) {
        message = root_join(1, 2);
    } else if (kind == TRIB_MESSAGE_CONTROL) {
        message.control.magic = TRIB_SESSION_MAGIC;
        message.control.version = TRIB_SESSION_VERSION;
        message.control.wire_version = TRIB_WIRE_VERSION;
    } else if (kind == TRIB_MESSAGE_HELLO) {
        message.hello.magic = TRIB_SESSION_MAGIC;
        message.hello.version = TRIB_SESSION_VERSION;
        message.hello.wire_version = TRIB_WIRE_VERSION;
    } else if (kind == TRIB_MESSAGE_CHANNEL) {
        message.channel.peer = trib_address_v4(1, 1);
    } else if (kind == TRIB_MESSAGE_PROGRESS) {
        message.progress.busy_ns = TRIB_PROGRESS_NS;
    } else if (kind == TRIB_MESSAGE_ROOT_CHILD) {
        message.root_child.from = trib_address_v4(1, 1);
    }
    return message;
}

/* Rank 1 of two. */
static void bring_to(struct hosts *h, enum trib_stage stage)
{
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    for (uint32_t rank = 1; rank < 2 && stage >= TRIB_STAGE_JOINING; rank--) {
        const struct trib_message join = root_join(rank, 2);
        assert_true(say(h, rank, &join));
        if (stage == TRIB_STAGE_JOINING) {
            break;
        }
    }
    pump(h);
    if (stage >= TRIB_STAGE_PROVED) {
        assert_true(say(h, 1, &paths));
    }
    if (stage >= TRIB_STAGE_REGISTERED) {
        assert_true(say_mark(h, 1, TRIB_MESSAGE_REGISTER, 0));
    }
    if (stage >= TRIB_STAGE_RUNNING) {
        register_rank(h, 0, 0);
        assert_int_equal(h->process[1].readies, 1);
    }
    if (stage == TRIB_STAGE_CLOSING) {
        assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 5));
    }
    if (stage == TRIB_STAGE_RECALLED) {
        trib_job_recall(&h->jobs, h->jobs.first, "a switch is lost", h->now_ns);
    }
    pump(h);
}

/* What it may not say has no effect: neither rank hears a word, and its session is where it was. */
static void jobs__what_a_rank_may_not_say_has_no_effect(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (int stage = 0; stage < TRIB_STAGE_COUNT; stage++) {
        for (int kind = TRIB_MESSAGE_NONE + 1; kind < TRIB_MESSAGE_KIND_COUNT; kind++) {
            void *made = NULL;
            const struct trib_message message = plain((enum trib_message_kind)kind);
            enum trib_sender sender = kind == TRIB_MESSAGE_CONTROL ? TRIB_SENDER_MASTER : TRIB_SENDER_RANK;
            if (is_ruled(message.kind, stage == TRIB_STAGE_FIRST ? sender : TRIB_SENDER_RANK, (enum trib_stage)stage)) {
                continue;
            }
            (void)hosts_start(&made);
            struct hosts *h = made;
            bring_to(h, (enum trib_stage)stage);
            uint32_t heard[2] = {h->process[0].arrived, h->process[1].arrived};
            assert_false(say(h, 1, &message));
            assert_int_equal(h->process[0].arrived, heard[0]);
            assert_int_equal(h->process[1].arrived, heard[1]);
            assert_int_equal(trib_session_is_joined(&h->process[1].session), stage != TRIB_STAGE_FIRST);
            assert_false(h->process[0].has_ended || h->process[1].has_ended);
            refused++;
            (void)hosts_stop(&made);
        }
    }
    assert_true(refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__every_kind_of_every_sender_at_every_stage),
        cmocka_unit_test(jobs__what_a_rank_may_not_say_has_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
