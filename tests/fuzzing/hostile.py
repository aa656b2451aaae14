"""Results and items of any type: `python -m tests.fuzzing.hostile --cases 5000`.

Objects whose methods and attributes fail or lie go through pipelines of random options, on the
ranks of mpiexec as well. A run must give a result, which can be shown and written, or a refusal
that names the item. The status is 1 if one does neither.
"""

import collections
import decimal
import enum
import fractions
import re
import shutil
import sys
import tempfile
import threading
import types
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, make_dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import click
import numpy as np

import parcast
from parcast.errors import FAILURES, ParameterError, ParcastError
from parcast.pipeline.values import printed, saved
from tests.fuzzing.attempts import attempt

NAMED = re.compile(r"\b[Ii]tems? \d|^The items ended with an error after \d|^There (are|is)")
# What a refusal may name in place of an item: what was given, and is at fault by itself.
ARGUMENTS = {"items", "zero", "server", "shards", "split", "finish", "every", "task"}
MOST_ITEMS = 7
METHODS = [
    *("__len__", "__bool__", "__eq__", "__hash__", "__reduce__", "__reduce_ex__", "__getstate__"),
    *("__setstate__", "__repr__", "__str__", "__format__", "__sizeof__", "__iter__", "__copy__"),
    *("__contains__", "__add__", "__radd__", "__deepcopy__", "__getattr__", "__getattribute__"),
    *("__getitem__", "__lt__", "__float__", "__int__", "__index__", "__array__", "__dir__"),
    *("__call__", "items", "keys", "get"),
]
ATTRIBUTES = [
    *("nbytes", "dtype", "ndim", "shape", "tolist", "mask", "size", "__class__", "__dict__"),
    *("__slots__", "__module__", "__doc__", "__cause__", "__notes__"),
]
CRASHING = ("__class__", "__getattribute__", "__array__")  # NumPy itself, in an array's ==
BASES = (object, dict, list, tuple, str, int, float, set, bytes, Exception, np.ndarray)


class SilentError(Exception):
    """Cannot be written."""

    def __str__(self):
        raise ValueError("no text")


class OwnRefusal(parcast.ParcastError):
    """A failure of a program that uses the package, with what cannot be sent."""

    def __init__(self):
        super().__init__("the program refuses", below=["a line\nand another"])
        self.lock = threading.Lock()


FAULTS = (
    *(ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError, OSError),
    *(StopIteration, SilentError, OwnRefusal, ZeroDivisionError, AssertionError),
    *(SystemExit, GeneratorExit, KeyboardInterrupt),
)


class Bunch(dict):
    """A mapping with its keys as attributes."""

    __getattr__ = dict.get


class Anything:
    """Answers to any name."""

    def __getattr__(self, name):
        return Anything() if not name.startswith("__") else object.__getattribute__(self, name)

    def __call__(self, *_, **__):
        return self


class Colour(enum.Enum):
    """Some constants."""

    RED = 1


def raising(fault):
    def method(*_, **__):
        raise fault

    return method


def answering(answer):
    return lambda *_, **__: answer


def hostile(chance):
    """Draw an object of a class whose methods and attributes fail or lie."""
    members = {}
    for name in chance.sample(METHODS, chance.choice([1, 1, 2, 3])):
        answer = chance.choice([None, -1, "text", 10**400, float("nan"), NotImplemented, (), b""])
        fault = chance.choice(FAULTS[:-1])  # nobody but a task may be Ctrl-C
        fails = chance.random() < 0.6 or name == "__getitem__"  # else it has no end
        members[name] = raising(fault) if fails else answering(answer)
    for name in chance.sample(ATTRIBUTES, chance.choice([0, 0, 1, 2])):
        answer = chance.choice([None, -1, "text", 10**400, int, (), [1], {"a": 1}])
        if name == "__slots__":
            members[name] = chance.choice([(), ("a", "b")])
        elif chance.random() < 0.5 and name not in ("__dict__", "__module__", "__doc__"):
            members[name] = property(raising(chance.choice(FAULTS[:-1])))
        else:
            members[name] = property(answering(answer))
    base = chance.choice(BASES)
    for name in CRASHING if base is np.ndarray else ():
        members.pop(name, None)
    try:
        kind = type("Hostile", (base,), members)
        return kind.__new__(kind, *(((2,),) if base is np.ndarray else ()))
    except BaseException:  # there is no such object
        return Bunch(a=1)


def same(item):
    return item


def cyclic():
    """Make a list that holds itself."""
    made = [1]
    made.append(made)
    return made


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


ORDINARY = (
    *(lambda: None, lambda: 1, lambda: 2.5, lambda: float("nan"), lambda: 10**5000, lambda: True),
    *(
        lambda: "text",
        lambda: "\udcff\x1b[2J\n",
        lambda: b"bytes",
        lambda: (1, "a"),
        lambda: [1, 2],
    ),
    *(
        lambda: {"a": 1},
        lambda: {1: {2: 3}},
        lambda: {1, 2},
        lambda: frozenset([1]),
        lambda: 1 + 2j,
    ),
    *(lambda: range(3), lambda: ..., lambda: NotImplemented, object, lambda: type, cyclic),
    *(lambda: (x for x in "ab"), threading.Lock, lambda: sys, lambda: lambda: 1),
    *(lambda: np.float64(1.5), lambda: np.int8(3), lambda: np.bool_(True), lambda: np.str_("a")),
    *(lambda: np.zeros(3), lambda: np.zeros(()), lambda: np.zeros((2, 2), np.int16)),
    *(lambda: np.ma.masked_array([1, 2], [0, 1]), lambda: np.ma.masked, lambda: np.array(None)),
    *(lambda: np.array([object()]), lambda: np.zeros(2, [("x", int), ("y", "f4")]), Anything),
    *(lambda: np.datetime64("2020-01-01"), lambda: np.zeros(20_000), lambda: np.zeros(2)[::-1]),
    *(lambda: memoryview(b"ab"), lambda: bytearray(b"ab"), lambda: decimal.Decimal("1.1")),
    *(lambda: fractions.Fraction(1, 3), lambda: datetime.now(UTC), lambda: Colour.RED, Bunch),
    *(lambda: Bunch(nbytes="much", a=1), lambda: types.SimpleNamespace(nbytes=None, dtype=3)),
    *(
        lambda: collections.namedtuple("Pair", "a b")(1, 2),
        lambda: make_dataclass("Row", "ab")(1, 2),
    ),
    *(
        lambda: nested(200),
        lambda: nested(5000),
        lambda: open,
        lambda: re.compile("a"),
        OwnRefusal,
    ),
    *(lambda: collections.defaultdict(int, a=1), lambda: collections.Counter("ab"), SilentError),
)


def anything(chance):
    return hostile(chance) if chance.random() < 0.5 else chance.choice(ORDINARY)()


class Rude(list):
    """A list that does not give what it holds."""

    def __init__(self, items, fault, method):
        super().__init__(items)
        self.fault, self.method = fault, method

    def __len__(self):
        return self._given("len", super().__len__)

    def __iter__(self):
        return self._given("iter", super().__iter__)

    def _given(self, method, plain):
        if method == self.method:
            raise self.fault
        return plain()


def ending(items, fault):
    yield from items
    raise fault


MERGES = {
    "first": lambda a, _: a,
    "last": lambda _, b: b,
    "pairs": lambda a, b: (a, b),
    "equal": lambda a, b: a if a == b else b,
    "true": lambda a, b: a or b,
    "added": lambda a, b: a + b,
}
NAMES = ("sum", "counts", "sorted", "top:3")
OPTIONS = {
    "shards": lambda chance, _: {"shards": 2, "split": chance.choice(SPLITS)},
    "server": lambda chance, place: {"server": chance.choice(SERVERS)(place), "every": 2},
    "finish": lambda chance, _: {"finish": chance.choice(FINISHES)},
    "check": lambda *_: {"check": True},
    "memory": lambda *_: {"memory": 1.0},
    "checkpoint": lambda _, place: {"checkpoint": place / "kept", "checkpoint_every": 0.0},
    "skip": lambda *_: {"on_error": "skip"},
    "retries": lambda *_: {"retries": 1},
    "zero": lambda chance, _: {"zero": anything(chance)},
    "trace": lambda _, place: {"trace": place / "t.jsonl"},
    "fan_in": lambda *_: {"fan_in": 3},
    "batch": lambda *_: {"batch": 1},
    "timeout": lambda *_: {"timeout": 5.0},
}
SPLITS = (lambda x, n: [x] * n, lambda x, _: x, lambda *_: None, lambda x, n: [x, *x][:n], None)
SERVERS = (
    lambda _: lambda _: None,
    lambda _: lambda reduction: bool(reduction.value),
    lambda place: place / "out.jsonl",
    lambda place: place / "out.pickle",
)
FINISHES = (lambda x, *_: x, lambda x, *_: repr(x), lambda x, *_: len(x), lambda x, *_: x.a)


@dataclass
class Case:
    """A pipeline, made by a seed alone."""

    seed: int
    ranks: int | None = None  # to start for it

    def run(self, place):
        """Run it, resume it if it has a checkpoint, and use its result in every way."""
        chance = Random(self.seed)
        values = [anything(chance) for _ in range(chance.randrange(MOST_ITEMS))]
        kind = chance.choice(["list", "generator", "tuple", "rude", "failing", "lazy"])
        fault = chance.choice(FAULTS[:-3])  # what ends a program may do so where items are made
        items = {
            "list": lambda: values,
            "generator": lambda: iter(values),
            "tuple": lambda: tuple(values),
            "rude": lambda: Rude(values, fault, chance.choice(["len", "iter"])),
            "failing": lambda: ending(values, fault),
            "lazy": lambda: map(same, values),
        }[kind]()
        results = {i: anything(chance) for i in range(len(values)) if chance.random() < 0.7}
        failing = chance.randrange(MOST_ITEMS) if chance.random() < 0.2 else None
        task = chance.choice([same, partial(task_of, iter(range(10**6)), results)])
        if failing is not None:
            task = partial(failing_task, chance.choice(FAULTS))
        merge = chance.choice([*MERGES.values(), *NAMES])
        options = {}
        for name in chance.sample(sorted(OPTIONS), chance.randrange(5)):
            options |= OPTIONS[name](chance, place)
        result = parcast.run_pipeline(items, task, merge, ranks=self.ranks, **options)
        used(result, place)


def task_of(numbers, results, item):
    """Give what was drawn for the next item of this rank, whatever the item is."""
    return results.get(next(numbers), item)


def failing_task(fault, item):
    """Fail for some items."""
    if type(item) in (int, str, type(None), Bunch, np.ndarray):
        raise fault
    return item


def used(result, place):
    """Show and write what came out, as the command does."""
    str(result)
    repr(result)
    str(result.to_sheet(with_value=True))
    result.to_document()
    for ending_of in ("json", "csv", "npy", "pickle"):
        fault, _ = saved(str(place / f"value.{ending_of}"), result.value)
        assert not fault or "value.npy" in fault or "cannot hold a value of type" in fault, fault
    with suppress(*FAILURES):  # the command keeps the value elsewhere then
        for _ in printed(result.value)[0]:
            pass


def judged_run(case, place):
    """Run a case; raise what is no refusal, or one that does not name the item."""
    try:
        case.run(place)
    except ParameterError as refusal:
        if refusal.name not in ARGUMENTS and not NAMED.search(str(refusal)):
            raise AssertionError(f"names no item: {refusal}") from refusal
        raise
    except ParcastError as refusal:
        if not NAMED.search(str(refusal)):
            raise AssertionError(f"names no item: {refusal}") from refusal
        raise
    except (SystemExit, GeneratorExit, KeyboardInterrupt) as ended:
        raise AssertionError(f"{type(ended).__name__} ended the program") from ended


def outcome_of(seed, folder, ranks=None):
    """What becomes of a case, in a folder of its own."""
    place = Path(folder) / str(seed)
    place.mkdir()
    try:
        return attempt(lambda _: judged_run(Case(seed, ranks), place), place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


@click.command()
@click.option("--cases", default=1000, show_default=True, help="How many.")
@click.option("--seed", default=0, show_default=True, help="That of the first.")
@click.option("--ranks", type=int, help="To start for each.")
@click.pass_context
def main(ctx, cases, seed, ranks):
    """Run cases and say what became of them."""
    kinds, bad = Counter(), {}
    with tempfile.TemporaryDirectory(prefix="parcast-hostile-") as folder:
        for number in range(seed, seed + cases):
            outcome = outcome_of(number, folder, ranks)
            kinds[outcome.kind] += 1
            if outcome.is_bad:
                bad.setdefault(f"{outcome.kind} {outcome.detail}", []).append(number)
    click.echo(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    for what, seeds in sorted(bad.items()):
        click.echo(f"{what}: {len(seeds)} such as {seeds[:3]}")
    ctx.exit(bool(bad))


if __name__ == "__main__":
    main()
