/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.c: the inputs of the corpora of session and server that hold whole messages, as the encoder of today writes
 * them: a control plane that reads a JOIN of another session version, or of another form, ends the session at once, and
 * what lies behind it is never reached. FOLDER is tests/fuzz/corpus: fails if one of them is not there, or has other
 * bytes, or if any other input there has a JOIN of another version. With --write writes them. Names that begin with
 * "drop-" are of what is refused. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/words/words.h"
#include "unit/session_goldens.h"

#define SEED_MAX 8192
#define CHUNK_MAX 252    /* fuzz_server.c: a byte is which of its 4 connections, and how many times 4 bytes follow */
#define SECOND_SESSION 2 /* of its connections, the even ones are sessions */

struct seed {
    size_t len;
    uint8_t bytes[SEED_MAX];
};

static bool is_to_write;

static void say(struct seed *seed, const struct trib_message *message)
{
    seed->len += trib_message_encode(message, seed->bytes + seed->len);
}

static void say_mark(struct seed *seed, enum trib_message_kind kind, uint64_t mark)
{
    say(seed, &(struct trib_message){.kind = kind, .mark = {mark}});
}

static struct trib_message join_of(uint32_t rank, uint32_t ranks)
{
    struct trib_message join = {
        .kind = TRIB_MESSAGE_JOIN,
        .join = {.magic = TRIB_SESSION_MAGIC,
                 .version = TRIB_SESSION_VERSION,
                 .wire_version = TRIB_WIRE_VERSION,
                 .job = "digits",
                 .rank = rank,
                 .data_port = {(uint16_t)(20000 + rank)},
                 .settings = {.scheme = "switchml", .ranks = ranks, .payload = 1408, .wire = TRIB_WIRE_FLOAT32}}};
    return join;
}

static struct trib_message return_join(void)
{
    struct trib_message join = join_of(0, 1);
    join.join.known = (struct trib_grant){.salt = 1,
                                          .token = 2,
                                          .key = 3,
                                          .job_token = 4,
                                          .communicator = 7,
                                          .boot = 8,
                                          .roots = 2,
                                          .train = 44,
                                          .slots = 1408,
                                          .window = 352,
                                          .generation = 1,
                                          .data_port = 7470,
                                          .weight = {3, 1}};
    join.join.was_ready = true;
    return join;
}

/* All that a rank says whose job goes well, without waiting for answers. */
static void say_life(struct seed *seed, const struct trib_message *join)
{
    static const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL,
                                              .stall = {.sequence = 7, .since_ms = 1200, .where = "L1"}};
    say(seed, join);
    say(seed, &(struct trib_message){.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}});
    say_mark(seed, TRIB_MESSAGE_REGISTER, 0);
    say_mark(seed, TRIB_MESSAGE_MARK, 18);
    say(seed, &stall);
    say(seed, &(struct trib_message){.kind = TRIB_MESSAGE_OPERATION, .operation = {17, "barrier"}});
    say_mark(seed, TRIB_MESSAGE_CLOSE, 19);
}

/* As fuzz_server.c reads it. Zeros behind the end begin a message that never comes. */
static void script(struct seed *seed, uint32_t connection, const struct seed *said)
{
    size_t len = (said->len + 3) / 4 * 4;
    for (size_t at = 0; at < len; at += CHUNK_MAX) {
        size_t chunk = len - at < CHUNK_MAX ? len - at : CHUNK_MAX;
        seed->bytes[seed->len++] = (uint8_t)(chunk + connection);
        memcpy(seed->bytes + seed->len, said->bytes + at, chunk);
        seed->len += chunk;
    }
}

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "%s %s\n", path, what);
    return false;
}

static bool settle(const char *folder, const char *name, const struct seed *seed)
{
    static struct seed there;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, is_to_write ? "wb" : "rb");
    if (file == NULL) {
        return complain(path, is_to_write ? "cannot be written" : "is not there: run this with --write");
    }
    there.len = is_to_write ? fwrite(seed->bytes, 1, seed->len, file) : fread(there.bytes, 1, sizeof there.bytes, file);
    bool is_good = fclose(file) == 0 && there.len == seed->len &&
                   (is_to_write || memcmp(there.bytes, seed->bytes, seed->len) == 0);
    return is_good || complain(path, "is not what the encoder writes today: run this with --write");
}

/* The messages of the codec's own test, what a rank says in its life, and half a message. */
static bool settle_session(const char *folder)
{
    const struct trib_message join = join_of(3, 4);
    struct seed life = {0};
    struct seed half = {0};
    bool is_good = true;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        struct seed seed = {0};
        char name[64] = "";
        for (size_t from = 0, to = 0; goldens[i].name[from] != '\0' && to < sizeof name - 1; from++) {
            if (goldens[i].name[from] != ',') {
                name[to++] = goldens[i].name[from] == ' ' ? '-' : goldens[i].name[from];
            }
        }
        seed.len = from_hex(goldens[i].hex, seed.bytes);
        is_good = settle(folder, name, &seed) && is_good;
    }
    say_life(&life, &join);
    say(&half, &join);
    half.len /= 2;
    is_good = settle(folder, "dialogue", &life) && is_good;
    return settle(folder, "half", &half) && is_good;
}

static bool settle_server(const char *folder)
{
    struct trib_message joins[] = {join_of(0, 1), join_of(0, 1), join_of(0, 2), join_of(1, 2), return_join()};
    struct seed said[5] = {0};
    struct seed seeds[4] = {0};
    strcpy(joins[1].join.settings.scheme, "ring");
    for (uint32_t i = 0; i < 5; i++) {
        say_life(&said[i], &joins[i]);
    }
    script(&seeds[0], 0, &said[0]);
    script(&seeds[1], 0, &said[1]);
    script(&seeds[2], 0, &said[2]);
    script(&seeds[2], SECOND_SESSION, &said[3]);
    script(&seeds[3], 0, &said[4]);
    bool is_good = settle(folder, "one-rank", &seeds[0]);
    is_good = settle(folder, "one-rank-ring", &seeds[1]) && is_good;
    is_good = settle(folder, "two-ranks", &seeds[2]) && is_good;
    return settle(folder, "one-rank-return", &seeds[3]) && is_good;
}

/* Does a JOIN begin here that this version refuses? */
static bool is_stale(const uint8_t *at, size_t len)
{
    static const uint8_t begin[] = {TRIB_MESSAGE_JOIN, 'T', 'R', 'I', 'B'};
    return len >= sizeof begin + 2 && memcmp(at, begin, sizeof begin) == 0 &&
           (at[sizeof begin] << 8 | at[sizeof begin + 1]) != TRIB_SESSION_VERSION;
}

static bool check_file(const char *path)
{
    static struct seed there;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return complain(path, "cannot be read");
    }
    there.len = fread(there.bytes, 1, sizeof there.bytes, file);
    (void)fclose(file);
    for (size_t i = 0; i < there.len; i++) {
        if (is_stale(there.bytes + i, there.len - i)) {
            return complain(path,
                            "has a JOIN of another session version, so what lies behind it is never read: remove it");
        }
    }
    return true;
}

static bool check_folder(const char *path)
{
    bool is_good = true;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return complain(path, "cannot be read");
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char inner[4096];
        (void)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, "drop-", 5) != 0) {
            is_good = check_file(inner) && is_good;
        }
    }
    closedir(folder);
    return is_good;
}

int main(int argc, char **argv)
{
    char session[3000], server[3000];
    is_to_write = argc == 3 && strcmp(argv[2], "--write") == 0;
    if (argc != 2 && !is_to_write) {
        fprintf(stderr, "usage: %s FOLDER [--write]\n", argv[0]);
        return 2;
    }
    (void)snprintf(session, sizeof session, "%s/session", argv[1]);
    (void)snprintf(server, sizeof server, "%s/server", argv[1]);
    bool is_good = settle_session(session);
    is_good = settle_server(server) && is_good;
    is_good = check_folder(session) && is_good;
    return check_folder(server) && is_good ? 0 : 1;
}
