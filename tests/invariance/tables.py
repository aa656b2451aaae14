"""Made-up tables of timings, what may be done to them, and the answers that must not change.

Names are words that occur in no sentence of an answer, so that they can be given back their old
ones in it.
"""

import re
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from parcast.timings.measurements import Measurements

MACHINES = ("Qavo", "Zubi", "Amre", "Kelt")
PATHS = ("wima", "wima->tafo", "wima->tafo->yxe", "wima->budo")
SIGNIFICANT = 1e-9  # relative difference of two answers that are the same
A_TIME = re.compile(r"[\d.]+(e-?\d+)?( to [\d.]+(e-?\d+)?)? (ns|us|ms|s|min|h|d)\b")


@dataclass(frozen=True)
class Kind:
    """What a table of timings is like."""

    seed: int
    machines: int = 1
    paths: int = 0
    counts: int = 4
    repetitions: int = 1
    digits: int = 12  # of the times: with few of them some are equal
    n: str = ""  # "grows" with p, or takes "two" values


@st.composite
def kinds(draw, **fixed):
    """Kinds of tables; what is given is as it is."""
    drawn = {
        "seed": st.integers(0, 2**32 - 1),
        "machines": st.integers(1, len(MACHINES)),
        "paths": st.integers(0, len(PATHS)),
        "counts": st.integers(2, 5),
        "repetitions": st.integers(1, 3),
        "digits": st.sampled_from([1, 2, 12]),
        "n": st.sampled_from(["", "", "grows", "two"]),
    }
    return Kind(**{name: draw(x) for name, x in drawn.items() if name not in fixed}, **fixed)


def columns_of(kind):
    """Columns of a table, times of nested call paths included in those of their callers."""
    random = np.random.default_rng(kind.seed)
    first = 2 ** int(random.integers(0, 3))
    counts = first * 2 ** np.sort(random.choice(7, size=kind.counts, replace=False))
    sizes = [1000.0, 4000.0] if kind.n == "two" else [0.0]
    paths = PATHS[: kind.paths] or ("",)
    rows = []
    laws = {path: random.exponential([1.0, 20.0, 0.05, 0.02, 0.001]) for path in paths}
    for machine in MACHINES[: kind.machines]:
        speed, network = random.lognormal(0.0, 0.7, size=2)
        for size in sizes:
            for p in counts.tolist():
                work = max(size, 1000.0) / 1000.0 * (p if kind.n == "grows" else 1.0)
                for _ in range(int(random.integers(1, kind.repetitions + 1))):
                    terms = np.array([1.0, work / p, np.log2(p), p, p * p])
                    noise = random.normal(0.0, 0.02, size=len(paths))
                    own = {
                        path: float(laws[path] @ (terms * [speed, speed, *[network] * 3]))
                        * np.exp(e)
                        for path, e in zip(paths, noise, strict=True)
                    }
                    for path in paths:
                        time = sum(x for y, x in own.items() if y.startswith(path))
                        rows.append((machine, path, p, size or 1000.0 * p, time))
    columns = dict(
        zip(("machine", "callpath", "p", "n", "time"), zip(*rows, strict=True), strict=True)
    )
    columns["time"] = [float(f"{x:.{kind.digits}g}") for x in columns["time"]]
    if kind.machines == 1:
        del columns["machine"]
    if not kind.paths:
        del columns["callpath"]
    if not kind.n:
        del columns["n"]
    return {name: np.array(x) for name, x in columns.items()}


def rows_of(columns, rows):
    """Keep rows, by their numbers and in that order."""
    return {name: x[rows] for name, x in columns.items()}


def on(columns, machines):
    return rows_of(columns, np.flatnonzero(np.isin(columns["machine"], list(machines))))


def shuffled(columns, seed):
    """Bring the rows into another order."""
    return rows_of(columns, np.random.default_rng(seed).permutation(len(columns["p"])))


def renamed(columns, names):
    """Give machines and parts of call paths other names."""
    return {
        column: np.array([new_name(x, names) for x in values])
        if values.dtype.kind == "U"
        else values
        for column, values in columns.items()
    }


def new_name(text, names):
    return re.sub(r"\w+", lambda x: names.get(x[0], x[0]), text)


# Other names, in another order of the alphabet, of which none is another's old one.
OTHER_NAMES = dict(
    zip(
        ("Qavo", "Zubi", "Amre", "Kelt", "wima", "tafo", "yxe", "budo"),
        ("Hirt", "Abul", "Zofi", "Bqet", "rona", "zuku", "aple", "ilmo"),
        strict=True,
    )
)
OLD_NAMES = {new: old for old, new in OTHER_NAMES.items()}


def plain(text, names=None):
    """What a text says, whatever the unit of time, the names and the order of names are."""
    text = A_TIME.sub("TIME", new_name(text, names or {}))
    return sorted(re.findall(r"[^\s,;:.()]+", text))


def facts_of(answer, *, factor=1.0, names=None):
    """Numbers and words of a forecast, by series: times over a factor, with the old names."""
    numbers, words = {}, {}
    points = np.size(answer.p)
    table = [
        np.reshape(x, (len(answer.notes), points)) / y
        for x, y in (
            *((x, factor) for x in (answer.time, answer.lower, answer.upper)),
            *((x, 1.0) for x in (answer.speedup, answer.efficiency, answer.reach)),
        )
    ]
    for i, note in enumerate(answer.notes):
        key = new_name(note.label, names or {})
        numbers[key] = np.stack([x[i] for x in table])
        donors = {
            new_name(x.machine, names or {}): (x.weight, x.time / factor) for x in note.donors
        }
        weights = [*dict(note.laws).values(), note.backtest or 0.0, note.noise or 0.0]
        numbers[f"{key} donors"] = np.array([donors[x] for x in sorted(donors)]).ravel()
        numbers[f"{key} weights"] = np.sort(weights)
        texts = (note.scaling, note.limit, note.scaling_reason, note.limited_by, note.rests_on)
        words[key] = [plain(x, names) for x in (*texts, note.elsewhere)]
        words[key] += [sorted(plain(x, names) for x in note.warnings), sorted(donors)]
    words["refused"] = {
        new_name(x, names or {}): plain(why, names) for x, why in answer.refused.items()
    }
    totals = answer.totals
    if totals is not None:
        for i, key in enumerate(totals.keys):
            name = f"total of {plain(str(key), names)}"
            times = [x[i] / factor for x in (totals.time, totals.lower, totals.upper)]
            numbers[name] = np.stack([*times, totals.speedup[i], totals.reach[i]])
            words[name] = int(totals.parts[i])
    return numbers, words


def differences(one, other, significant=SIGNIFICANT):
    """What two answers differ in, of what `facts_of` gives; nothing if they are alike."""
    numbers, words = one
    if numbers.keys() != other[0].keys():
        return [f"{sorted(numbers)} and {sorted(other[0])}"]
    found = [
        f"{key}: {x.tolist()} and {y.tolist()}"
        for key, x in numbers.items()
        for y in [other[0][key]]
        if x.shape != y.shape
        or not np.allclose(x, y, rtol=significant, atol=1e-12, equal_nan=True)
    ]
    return found + [
        f"{x}: {words[x]} and {other[1].get(x)}" for x in words if words[x] != other[1].get(x)
    ]


def measurements(columns):
    return Measurements(**columns)
