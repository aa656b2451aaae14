"""From what a launch has measured to the costs of the law.

With C the time of a cycle in which a server asks n clients for values of o bytes each and waits
for them, of the pair of one server and one client C_1:

    lambda_s + lambda_r = (C(n, 0) - C_1(0))/(n - 1), shared out as single calls take
    t_rest              = (C_1(0) - 2*(lambda_s + lambda_r))/2, of ranks that begin to wait
    1/r                 = slope of C(n, o)/n over o, all servers at the same time

In a request cycles lie between writes. With C of such a cycle lambda_s + lambda_r solves equations
(7) to (11) for small values, 1/r for large ones. And of files, with the times of writing (less
encoding) w and of flushing f, and b the draft and commit, each over those of one small file, of S
bytes:

    R_mem   = S/w, by another thread for `double-buffer`, else between exchanges
    R       = S/(w + f) of a large file, which the system writes out meanwhile
              of smaller files, of which it does not, S/f of one of 4 MiB
              of many files, S/(w + f) beyond that of as many small ones
    t_sync  = b + f + w of the small file
    t_flush = of each small subchunk of a file whose subchunks are flushed; of such files, R is the
              slope of w over S, and contains R_mem
    t_file  = (w + f)/files, t_meta = b/(files of all servers)
    R_read  = S/(time of reading) of a large file, from the disk
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.arrays.library.endpoint import LONGEST_REST, SHORTEST_REST
from parcast.arrays.measuring.disk_costs import FEW, SEVERAL, SMALL, SUBCHUNK, Files
from parcast.arrays.measuring.figure import UNLIMITED, Draw, Figure, figure_of
from parcast.arrays.measuring.launches import Observed
from parcast.arrays.messages import GROWTH

LONG: Final = 1 << 18  # from which the slope of cycles is that of bytes [B]
SOLVED: Final = 3  # times, startups and the rate in turn, which hardly depend on each other
TOLERANCE: Final = 1e-14  # of a startup [s], and of the time of a byte [s/B]


def figures_of(observed: Observed) -> list[Figure]:
    """Every number that the launch tells."""
    found = [*_of_messages(observed)]
    return [*found, *_of_files(observed)] if observed.files else found


class _OfMessages:
    """Costs of messages, each as a function of how one number is drawn of repetitions."""

    def __init__(self, observed: Observed) -> None:
        self._n, self._pauses = observed.clients, observed.pauses
        self._calls = [list(x) for x in zip(*observed.calls, strict=True)][:2]
        self._cycles = {(x.among, x.size): x.times for x in observed.cycles}
        self._turns = {
            kind: [x for x in observed.turns if x.files == kind]
            for kind in {x.files for x in observed.turns}
        }

    def _single(self, draw: Draw) -> tuple[float, float]:
        """Share of sending, and the time of both calls, in cycles that follow each other."""
        send, take = (draw(times) for times in self._calls)
        both = send + take
        if self._n > 1:
            every, pair = (draw(self._cycles[x, 0]) for x in ("all", "pair"))
            both = max(every - pair, 0.0) / (self._n - 1)
        return send / (send + take), both

    def rest(self, draw: Draw) -> float:
        """Rest of a rank that has begun to wait. [s]."""
        cycle = draw(self._cycles["pair", 0])
        noticed = max(cycle / 2 - self._single(draw)[1], 0.0)
        return max(2 * noticed - GROWTH * cycle / 2, SHORTEST_REST)

    def longest(self, draw: Draw) -> float:
        """Longest rest. [s]."""
        late, soon = draw(self._pauses[max(self._pauses)]), draw(self._pauses[min(self._pauses)])
        return max(2 * (late - soon), LONGEST_REST)

    def _slope(self, draw: Draw) -> float:
        """Time of a byte in cycles that follow each other [s/B]."""
        sizes = [size for among, size in self._cycles if among == "all" and size >= LONG]
        times = [draw(self._cycles["all", size]) for size in sizes]
        total = np.array(sizes) * float(self._n)
        return max(float(np.polyfit(total, times, 1, w=1 / np.array(times))[0]), 1 / UNLIMITED)

    def both(self, draw: Draw) -> tuple[float, float, float]:
        """lambda_s, lambda_r [s] and 1/r [s/B], of cycles between writes where there are any."""
        share, both = self._single(draw)
        slope = self._slope(draw)
        if self._turns:
            rests = self.rest(draw), self.longest(draw)
            small, large = sorted(self._turns, key=lambda x: x.size)
            known = [self._in_turn(kind, draw) for kind in (small, large)]
            for _ in range(SOLVED):
                both = _solved(partial(self._cycle, known[0], rests, share, slope), known[0])
                slope = _solved(partial(self._by_rate, known[1], rests, share, both), known[1])
            slope = max(slope, 1 / UNLIMITED)
        return share * both, (1 - share) * both, slope

    def own_time(self, size: int, draw: Draw) -> float:
        """Time of a server for exchanging a subchunk, without waiting [s]."""
        send, take, slope = self.both(draw)
        return self._n * (send + take) + size * slope

    def sending_time(self, draw: Draw) -> float:
        """Time of a server for sending to all clients [s]."""
        return self._n * self.both(draw)[0]

    def _in_turn(self, kind: Files, draw: Draw) -> "_InTurn":
        """Mean cycle and write of subchunks in turn."""
        own, number = self._turns[kind], kind.number * kind.subchunks
        return _InTurn(
            size=max(kind.subchunk // self._n, 1),
            cycle=draw([x.cycles_in_turn for x in own]) / number,
            write=draw([x.writes_in_turn for x in own]) / number,
        )

    def _by_rate(
        self, turn: "_InTurn", rests: tuple[float, float], share: float, both: float, slope: float
    ) -> float:
        """Time of a cycle, by the time of a byte [s]."""
        return self._cycle(turn, rests, share, slope, both)

    def _cycle(
        self, turn: "_InTurn", rests: tuple[float, float], share: float, slope: float, both: float
    ) -> float:
        """Time of a cycle by equations (7) to (11), without computing. [s]."""
        n, ask = self._n, share * both
        receive = (1 - share) * both + turn.size * slope
        handling = both + _rest(turn.write + turn.cycle, *rests)
        late = max(handling - (n - 1 - i) * ask - i * receive for i in (0, n - 1))
        delay = late + _rest(late, *rests) if late > 0 else 0.0
        return n * (ask + receive) + delay


class _InTurn(NamedTuple):
    """Exchanging and writing a subchunk in turn."""

    size: int  # of the value of a client [B]
    cycle: float  # [s]
    write: float  # [s]


def _rest(waited: float, rest: float, longest: float) -> float:
    """Mean time until a rank that has waited notices a message [s]."""
    return (rest + min(GROWTH * waited, longest)) / 2


def _solved(of: Callable[[float], float], turn: _InTurn) -> float:
    """Where a time that grows with its argument is that of the cycle, at least 0."""
    if of(0.0) >= turn.cycle:
        return 0.0
    return float(optimize.brentq(lambda x: of(x) - turn.cycle, 0.0, turn.cycle, xtol=TOLERANCE))


def _of_messages(observed: Observed) -> Iterator[Figure]:
    """Costs of messages."""
    of = _OfMessages(observed)
    how = "all clients and servers at the same time"
    how += ", between writes" if observed.turns else ""
    each = (
        figure_of("send_startup", "time", how, lambda draw: of.both(draw)[0]),
        figure_of("receive_startup", "time", how, lambda draw: of.both(draw)[1]),
        figure_of("bandwidth", "rate", how, lambda draw: 1 / of.both(draw)[2]),
    )
    for side in ("clients", "servers"):
        yield from (replace(figure, key=f"{side}.{figure.key}") for figure in each)
    how = "one client that has just begun to wait"
    yield figure_of("messages.rest", "time", how, of.rest)
    yield figure_of("messages.longest_rest", "time", "one that has waited for 10 ms", of.longest)
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
        self._servers, self._turns = observed.servers, observed.turns
        kinds = [x for x in self._found if not x.is_sync]
        self.small = next(x for x in kinds if x.number == 1 and x.size == SMALL)
        self.large = max(kinds, key=lambda x: x.size)
        self.medium = next(x for x in kinds if x.number == 1 and x.size == SUBCHUNK)
        self.synced = sorted((x for x in self._found if x.is_sync), key=lambda x: x.subchunk)
        self.longer = {x.number: x for x in kinds if x.number > 1 and x.size > SMALL}
        self.few, self.several, self.flat = (
            next(x for x in kinds if (x.number, x.dimensions, x.size) == (*each, SMALL))
            for each in ((FEW, 3), (SEVERAL, 3), (SEVERAL, 1))
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

    def cache_rate(self, files: Files) -> Callable[[Draw], float]:
        """R_mem of one file. [B/s]."""
        size = files.size - self.small.size
        return lambda draw: _rate(size, self._copying(files, draw))

    def write_rate(self, draw: Draw) -> float:
        """R, where the system writes out meanwhile. [B/s]."""
        took = self._copying(self.large, draw) + self._over("flush", self.large, draw)
        return _rate(self.large.size - self.small.size, took)

    def flush_rate(self, draw: Draw) -> float:
        """R, where it does not. [B/s]."""
        took = self._over("flush", self.medium, draw)
        return _rate(self.medium.size - self.small.size, took)

    def rate_of(self, small: Files) -> Callable[[Draw], float]:
        """R of many files, which contains R_mem. [B/s]."""
        long = self.longer[small.number]

        def rate(draw: Draw) -> float:
            each = [
                self._copying(files, draw) + self._over("flush", files, draw)
                for files in (small, long)
            ]
            return _rate(small.number * (long.size - small.size), each[1] - each[0])

        return rate

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

    def folder(self, draw: Draw) -> float:
        """Time of each folder above a file. [s]."""
        deep, flat = (self.open_file(files)(draw) for files in (self.several, self.flat))
        return max((deep - flat) / (self.several.dimensions - self.flat.dimensions), 0.0)

    def _in_turn(self, name: str, draw: Draw, *, is_small: bool) -> float:
        """Time of all subchunks of small files, or of a large one [s]."""
        kinds = sorted({x.files for x in self._turns}, key=lambda x: x.size)
        kind = kinds[0 if is_small else -1]
        return draw([getattr(x, name) for x in self._turns if x.files == kind])

    def cache_rate_of(self, name: str) -> Callable[[Draw], float]:
        """R_mem of writes in turn, or by another thread. [B/s]."""

        def rate(draw: Draw) -> float:
            took = self._in_turn(name, draw, is_small=False)
            took -= self._in_turn("encode", draw, is_small=False)
            return self.large.size / took if took > 0 else UNLIMITED

        return rate

    def open_file_in_turn(self, draw: Draw) -> float:
        """t_file of files that are written between exchanges. [s]."""
        number = next(x.files.number for x in self._turns if x.files.number > 1)
        took = self._in_turn("writes_in_turn", draw, is_small=True)
        took -= self._in_turn("encode", draw, is_small=True)
        flush = self._over("flush", self.several, draw) / (self.several.number - 1)
        return max(
            took / number - SMALL / self.cache_rate_of("writes_in_turn")(draw) + max(flush, 0.0),
            0.0,
        )

    def interference(self, messages: _OfMessages) -> Callable[[Draw], float]:
        """Part of the shorter of exchanging and writing that is added to the longer. [1]."""

        def part(draw: Draw) -> float:
            subchunks = self.large.subchunks
            exchange = messages.own_time(self.large.subchunk, draw) * subchunks
            write, both = (
                self._in_turn(name, draw, is_small=False) for name in ("writes", "both")
            )
            beyond = both - max(exchange, write)
            return min(max(beyond / min(exchange, write), 0.0), 1.0)  # one after the other

        return part

    def read_rate_in_turn(self, messages: _OfMessages) -> Callable[[Draw], float]:
        """R_read of reads between sends. [B/s]."""

        def rate(draw: Draw) -> float:
            took = self._in_turn("reads_in_turn", draw, is_small=False)
            took -= messages.sending_time(draw) * self.large.subchunks
            return self.large.size / took if took > 0 else UNLIMITED

        return rate

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
    by_thread = of.cache_rate_of("writes") if observed.turns else of.cache_rate(of.large)
    yield figure_of("servers.cache_rate", "rate", f"{whole}, not flushed, {every}", by_thread)
    each = f"{of.medium.size / 1e6:.0f} MB a server"
    how = f"{each}, not flushed, {every}"
    yield figure_of("small.cache_rate", "rate", how, of.cache_rate(of.medium))
    yield figure_of("small.write_rate", "rate", f"flush of {each}, {every}", of.flush_rate)
    for name, files in (("few", of.few), ("many", of.several)):
        how = f"{files.number} files of {of.longer[files.number].size / 1e3:.0f} kB, {every}"
        yield figure_of(f"{name}.write_rate", "rate", how, of.rate_of(files))
    how = f"subchunks flushed one by one, {every}"
    yield figure_of("sync.write_rate", "rate", how, of.sync_rate)
    how = f"{whole}, from the disk, {every}"
    yield figure_of("servers.read_rate", "rate", how, of.read_rate)
    how = "draft, flush and commit of one small file"
    yield figure_of("servers.synchronise", "time", how, of.synchronise)
    yield figure_of("servers.flush", "time", "small subchunks flushed one by one", of.flush)
    how = f"{SEVERAL} small files, flushed together"
    yield figure_of("servers.open_file", "time", how, of.open_file(of.several))
    yield figure_of("few.open_file", "time", f"{FEW} small files", of.open_file(of.few))
    how = "arrays of 3 dimensions and of 1"
    yield figure_of("files.folder", "time", how, of.folder)
    if observed.turns:
        how = "between exchanges"
        yield figure_of("turn.cache_rate", "rate", how, of.cache_rate_of("writes_in_turn"))
        yield figure_of("turn.open_file", "time", how, of.open_file_in_turn)
        how = "exchanging a subchunk while another is written"
        messages = _OfMessages(observed)
        yield figure_of("servers.interference", "count", how, of.interference(messages))
        how = "reading a subchunk, then sending it to all clients"
        yield figure_of("turn.read_rate", "rate", how, of.read_rate_in_turn(messages))
    how = f"draft and commit of {SEVERAL} small arrays"
    yield figure_of("servers.metadata", "time", how, of.metadata)
    how = f"{SEVERAL} small arrays"
    yield figure_of("read.open_file", "time", how, of.reading("read", 1))
    yield figure_of("read.metadata", "time", how, of.reading("catalogue", observed.servers))
    yield figure_of("read.synchronise", "time", "opening a store twice", of.open_store)
