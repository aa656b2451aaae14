"""A program for the tests: runs of many kinds, and a digest of what each gave, on rank 0.

``python same_bytes.py FILE`` runs them on the ranks that there are and writes the digests as JSON.
"""

import hashlib
import json
import pickle
import sys
import time
from pathlib import Path

import numpy as np

import parcast

SUM = [0.1 * i for i in range(203)]


class Interval:
    """A result that says what is in it, and whose merge does not commute."""

    def __init__(self, first, stop):
        self.first, self.stop = first, stop

    def merged(self, other):
        assert self.stop == other.first, (self.stop, other.first)
        return Interval(self.first, other.stop)


def random_array(i):
    return np.random.default_rng(i).normal(size=7)


def sorted_array(i):
    return np.sort(np.random.default_rng(i).integers(0, 99, 50))


def word_counts(i):
    return {f"w{(i * k) % 17}": 1 + i for k in range(5)}


def fails_sometimes(i):
    if i % 5 == 3:
        raise ValueError(f"item {i} is bad")
    return str(i)


def uneven(i):
    time.sleep(0.0002 * (i * 7919 % 11))
    return f"{i},"


def large(i):
    return [np.full(300_000, float(i)), "x"] if i % 3 == 0 else []


CASES = {
    "float sum": {"items": SUM, "task": lambda x: x},
    "generator": {"items": lambda: iter(SUM), "task": lambda x: x},
    "fan-in 3": {"items": SUM, "task": lambda x: x, "fan_in": 3},
    "fan-in 16": {"items": SUM, "task": lambda x: x, "fan_in": 16, "batch": 1},
    "arrays": {"items": range(97), "task": random_array, "batch": 1},
    "concatenation": {"items": range(150), "task": uneven, "batch": 1},
    "lists": {"items": range(150), "task": lambda i: [i], "batch": 4},
    "counts": {"items": range(120), "task": word_counts, "merge": "counts"},
    "shards": {"items": range(120), "task": word_counts, "merge": "counts", "shards": 3},
    "sum in shards": {"items": range(50), "task": random_array, "shards": 2, "batch": 2},
    "sorted": {"items": range(60), "task": sorted_array, "merge": "sorted"},
    "top": {"items": range(90), "task": lambda i: [(i * 31 % 17, i)], "merge": "top:10"},
    "skips": {"items": range(80), "task": fails_sometimes, "on_error": "skip", "batch": 1},
    "all skipped": {"items": range(9), "task": lambda _: 1 / 0, "on_error": "skip", "zero": -1},
    "pipelines": {"items": range(150), "task": uneven, "batch": 1, "pipelines": True},
    "intervals": {
        "items": range(77),
        "task": lambda i: Interval(i, i + 1),
        "merge": Interval.merged,
        "finish": lambda x: (x.first, x.stop),
    },
    "large": {"items": range(24), "task": large, "batch": 1},
    "spilled": {
        "items": range(90),
        "task": lambda i: np.full(3000, 0.1 * i),
        "merge": lambda a, b: np.concatenate([a, b]),
        "memory": 50_000,
        "batch": 1,
    },
    "empty": {"items": [], "task": lambda x: x, "zero": "nothing"},
    "empty shards": {"items": [], "task": word_counts, "merge": "counts", "shards": 2},
    "one item": {"items": [3], "task": lambda x: x},
    "few items": {"items": [3, 4], "task": lambda x: 0.1 * x},
    "nones": {"items": range(9), "task": lambda _: None, "merge": lambda _, __: None},
    "window": {"items": range(99), "task": uneven, "batch": 1, "window": 3},
    "setup": {"items": range(40), "task": lambda i, s: i * s, "setup": lambda: 0.3},
}
EVERY = {
    "every": {"items": range(103), "task": uneven, "every": 10, "batch": 1},
    "every one": {"items": range(30), "task": uneven, "every": 1},
    "every in shards": {
        "items": range(64),
        "task": word_counts,
        "merge": "counts",
        "shards": 2,
        "every": 16,
        "fan_in": 4,
    },
    "every of none": {"items": [], "task": uneven, "every": 4},
}


def digest(value):
    """Give the same for the same bytes; shared objects are written each time."""
    return hashlib.sha256(repr(plain(value)).encode()).hexdigest()


def plain(value):
    """Write what a value is, to the last bit."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(x) for x in value]
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    return value


def run(case, ranks):
    keys = dict(case)
    items = keys.pop("items")
    if keys.get("pipelines"):
        keys["pipelines"] = max(ranks // 2, 1)
    received = []
    if "every" in keys:
        keys["server"] = lambda x: received.append((x.first, x.stop, plain(x.value)))
    result = parcast.run_pipeline(items() if callable(items) else items, **keys)
    skipped = [(x.index, x.item, x.error) for x in result.skipped]
    return [digest([result.value, received]), result.items, result.reductions, skipped]


def all_of(ranks=1):
    return {name: run(case, ranks) for name, case in (CASES | EVERY).items()}


def main(path):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    found = all_of(comm.size)
    comm.Barrier()
    if comm.rank == 0:
        Path(path).write_text(json.dumps(found))
    assert pickle.loads(pickle.dumps(found)) == found


if __name__ == "__main__":
    main(sys.argv[1])
