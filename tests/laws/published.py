"""The laws of the processors alone as published, to hold phases against, and published tables."""

import csv
from pathlib import Path

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import law_named

ONES = {
    "amdahl": {"t1": "1 s", "serial": 0},
    "usl": {"t1": "1 s", "contention": 0, "coherency": 0},
    "gustafson": {"time": "1 s", "serial": 0},
}
PHASES = {law: law_named(law)(law=law, **keys) for law, keys in ONES.items()}


def phase_time(law, p, **values):
    """Time of a phase of a law at numbers, which replace its parameters."""
    time = PHASES[law].times(Machine(), {"p": p} | values).time
    return np.broadcast_to(
        time, np.broadcast_shapes(*(np.shape(x) for x in (p, *values.values())))
    )


def amdahl_time(p, *, t1, serial):
    return phase_time("amdahl", p, t1=t1, serial=serial)


def usl_time(p, *, t1, contention, coherency):
    return phase_time("usl", p, t1=t1, contention=contention, coherency=coherency)


def gustafson_speedup(p, *, serial):
    return PHASES["gustafson"].work(Machine(), {"p": p, "serial": serial})


def usl_formula(p, t1, contention, coherency):
    return t1 * (1 + contention * (p - 1) + coherency * p * (p - 1)) / p


def reference_rows(name):
    """Rows of a published table, by the names of its columns."""
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(x for x in text.splitlines() if not x.startswith("#")))
