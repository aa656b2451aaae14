"""Time that a server waits for its file system, beside assembling or sending subchunks.

Write-behind, equation (13) [R]: writes return once the bytes are in the file cache, which the disk
empties meanwhile. With D bytes in the cache and W bytes written so far,

    open(W) = 0 if W = 0, else (W - 1) mod part + 1    of the last partition, not yet scheduled
    assembling for a seconds:  D -= min(max(0, D - open(W)), R*a)
    buffering s bytes:         b = s/R_mem ; W += s ; D += s ; D -= min(max(0, D - open(W)), R*b)
    if D > C:                  wait (D - C)/R ; D = C
    T_fs(k) = b + wait ;       after the last subchunk of the request D/R more

The cache holds at least a partition, C >= part, so that D never falls below open(W). A subchunk
thus takes D to min(C, max(D + s - R*(a + b), open(W) + s - R*b, open(W + s))), and what the
minimum cuts off is waited for. Such maps, of the form

    D -> min(high, max(low, D + shift)) ,   wait -> wait + lost + max(0, D - knee)

are closed under composition, so that a long sequence is composed pairwise, and equal arrays are a
power of one cycle: as many arrays as it takes until W is a multiple of part again.

Two more writers [D]. `sync` writes each subchunk before it asks for the next: T_fs(k) = s/R.
`double-buffer` gathers the next subchunk while a thread writes the last, and both begin together:

    T_int = A_1 + sum over k of max(A_(k+1), w_k) + w_K ,   w_k = s/R

Where every writer copies into the file cache first, as that of the library does [D],

    sync            T_fs(k) = s/R_mem + s/R + t_flush
    double-buffer   T_int   = max(T_two + open(S)/R, A_1 + w_1 + S/R) ,   w_k = s/R_mem

with T_two the T_int above, and S the bytes of the request: the disk begins as soon as a partition
is there, and the last one remains for the flush. Where exchanging and copying share cores, memory
and the interpreter, max(a, w) in T_two is max(a, w) + interference*min(a, w); what that adds
counts as exchange. A server that reads opens the store, t_begin + (arrays on disk)*t_meta.

Files take t_file when the first of their subchunks is written, a request t_sync at its end [D].
Compression by the server takes s/rate, in the thread that writes where there is one [D].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Final, NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.law.costs import ServerCosts
from parcast.errors import require

AT_ONCE: Final = 1 << 19  # writes that are composed at a time: they take some 100 MB


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sequences:
    """Equal sequences of subchunks, one after the other: what each server does for one array.

    Arrays of shape (servers, subchunks of the server with most), 0 after the last of a server.
    """

    number: int  # of equal sequences
    busy: Array  # assembling or sending each subchunk [s]
    stored: Ints  # bytes on disk [B]
    opening: Array  # files [s]
    packing: Array  # compressing or decompressing [s]

    @property
    def counts(self) -> Ints:
        """Bytes that each server has on disk in one sequence [B]."""
        return np.asarray(self.stored.sum(axis=1))


def synchronous(parts: Sequence[Sequences], rate: Array) -> Array:
    """Time of each server where it accesses the disk between its exchanges [s]."""
    total = np.zeros(len(rate))
    for part in parts:
        disk = part.stored.sum(axis=1) / rate + part.opening.sum(axis=1)
        total += part.number * (disk + part.packing.sum(axis=1))
    return total


def overlapped(parts: Sequence[Sequences], rate: Array, *, disk_first: bool = False) -> Array:
    """Time of each server with two buffers, exchanges included [s].

    Subchunk k is in the first stage while k - 1 is in the second: gathering and then writing, or
    with `disk_first` reading and then sending.
    """
    total, pending = np.zeros(len(rate)), np.zeros(len(rate))
    for part in parts:
        disk = part.stored / rate[:, None] + part.opening + part.packing
        first, second = (disk, part.busy) if disk_first else (part.busy, disk)
        if not first.shape[1]:
            continue
        # Beyond the last subchunk of a server both stages are 0; its last is at `end`.
        end = np.maximum((part.stored > 0).sum(axis=1) - 1, 0)
        rows = np.arange(len(rate))
        has_any = part.stored.any(axis=1)
        inner = np.maximum(first[:, 1:], second[:, :-1]).sum(axis=1)
        last = second[rows, end]
        inner -= np.where(end < first.shape[1] - 1, last, 0.0)
        between = np.maximum(first[:, 0], last)
        entry = np.maximum(first[:, 0], pending)
        time = entry + part.number * inner + (part.number - 1) * between
        total += np.where(has_any, time, 0.0)
        pending = np.where(has_any, last, pending)
    return total + pending


def written_behind(parts: Sequence[Sequences], costs: ServerCosts) -> Array:
    """Time of each server beside its exchanges where writes return from the cache [s]."""
    ok = costs.cache >= costs.partition
    hint = 'Use writer = "sync" for a file system without a cache.'
    require("cache of servers", costs.cache, ok, must="be at least a partition", hint=hint)
    rate, size = costs.write_rate, np.sum([part.number * part.counts for part in parts], axis=0)
    time = synchronous(parts, costs.cache_rate)
    if (size <= costs.partition).all():  # nothing is scheduled before the end
        return np.asarray(time + size / rate)
    # One that holds all bytes never fills, and its maps have finite ends.
    enough = size + costs.partition
    costs = replace(costs, cache=np.where(np.isinf(costs.cache), enough, costs.cache))
    dirty, waited, offset = np.zeros(len(rate)), np.zeros(len(rate)), np.zeros(len(rate), np.int64)
    for part in parts:
        if part.stored.shape[1]:
            dirty, lost = _through_cache(part, costs, offset).applied(dirty)
            waited += lost
            offset = offset + part.number * part.counts
    return np.asarray(time + (waited + dirty) / rate)


class CacheMap(NamedTuple):
    """What a sequence of writes does to the bytes in the cache, and how many it waits for [B]."""

    shift: Array
    low: Array
    high: Array
    lost: Array
    knee: Array

    def applied(self, dirty: Array) -> tuple[Array, Array]:
        """Bytes in the cache afterwards, and those that were waited for."""
        after = np.minimum(self.high, np.maximum(self.low, dirty + self.shift))
        return after, self.lost + np.maximum(dirty - self.knee, 0.0)

    def then(self, other: "CacheMap") -> "CacheMap":
        """Compose with what comes after it."""
        # For few bytes the other one begins at `low`, for many at `high`.
        early = np.maximum(self.low - other.knee, 0.0)
        late = np.maximum(self.high - other.knee, 0.0)
        return CacheMap(
            self.shift + other.shift,
            np.clip(self.low + other.shift, other.low, other.high),
            np.clip(self.high + other.shift, other.low, other.high),
            self.lost + other.lost + early,
            self.knee + early - late,
        )

    def composed(self) -> "CacheMap":
        """Compose all along the last axis, pairwise."""
        here = self
        while (count := here.shift.shape[-1]) > 1:
            even = count - count % 2
            pairs = CacheMap(*(x[..., 0:even:2] for x in here))
            joined = pairs.then(CacheMap(*(x[..., 1:even:2] for x in here)))
            rest = (x[..., even:] for x in here)
            here = CacheMap(*(np.concatenate(x, axis=-1) for x in zip(joined, rest, strict=True)))
        return CacheMap(*(x[..., 0] for x in here))

    def power(self, count: int) -> "CacheMap":
        """Compose it `count` times, at least once."""
        if count == 1:
            return self
        half = self.power(count // 2)
        whole = half.then(half)
        return whole.then(self) if count % 2 else whole


def synchronous_through_cache(parts: Sequence[Sequences], costs: ServerCosts) -> Array:
    """Time of each server where each subchunk is copied into the cache, and then flushed."""
    total = synchronous(parts, costs.write_rate) + synchronous(
        [_only_bytes(part) for part in parts], costs.cache_rate
    )
    subchunks = np.sum([part.number * (part.stored > 0).sum(axis=1) for part in parts], axis=0)
    return np.asarray(total + subchunks * costs.flush)


def overlapped_through_cache(
    parts: Sequence[Sequences], costs: ServerCosts, exchange: Array
) -> tuple[Array, Array]:
    """Time of each server with two buffers where a thread fills the cache, exchanges included [s].

    The disk empties the cache meanwhile, all but the last partition. Also what of it the exchanges
    take longer than `exchange` as the thread works meanwhile [s].
    """
    size = np.sum([part.number * part.counts for part in parts], axis=0)
    first = np.zeros(len(size))
    for part in reversed(parts):
        if part.stored.shape[1]:
            begun = part.busy[:, 0] + part.packing[:, 0] + part.opening[:, 0]
            begun = begun + part.stored[:, 0] / costs.cache_rate
            first = np.where(part.stored[:, 0] > 0, begun, first)
    two = overlapped(parts, costs.cache_rate)
    # max(a, w) + min(a, w) is a + w: what the sum of both stages has more is that of the shorter.
    shorter = np.maximum(exchange + synchronous(parts, costs.cache_rate) - two, 0.0)
    longer = costs.interference * shorter
    two = two + longer + _opened(size, costs.partition) / costs.write_rate
    return np.maximum(two, first + size / costs.write_rate), longer


def _only_bytes(part: Sequences) -> Sequences:
    """Leave out what is not of bytes."""
    zero = np.zeros_like(part.opening)
    return replace(part, opening=zero, packing=zero)


def _through_cache(part: Sequences, costs: ServerCosts, offset: Ints) -> CacheMap:
    """Map of all sequences, the first of which begins `offset` bytes after the file's start."""
    sizes = part.counts
    period = _period(sizes, costs.partition)
    # At the start of a file no partition is open, so that the first sequence is none of a cycle.
    whole = _writes(part, costs, offset, min(part.number, 1 + period))
    remaining = part.number - 1 - period
    if remaining <= 0:
        return whole
    cycles, rest = divmod(remaining, period)
    offset = offset + sizes
    if cycles:
        whole = whole.then(_writes(part, costs, offset, period).power(cycles))
    return whole.then(_writes(part, costs, offset, rest)) if rest else whole


def sequences_followed(sizes: Ints, partition: int, number: int) -> int:
    """Sequences of a number of equal ones, of so many bytes each, whose writes are followed."""
    return min(number, 1 + 3 * _period(sizes, partition))


def _period(sizes: Ints, partition: int) -> int:
    """Sequences after which every server is at the same place of a partition again."""
    parts = {partition // gcd(partition, n) for n in set(sizes.tolist())}
    return int(np.lcm.reduce([*parts]))


def _writes(part: Sequences, costs: ServerCosts, offset: Ints, number: int) -> CacheMap:
    """Map of so many sequences from an offset on."""
    servers, length = part.stored.shape
    if number > 1 and number * length * servers > AT_ONCE:
        half = number // 2
        second = _writes(part, costs, offset + half * part.counts, number - half)
        return _writes(part, costs, offset, half).then(second)
    size = np.tile(part.stored, number)
    after = offset[:, None] + np.cumsum(size, axis=1)
    before = np.concatenate([offset[:, None], after[:, :-1]], axis=1)
    rate = costs.write_rate[:, None]
    filling = np.tile(part.stored * (rate / costs.cache_rate[:, None]), number)  # drains R*b
    drained = np.tile((part.busy + part.packing) * rate, number)
    was_open, is_open = (_opened(each, costs.partition) for each in (before, after))
    cache = np.broadcast_to(costs.cache[:, None], (servers, number * length))
    shift = size - drained - filling
    low = np.maximum(was_open + size - filling, is_open)
    return write_map(shift, low, cache).composed()


def write_map(shift: Array, low: Array, cache: Array) -> CacheMap:
    """Map of single writes, D -> min(C, max(D + shift, low)), which wait for what C cuts off."""
    return CacheMap(
        shift,
        np.minimum(low, cache),
        cache,
        np.maximum(low - cache, 0.0),
        np.maximum(low, cache) - shift,
    )


def _opened(written: Ints, partition: int) -> Array:
    """Bytes of the last partition, which is not yet scheduled for writing [B]."""
    return np.where(written > 0, (written - 1) % partition + 1, 0)
