"""A calibration that is made up, with values that are known."""

import math
from dataclasses import replace

from parcast.calibration.result import (
    BenchmarkTable,
    Calibration,
    Host,
    Line,
    Measured,
    Sample,
    Segment,
)

SIZES = (1, 64, 1024, 16384, 262144, 1048576)
STEPS = {2: 1, 4: 2, 8: 3, 16: 4, 32: 5}  # ceil(lg p)
OWN = (2, 4, 8)  # counts with a core each
TURNS = 10  # times as long as with a core each
TIMES = {  # of each primitive, by p and bytes: a sum that the formulas can hold
    "send": lambda _, m: 1e-6 + m / 5e9,
    "receive": lambda _, m: 2e-6 + m / 4e9,
    "broadcast": lambda p, m: STEPS[p] * (2e-6 + m / 4e9),
    "reduce": lambda p, m: STEPS[p] * (3e-6 + m / 2e9),
    "allreduce": lambda p, m: STEPS[p] * (4e-6 + m / 2e9),
    "gather": lambda p, m: 5e-6 * STEPS[p] + p * m / 4e9,
    "scatter": lambda p, m: 5e-6 * STEPS[p] + p * m / 4e9,
    "allgather": lambda p, m: 6e-6 * STEPS[p] + p * m / 3e9,
    "alltoall": lambda p, m: 2e-6 * p + p * m / 3e9,
    "barrier": lambda p, _: 1.5e-6 * STEPS[p],
}
HOST = Host(
    name="node7",
    system="Linux 6.1",
    model="A processor",
    cores=8,
    governor="performance",
    load_before=0.25,
    load_after=2.0,
    mpi="MPICH 5.0.2",
    python="3.13",
    numpy="2.4",
    placement={1: "own", 2: "own", 4: "own", 8: "own", 16: "one", 32: "one"},
    directory="/scratch",
)


def measured(key, value, dimension, spread=0.02, **changed):
    """One value, known to `spread`."""
    facts = {
        "launches": 5,
        "repetitions": 500,
        "outliers": 0,
        "worst": 1.2,
        "cv": 0.01,
        "method": f"way to {key}",
        "settled": True,
    }
    return Measured(
        key=key,
        value=value,
        dimension=dimension,
        lower=value / (1 + spread),
        upper=value * (1 + spread),
        **facts | changed,
    )


def sample(size, time, **changed):
    """One time, known to 2%."""
    facts = {
        "p25": 0.99 * time,
        "lower": 0.98 * time,
        "upper": 1.02 * time,
        "cv": 0.01,
        "launches": 5,
        "repetitions": 500,
        "outliers": 0,
        "worst": 1.5,
        "settled": True,
    }
    return Sample(bytes=size, time=time, **facts | changed)


def table(bench, ranks, **changed):
    """Times of a primitive among some ranks."""
    sizes = (0,) if bench == "barrier" else SIZES
    turns = 1 if ranks in OWN else TURNS
    return BenchmarkTable(
        bench=bench,
        ranks=ranks,
        placement=HOST.placement[ranks],
        method=f"{bench} in turn",
        samples=tuple(sample(m, turns * TIMES[bench](ranks, m), **changed) for m in sizes),
    )


def line(bench, ranks, *, switch=None):
    """Straight line of a primitive, in two pieces if it switches at a size."""
    turns = 1 if ranks in OWN else TURNS
    startup = turns * TIMES[bench](ranks, 0)
    rate = 1e6 / (turns * TIMES[bench](ranks, 1e6) - startup)
    pieces = [Segment(first=0, startup=startup, rate=rate)]
    if switch is not None:
        pieces.append(Segment(first=switch, startup=2 * startup, rate=2 * rate))
    return Line(
        bench=bench,
        ranks=ranks,
        placement=HOST.placement[ranks],
        startup=startup,
        startup_lower=0.98 * startup,
        startup_upper=1.02 * startup,
        rate=rate,
        rate_lower=0.97 * rate,
        rate_upper=1.01 * rate,
        error=0.04,
        segments=tuple(pieces),
        method="line",
    )


VALUES = (
    measured("compute.rate", 1.25e9, "operation_rate"),
    measured("compute.half_intensity", 0.5, "count"),
    measured("compute.memory_bandwidth", 9.5e9, "rate", outliers=3, worst=7.0),
    measured("node.memory_bandwidth", 4e10, "rate"),
    measured("timer.cost", 5e-8, "time"),
    measured("network.latency", 1.5e-6, "time"),
    measured("network.bandwidth", 4e9, "rate", 0.08, settled=False),
    measured("network.half_size", 6000.0, "size"),
    measured("network.bidirectional", 6e9, "rate"),
    measured("network.saturation", 7e9, "rate", ranks=4),
    measured("storage.latency", 4e-3, "time", launches=1, settled=False),
    measured("storage.bandwidth", 1.2e9, "rate"),
    measured("storage.read_bandwidth", 2e9, "rate"),
    measured("storage.cache", 2**31, "size"),
    measured("storage.cache_bandwidth", 3e9, "rate"),
)
WHOLE = Calibration(
    name="node7",
    date="2026-11-21T10:15:00+00:00",
    seconds=62.5,
    host=HOST,
    measured=VALUES,
    tables=tuple(table(bench, p) for bench in TIMES for p in STEPS),
    lines=tuple(
        line(bench, p, switch=16384 if (bench, p) == ("reduce", 4) else None)
        for bench in TIMES
        if bench != "barrier"
        for p in STEPS
    ),
    warnings=("16 and 32 ranks share one core: their times are those of taking turns.",),
    was_interrupted=False,
    lost=0,
    target=0.05,
)
INTERRUPTED = replace(
    WHOLE,
    measured=VALUES[:3],
    tables=(),
    lines=(),
    was_interrupted=True,
    host=replace(HOST, mpi="", directory="", governor="", load_before=math.nan, placement={}),
)
