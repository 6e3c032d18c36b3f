/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h: connections accepted by a switch with a parent, as channels on the trunk. Bytes pass unread, both ways.
 * Private to uplinks.c, which has the trunk. Read next: trunk.h. */
#ifndef TRIB_CONTROL_PASSES_H
#define TRIB_CONTROL_PASSES_H

#include "control/server/trunk.h"

struct trib_pass;

/* No channels yet; connections.h may begin some. */
void trib_passes_init(struct trib_uplinks *uplinks);
/* Moves waiting bytes of channels onto the trunk, each channel in turn. */
void trib_passes_fill(struct trib_uplinks *uplinks);
/* The first switch that waits here for the trunk, with the switches that wait for the first. If this switch waits for a
 * switch of the path, the HELLO shows the loop there. */
struct trib_path trib_passes_first_waiting(const struct trib_uplinks *uplinks);
/* True if some rank waits or has a session here. */
bool trib_passes_have_ranks(const struct trib_uplinks *uplinks);
/* BYTES and END from above. */
void trib_passes_take_bytes(struct trib_uplinks *uplinks, const struct trib_message *message);
void trib_passes_take_end(struct trib_uplinks *uplinks, const struct trib_message *message);
/* All connections end, after `word` where nothing has come from above; none is queued any more. */
void trib_passes_end_all(struct trib_uplinks *uplinks, const struct trib_message *word);
/* Frees channels with an ended connection, once END was sent or is needless. */
void trib_passes_sweep(struct trib_uplinks *uplinks);
void trib_passes_deinit(struct trib_uplinks *uplinks);

#endif
