/* SPDX-License-Identifier: Apache-2.0 */
/* status.h: return statuses of the library.
 *
 * Every fallible function returns an enum trib_status: 0 for success, negative for a failure. "Not finished yet" is
 * never a status. trib_comm_error() (comm.h) returns the cause of a communicator's last failure as text.
 * Read next: types.h, comm.h. */
#ifndef TRIBUTARY_STATUS_H
#define TRIBUTARY_STATUS_H

#pragma GCC visibility push(default) /* exported; all else in the library is hidden */
#ifdef __cplusplus
extern "C" {
#endif

/* Name, value, text. The source of the enum, the names and the texts. */
#define TRIB_STATUS_MAP(X)                                 \
    X(OK, 0, "success")                                    \
    X(ERR_INVALID, -1, "invalid argument")                 \
    X(ERR_UNSUPPORTED, -2, "not supported")                \
    X(ERR_MEMORY, -3, "out of memory")                     \
    X(ERR_SYSTEM, -4, "operating system error")            \
    X(ERR_UNREACHABLE, -5, "cannot join")                  \
    X(ERR_REFUSED, -6, "refused by the control plane")     \
    X(ERR_VERSION, -7, "versions differ")                  \
    X(ERR_SETTINGS, -8, "settings differ between ranks")   \
    X(ERR_MISMATCH, -9, "operations differ between ranks") \
    X(ERR_TIMEOUT, -10, "timed out")                       \
    X(ERR_PEER, -11, "a rank is gone")                     \
    X(ERR_SWITCH, -12, "the switch is gone")               \
    X(ERR_ABORTED, -13, "aborted")                         \
    X(ERR_CLOSED, -14, "closed")                           \
    X(ERR_CHECK, -15, "a result failed its check")

enum trib_status {
#define X(name, value, text) TRIB_##name = (value),
    TRIB_STATUS_MAP(X)
#undef X
};

/* The name, "TRIB_ERR_TIMEOUT", and the text, "timed out". Both are static. "unknown status" for an unlisted value. */
const char *trib_status_name(enum trib_status status);
const char *trib_status_text(enum trib_status status);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
