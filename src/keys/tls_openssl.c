/* SPDX-License-Identifier: Apache-2.0 */
/* tls_openssl.c: see tls.h. OpenSSL reads and writes memory BIOs. A server without a certificate can complete a
 * handshake with a pre-shared key only, and a client that knows no authority accepts nothing else; both check
 * it all the same (is_keyed). */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "keys/openssl.h"
#include "keys/tls.h"

#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256" /* both with the hash that keys are for */
#define GROUPS "X25519:P-256"
#define CAUSE_MAX 400
#define IDENTITIES_MAX 4 /* of one client, each of which costs a look at the folder of keys; ours names one */
#define ALERT_BYTE 0x15  /* first of a record: a server answers with a handshake or an alert */

struct trib_tls_side {
    SSL_CTX *context;
    atomic_uint users;
    const struct trib_keyring *keys; /* of a server */
    uint64_t id;                     /* of a client's key */
    bool is_switch;
    char identity[TRIB_KEY_ID_TEXT];
    uint8_t switch_key[TRIB_SUBKEY_SIZE];
};

struct trib_tls {
    struct trib_tls_side *side;
    SSL *ssl;
    BIO *in; /* the ssl's */
    BIO *out;
    bool is_open;
    bool has_failed;
    bool is_refused;     /* counts once it has failed */
    bool has_heard;      /* bytes of the peer */
    uint32_t identities; /* that the client has named, at a server */
    uint64_t asked_id;   /* of its key */
    char cause[CAUSE_MAX];
};

/* ---- keys ---- */

static SSL_SESSION *session_of(SSL *ssl, const uint8_t switch_key[TRIB_SUBKEY_SIZE])
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    SSL_SESSION *session = SSL_SESSION_new();
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    if (session != NULL && cipher != NULL && SSL_SESSION_set1_master_key(session, switch_key, TRIB_SUBKEY_SIZE) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
        return session;
    }
    SSL_SESSION_free(session);
    return NULL;
}

/* The client's key. `digest` is set after the server has asked for another key exchange. */
static int use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *identity_len,
                   SSL_SESSION **session)
{
    const struct trib_tls *tls = SSL_get_app_data(ssl);
    (void)digest;
    *identity = (const unsigned char *)tls->side->identity;
    *identity_len = TRIB_KEY_ID_TEXT - 1;
    *session = session_of(ssl, tls->side->switch_key);
    return *session != NULL;
}

static bool read_id(const unsigned char *identity, size_t len, uint64_t *id)
{
    *id = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = identity[i];
        bool is_digit = byte >= '0' && byte <= '9';
        if (!is_digit && (byte < 'a' || byte > 'f')) {
            return false;
        }
        *id = *id << 4 | (uint64_t)(is_digit ? byte - '0' : byte - 'a' + 10);
    }
    return len == TRIB_KEY_ID_TEXT - 1;
}

/* The server's key of that id. Without a session in *session the handshake ends: there is no certificate. */
static int find_key(SSL *ssl, const unsigned char *identity, size_t identity_len, SSL_SESSION **session)
{
    struct trib_tls *tls = SSL_get_app_data(ssl);
    uint8_t switch_key[TRIB_SUBKEY_SIZE];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    *session = NULL;
    if (++tls->identities > IDENTITIES_MAX) {
        (void)snprintf(tls->cause, sizeof tls->cause, "a client with more than %d keys", IDENTITIES_MAX);
        return 0;
    }
    if (!read_id(identity, identity_len, &tls->asked_id)) {
        (void)snprintf(tls->cause, sizeof tls->cause, "a key without an id of 16 digits");
        return 1;
    }
    if (trib_keyring_find(tls->side->keys, tls->asked_id, switch_key, error)) {
        *session = session_of(ssl, switch_key);
        tls->cause[0] = '\0'; /* of another identity of this client */
        trib_wipe(switch_key, sizeof switch_key);
        return *session != NULL;
    }
    (void)snprintf(tls->cause, sizeof tls->cause, "key %016" PRIx64 ": %.360s", tls->asked_id, error);
    return 1;
}

/* ---- sides ---- */

static bool set_up(SSL_CTX *context)
{
    char groups[] = GROUPS; /* OpenSSL takes it without const */
    (void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CLEANSE_PLAINTEXT);
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(context, CIPHERS) == 1 && SSL_CTX_set1_groups_list(context, groups) == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1;
}

static struct trib_tls_side *make_side(bool is_server, char *error)
{
    if (trib_keys_explain_lack() != NULL) {
        trib_explain(error, "%s", trib_keys_explain_lack());
        return NULL;
    }
    struct trib_tls_side *side = calloc(1, sizeof *side);
    SSL_CTX *context = side != NULL ? SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()) : NULL;
    if (context == NULL || !set_up(context)) {
        char text[256] = "out of memory";
        if (ERR_peek_last_error() != 0) {
            ERR_error_string_n(ERR_peek_last_error(), text, sizeof text);
        }
        trib_explain(error, "TLS is impossible here: %s: see the configuration of OpenSSL", text);
        ERR_clear_error();
        SSL_CTX_free(context);
        free(side);
        return NULL;
    }
    side->context = context;
    atomic_init(&side->users, 1);
    return side;
}

struct trib_tls_side *trib_tls_client(const struct trib_keys *keys, bool is_switch, char *error)
{
    struct trib_tls_side *side = make_side(false, error);
    if (side != NULL) {
        side->id = trib_key_id_number(keys);
        side->is_switch = is_switch;
        trib_key_id_format(keys->id, side->identity);
        memcpy(side->switch_key, keys->switch_key, sizeof side->switch_key);
        SSL_CTX_set_verify(side->context, SSL_VERIFY_PEER, NULL); /* no authority is known: no certificate is good */
        SSL_CTX_set_psk_use_session_callback(side->context, use_key);
    }
    return side;
}

struct trib_tls_side *trib_tls_server(const struct trib_keyring *keys, char *error)
{
    struct trib_tls_side *side = make_side(true, error);
    if (side != NULL) {
        side->keys = keys;
        SSL_CTX_set_psk_find_session_callback(side->context, find_key);
    }
    return side;
}

struct trib_tls_side *trib_tls_share(struct trib_tls_side *side)
{
    if (side != NULL) {
        (void)atomic_fetch_add_explicit(&side->users, 1, memory_order_relaxed);
    }
    return side;
}

void trib_tls_release(struct trib_tls_side *side)
{
    if (side != NULL && atomic_fetch_sub_explicit(&side->users, 1, memory_order_acq_rel) == 1) {
        SSL_CTX_free(side->context);
        trib_wipe(side, sizeof *side);
        free(side);
    }
}

/* ---- connections ---- */

struct trib_tls *trib_tls_open(struct trib_tls_side *side)
{
    struct trib_tls *tls = calloc(1, sizeof *tls);
    SSL *ssl = tls != NULL ? SSL_new(side->context) : NULL;
    BIO *in = ssl != NULL ? BIO_new(BIO_s_mem()) : NULL;
    BIO *out = in != NULL ? BIO_new(BIO_s_mem()) : NULL;
    if (out == NULL || SSL_set_app_data(ssl, tls) != 1) {
        (void)BIO_free(out);
        (void)BIO_free(in);
        SSL_free(ssl);
        free(tls);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_bio(ssl, in, out);
    if (side->keys != NULL) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
    }
    tls->side = trib_tls_share(side);
    tls->ssl = ssl;
    tls->in = in;
    tls->out = out;
    return tls;
}

void trib_tls_close(struct trib_tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        trib_tls_release(tls->side);
        free(tls);
    }
}

bool trib_tls_feed(struct trib_tls *tls, const uint8_t *bytes, size_t count)
{
    bool is_first = !tls->has_heard && count > 0;
    tls->has_heard = tls->has_heard || count > 0;
    if (is_first && bytes[0] != TRIB_TLS_FIRST_BYTE && bytes[0] != ALERT_BYTE) {
        tls->is_refused = true;
        (void)snprintf(tls->cause, sizeof tls->cause,
                       "it answers without TLS: give it the key as well (a switch: --keys or --key; rank 0: "
                       "TRIB_KEY_FILE), or leave out the key here");
    }
    return BIO_write(tls->in, bytes, (int)count) == (int)count;
}

size_t trib_tls_peek(const struct trib_tls *tls, const uint8_t **bytes)
{
    char *at = NULL;
    long count = BIO_get_mem_data(tls->out, &at);
    *bytes = (const uint8_t *)at;
    return count > 0 ? (size_t)count : 0;
}

void trib_tls_sent(struct trib_tls *tls, size_t count)
{
    uint8_t gone[1024];
    while (count > 0) {
        int taken = BIO_read(tls->out, gone, (int)(count < sizeof gone ? count : sizeof gone));
        count -= taken > 0 ? (size_t)taken : count;
    }
}

/* The client's words for the alert of a server, which does not say more to a stranger. True: another try is no use. */
static bool explain_alert(struct trib_tls *tls, int reason)
{
    uint64_t id = tls->side->id;
    if (reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE) {
        (void)snprintf(tls->cause, sizeof tls->cause,
                       tls->side->is_switch
                           ? "it does not know key %016" PRIx64 ": start both switches with one --key"
                           : "it does not know key %016" PRIx64
                             ", or cannot use its file, as its log says: put the file "
                             "(tributary key tenant) in the folder of --keys; no switch: use rank 0's key",
                       id);
    } else if (reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER || reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR) {
        (void)snprintf(tls->cause, sizeof tls->cause,
                       "its file of key %016" PRIx64 " is of another key: write it anew (tributary key tenant)", id);
    } else if (reason == SSL_R_TLSV1_ALERT_INTERNAL_ERROR) {
        (void)snprintf(tls->cause, sizeof tls->cause,
                       "it has no room for another session: come again later, or raise its limit of open files "
                       "(ulimit -n)");
        return false;
    }
    return tls->cause[0] != '\0';
}

static void fail(struct trib_tls *tls)
{
    unsigned long error = ERR_peek_last_error();
    int reason = ERR_GET_REASON(error);
    tls->has_failed = true;
    if (tls->cause[0] == '\0' && tls->side->keys == NULL && !tls->is_open) {
        tls->is_refused = explain_alert(tls, reason);
    }
    if (tls->cause[0] == '\0' && reason == SSL_R_BINDER_DOES_NOT_VERIFY) {
        (void)snprintf(tls->cause, sizeof tls->cause, "key %016" PRIx64 ": the peer has another key of that id",
                       tls->asked_id);
    }
    if (tls->cause[0] == '\0') {
        const char *text = ERR_reason_error_string(error);
        (void)snprintf(tls->cause, sizeof tls->cause, "TLS: %.100s", text != NULL ? text : "the peer broke it off");
    }
    ERR_clear_error();
}

/* True if both sides have shown that they have the key. */
static bool is_keyed(struct trib_tls *tls)
{
    if (SSL_session_reused(tls->ssl) == 1) {
        return true;
    }
    (void)snprintf(tls->cause, sizeof tls->cause, "TLS without the key");
    tls->has_failed = true;
    return false;
}

bool trib_tls_shake(struct trib_tls *tls)
{
    if (tls->has_failed || tls->is_open) {
        return !tls->has_failed;
    }
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        tls->is_open = is_keyed(tls);
    } else if (SSL_get_error(tls->ssl, result) != SSL_ERROR_WANT_READ) {
        fail(tls);
    }
    return !tls->has_failed;
}

bool trib_tls_is_new(const struct trib_tls *tls)
{
    return SSL_in_before(tls->ssl) == 1 && !tls->has_failed;
}

bool trib_tls_is_open(const struct trib_tls *tls)
{
    return tls->is_open && !tls->has_failed;
}

/* The result of SSL_read or SSL_write that took no byte. */
static ssize_t explain_none(struct trib_tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN) {
        return 0;
    }
    bool must_wait = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!must_wait) {
        fail(tls);
    }
    errno = must_wait ? EAGAIN : EPROTO;
    return -1;
}

static bool may_move(struct trib_tls *tls)
{
    bool is_possible = trib_tls_shake(tls) && tls->is_open;
    errno = tls->has_failed ? EPROTO : EAGAIN;
    ERR_clear_error();
    return is_possible;
}

ssize_t trib_tls_read(struct trib_tls *tls, uint8_t *bytes, size_t room)
{
    if (!may_move(tls)) {
        return -1;
    }
    int got = SSL_read(tls->ssl, bytes, (int)room);
    return got > 0 ? got : explain_none(tls, got);
}

ssize_t trib_tls_write(struct trib_tls *tls, const uint8_t *bytes, size_t count)
{
    if (!may_move(tls)) {
        return -1;
    }
    int sent = SSL_write(tls->ssl, bytes, (int)(count < SSL3_RT_MAX_PLAIN_LENGTH ? count : SSL3_RT_MAX_PLAIN_LENGTH));
    return sent > 0 ? sent : explain_none(tls, sent);
}

bool trib_tls_is_refused(const struct trib_tls *tls)
{
    return tls->has_failed && tls->is_refused;
}

const char *trib_tls_cause(const struct trib_tls *tls)
{
    return tls->cause;
}

uint64_t trib_tls_key_id(const struct trib_tls *tls)
{
    if (!trib_tls_is_open(tls)) {
        return 0;
    }
    return tls->side->keys != NULL ? tls->asked_id : tls->side->id;
}
