"""From what a launch has measured to the costs of the law.

With C the time of a cycle in which a server asks n clients for values of o bytes each and waits
for them, of the pair of one server and one client C_1:

    lambda_s + lambda_r = (C(n, 0) - C_1(0))/(n - 1), shared out as single calls take
    t_rest              = (C_1(0) - 2*(lambda_s + lambda_r))/2, of ranks that begin to wait
    1/r                 = slope of C(n, o)/n over o, all servers at the same time

and of files, with the times of writing (less encoding) w and of flushing f, and b the draft and
commit, each over those of one small file, of S bytes:

    R_mem   = S/w of a subchunk of 4 MiB, which the system does not write out meanwhile
    R       = S/(w + f) of a large file, which it does; of files below 8 MiB S/f of that subchunk
    t_sync  = b + f + w of the small file
    t_flush = of each small subchunk of a file whose subchunks are flushed; of such files, R is the
              slope of w over S, and contains R_mem
    t_file  = (w + f)/files, t_meta = b/(files of all servers)
    R_read  = S/(time of reading) of a large file, which the file cache does not have
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from parcast.arrays.library.endpoint import LONGEST_REST, SHORTEST_REST
from parcast.arrays.measuring.disk_costs import FEW, SEVERAL, SMALL, SUBCHUNK, Files
from parcast.arrays.measuring.figure import Draw, Figure, figure_of
from parcast.arrays.measuring.launches import Observed
from parcast.arrays.messages import GROWTH

UNLIMITED: Final = 1e13  # rate of what takes no time, as flushing a file system in memory [B/s]
LONG: Final = 1 << 18  # from which the slope of cycles is that of bytes [B]


def figures_of(observed: Observed) -> list[Figure]:
    """Every number that the launch tells."""
    found = [*_of_messages(observed)]
    return [*found, *_of_files(observed)] if observed.files else found


def _of_messages(observed: Observed) -> Iterator[Figure]:
    """Costs of messages."""
    sends, takes, _ = (list(x) for x in zip(*observed.calls, strict=True))
    cycles = {(x.among, x.size): x.times for x in observed.cycles}
    pair, every = cycles["pair", 0], cycles["all", 0]
    n = observed.clients

    def calls(draw: Draw) -> tuple[float, float]:
        own = np.array([draw(sends), draw(takes)])
        if n > 1:
            together = (draw(every) - draw(pair)) / (n - 1)
            own *= max(together, 0.0) / own.sum()
        return float(own[0]), float(own[1])

    def rest(draw: Draw) -> float:
        cycle = draw(pair)
        noticed = max(cycle / 2 - sum(calls(draw)), 0.0)
        return max(2 * noticed - GROWTH * cycle / 2, SHORTEST_REST)

    def longest(draw: Draw) -> float:
        pauses = observed.pauses
        long, short = draw(pauses[max(pauses)]), draw(pauses[min(pauses)])
        return max(2 * (long - short), LONGEST_REST)

    def bandwidth(draw: Draw) -> float:
        sizes = [size for among, size in cycles if among == "all" and size >= LONG]
        times = [draw(cycles["all", size]) for size in sizes]
        slope = np.polyfit(np.array(sizes) * float(n), times, 1, w=1 / np.array(times))[0]
        return 1.0 / slope if slope > 1.0 / UNLIMITED else UNLIMITED

    about = "asking all clients for nothing, beyond one"
    for side in ("clients", "servers"):
        yield figure_of(f"{side}.send_startup", "time", about, lambda d: calls(d)[0])
        yield figure_of(f"{side}.receive_startup", "time", about, lambda d: calls(d)[1])
        how = "values from all clients, to all servers at the same time"
        yield figure_of(f"{side}.bandwidth", "rate", how, bandwidth)
    how = "one client that has just begun to wait"
    yield figure_of("messages.rest", "time", how, rest)
    yield figure_of("messages.longest_rest", "time", "one that has waited for 10 ms", longest)
    limit = float(observed.eager_limit)
    yield Figure(
        key="messages.eager_limit",
        value=limit,
        lower=limit,
        upper=limit,
        dimension="size",
        method="least message that does not leave at once",
    )


class _OfFiles:
    """Costs of files, each as a function of how one number is drawn of repetitions."""

    def __init__(self, observed: Observed) -> None:
        self._found = dict(observed.files)
        self._servers = observed.servers
        kinds = [x for x in self._found if not x.is_sync]
        self.small = next(x for x in kinds if x.number == 1 and x.size == SMALL)
        self.large = max(kinds, key=lambda x: x.size)
        self.medium = next(x for x in kinds if x.number == 1 and x.size == SUBCHUNK)
        self.synced = sorted((x for x in self._found if x.is_sync), key=lambda x: x.subchunk)
        self.few, self.several = (
            next(x for x in kinds if x.number == number) for number in (FEW, SEVERAL)
        )

    def _times(self, files: Files, name: str) -> list[float]:
        """Times of a step [s]."""
        return [getattr(each, name) for each in self._found[files]]

    def _over(self, name: str, files: Files, draw: Draw) -> float:
        """Time of a step beyond that of one small file [s]."""
        return draw(self._times(files, name)) - draw(self._times(self.small, name))

    def _copying(self, files: Files, draw: Draw) -> float:
        """Time of writing without encoding, beyond that of one small file [s]."""
        return self._over("write", files, draw) - self._over("encode", files, draw)

    def cache_rate(self, draw: Draw) -> float:
        """R_mem. [B/s]."""
        return _rate(self.medium.size - self.small.size, self._copying(self.medium, draw))

    def write_rate(self, draw: Draw) -> float:
        """R, where the system writes out meanwhile. [B/s]."""
        took = self._copying(self.large, draw) + self._over("flush", self.large, draw)
        return _rate(self.large.size - self.small.size, took)

    def flush_rate(self, draw: Draw) -> float:
        """R, where it does not. [B/s]."""
        took = self._over("flush", self.medium, draw)
        return _rate(self.medium.size - self.small.size, took)

    def sync_rate(self, draw: Draw) -> float:
        """R, where each subchunk is flushed. [B/s]."""
        short, long = self.synced
        took = self._each(long, draw) - self._each(short, draw)
        return _rate(long.subchunk - short.subchunk, took)

    def _each(self, files: Files, draw: Draw) -> float:
        """Time of writing a subchunk and flushing it. [s]."""
        return self._copying(files, draw) / files.subchunks

    def read_rate(self, draw: Draw) -> float:
        """R_read. [B/s]."""
        return _rate(self.large.size - self.small.size, self._over("read", self.large, draw))

    def synchronise(self, draw: Draw) -> float:
        """t_sync. [s]."""
        steps = ("begin", "flush", "commit", "write")
        whole = sum(draw(self._times(self.small, name)) for name in steps)
        return whole - draw(self._times(self.small, "encode"))

    def flush(self, draw: Draw) -> float:
        """t_flush. [s]."""
        short, _ = self.synced
        return max(self._each(short, draw) - short.subchunk / self.sync_rate(draw), 0.0)

    def open_file(self, files: Files) -> Callable[[Draw], float]:
        """t_file of as many files. [s]."""

        def each(draw: Draw) -> float:
            took = self._copying(files, draw) + self._over("flush", files, draw)
            return max(took / (files.number - 1), 0.0)

        return each

    def metadata(self, draw: Draw) -> float:
        """t_meta. [s]."""
        took = sum(self._over(name, self.several, draw) for name in ("begin", "commit"))
        return max(took / ((self.several.number - 1) * self._servers), 0.0)

    def reading(self, name: str, count: int) -> Callable[[Draw], float]:
        """Time of a step of reading, of each of `count` times as many arrays. [s]."""
        number = (self.several.number - 1) * count
        return lambda draw: max(self._over(name, self.several, draw) / number, 0.0)

    def open_store(self, draw: Draw) -> float:
        """Time of reading one small file. [s]."""
        return sum(draw(self._times(self.small, name)) for name in ("catalogue", "read"))


def _rate(size: int, seconds: float) -> float:
    """Give a rate, which has a limit where something takes no time. [B/s]."""
    return min(size / seconds, UNLIMITED) if seconds > 0 else UNLIMITED


def _of_files(observed: Observed) -> Iterator[Figure]:
    """Costs of files."""
    of = _OfFiles(observed)
    every = "on all servers at the same time"
    whole = f"{of.large.size / 1e6:.0f} MB a server"
    yield figure_of("servers.write_rate", "rate", f"{whole}, flushed, {every}", of.write_rate)
    each = f"{of.medium.size / 1e6:.0f} MB a server"
    yield figure_of("servers.cache_rate", "rate", f"{each}, not flushed, {every}", of.cache_rate)
    yield figure_of("small.write_rate", "rate", f"flush of {each}, {every}", of.flush_rate)
    how = f"subchunks flushed one by one, {every}"
    yield figure_of("sync.write_rate", "rate", how, of.sync_rate)
    how = f"{whole}, from disk, {every}"
    yield figure_of("servers.read_rate", "rate", how, of.read_rate)
    how = "draft, flush and commit of one small file"
    yield figure_of("servers.synchronise", "time", how, of.synchronise)
    yield figure_of("servers.flush", "time", "small subchunks flushed one by one", of.flush)
    how = f"{SEVERAL} small files, flushed together"
    yield figure_of("servers.open_file", "time", how, of.open_file(of.several))
    yield figure_of("few.open_file", "time", f"{FEW} small files", of.open_file(of.few))
    how = f"draft and commit of {SEVERAL} small arrays"
    yield figure_of("servers.metadata", "time", how, of.metadata)
    how = f"{SEVERAL} small arrays, from the file cache"
    yield figure_of("read.open_file", "time", how, of.reading("read", 1))
    yield figure_of("read.metadata", "time", how, of.reading("catalogue", observed.servers))
    yield figure_of("read.synchronise", "time", "opening a store twice", of.open_store)
