"""The stated formulas of a parallel pipeline: a reduction tree whose levels work at the same time.

    T_seq = N*T_comp + (N - 1)*T_merge                                              [S] (1)
    T_par = N/(P/2)*T_comp + N/(P/2)*(T_merge + T_comm)*lg P                        [S] (2)
    depth = 2*lg P + 1                                                              [S] (3)
    S_par = P/(2*lg P + 1)                                                          [S] (4)
    S     = P*2*lg P/(2*lg P + 1)                                                   [S] (5)
    T     = (k + 1)*T_comp + lg P*T_merge + k*T_comm + lg P*T_comm                  [S] (6)
            k = (N/G - P)/(P/2)
    D_MM1 = s/(1 - rho) + tau                                                  [S] (7), (10)
    D_MD1 = s + rho*s/(2*(1 - rho)) + tau        "M/G/1" in the source         [S] (8), (11)
    rho   = lambda*s ,   s = L/C                                                    [S] (9)
    D_MG1 = s + rho*s*(1 + cv2)/(2*(1 - rho)) + tau        Pollaczek-Khinchine          [D]

P processors, a power of two, reduce N/G of N items in each of G pipelines. At first every
processor runs the task on one item; from then on half of them take new items while the other half
merge two results each. k is the number of these steps, 0 for fewer items than processors [D].

(6) adds the communication of a step to its task: with T_comm = T_comp and T_merge = T_comp its
speedup tends to P/2, while (5) tends to P. The overlapped form takes a step as long as the longest
of its stages [D]::

    T     = T_comp + k*step + lg P*(T_merge + T_comm + o)
    step  = max(T_comp + o/2, T_merge + o/2, T_comm)

with o the processor time of a message, half of it on either side. Items are dealt to pipelines in
whole cycles of lg P steps, and k is that of the pipeline with most; (6) has N/G. A tree of fan-in
f has log_f P levels; a merge takes f - 1 results from other processors, and P*(f - 1)/f processors
take new items in a step [D]. Arrivals at the channel are lambda = P/T_comp in the source's example
[S]; a step sends P/2 messages, lambda = P/(2*step) [D].

Use them for the published schedule, `schedule="source"`; the law of the default schedule is
`parcast.pipeline.law.adaptive`. All times are means.

References
----------
.. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.queueing.arguments import mean_time
from parcast.queueing.open import md1, mg1, mm1

Delay: TypeAlias = Literal["mm1", "md1", "mg1"]
CLOSE: Final = 1e-9  # of a logarithm: how near to a whole number it is one


class Speedups(NamedTuple):
    """Speedups of a reduction whose stages all take the same time, for many items."""

    unpipelined: Array  # (4) [1]
    pipelined: Array  # (5) [1]


def sequential_time(
    items: ArrayLike, *, task: ArrayLike, merge: ArrayLike = 0.0, fetch: ArrayLike = 0.0
) -> Array:
    """Time of a reduction on one processor, equation (1) [S].

    Parameters
    ----------
    items : array_like
        Items, N, at least 1. [1]
    task, merge, fetch : array_like
        Times of the task of an item, of a merge of two results, and of fetching an item [D]. [s]

    Returns
    -------
    ndarray, shape of the arguments broadcast together
        Time. [s]

    Examples
    --------
    >>> sequential_time(4096, task=0.15, merge=0.01)
    array(655.35)
    """
    n, task, merge, fetch = _items(items), *_times(task=task, merge=merge, fetch=fetch)
    return np.asarray(n * (task + fetch) + (n - 1) * merge)


def tree_levels(p: ArrayLike, *, fan_in: ArrayLike = 2) -> Array:
    """Levels of the tree over `p` processors, which must be a power of `fan_in`: lg P. [1].

    >>> tree_levels([1, 2, 16])
    array([0., 1., 4.])
    """
    number, f = np.asarray(p, dtype=np.float64), np.asarray(fan_in, dtype=np.float64)
    whole = (f >= 2) & (f == np.floor(f)) & np.isfinite(f)
    require("fan_in", f, whole, must="be a whole number of at least 2", hint="2 is usual.")
    ok = (number >= 1) & np.isfinite(number)
    require("p", number, ok, must="be at least 1", hint="Count processors from 1.")
    levels = np.log(number) / np.log(f)
    nearest = np.rint(levels)
    ok = np.abs(levels - nearest) <= CLOSE
    base = f"{f.flat[0]:g}" if f.size and np.all(f == f.flat[0]) else "fan_in"
    require(
        "processors of a pipeline",
        np.broadcast_to(number, ok.shape),
        ok,
        must=f"be a power of {base} in the published schedule",
        hint='Use such a number, or form = "adaptive", which takes any.',
    )
    return np.asarray(nearest)


def pipeline_depth(p: ArrayLike) -> Array:
    """Stages of the pipeline, equation (3) [S].

    >>> pipeline_depth([8, 16])
    array([7., 9.])
    """
    return np.asarray(2 * tree_levels(p) + 1.0)


def speedups(p: ArrayLike) -> Speedups:
    """Speedups of stages that all take the same time, equations (4) and (5) [S]; 1 on one [D].

    >>> speedups(16).unpipelined.round(4), speedups(16).pipelined.round(4)
    (np.float64(1.7778), np.float64(14.2222))
    """
    number, levels = np.asarray(p, dtype=np.float64), tree_levels(p)
    depth = 2 * levels + 1
    pipelined = np.where(levels > 0, number * 2 * levels / depth, 1.0)
    return Speedups(np.asarray(number / depth), np.asarray(pipelined))


def steps(
    items: ArrayLike,
    p: ArrayLike,
    *,
    pipelines: ArrayLike = 1,
    fan_in: ArrayLike = 2,
    whole_cycles: bool = False,
) -> Array:
    """Steps after the first, k of equation (6) [S]; 0 for fewer items than processors [D].

    `p` are the processors of one pipeline. Each of them has N/G items [S], or with `whole_cycles`
    those of the pipeline with most, as the items are dealt, see `largest_share` [D].

    >>> steps(4096, 16, pipelines=[1, 2, 8])
    array([510., 254.,  62.])
    >>> steps(4096, 16, pipelines=[1, 2, 8], whole_cycles=True)
    array([510., 256.,  64.])
    """
    n, levels = _items(items), tree_levels(p, fan_in=fan_in)
    number, f = np.asarray(p, dtype=np.float64), np.asarray(fan_in, dtype=np.float64)
    g = np.asarray(pipelines, dtype=np.float64)
    require("pipelines", g, g >= 1, must="be at least 1", hint="Count pipelines from 1.")
    share = largest_share(n, number, pipelines=g, fan_in=f) if whole_cycles else n / g
    taking = np.where(levels > 0, number * (f - 1) / f, number)
    return np.asarray(np.maximum(share - number, 0.0) / taking)


def largest_share(
    items: ArrayLike, p: ArrayLike, *, pipelines: ArrayLike = 1, fan_in: ArrayLike = 2
) -> Array:
    """Items of the pipeline with most: each gets P, then in turn those of a cycle [D].

    A cycle of the published schedule has lg P steps in which P/2 items are taken.

    >>> largest_share([100, 150], 16, pipelines=4)
    array([48., 48.])
    """
    n, levels = _items(items), tree_levels(p, fan_in=fan_in)
    number, f, g = (np.asarray(x, dtype=np.float64) for x in (p, fan_in, pipelines))
    cycle = np.where(levels > 0, number * (f - 1) / f * levels, 1.0)
    rounds, rest = np.divmod(np.maximum(n - g * number, 0.0), g * cycle)
    return np.asarray(np.minimum(n, number) + rounds * cycle + np.minimum(rest, cycle))


def step_time(
    *,
    task: ArrayLike,
    merge: ArrayLike = 0.0,
    communication: ArrayLike = 0.0,
    overhead: ArrayLike = 0.0,
    overlapped: bool = False,
) -> Array:
    """Time of one step: task and communication added [S], or the longest stage [D].

    `overhead` is the processor time of a message: half of it on the side of the task, which is
    sent, and half on that of the merge. All in seconds.

    >>> step_time(task=0.15, communication=0.0026)
    array(0.1526)
    >>> step_time(task=0.15, communication=0.0026, overlapped=True)
    array(0.15)
    """
    task, merge, sent, own = _times(
        task=task, merge=merge, communication=communication, overhead=overhead
    )
    if overlapped:
        return np.asarray(np.maximum(np.maximum(task, merge) + own / 2, sent))
    return np.asarray(task + sent + own / 2)


def pipeline_time(
    items: ArrayLike,
    p: ArrayLike,
    *,
    task: ArrayLike,
    merge: ArrayLike | None = None,
    communication: ArrayLike = 0.0,
    pipelines: ArrayLike = 1,
    overhead: ArrayLike = 0.0,
    fan_in: ArrayLike = 2,
    overlapped: bool = False,
    drain: bool = True,
) -> Array:
    """Time of a pipelined reduction, equation (6) [S] or its overlapped form [D].

    Parameters
    ----------
    items : array_like
        Items of all pipelines, N, at least 1. [1]
    p : array_like
        Processors of one pipeline, P, a power of `fan_in` of at least 2. [1]
    task : array_like
        Time of the task of an item, T_comp. [s]
    merge : array_like, optional
        Time of a merge of two results, T_merge, at most T_comp; by default T_comp, which gives
        the upper bound of the source. [s]
    communication : array_like
        Time of a message, T_comm: see `message_delay`. [s]
    pipelines : array_like
        Identical pipelines, G, that share the items. [1]
    overhead : array_like
        Processor time of a message, half of it on either side [D]. [s]
    fan_in : array_like
        Results that a merge joins [D]. [1]
    overlapped : bool
        Whether a step takes as long as its longest stage [D]; by default task and communication
        are added [S].
    drain : bool
        Whether to include the lg P terms; without them it is the short form, used in the
        published tables [S].

    Returns
    -------
    ndarray, shape of the arguments broadcast together
        Time. [s]

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.

    Examples
    --------
    >>> pipeline_time(4096, 16, pipelines=8, task=0.15, communication=2.6e-3, drain=False)
    array(9.6112)
    """
    number, f = np.asarray(p, dtype=np.float64), np.asarray(fan_in, dtype=np.float64)
    require("p", number, number > 1, must="be at least 2", hint="Use sequential_time for one.")
    k = steps(items, p, pipelines=pipelines, fan_in=fan_in, whole_cycles=overlapped)
    task, sent, own = _times(task=task, communication=communication, overhead=overhead)
    (merge,) = _times(merge=task if merge is None else merge)
    merge, sent, own = ((f - 1) * each for each in (merge, sent, own))
    each = step_time(
        task=task, merge=merge, communication=sent, overhead=own, overlapped=overlapped
    )
    levels = tree_levels(p, fan_in=fan_in) if drain else np.zeros(())
    return np.asarray(task + k * each + levels * (merge + sent + own))


def arrival_rate(
    p: ArrayLike, interval: ArrayLike, *, pipelines: ArrayLike = 1, sending: ArrayLike = 1.0
) -> Array:
    """Messages a second at the channel of `pipelines` that share it, lambda. [1/s].

    P/T_comp for an `interval` of T_comp [S]. With the time of a step and `sending` 1/2, the share
    of the processors that send in it, it is P/(2*step) [D].

    >>> arrival_rate(16, 0.15).round(3), arrival_rate(16, 0.15, sending=0.5).round(3)
    (np.float64(106.667), np.float64(53.333))
    """
    number, g, share = (np.asarray(x, dtype=np.float64) for x in (p, pipelines, sending))
    time = np.asarray(interval, dtype=np.float64)
    ok = (time > 0) & np.isfinite(time)
    require("interval", time, ok, must="be above 0", hint="Give it in seconds.")
    return np.asarray(number * share * g / time)


def message_delay(
    arrivals: ArrayLike,
    *,
    service: ArrayLike,
    delay: Delay = "md1",
    cv2: ArrayLike = 0.0,
    propagation: ArrayLike = 0.0,
) -> Array:
    """Mean time of a message on the channel, waiting included, equations (7) to (11) [S].

    Parameters
    ----------
    arrivals : array_like
        Messages a second at the channel, lambda: see `arrival_rate`. [1/s]
    service : array_like
        Mean time that a message occupies the channel, s = L/C. [s]
    delay : {"mm1", "md1", "mg1"}
        Lengths are exponential, (7); all the same, (8), which is what the source calls M/G/1; or
        of any law with the squared coefficient of variation `cv2` [D].
    cv2 : array_like
        Variance of the lengths over their mean squared, with "mg1" only. [1]
    propagation : array_like
        Propagation delay, tau. [s]

    Returns
    -------
    ndarray, shape of the arguments broadcast together
        Delay. [s]

    Raises
    ------
    ParameterError
        If the channel is used at 1 or above, or an argument lies outside its domain.

    Examples
    --------
    >>> rate, service = arrival_rate(16, 0.15), 23720 * 8 / 1.28e9
    >>> [float(message_delay(rate, service=service, delay=x).round(9)) for x in ("mm1", "md1")]
    [0.000150632, 0.000149441]
    """
    rate, s = np.asarray(arrivals, dtype=np.float64), np.asarray(service, dtype=np.float64)
    (tau,) = _times(propagation=propagation)
    used = rate * s
    require(
        "channel utilisation",
        used,
        used < 1,
        must="be below 1",
        hint="The messages arrive faster than the channel carries them. Send smaller or fewer "
        "messages (a larger batch, fewer processors), use a faster channel, or give the "
        'measured communication. The form "adaptive" has no such limit.',
    )
    if delay == "mg1":
        return np.asarray(mg1(rate, service=s, cv2=cv2).response + tau)
    if delay not in ("mm1", "md1"):
        raise ParameterError(
            "delay", must='be "mm1", "md1" or "mg1"', got=repr(delay), hint="Choose one."
        )
    if np.any(np.asarray(cv2) != 0):
        raise ParameterError(
            "cv2", must='be left out unless delay is "mg1"', hint='Use delay = "mg1".'
        )
    queue = mm1 if delay == "mm1" else md1
    return np.asarray(queue(rate, service=s).response + tau)


def _items(items: ArrayLike) -> Array:
    n = np.asarray(items, dtype=np.float64)
    ok = (n >= 1) & np.isfinite(n)
    require("items", n, ok, must="be at least 1", hint="Count items from 1.")
    return n


def _times(**times: ArrayLike) -> tuple[Array, ...]:
    """Times of at least 0, by the names of arguments. [s]."""
    return tuple(mean_time(name, value) for name, value in times.items())
