"""The law of the default schedule: a processor takes new items whenever no merge waits.

    T      = T_0 + max(W/c + end, rounds + drain, R + u*(block + drain), block + V/C + last)    [D]
    W      = N*(T_comp + T_fetch) + (N - 1)*T_merge + M*o + B*u*late
    rounds = ceil(B/p) batches (blocks) of b tasks and b - 1 merges
    drain  = log_f B*join + (log_f B + 1)*hop
    join   = (f - 1)*(T_merge + o) ,   hop = T_comm + 2*tau
    end    = u*log_f B*join + max(u*(log_f B + 1)*hop, longest)
    R      = B*u*o/2 , with `prefetch` and N*T_fetch
    last   = u*(join + hop)

N items are reduced by one tree on p processors. There are B = N/b batches of b items, rounded up;
w = min(p, B) processors have work, on c = min(w, cores) cores, and u = 1 - 1/w. Pipelines are
groups of processors that work on items of their own, so that most messages stay within a group;
they share the tree, and count where each has a channel. The law is derived as follows.

*Work.* The schedule is work conserving: all cores are busy until the items run out, and share the
work W of tasks, merges and messages. Each batch is granted by a message, and the tree over the
batches moves B - 1 results. One of w of these is local: M = (2*B - 1)*u. A processor has two
batches at a time, so that an order with the latency tau of the network comes in time, unless
the report and the order take longer than a batch and its merge: late = max(tau - (block +
T_merge)/2, 0).

*Drain.* The merge tree depends on the items only, so that the result is the same for any p. When
the last batch ends, its path to the root remains: log_f B merges of f results, each after a
message. Meanwhile the others have nothing to do. These merges are in W as well, so Graham's bound
for work-conserving schedules, T <= W/p + (1 - 1/p)*T_inf, gives the factor u [1]_; of messages it
is the share that leaves its processor. A message is sent after a report to rank 0 and an order
from it, and the whole result goes to rank 0 in the same way.

*Rounds.* A batch is not divided. Where the processor with most batches, ceil(B/p), ends later than
an even share of the work, the drain follows its last batch. This is the critical path as well.

*Tasks that vary.* When the items run out, every processor still has a part of a batch. Of
exponential times this is the same as a whole one, and the longest of c of them H_c = 1 + 1/2 + ..
+ 1/c times the mean, of which 1 is in W: longest = cv*sqrt(b)*T_comp*(H_c - 1), exact for
exponential tasks without merges, in proportion to the standard deviation of a batch otherwise.
Messages of the other processors move meanwhile.

*Rank 0.* It sends all grants, for B*u*o/2, which the others cannot do for it. With `prefetch` it
fetches all items: a run also takes at least N*T_fetch and, after the last of them, a batch and the
drain, and begins with the first of them.

*Channel.* V = B*u*L bytes pass a channel of rate C, after the first batch and before the last
merge. They include the messages of the drain.

On one processor T is T_seq, equation (1). Without merges, messages and fetching it is N*T_comp/p
where the batches divide evenly. Waiting for the channel counts in the drain only, since before
it a processor has other work; there a path waits for at most the messages of its first level.

Compared with list schedules of the same tree (`tests/pipeline/law/greedy.py`), constant times, 2
to 16 processors and merges of up to twice a task: median error 0.3%, at worst 2.6% for 1000
items; 1.4% and 20% for 100.

References
----------
.. [1] R. L. Graham, "Bounds on multiprocessing timing anomalies," SIAM J. Appl. Math., vol. 17,
   no. 2, pp. 416-429, 1969, :doi:`10.1137/0117039`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.breakdown import Breakdown
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, whole
from parcast.queueing.open import mg1
from parcast.queueing.time_laws import harmonic

SLACK: Final = 1e-9  # of a batch by which a quotient may exceed a whole number by rounding


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batches:
    """How items are distributed over processors; arrays that broadcast together."""

    items: Array  # N [1]
    size: Array  # b, items a batch, at most all [1]
    number: Array  # B [1]
    working: Array  # w, processors that have work [1]
    busy: Array  # c, cores that they have [1]
    rounds: Array  # most batches of one processor [1]
    last: Array  # items of the last of these [1]
    left: Array  # batches in the last round [1]
    fan_in: Array  # f [1]

    @property
    def shared(self) -> Array:
        """Share of messages that leave their processor, u. [1]."""
        return np.asarray(1.0 - 1.0 / self.working)

    @property
    def results(self) -> Array:
        """Results that move, the whole one to rank 0 included [1]."""
        return np.asarray(self.number * self.shared)

    @property
    def granted(self) -> Array:
        """Batches that rank 0 grants to others [1]."""
        return np.asarray(self.number * self.shared)

    @property
    def messages(self) -> Array:
        """Results that are merged elsewhere and batches that are granted, M. [1]."""
        return np.asarray((2 * self.number - 1) * self.shared)

    @property
    def levels(self) -> Array:
        """Levels of the tree over the batches, log_f B; no whole number [1]."""
        return np.asarray(np.log(self.number) / np.log(self.fan_in))


def batches(
    items: ArrayLike,
    p: ArrayLike,
    *,
    batch: ArrayLike = 1,
    cores: ArrayLike | None = None,
    fan_in: ArrayLike = 2,
) -> Batches:
    """Distribute items over `p` processors in all, on as many `cores` unless these are given.

    >>> split = batches(1000, 16, batch=4)
    >>> float(split.number), float(split.rounds), float(split.working)
    (250.0, 16.0, 16.0)
    """
    n, number, b = (np.asarray(x, dtype=np.float64) for x in (items, p, batch))
    for name, value in (("items", n), ("p", number), ("batch", b)):
        ok = (value >= 1) & np.isfinite(value)
        require(name, value, ok, must="be at least 1", hint="Use a whole number.")
    f = whole("fan_in", fan_in, 2, hint="2 is usual.")
    b = np.minimum(b, n)
    blocks = np.ceil(n / b - SLACK)
    working = np.minimum(number, blocks)
    rounds = np.ceil(blocks / number - SLACK)
    left = blocks - (rounds - 1) * number
    # Where only one processor has so many batches, the last of them may be a partial one.
    last = np.where(left <= 1, n - (blocks - 1) * b, b)
    busy = working
    if cores is not None:
        most = np.asarray(cores, dtype=np.float64)
        require("cores", most, most >= 1, must="be at least 1", hint="Count the cores from 1.")
        busy = np.minimum(working, most)
    return Batches(
        items=n,
        size=b,
        number=blocks,
        working=working,
        busy=busy,
        rounds=rounds,
        last=last,
        left=left,
        fan_in=f,
    )


def adaptive_time(
    items: ArrayLike,
    p: ArrayLike,
    *,
    task: ArrayLike,
    merge: ArrayLike = 0.0,
    communication: ArrayLike = 0.0,
    overhead: ArrayLike = 0.0,
    fetch: ArrayLike = 0.0,
    prefetch: bool = False,
    batch: ArrayLike = 1,
    cores: ArrayLike | None = None,
    fan_in: ArrayLike = 2,
    channel: ArrayLike = 0.0,
    latency: ArrayLike = 0.0,
    task_cv: ArrayLike = 0.0,
    drain: bool = True,
) -> Breakdown:
    """Time of a reduction by the default schedule, by what it is spent on [D].

    Parameters
    ----------
    items : array_like
        Items, N, at least 1. [1]
    p : array_like
        Processors of all pipelines, any number of at least 1. [1]
    task, merge : array_like
        Time of the task of an item, and of a merge of two results. [s]
    communication : array_like
        Time of a message from processor to processor, see `queued_delay`. [s]
    overhead : array_like
        Processor time of a message, sending and receiving together. [s]
    fetch : array_like
        Time to fetch an item: part of its task, or with `prefetch` a stage of its own on one
        rank. [s]
    prefetch : bool
        Whether one rank fetches all items, ahead of the tasks.
    batch : array_like
        Items that a processor takes at a time. [1]
    cores : array_like, optional
        Cores that all processors share; by default one each. [1]
    fan_in : array_like
        Results that a merge joins. [1]
    channel : array_like
        Time that the channel is occupied by all messages together, see `channel_time`. [s]
    latency : array_like
        Time of a report to rank 0 or an order from it. [s]
    task_cv : array_like
        Coefficient of variation of the time of a task. [1]
    drain : bool
        Whether to include the fill and drain of the tree.

    Returns
    -------
    Breakdown
        Times, arrays that broadcast together: `compute`, the mean over all processors or their
        cores; `communication` that is not overlapped; `synchronisation`, the idle rest; `time`,
        their sum. [s]

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.

    Examples
    --------
    >>> adaptive_time(4096, [1, 15, 16], task=0.15).time.round(3)
    array([614.4,  41.1,  38.4])
    """
    split = batches(items, p, batch=batch, cores=cores, fan_in=fan_in)
    t, m, sent, own, got, taken, tau = (
        mean_time(name, x)
        for name, x in (
            ("task", task),
            ("merge", merge),
            ("communication", communication),
            ("overhead", overhead),
            ("fetch", fetch),
            ("channel", channel),
            ("latency", latency),
        )
    )
    cv = at_least("task_cv", task_cv, 0, hint="0 is no variation, 1 exponential.")
    ahead = got if prefetch else np.zeros(())
    item = t if prefetch else t + got
    n, share = split.items, split.shared
    work = n * (t + got) + (n - 1) * m
    block, last = (size * (item + m) - m for size in (split.size, split.last))
    # A processor has two batches at a time: the next one is there unless its order takes longer.
    late = np.maximum(tau - (block + m) / 2, 0.0)
    messages = split.messages * own + split.granted * late
    levels = split.levels if drain else np.zeros(())
    once = np.where(share > 0, sent + 2 * tau, 0.0)
    join = (split.fan_in - 1) * m + np.where(share > 0, (split.fan_in - 1) * own, 0.0)
    hops = (levels + 1) * once if drain else np.zeros(())
    path = levels * join + hops
    # Processors in the last round share the cores among themselves only.
    cores = np.inf if cores is None else np.asarray(cores, dtype=np.float64)
    first = (split.rounds - 1) * block * np.maximum(split.working / cores, 1.0)
    rounds = first + last * np.maximum(split.left / cores, 1.0)
    varied = cv * t * np.sqrt(split.size) * (harmonic(split.busy) - 1)
    busy = (work + messages) / split.busy
    # Rank 0 fetches and grants for all. A lone processor fetches before it works: its fetching
    # is in the work already.
    served = (n - 1) * ahead + split.granted * own / 2
    idle = np.maximum(rounds + path, served + share * (block + path))
    unshared = np.maximum(busy + share * levels * join + np.maximum(share * hops, varied), idle)
    last_message = share * (block + join + once) if drain else np.zeros(())
    whole = np.maximum(unshared, taken + last_message) + share * ahead
    compute = work / np.minimum(np.asarray(p, dtype=np.float64), cores)
    seen = messages / split.busy + share * hops + (whole - share * ahead - unshared)
    seen = np.minimum(seen, whole - compute)
    return Breakdown(
        compute=np.asarray(compute),
        communication=np.asarray(seen),
        synchronisation=np.maximum(whole - compute - seen, 0.0),
    )


def channel_time(split: Batches, *, service: ArrayLike, channels: ArrayLike = 1) -> Array:
    """Time that the moving results occupy their channels, each for `service` [s].

    >>> channel_time(batches(1000, 16), service=1e-3).round(3)
    np.float64(0.938)
    """
    return np.asarray(split.results * mean_time("service", service) / np.asarray(channels))


def queued_delay(
    split: Batches,
    arrivals: ArrayLike,
    *,
    service: ArrayLike,
    cv2: ArrayLike,
    propagation: ArrayLike = 0.0,
    channels: ArrayLike = 1,
) -> Array:
    """Mean time of a message in the drain, of `arrivals` a second at each of the channels [s].

    That of M/G/1 with the squared coefficient of variation `cv2`. In the drain the messages of a
    path wait for no more than those of its first level together, w*(f - 1)/f, also at a channel
    that is the bottleneck: these pass it one after the other, so that the merges after them, and
    the messages of the next levels, are spread over that time.

    >>> split = batches(1000, 16)
    >>> queued_delay(split, [0.0, 400.0, 2000.0], service=1e-3, cv2=1.0)
    array([0.001     , 0.00166667, 0.00180275])
    """
    rate, s = np.asarray(arrivals, dtype=np.float64), mean_time("service", service)
    used = rate * s
    is_open = used < 1
    waiting = mg1(np.where(is_open, rate, 0.0), service=s, cv2=cv2).waiting
    each = split.working / np.asarray(channels)
    sending = np.minimum(each * (1.0 - 1.0 / split.fan_in), np.maximum(each - 1.0, 0.0))
    longest = sending * s / np.maximum(split.levels, 1.0)
    waiting = np.where(is_open, np.minimum(waiting, longest), longest)
    return np.asarray(s + waiting + mean_time("propagation", propagation))
