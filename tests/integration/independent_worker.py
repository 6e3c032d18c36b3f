# SPDX-License-Identifier: Apache-2.0
"""A worker in another language, written from docs/PROTOCOL.md alone: it shares no line, constant or file with the library.

Where it and the switch, or it and a rank of the library, do not meet, the document or one of them is wrong. It is a check, not
a client library: one thread, one UDP socket, unicast, wires float32 and int32. Read next: docs/PROTOCOL.md;
independent_check.py, which uses it.
"""
import math
import random
import select
import socket
import struct
import sys
import time
from array import array
from fractions import Fraction

HEADER = struct.Struct(">BBHIHBB6sHQBBHIIiHHHhIQ")
FIELDS = ("version kind flags communicator generation attempt tree sequence node bitmap type reduction payload_len "
          "digest boot mark contributors last_rank window_cap exponent crc lane").split()
GRANT_ITEM = 0x8001
GRANT = struct.Struct(">QQQQIIIIIIHHIH32s8s")
CONTRIBUTION, RESULT, PROBE, ASK, HELD, OFFER, BOOT, PATH = range(1, 9)
(JOIN, WELCOME, PATHS, REGISTER, READY, MARK, DESCRIBE, OPERATION, CLOSE, CLOSED, ABORT, FAIL, STALL, GONE, AWAY, MISSING,
 DISPUTE) = range(1, 18)
RECALL = 37
RESEND, UNWANTED = 0x10, 0x40
NONE, FLOAT32, INT32, BYTES = 0, 1, 4, 6
ALLREDUCE, BROADCAST, BARRIER = 1, 2, 3
ZERO, RAW = -1000, 1000
M64 = (1 << 64) - 1


class Trouble(Exception):
    """The communicator has failed, or what the document rules out has happened."""


def crc_entry(crc):
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRC_TABLE = [crc_entry(i) for i in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def lane_key(salt, rank):
    return mix(salt ^ mix(0x6B6579 + rank)) | 1


def lane_odd(salt, communicator, generation, sequence, digest):
    return mix(mix(mix(salt ^ (communicator << 32 | digest)) ^ sequence) ^ generation) | 1


def operation_digest(settings, number, count, collective, kind, reduction, root):
    payload, wire, lookahead, ranks = settings
    h = mix(mix(mix(payload << 48 | wire << 40 | lookahead) ^ number) ^ count)
    h = mix(h ^ (collective << 48 | kind << 40 | reduction << 32 | root))
    return mix(h ^ ranks << 16) >> 32


# --- packets

class Packet:
    def __init__(self, **fields):
        self.__dict__.update(dict.fromkeys(FIELDS, 0), version=1, last_rank=0xFFFF, payload=b"")
        self.__dict__.update(fields)

    def encode(self):
        self.payload_len, self.crc = len(self.payload), 0
        values = [getattr(self, name) for name in FIELDS]
        values[7] = self.sequence.to_bytes(6, "big")
        values[20] = crc32c(HEADER.pack(*values) + self.payload)
        return HEADER.pack(*values) + self.payload

    @classmethod
    def decode(cls, data):
        """The packet, or None where the document says that it is dropped."""
        if len(data) < 64 or data[0] != 1:
            return None
        packet = cls()
        packet.__dict__.update(zip(FIELDS, HEADER.unpack_from(data)))
        if len(data) != 64 + packet.payload_len or crc32c(data[:52] + bytes(4) + data[56:]) != packet.crc:
            return None
        packet.sequence, packet.payload = int.from_bytes(packet.sequence, "big"), data[64:]
        largest = 0 if packet.kind in (PROBE, ASK, HELD, BOOT) else 8192
        if (not 1 <= packet.kind <= 8 or packet.type > 9 or packet.reduction > 5 or packet.flags > 0xFF
                or not 0 <= packet.sequence + packet.mark <= 1 << 48 or packet.payload_len > largest):
            return None
        return packet


# --- float32 that travels as int32

def from_wire(code, data):
    values = array(code, data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def to_wire(values):
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def block_exponent(block):
    values = from_wire("f", block)
    largest = max(map(abs, values), default=0.0)
    if not all(map(math.isfinite, values)):
        return RAW
    return math.frexp(largest)[1] if largest else ZERO


def shift_of(e, ranks):
    power = ranks & (ranks - 1) == 0
    return 0 if e == ZERO else 31 - e - (ranks - 1).bit_length() - (power and ranks >= 256)


def quantize(block, shift):
    return to_wire(array("i", (round(math.ldexp(x, shift)) for x in from_wire("f", block))))


def dequantize(block, shift):
    return to_wire(array("f", (math.ldexp(q, -shift) for q in from_wire("i", block))))


class Operation:
    """One collective: what each of its sequences carries, and where its results go."""

    def __init__(self, worker, collective, data, kind, count, root=0):
        self.worker, self.data, self.step = worker, data, worker.payload
        self.reduction = 1 if collective == ALLREDUCE else 0
        settings = worker.payload, worker.wire, worker.lookahead, worker.ranks
        self.digest = operation_digest(settings, worker.number, count, collective, kind, self.reduction, root)
        self.is_broadcast, is_root = collective == BROADCAST, worker.rank == root
        self.gives = collective == ALLREDUCE or (self.is_broadcast and is_root)
        self.wants = not (self.is_broadcast and is_root)
        self.out = bytearray(len(data)) if self.wants else bytearray(data)
        self.wire = kind if collective == ALLREDUCE else BYTES
        self.blocks = -(-len(data) // self.step)
        self.is_blockwise = self.wire == FLOAT32 and worker.wire == INT32
        self.ahead = min(self.blocks, worker.lookahead) if self.is_blockwise else 0
        self.left = self.sequences = max(self.blocks + self.ahead, 1)
        self.exponents = {}

    def block(self, i):
        return self.data[i * self.step:(i + 1) * self.step] if i >= 0 else b""

    def build(self, i):
        """Sequence i: type, exponent, own payload, length of the result's. None: an exponent has not come back."""
        if not self.is_blockwise:
            return self.wire, 0, self.block(i) if self.gives else b"", len(self.block(i))
        exponent = block_exponent(self.block(i)) if i < self.blocks else ZERO
        i -= self.ahead
        if i < 0 or not self.blocks:
            return INT32, exponent, b"", 0
        if i not in self.exponents:
            return None
        block, common = self.block(i), self.exponents[i]
        if common == RAW:
            return FLOAT32, exponent, block, len(block)
        return INT32, exponent, quantize(block, shift_of(common, self.worker.ranks)), len(block)

    def take(self, i, packet):
        self.left -= 1
        payload = packet.payload
        if self.is_blockwise:
            self.exponents[i] = packet.exponent
            i -= self.ahead
            if payload and packet.type == INT32:
                payload = dequantize(payload, shift_of(self.exponents[i], self.worker.ranks))
        if payload:
            self.out[i * self.step:i * self.step + len(payload)] = payload


class Fragment:
    """A sequence that was sent and has no result."""

    def __init__(self, operation, index, built):
        self.operation, self.index = operation, index
        self.type, self.exponent, self.payload, self.length = built
        self.is_repeated, self.is_lost, self.strikes, self.started, self.backoff = False, False, 0, time.monotonic(), 0


class Root:
    """What a worker knows of one shard."""

    def __init__(self):
        self.told, self.queue, self.flight, self.kept = 0, [], {}, {}
        self.order, self.quiet_at, self.backoff = 0, 0.0, 0


# --- the worker

class Worker:
    def __init__(self, address, job, rank, ranks, payload, wire):
        self.address, self.job, self.rank, self.ranks, self.payload, self.wire = address, job, rank, ranks, payload, wire
        self.udp, self.known, self.salt, self.ignored = None, b"", 0, None
        self.number = self.end = self.mark = self.session_mark = 0
        self.is_closing = self.is_closed = self.was_ready = self.is_recalled = False
        self.finished, self.answered, self.srtt, self.variation = set(), {}, None, 0.0
        self.counts = dict.fromkeys("sent probes asked offers results restarts".split(), 0)
        self.join()
        self.root = [Root() for _ in range(self.roots)]
        self.probe_paths()
        self.register()

    # the session

    def say(self, kind, fields=b""):
        self.tcp.sendall(struct.pack(">IB", 1 + len(fields), kind) + fields)

    def hear(self):
        """Messages that are there, without waiting. OSError: the session is lost."""
        while not self.is_closed and select.select([self.tcp], [], [], 0)[0]:
            data = self.tcp.recv(4096)
            if not data:
                raise ConnectionResetError("the session has ended")
            self.buffer += data
            while len(self.buffer) >= 5 and len(self.buffer) >= 4 + struct.unpack_from(">I", self.buffer)[0]:
                size = 4 + struct.unpack_from(">I", self.buffer)[0]
                kind, fields, self.buffer = self.buffer[4], self.buffer[5:size], self.buffer[size:]
                if kind == FAIL:
                    raise Trouble("FAIL(%d): %s" % (struct.unpack_from(">i", fields)[0], fields[6:].decode()))
                if kind == AWAY:
                    raise ConnectionAbortedError(fields[2:].decode())
                if kind == RECALL:
                    self.is_recalled = True
                    raise ConnectionResetError(fields[6:].decode())
                if kind == MARK:
                    self.session_mark = max(self.session_mark, struct.unpack(">Q", fields)[0])
                if kind == DESCRIBE:
                    self.say(OPERATION, fields + text("an operation of an independent worker"))
                self.is_closed |= kind == CLOSED
                yield kind, fields

    def expect(self, wanted):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for kind, fields in self.hear():
                if kind == wanted:
                    return fields
            select.select([self.tcp], [], [], 0.1)
        raise Trouble("no message of kind %d" % wanted)

    def join(self):
        if not self.is_recalled:  # else the session stands
            self.tcp, self.buffer = socket.create_connection(self.address, timeout=5), b""
        self.is_recalled = False
        if self.udp is None:
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            self.udp.bind((self.tcp.getsockname()[0], 0))
            self.udp.setblocking(False)
        ports = [self.udp.getsockname()[1]] + [0] * 31
        self.say(JOIN, struct.pack(">IHH", 0x54524942, 21, 1) + text(self.job) + text("") + struct.pack(">I32HB", self.rank, *ports, 0)
                 + text("switchml") + struct.pack(">IIIBBQBB", self.ranks, self.payload, 0, self.wire, 0, 0, 128, 0)
                 + struct.pack(">BQBIHI", 0, 0, 0, 0, 0, 0) + items(self.known and [(GRANT_ITEM, self.known + bytes([self.was_ready]))]))
        welcome = self.expect(WELCOME)
        self.known = welcome[:GRANT.size]
        (self.salt, _, _, _, self.communicator, self.boot, self.roots, self.train, self.slots, self.window,
         self.generation, self.data_port, _, _, weights, _) = GRANT.unpack(self.known)
        self.lookahead = (self.slots + 1) // 2 * self.roots
        # Trains are dealt in rounds: whose is each of a round, and how many did its root have before it?
        weights = [weight or 1 for weight in weights[:self.roots]]
        places = sorted((Fraction(2 * self.roots * k + 2 * root + 1, weight), root, k)
                        for root, weight in enumerate(weights) for k in range(weight))
        self.turns = [(root, k) for _, root, k in places]
        self.weights = weights
        self.before = [[sum(owner == root for owner, _ in self.turns[:turn]) for turn in range(len(self.turns))]
                       for root in range(self.roots)]
        self.keys = [lane_key(self.salt, rank) for rank in range(struct.unpack(">I", welcome[GRANT.size:GRANT.size + 4])[0])]

    def probe_paths(self):
        missing, end, nonces = set(range(self.roots)), time.monotonic() + 5, {}
        own = random.getrandbits(63) + 1
        while missing and time.monotonic() < end:
            for root in missing:
                payload = bytes(self.payload) if root in nonces else b""
                self.transmit(Packet(kind=PATH, payload=payload, bitmap=nonces.get(root, 0), lane=own), root)
            select.select([self.udp], [], [], 0.02)
            for packet, root in self.receive():
                if packet.kind != PATH or packet.boot != self.boot or packet.bitmap != own:
                    continue
                if packet.payload:
                    missing.discard(root)
                elif packet.lane:
                    nonces[root] = packet.lane
        self.say(PATHS, struct.pack(">BB", not missing, 0))

    def register(self):
        self.say(REGISTER, struct.pack(">Q", self.mark))
        boot, mark, _ = struct.unpack(">IQB", self.expect(READY))
        self.session_mark, self.was_ready = max(self.session_mark, mark), True
        if boot != self.boot:
            raise Trouble("READY and WELCOME name two boots")
        if self.is_closing:
            self.say(CLOSE, struct.pack(">Q", self.mark))

    def come_back(self):
        """The session is lost, or recalled. Nothing is sent until READY; then everything in flight is probed."""
        end = time.monotonic() + 10
        while True:
            try:
                self.join()
                self.probe_paths()
                self.register()
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.counts["restarts"] += 1
        self.ignored = None
        for root in self.root:
            for sequence, fragment in root.flight.items():
                fragment.is_lost = False
                self.probe(sequence, fragment)

    # packets

    def root_of(self, sequence):
        return self.turns[sequence // self.train % len(self.turns)][0]

    def dense(self, sequence):
        train, rest = divmod(sequence, self.train)
        root, before = self.turns[train % len(self.turns)]
        return (train // len(self.turns) * self.weights[root] + before) * self.train + rest

    def sequence_at(self, root, dense):
        train, rest = divmod(dense, self.train)
        turn = self.turns.index((root, train % self.weights[root]))
        return (train // self.weights[root] * len(self.turns) + turn) * self.train + rest

    def below(self, root, mark):
        """D: how many sequences below the mark belong to the root."""
        train, rest = divmod(mark, self.train)
        rounds, turn = divmod(train, len(self.turns))
        before = rounds * self.weights[root] + self.before[root][turn]
        return before * self.train + (rest if self.turns[turn][0] == root else 0)

    def common(self, root):
        return max(self.root[root].told, self.session_mark)

    def transmit(self, packet, root):
        packet.communicator, packet.generation, packet.boot = self.communicator, self.generation, self.boot
        packet.node, packet.last_rank, packet.mark = self.rank, self.rank, self.mark - packet.sequence
        try:
            self.udp.sendto(packet.encode(), (self.address[0], self.data_port + root))
        except OSError:
            pass  # as good as lost

    def receive(self):
        """Packets of this communicator and boot, with the root that they come from."""
        for _ in range(64):
            try:
                data, (_, port) = self.udp.recvfrom(65535)
            except OSError:
                return
            packet, root = Packet.decode(data), port - self.data_port
            if (packet is not None and 0 <= root < self.roots and packet.communicator == self.communicator
                    and packet.generation == self.generation and packet.boot == self.boot):
                yield packet, root

    def odd(self, sequence, digest):
        return lane_odd(self.salt, self.communicator, self.generation, sequence, digest)

    def put(self, sequence, fragment, count, **fields):
        """One transmission of a fragment, or a probe of it."""
        root = self.root_of(sequence)
        self.transmit(Packet(sequence=sequence, **fields), root)
        self.counts[count] += 1
        self.root[root].order += 1
        fragment.order, fragment.deadline = self.root[root].order, time.monotonic() + self.rto(fragment.backoff + 1)

    def contribute(self, sequence, fragment, flags=0):
        operation = fragment.operation
        self.put(sequence, fragment, "asked" if flags else "sent", kind=CONTRIBUTION, type=fragment.type,
                 flags=flags | (0 if operation.wants else UNWANTED), reduction=operation.reduction,
                 digest=operation.digest, contributors=1 if fragment.payload else 0, exponent=fragment.exponent,
                 lane=self.keys[self.rank] * self.odd(sequence, operation.digest) & M64, payload=fragment.payload)

    def probe(self, sequence, fragment, is_lost=False):
        fragment.is_lost |= is_lost
        behind = self.dense(self.first_unsent(self.root_of(sequence))) - self.dense(sequence) - 1
        fragment.is_repeated = True
        self.put(sequence, fragment, "probes", kind=PROBE, flags=RESEND if fragment.is_lost else 0, bitmap=(1 << min(behind, 64)) - 1)

    def first_unsent(self, number):
        queue = self.root[number].queue
        return queue[0][0] if queue else self.sequence_at(number, self.below(number, self.end))

    def rto(self, backoff=0):
        return min((0.02 if self.srtt is None else max(0.002, self.srtt + 4 * self.variation)) * 2 ** min(backoff, 9), 1.0)

    # progress

    def step(self):
        try:
            for _ in self.hear():
                pass
        except OSError:
            self.come_back()
        for packet, root in self.receive():
            common = packet.sequence + packet.mark
            if packet.kind == PATH or self.root_of(packet.sequence) != root or common > self.mark:
                continue
            self.root[root].told = max(self.root[root].told, common)
            if packet.kind == RESULT:
                self.result(packet, self.root[root])
            elif packet.kind == HELD and packet.flags & RESEND:
                fragment = self.root[root].flight.get(packet.sequence)
                if fragment is not None and not fragment.is_lost:
                    self.probe(packet.sequence, fragment, True)
            elif packet.kind == ASK:
                dense = self.dense(packet.sequence)
                for i in [-1] + [i for i in range(64) if packet.bitmap >> i & 1]:
                    self.answer(self.sequence_at(root, dense + 1 + i), self.root[root])
        for number, root in enumerate(self.root):
            self.feed(number, root)
            self.look_at_time(number, root, time.monotonic())
        select.select([self.udp, self.tcp], [], [], 0.002)

    def feed(self, number, root):
        while root.queue and len(root.flight) < self.window:
            sequence, operation, index = root.queue[0]
            if self.dense(sequence) >= self.below(number, self.common(number)) + self.slots:
                return
            built = operation.build(index)
            if built is None:
                return
            root.queue.pop(0)
            root.flight[sequence] = Fragment(operation, index, built)
            self.contribute(sequence, root.flight[sequence])

    def look_at_time(self, number, root, now):
        overdue = [item for item in root.flight.items() if item[1].deadline <= now]
        for sequence, fragment in overdue[:16]:
            fragment.backoff += 1
            self.probe(sequence, fragment)
        if root.flight or self.common(number) >= self.mark:
            root.quiet_at, root.backoff = now + self.rto(), 0
        elif root.quiet_at <= now:
            root.backoff += 1
            root.quiet_at = now + self.rto(root.backoff)
            self.counts["probes"] += 1
            self.transmit(Packet(kind=PROBE, flags=UNWANTED, sequence=self.first_unsent(number)), number)

    def result(self, packet, root):
        fragment = root.flight.get(packet.sequence)
        if fragment is None:
            return
        operation, length = fragment.operation, fragment.length
        contributors = 0 if not length else 1 if operation.is_broadcast else self.ranks
        is_bare = packet.payload_len == 0 and (length == 0 or not operation.wants)
        if ((packet.digest, packet.reduction, packet.contributors) != (operation.digest, operation.reduction, contributors)
                or not (is_bare or (packet.payload_len, packet.type) == (length, fragment.type))):
            raise Trouble("a result of another shape: %s" % {name: getattr(packet, name) for name in FIELDS})
        if packet.lane != sum(self.keys) * self.odd(packet.sequence, packet.digest) & M64:
            fragment.strikes += 1
            if fragment.strikes == 3:
                raise Trouble("three results of sequence %d with a wrong lane" % packet.sequence)
            return self.probe(packet.sequence, fragment, True)
        if self.ignored is not None:
            return self.ignored.add(packet.sequence)
        self.counts["results"] += 1
        if packet.last_rank == self.rank and not fragment.is_repeated:
            self.sample(time.monotonic() - fragment.started)
        operation.take(fragment.index, packet)
        packet.type = fragment.type
        if not operation.wants:
            packet.payload = operation.block(fragment.index)
        root.kept[self.dense(packet.sequence) % self.slots] = packet
        del root.flight[packet.sequence]
        self.finished.add(packet.sequence)
        while self.mark in self.finished:
            self.finished.remove(self.mark)
            self.mark += 1
        if not fragment.is_repeated:
            for sequence, other in [item for item in root.flight.items() if item[1].order + 16 <= fragment.order]:
                self.probe(sequence, other, True)

    def sample(self, seconds):
        if self.srtt is None:
            self.srtt, self.variation = seconds, seconds / 2
        self.variation += (abs(seconds - self.srtt) - self.variation) / 4
        self.srtt += (seconds - self.srtt) / 8

    def answer(self, sequence, root):
        now, slot = time.monotonic(), self.dense(sequence) % self.slots
        fragment, kept = root.flight.get(sequence), root.kept.get(slot)
        if self.answered.get((self.root_of(sequence), slot), (0, 0.0)) > (sequence, now):
            return
        if fragment is not None:
            fragment.is_repeated, fragment.is_lost = True, False
            self.contribute(sequence, fragment, RESEND)
        elif kept is not None and kept.sequence == sequence:
            self.counts["offers"] += 1
            same = {name: getattr(kept, name) for name in "type reduction digest contributors exponent lane payload".split()}
            self.transmit(Packet(kind=OFFER, flags=RESEND, sequence=sequence, **same), self.root_of(sequence))
        self.answered[self.root_of(sequence), slot] = sequence, now + self.rto() / 2

    # what a user calls

    def start(self, *arguments):
        operation = Operation(self, *arguments)
        self.number += 1
        for index in range(operation.sequences):
            self.root[self.root_of(self.end)].queue.append((self.end, operation, index))
            self.end += 1
        return operation

    def wait(self, operation):
        while operation.left:
            self.step()
            outstanding = [sequence for root in self.root for sequence in root.flight]
            if self.ignored and len(self.ignored) == len(outstanding):
                self.ignored.add(-1)  # once
                print("every result in flight has come and was ignored", flush=True)
        return bytes(operation.out)

    def close(self):
        self.is_closing = True
        self.say(CLOSE, struct.pack(">Q", self.mark))
        while not self.is_closed:
            self.step()


def items(known):
    """No capabilities, and these (type, value)."""
    return bytes(8) + bytes([len(known)]) + b"".join(struct.pack(">HH", kind, len(value)) + value for kind, value in known)


def text(string):
    return struct.pack(">H", len(string)) + string.encode("ascii")
