"""More time or more budget never makes what `match` chooses worse."""

from itertools import pairwise

import numpy as np
import pytest

from parcast.deciding.machines.match import match
from parcast.errors import FitFailed
from parcast.timings.measurements import Measurements

PRICES = {"A": 1.0, "B": 2.0, "C": 0.5}


def runs_at_random(draw):
    """Two or three machines with some counts each, and 5% of scatter."""
    rows = []
    for name in "ABC"[: draw.integers(2, 4)]:
        counts = 2 ** np.sort(draw.choice(7, draw.integers(2, 6), replace=False))
        serial, grown, work = draw.uniform(0, 0.1), draw.uniform(0, 0.01), draw.uniform(20, 200)
        rows += [
            (name, p, work * (serial + 1 / p + grown * p) * draw.lognormal(0, 0.05))
            for p in counts.tolist()
        ]
    machine, p, time = zip(*rows, strict=True)
    return Measurements(machine=list(machine), p=list(p), time=list(time))


def chosen(runs, goal, **limits):
    """Each machine's chosen row that fits, by its name."""
    prices = {name: PRICES[name] for name in dict.fromkeys(runs.labels["machine"].tolist())}
    try:
        found = match(runs, goal=goal, prices=prices, **limits)
    except FitFailed:
        return {}
    return {row["machine"]: row for row in found.rows() if row["chosen"] and row["fits"]}


VALUES = {
    "time": lambda row: row["time_s"],
    "cost": lambda row: row["cost"],
    "efficiency": lambda row: -row["efficiency"],
}


@pytest.mark.parametrize(
    ("goal", "limit"), [("time", "budget"), ("cost", "within"), ("efficiency", "budget")]
)
def test_a_wider_limit_never_makes_the_choice_worse(goal, limit):
    draw = np.random.default_rng(3)
    fitted = 0
    for _ in range(2):
        runs = runs_at_random(draw)
        middle = {"within": float(np.median(runs.time)), "budget": 0.03}[limit]
        answers = [chosen(runs, goal, **{limit: middle * x}) for x in (0.5, 1.5, 20.0)]
        for fewer, more in pairwise(answers):
            assert fewer.keys() <= more.keys()
            fitted += len(fewer)
            for name, row in fewer.items():
                value = VALUES[goal](row)
                assert VALUES[goal](more[name]) <= value + 1e-9 * abs(value)
    assert fitted > 2
