/* SPDX-License-Identifier: Apache-2.0 */
/* status.c: names and texts of enum trib_status, generated from the one list in status.h. It decides nothing.
 * Read next: <tributary/comm.h> (the functions that return them). */
#include <tributary/status.h>

const char *trib_status_name(enum trib_status status)
{
    switch (status) {
#define X(name, value, text) \
    case TRIB_##name:        \
        return "TRIB_" #name;
        TRIB_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *trib_status_text(enum trib_status status)
{
    switch (status) {
#define X(name, value, text) \
    case TRIB_##name:        \
        return text;
        TRIB_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}
