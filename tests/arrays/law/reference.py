"""The law of collective writes and reads as loops over servers, subchunks and clients.

Written from the equations and not from how the package evaluates them: one number at a time, with
delays and cache by their recursions.
"""

import math
from itertools import product


def edges(n, m, policy="balanced"):
    if policy == "hpf":
        block = -(-n // m)
        return [min(i * block, n) for i in range(m + 1)]
    return [i * n // m for i in range(m + 1)]


def mesh_boxes(shape, mesh, policy="balanced"):
    """Boxes of all positions, each a list of (start, stop)."""
    sides = []
    for n, m in zip(shape, mesh, strict=True):
        at = edges(n, m, policy)
        sides.append([(at[i], at[i + 1]) for i in range(m)])
    return [list(box) for box in product(*sides)]


def elements(box):
    return math.prod(max(stop - start, 0) for start, stop in box)


def slabs(box, itemsize, most, d=0):
    """Cut a box along dimension `d`, and each row further if one does not fit."""
    if elements(box) == 0:
        return []
    if elements(box) * itemsize <= most:
        return [box]
    start, stop = box[d]
    row = elements(box) // (stop - start) * itemsize
    if row <= most:
        rows = most // row
        cuts = range(start, stop, rows)
        return [[*box[:d], (i, min(i + rows, stop)), *box[d + 1 :]] for i in cuts]
    pieces = []
    for i in range(start, stop):
        pieces += slabs([*box[:d], (i, i + 1), *box[d + 1 :]], itemsize, most, d + 1)
    return pieces


def intersection(a, b):
    return [(max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(a, b, strict=True)]


def runs(box, outer):
    """Count contiguous runs by walking through the elements of the box in order."""
    strides = [math.prod(hi - lo for lo, hi in outer[d + 1 :]) for d in range(len(outer))]
    places = sorted(
        sum((i - lo) * s for i, (lo, _), s in zip(index, outer, strides, strict=True))
        for index in product(*(range(lo, hi) for lo, hi in box))
    )
    return sum(1 for i, place in enumerate(places) if i == 0 or place != places[i - 1] + 1)


class Node(dict):
    """Costs by name, those of one node."""

    __getattr__ = dict.__getitem__


def nodes(costs, count):
    """Split costs with one number for each node, or one for all."""
    names = [
        x
        for x in costs.__dataclass_fields__
        if x not in ("partition", "through_cache", "asks_ahead")
    ]
    values = {name: getattr(costs, name) for name in names}
    return [
        Node({k: float(v[i]) if v.ndim else float(v) for k, v in values.items()})
        for i in range(count)
    ]


class Law:
    """Times of requests whose geometry is given as lists of boxes."""

    def __init__(self, costs, clients, servers, *, rendezvous=False, writer="write-behind"):
        self.protocol, self.partition = costs.protocol, costs.servers.partition
        self.clients, self.servers = nodes(costs.clients, clients), nodes(costs.servers, servers)
        self.rendezvous, self.writer = rendezvous, writer

    def in_call(self, n, a, b):
        if self.protocol.always or n >= self.protocol.eager_limit:
            return n / min(a.bandwidth, b.bandwidth)
        return 0.0

    def send(self, n, a, b):
        packets = math.ceil(n / self.protocol.packet)
        return a.send_startup + packets * a.packet_time + self.in_call(n, a, b)

    def receive(self, n, a, b):
        packets = math.ceil(n / self.protocol.packet)
        return b.receive_startup + packets * b.packet_time + self.in_call(n, a, b)

    def transfer(self, n, a, b):
        if self.protocol.always or n >= self.protocol.eager_limit:
            return 0.0
        return n / min(a.bandwidth, b.bandwidth)

    def startup(self, server):
        n, c, s = self.protocol.schema_length, self.clients[0], self.servers
        time = c.construct_schema + self.send(n, c, s[0]) + self.transfer(n, c, s[0])
        time += self.receive(n, c, s[0]) + s[server].parse_schema
        if server == 0:
            return time + sum(self.send(n, s[0], s[i]) for i in range(1, len(s)))
        time += sum(self.send(n, s[0], s[i]) for i in range(1, server + 1))
        return time + self.transfer(n, s[0], s[server]) + self.receive(n, s[0], s[server])

    def closing(self, i):
        n, c, s = self.protocol.quit_length, self.clients, self.servers[0]
        time = self.send(n, s, c[0]) + self.transfer(n, s, c[0]) + self.receive(n, s, c[0])
        if i == 0:
            return time + sum(self.send(n, c[0], c[j]) for j in range(1, len(c)))
        time += sum(self.send(n, c[0], c[j]) for j in range(1, i + 1))
        return time + self.transfer(n, c[0], c[i]) + self.receive(n, c[0], c[i])

    def gather(self, server, subchunk, chunks, itemsize, arrays=1):
        """Assembly of a subchunk, and the delays of its clients."""
        s, b = self.servers[server], self.protocol.request_length
        asked = []
        for client, chunk in enumerate(chunks):
            part = intersection(subchunk, chunk)
            if elements(part):
                asked.append((client, part, chunk))
        ask = [s.boundary + self.send(b, s, self.clients[i]) for i, *_ in asked]
        received = []
        handling = []
        for i, part, chunk in asked:
            c, o = self.clients[i], elements(part) * itemsize * arrays
            place = runs(part, subchunk) * s.run * arrays if len(asked) > 1 else 0.0
            received.append(self.receive(o, c, s) + place)
            extract = 0.0
            if part != chunk or arrays > 1:
                extract = runs(part, chunk) * c.run * arrays + o / c.copy_rate
            send = self.send(o, c, s) - (self.in_call(o, c, s) if self.rendezvous else 0.0)
            request = self.transfer(b, s, c) + self.receive(b, s, c)
            handling.append(request + c.decode + extract + send + self.transfer(o, c, s))
        delays = []
        for i in range(len(asked)):
            slack = sum(ask[i + 1 :]) + sum(delays) + sum(received[:i])
            delays.append(max(0.0, handling[i] - slack))
        return s.find + sum(ask) + sum(received) + sum(delays), delays

    def scatter(self, server, subchunk, chunks, itemsize, arrays=1):
        """Time to send a subchunk, and what its last client takes afterwards."""
        s = self.servers[server]
        time, last = s.find, 0.0
        for i, chunk in enumerate(chunks):
            part = intersection(subchunk, chunk)
            if not elements(part):
                continue
            c, o = self.clients[i], elements(part) * itemsize * arrays
            pack = unpack = 0.0
            if part != subchunk or arrays > 1:
                pack = runs(part, subchunk) * s.run * arrays + o / s.copy_rate
            if part != chunk or arrays > 1:
                unpack = runs(part, chunk) * c.run * arrays + o / c.copy_rate
            time += s.boundary + pack + self.send(o, s, c)
            last = self.transfer(o, s, c) + self.receive(o, s, c) + unpack
            last -= self.in_call(o, s, c) if self.rendezvous else 0.0
        return time, last

    def write(self, arrays, itemsize):
        """Intermediate phase of every server: `arrays` are (chunks, pieces of each server)."""
        phases = []
        for server, node in enumerate(self.servers):
            steps = []
            for chunks, pieces in arrays:
                for k, piece in enumerate(pieces[server]):
                    assembly, _ = self.gather(server, piece, chunks, itemsize)
                    steps.append((assembly, elements(piece) * itemsize, k == 0))
            phases.append(self.written(node, steps))
        return phases

    def read(self, arrays, itemsize):
        """Intermediate phase of every server that reads."""
        phases = []
        for server, node in enumerate(self.servers):
            disk, sent, last = [], [], 0.0
            for chunks, pieces in arrays:
                for k, piece in enumerate(pieces[server]):
                    time, last = self.scatter(server, piece, chunks, itemsize)
                    size = elements(piece) * itemsize
                    access = math.ceil(size * node.compression) / node.read_rate
                    disk.append(
                        access + size / node.decompression_rate + node.open_file * (k == 0)
                    )
                    sent.append(time)
            if self.writer == "double-buffer":
                phases.append(self._lockstep(disk, sent) + last)
            else:
                phases.append(sum(disk) + sum(sent) + last)
        return phases

    def written(self, s, steps):
        """Time of steps of (assembly, bytes before compression, whether a file is opened)."""
        packing = [size / s.compression_rate for _, size, _ in steps]
        stored = [math.ceil(size * s.compression) for _, size, _ in steps]
        opening = [s.open_file * new for *_, new in steps]
        assembly = [a for a, *_ in steps]
        if self.writer == "write-behind":
            return self._behind(s, assembly, stored, packing, opening) + s.synchronise
        disk = [n / s.write_rate + p + o for n, p, o in zip(stored, packing, opening, strict=True)]
        if self.writer == "double-buffer":
            return self._lockstep(assembly, disk) + s.synchronise
        return sum(assembly) + sum(disk) + s.synchronise

    @staticmethod
    def _lockstep(first, second):
        """Two buffers: a buffer is filled when it was emptied, and emptied when it is full."""
        filled, emptied = [], []
        for k, (fill, empty) in enumerate(zip(first, second, strict=True)):
            is_free = emptied[k - 2] if k >= 2 else 0.0
            filled.append(max(filled[-1] if filled else 0.0, is_free) + fill)
            emptied.append(max(filled[-1], emptied[-1] if emptied else 0.0) + empty)
        return emptied[-1] if emptied else 0.0

    def _behind(self, s, assembly, stored, packing, opening):
        time = dirty = 0.0
        written = 0
        rate = s.write_rate

        def drained(dirty, seconds):
            is_open = (written - 1) % self.partition + 1 if written else 0
            return dirty - min(max(0.0, dirty - is_open), rate * seconds)

        for a, n, p, o in zip(assembly, stored, packing, opening, strict=True):
            dirty = drained(dirty, a + p)
            b = n / s.cache_rate
            written += n
            dirty = drained(dirty + n, b)
            time += a + p + o + b
            if dirty > s.cache:
                time += (dirty - s.cache) / rate
                dirty = s.cache
        return time + dirty / rate

    def total(self, intermediate):
        start = max(self.startup(i) + time for i, time in enumerate(intermediate))
        return start + max(self.closing(i) for i in range(len(self.clients)))
