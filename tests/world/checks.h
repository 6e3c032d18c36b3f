/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h: what worlds look at: packets, sums, buffers, times and ends. Those of control planes are in control.h. A part
 * of world.h, which includes it behind its types. Read next: check_packet.c. */
#ifndef TRIB_TESTS_WORLD_CHECKS_H
#define TRIB_TESTS_WORLD_CHECKS_H

/* check_packet.c, check_buffers.c, check_retained.c, check_time.c, check_end.c */
void check_up(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet);
void check_down(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet);
void check_mismatch(const struct world_comm *comm, const struct shape_node *shape, const struct trib_event *event);
void check_peer(const struct world_comm *comm, uint32_t rank, const struct trib_packet *packet);
uint64_t peer_keys(const struct world_comm *comm, uint32_t from, uint64_t label, uint32_t owner);
/* check_quorum.c */
uint64_t quorum_keys(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet);
void check_sent(struct world_comm *comm, uint32_t rank, const struct trib_packet *packet);
void check_received(const struct world_unit *unit, const struct world_unit *from, const struct trib_packet *packet,
                    enum trib_drop drop);
void check_kept(struct world_comm *comm, uint32_t rank, const struct trib_packet *offer);
void check_settled(const struct world_comm *comm, struct world_op *op);
void check_stall(const struct world_comm *comm, uint32_t rank, const struct trib_event *event);
void note_result(struct world_comm *comm, uint32_t at, uint32_t node, const struct trib_packet *packet);
void check_repeats(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet);
void check_silence_begins(struct world_unit *unit);
void check_silence_ends(struct world_unit *unit, uint32_t root, const struct trib_packet *packet);
void check_silence(struct world_unit *unit, uint32_t root);
void check_done(struct world_comm *comm, uint32_t rank, struct world_op *op);
void check_partial(struct world_comm *comm, uint32_t rank);
void check_moved(struct world_comm *comm); /* sums have another shape now */
void check_retained(struct world_comm *comm, uint32_t rank);
void check_time(struct world *world);
void check_gone(struct world_comm *comm);
void check_end(struct world *world);

/* oracle.c */
void oracle_expect(const struct world_comm *comm, struct world_op *op);
uint32_t oracle_data(const struct world_comm *comm); /* bytes of a payload that are left for elements */
uint32_t oracle_block(const struct world_comm *comm, const struct world_op *op); /* elements of a fragment */
void oracle_expect_of(const struct world_comm *comm, struct world_op *op, uint64_t fragment,
                      const struct rank_set *list);
enum trib_type oracle_wire(const struct world_comm *comm); /* what float32 tensors travel as */

/* The operation of the sequence. */
struct world_op *op_of(const struct world_comm *comm, uint64_t sequence);

/* proof.c */
void proof_draw(const struct world *world, struct comm_settings *set);
void proof_make(struct world_comm *comm);
/* True if all ranks must get the right values, whatever switches do. */
bool proof_covers(const struct world_comm *comm, const struct world_op *op);
/* True if a switch may falsify the values of this packet, and nothing else in it. */
bool proof_is_due(const struct world_comm *comm, const struct trib_packet *packet);

#endif
