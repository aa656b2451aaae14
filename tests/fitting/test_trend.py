"""`fitting.trend`: a trend of residuals with p is found where there is one, and rarely else."""

import re

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.fitting.capacities import capacities
from parcast.fitting.fit import fit
from parcast.fitting.trend import CHANCE, trend_with_p
from parcast.show.warning import Rank
from parcast.timings.measurements import Measurements

TABLES = 1000
SIZE = np.log(1.2)  # of the smallest trend that is promised to be found
SHAPES = {
    "a power of p": lambda p: np.log(p) / np.log(p.max()),
    "from half of the counts on": lambda p: (p > np.median(p)).astype(float),
}


def share_found(counts, runs, *, size, noise=0.03, shape="a power of p", seed=0):
    """Share of tables in which a trend is found, where a constant was fitted."""
    random = np.random.default_rng(seed)
    p = np.repeat(np.array(counts, dtype=float), runs)
    one = np.ones((len(p), 1))
    found = []
    for _ in range(TABLES):
        left = size * SHAPES[shape](p) + random.normal(0, noise, len(p))
        found.append(trend_with_p(p, left.mean() - left, one) is not None)
    return np.mean(found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("counts", [(1, 2, 4), (1, 4), (4, 8, 16, 32, 64)])
def test_a_trend_of_20_percent_is_found_in_95_of_100_tables(counts, shape):
    assert share_found(counts, 3, size=SIZE, shape=shape) >= 0.95


@pytest.mark.parametrize("noise", [0.01, 0.1])
@pytest.mark.parametrize(("counts", "runs"), [((1, 2, 4), 3), ((1, 2, 4, 8), 2), ((1, 8), 6)])
def test_no_trend_is_seen_where_there_is_none(counts, runs, noise):
    few = 2 * np.sqrt(CHANCE / TABLES)  # by chance of so few tables
    assert share_found(counts, runs, size=0.0, noise=noise) <= CHANCE + few


def test_a_scatter_of_repetitions_that_is_known_is_no_trend():
    p = np.array([1.0, 2, 4])
    left = np.array([0.1, 0.0, -0.1])
    assert trend_with_p(p, -left, np.ones((3, 1))) is not None
    assert trend_with_p(p, -left, np.ones((3, 1)), repetitions=0.1) is None


def test_what_parameters_explain_is_no_trend():
    p = np.array([1.0, 2, 4, 8, 1, 2, 4, 8])
    left = 0.3 * np.log(p)
    both = np.stack([np.ones(len(p)), np.log(p)], axis=1)
    assert trend_with_p(p, -left, both) is None
    found = trend_with_p(p, left.mean() - left, both[:, :1])
    assert found.size == pytest.approx(8**0.3 - 1)
    assert found.ratio == pytest.approx(np.exp(0.3 * np.log(found.p) - left.mean()))


# in results

OWN = {"compute": "5 Mflop/s", "network": "600 kB/s", "disk": "3.5 MB/s"}


def runs_of(disk, p, *, seed=0, noise=0.02):
    """Runs of a sort whose disk has a rate for each p, with what the disk took."""
    p = np.repeat(np.array(p, dtype=float), 4)
    n = np.tile([2e4, 2e4, 4e4, 4e4], len(p) // 4)
    phase = law_named("square_sort")(law="square_sort", capacities=OWN | {"disk": disk})
    parts = phase.times(Machine(), {"p": p, "n": n, "d": 1.0})
    random = np.random.default_rng(seed)
    seconds = np.broadcast_to(parts.io, p.shape) * np.exp(random.normal(0, noise, len(p)))
    rest = (parts.time - parts.io) * np.exp(random.normal(0, noise, len(p)))
    return Measurements(p=p, n=n, time=rest + seconds, disk_s=seconds)


def law():
    return law_named("square_sort")(law="square_sort")


TABLE = "3.56 MB/s if p < 2 else 2.56 MB/s if p < 4 else 1.28 MB/s"


@pytest.mark.parametrize("method", ["source", "fit"])
def test_capacities_say_first_that_the_disk_has_another_rate_at_each_p(method):
    found = capacities(law(), runs_of(TABLE, [1, 2, 4]), method=method, samples=20)
    said = found.warnings[0]
    assert said.startswith("capacities.disk depends on p, by up to 1")
    rates = [float(x) for x in re.findall(r"([0-9.]+) MB/s [(][^)]*[)] at p", said)]
    assert rates == pytest.approx([3.56, 2.56, 1.28], rel=0.05)
    assert said.rank == Rank.SERIOUS
    assert 1.5 < said.size < 2.1  # 3.56 / 1.28 - 1


@pytest.mark.parametrize("method", ["source", "fit"])
def test_capacities_write_a_rate_for_each_p(method):
    found = capacities(law(), runs_of(TABLE, [1, 2, 4]), method=method, samples=20, by_p=True)
    at = {"p": np.array([1.0, 2, 4])}
    assert found.phase.capacities.disk(at) == pytest.approx([3.56e6, 2.56e6, 1.28e6], rel=0.05)
    assert f'disk = "{found.phase.capacities.disk}"' in found.toml
    assert "capacities.disk by p: 3.5" in str(found)


def test_a_fit_says_it_first_and_does_not_settle_for_one_value():
    program = Program(phase=[law_named("square_sort")(law="square_sort", capacities=OWN)])
    found = fit(program, runs_of(TABLE, [1, 2, 4]), starts=2)
    assert found.warnings[0].startswith("capacities.disk depends on p, by up to")
    assert " MB/s), was fitted for all, and its interval does not cover this." in found.warnings[0]
    assert not found.is_settled
    [rate] = found.by_p
    assert rate.value == pytest.approx([3.56e6, 2.56e6, 1.28e6], rel=0.05)
    assert np.all((rate.lower < rate.value) & (rate.value < rate.upper))


def test_a_fit_says_how_its_runs_depend_on_p_otherwise():
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "9 s"}}])
    p = np.repeat([1.0, 2, 4, 8], 2)
    random = np.random.default_rng(1)
    time = 10 / p * 1.2 ** (np.log(p) / np.log(8)) * np.exp(random.normal(0, 0.01, len(p)))
    found = fit(program, {"p": p, "time": time}, interval=False)
    assert found.warnings[0].startswith(
        "The runs depend on p otherwise than the fitted law, by up to "
    )
    assert " at p = 8. The intervals do not cover this." in found.warnings[0]
    both = {"parallel": "9 s", "serial": "1 s"}
    time = 10 / p + 1.0
    exact = fit(Program(phase=[{"law": "spmd", "compute": both}]), {"p": p, "time": time})
    assert not any("depend on p" in text for text in exact.warnings)
