/* SPDX-License-Identifier: Apache-2.0 */
/* udp.c: what a packet costs on its way through src/net/udp.c over loopback: CPU nanoseconds a packet on both sides
 * together and gigabytes of payload a second, from one thread to another, trains on and off. Sequence and payload
 * are checked.
 *   bench-udp            the table
 *   bench-udp --room     what fits into a receive buffer of 1 MiB, as part of what getsockopt(SO_RCVBUF) says
 * (socket.c) */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "net/port.h"
#include "net/resolve.h"

#define RUN_NS (400 * TRIB_MILLISECOND_NS)
#define BEST_OF 3
#define IN_FLIGHT (1 << 20) /* bytes: the sender waits for the receiver, so that nothing is lost */

struct run {
    struct trib_port *sender, *receiver;
    struct trib_address to;
    uint16_t payload;
    atomic_uint_fast64_t received;
    atomic_bool ended;
    uint64_t wrong;
};

static uint8_t payload_bytes[TRIB_PAYLOAD_MAX];

static uint64_t process_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * TRIB_SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct trib_port *open_socket(bool trains, uint32_t buffer)
{
    struct trib_port_config config = {.payload = TRIB_PAYLOAD_MAX, .buffer = buffer, .trains = trains};
    struct trib_port *udp;
    char error[TRIB_ERROR_TEXT_MAX];
    if (trib_address_parse("127.0.0.1:0", 0, &config.local, error) != TRIB_OK ||
        trib_port_open(&config, &udp, error) != TRIB_OK) {
        fprintf(stderr, "bench-udp: %s\n", error);
        exit(1);
    }
    return udp;
}

static struct trib_packet make_packet(uint64_t number, uint16_t len)
{
    const struct trib_packet packet = {.sequence = number,
                                       .mark = number,
                                       .kind = TRIB_CONTRIBUTION,
                                       .type = TRIB_FLOAT32,
                                       .reduction = TRIB_SUM,
                                       .payload_len = len,
                                       .payload = payload_bytes};
    return packet;
}

static void *receive_all(void *argument)
{
    struct run *run = argument;
    struct pollfd readable = {.fd = trib_port_fd(run->receiver), .events = POLLIN};
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint64_t next = 0;
    while (!atomic_load(&run->ended)) {
        (void)poll(&readable, 1, 20);
        while (trib_port_receive(run->receiver, 0)) {
            while (trib_port_next(run->receiver, &arrival)) {
                bool right = trib_packet_decode(arrival.data, arrival.len, &packet) == TRIB_DROP_NONE &&
                             packet.sequence == next && packet.payload_len == run->payload &&
                             memcmp(packet.payload, payload_bytes, 16) == 0;
                run->wrong += !right;
                next++;
            }
            atomic_store(&run->received, next);
        }
    }
    return NULL;
}

static uint64_t send_all(struct run *run)
{
    uint64_t sent = 0;
    uint64_t limit = IN_FLIGHT / ((uint64_t)run->payload + TRIB_HEADER_SIZE) / 2;
    uint64_t end = trib_clock_ns() + RUN_NS;
    while (trib_clock_ns() < end) {
        for (int i = 0; i < 64; i++) {
            struct trib_packet packet = make_packet(sent++, run->payload);
            trib_port_send(run->sender, &packet, &run->to, 1);
        }
        trib_port_flush(run->sender);
        while (sent - atomic_load(&run->received) > limit && trib_clock_ns() < end + TRIB_SECOND_NS) {
            const struct timespec pause = {.tv_nsec = 20000};
            (void)nanosleep(&pause, NULL);
        }
    }
    while (atomic_load(&run->received) < sent && trib_clock_ns() < end + TRIB_SECOND_NS) {
        const struct timespec pause = {.tv_nsec = 100000};
        (void)nanosleep(&pause, NULL);
    }
    return sent;
}

/* One measurement; false when a packet was wrong or is missing. */
static bool measure(uint16_t payload, bool trains, double *cpu_ns, double *gigabytes)
{
    struct run run = {.payload = payload};
    pthread_t thread;
    run.sender = open_socket(trains, 8 << 20);
    run.receiver = open_socket(trains, 8 << 20);
    trib_port_local(run.receiver, &run.to);
    uint64_t cpu = process_cpu_ns();
    uint64_t wall = trib_clock_ns();
    if (pthread_create(&thread, NULL, receive_all, &run) != 0) {
        return false;
    }
    uint64_t sent = send_all(&run);
    wall = trib_clock_ns() - wall;
    cpu = process_cpu_ns() - cpu;
    atomic_store(&run.ended, true);
    (void)pthread_join(thread, NULL);
    uint64_t received = atomic_load(&run.received);
    *cpu_ns = (double)cpu / (double)received;
    *gigabytes = (double)received * payload / (double)wall;
    trib_port_close(run.sender);
    trib_port_close(run.receiver);
    return received == sent && run.wrong == 0;
}

static int table(void)
{
    static const uint16_t sizes[] = {256, 512, 1024, 1408, 4096, 8192};
    int result = 0;
    printf("%8s %10s %12s %8s %12s %8s %8s\n", "payload", "trains", "cpu ns/pkt", "GB/s", "one ns/pkt", "GB/s",
           "ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double cpu[2] = {1e18, 1e18}, best[2] = {0, 0};
        for (int k = 0; k < 2 * BEST_OF; k++) {
            double cpu_ns, gigabytes;
            int trains = k % 2;
            if (!measure(sizes[i], trains == 1, &cpu_ns, &gigabytes)) {
                printf("%8u: packets wrong or missing\n", sizes[i]);
                result = 1;
            }
            cpu[trains] = cpu_ns < cpu[trains] ? cpu_ns : cpu[trains];
            best[trains] = gigabytes > best[trains] ? gigabytes : best[trains];
        }
        printf("%8u %10s %12.0f %8.3f %12.0f %8.3f %8.1f\n", sizes[i], "yes", cpu[1], best[1], cpu[0], best[0],
               cpu[0] / cpu[1]);
    }
    return result;
}

static void send_burst(struct trib_port *sender, const struct trib_address *to, uint16_t payload, uint32_t train,
                       uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct trib_packet packet = make_packet(i, payload);
        trib_port_send(sender, &packet, to, 1);
        if (i % train == train - 1) {
            trib_port_flush(sender);
        }
    }
    trib_port_flush(sender);
}

/* Reads buffers until `most` packets have come or there are none. */
static uint64_t read_some(struct trib_port *receiver, uint64_t most)
{
    struct trib_arrival arrival;
    uint64_t got = 0;
    while (got < most && trib_port_receive(receiver, 0)) {
        while (trib_port_next(receiver, &arrival)) {
            got++;
        }
    }
    return got;
}

/* Fills a buffer that nobody reads; then the same again, but half is read and the rest filled up: what then lies in
 * it is less, as the kernel is slow to give room back. train: packets a send call. */
static void room(uint16_t payload, uint32_t train)
{
    struct trib_port *sender = open_socket(true, 8 << 20);
    struct trib_port *receiver = open_socket(true, 1 << 20);
    struct trib_address to;
    int granted = 0;
    socklen_t len = sizeof granted;
    trib_port_local(receiver, &to);
    (void)getsockopt(trib_port_fd(receiver), SOL_SOCKET, SO_RCVBUF, &granted, &len);
    uint64_t count = 2 * (uint64_t)granted / payload;
    send_burst(sender, &to, payload, train, count);
    uint64_t full = read_some(receiver, UINT64_MAX);
    send_burst(sender, &to, payload, train, count);
    (void)read_some(receiver, full / 2);
    send_burst(sender, &to, payload, train, count);
    uint64_t again = read_some(receiver, UINT64_MAX);
    printf("%8u %7u %8.3f %8.3f\n", payload, train, (double)full * payload / granted,
           (double)again * payload / granted);
    trib_port_close(sender);
    trib_port_close(receiver);
}

static void room_table(void)
{
    static const uint16_t sizes[] = {64, 256, 1024, 1408, 4096, 8192};
    printf("%8s %7s %8s %8s\n", "payload", "packets", "full", "refilled");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        room(sizes[i], 1);
        room(sizes[i], 4);
        room(sizes[i], 64);
    }
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof payload_bytes; i++) {
        payload_bytes[i] = (uint8_t)(i * 131);
    }
    if (argc == 2 && strcmp(argv[1], "--room") == 0) {
        room_table();
        return 0;
    }
    return table();
}
