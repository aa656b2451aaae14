"""SPMD phases with imbalanced computing: the law, its limits, refusals and commands."""

import numpy as np
import pytest

import parcast
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import DEMANDED
from parcast.laws.spmd.law import SpmdPhase

KINDS = ("synchronous", "striped", "clustered")
MACHINE = Machine(
    name="gort",
    processors=64,
    network={"bandwidth": "100 MB/s", "contention": 0.5},
    storage={"bandwidth": "10 MB/s", "servers": 2},
)
HEAVY = {"imbalance": 1.5, "heavy": "max(1, floor(p/8))"}


def phase(kind="synchronous", *, compute=None, communication=None, io=None, **keys):
    """A program that waits for processors, network and disks alike."""
    given = {
        "law": "spmd",
        "cycles": 40,
        "bursts_per_io": 5,
        "compute": {"parallel": "8 s", "serial": "0.05 s", **HEAVY, **(compute or {})},
        "communication": {"volume": "8 MB", **(communication or {})},
        "io": {"kind": kind, "volume": "10 MB", **(io or {})},
    }
    given["compute"] = {key: x for key, x in given["compute"].items() if x is not None}
    return SpmdPhase(**given | keys)


def times(of, *p, **at):
    return of.times(MACHINE, {"p": np.array(p, float), "d": np.array(2.0), **at}).time


@pytest.mark.parametrize("kind", KINDS)
def test_an_imbalance_of_1_is_none(kind):
    balanced = phase(kind, compute={"imbalance": None, "heavy": None})
    assert (
        times(phase(kind, compute={"imbalance": 1}), 1, 4, 16).tolist()
        == times(balanced, 1, 4, 16).tolist()
    )
    assert times(phase(kind), 1).tolist() == times(balanced, 1).tolist()


def test_without_a_queue_the_heavy_processors_set_the_time():
    of = phase(communication={"volume": None, "messages": None, "startup": "0.1 s"})
    assert times(of, 16) == pytest.approx(40 * (5 * (1.5 * 0.5 + 0.05 + 0.1) + 0.5))


def test_the_parts_are_those_of_the_mean_processor():
    parts = phase(communication={"volume": None}).times(
        MACHINE, {"p": np.array(16.0), "d": np.array(2.0)}
    )
    assert parts.compute == pytest.approx(40 * 5 * 0.55)
    assert parts.synchronisation == pytest.approx(40 * 5 * 0.25)


@pytest.mark.parametrize(
    ("heavy", "group", "expected"),
    [
        (4, 4, 1.5),  # whole groups
        (1, 4, 1.5),  # one of each group of 4
        (1, 16, 1.5),  # all are one group
    ],
)
def test_a_group_waits_for_its_heavy_processors(heavy, group, expected):
    of = phase(
        compute={"heavy": heavy, "serial": None}, communication={"volume": None, "group": group}
    )
    assert times(of, 16) == pytest.approx(40 * (5 * expected * 0.5 + 0.5))


def test_a_mixed_group_is_the_largest_of_both_kinds():
    """Of one heavy and one light processor with exponential times a and b: a + b - ab/(a+b)."""
    of = phase(
        compute={"heavy": 1, "serial": None, "variability": "exponential"},
        communication={"volume": None, "group": 2},
        io={"volume": None},
        bursts_per_io=1,
        cycles=1,
    )
    a, b = 1.5 * 4, 0.5 * 4
    assert times(of, 2) == pytest.approx(a + b - 1 / (1 / a + 1 / b))


@pytest.mark.parametrize(
    ("kind", "bursts"),
    [("synchronous", "fixed"), ("striped", "geometric"), ("clustered", "fixed")],
)
def test_it_is_near_a_simulation(kind, bursts):
    given = phase(kind, bursts=bursts, bursts_per_io=20, compute={"variability": "exponential"})
    told = parcast.simulate(
        Program(phase=[given]), MACHINE, p=[4, 16], d=2, seed=2, precision=0.02
    )
    law = told.predicted
    beyond = np.maximum(np.maximum(law - told.upper, told.lower - law), 0) / told.time
    assert (beyond < 0.03).all()


def test_what_the_law_does_not_know_is_simulated():
    given = phase(communication={"group": 4}, compute={"heavy": 6, "variability": 0.2})
    told = parcast.simulate(Program(phase=[given]), MACHINE, p=16, d=2, seed=2, precision=0.05)
    burst = 1.5 * 0.5 + 0.05
    assert told.time > 40 * 5 * burst


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_add_up_to_the_time(kind):
    at = {"p": np.array([1.0, 4.0, 16.0]), "d": np.array(2.0)}
    given = phase(kind)
    slopes = given.resource_slopes(MACHINE, at)
    assert slopes.time == pytest.approx(times(given, 1, 4, 16), rel=1e-5)
    time, by = given.slopes(MACHINE, at)
    assert time == pytest.approx(times(given, 1, 4, 16))
    step = 1e-4
    more, less = (
        times(given, 1, 4, 16, **{"compute.parallel*": np.exp(s)}) for s in (step, -step)
    )
    assert by["compute.parallel"] == pytest.approx((more - less) / (2 * step), rel=1e-4)
    assert set(DEMANDED) <= set(type(given.demands(MACHINE, at)).__dataclass_fields__)


@pytest.mark.parametrize("kind", KINDS)
def test_time_rises_with_the_imbalance(kind):
    found = [
        times(phase(kind, compute={"imbalance": b}), 16)[0] for b in (1.01, 1.2, 1.5, 2, 4, 8)
    ]
    assert (np.diff(found) > 0).all()


BAD = {
    "p = 2, 2 heavy": (
        {"heavy": 2},
        (2,),
        "compute.heavy must be less than p, got 2 at p = 2. Leave that p out, or write a formula "
        'such as "min(2, p - 1)".',
    ),
    "a part of a processor": (
        {"heavy": "p/8"},
        (4,),
        "compute.heavy must be a whole number of at least 1, got 0.5. Write for example "
        '"max(1, floor(p/8))".',
    ),
    "more than all": (
        {"imbalance": 3, "heavy": 8},
        (16,),
        "compute.imbalance must be at most p/heavy = 2, which leaves the others no work, got 3 at "
        'p = 16. Write for example "min(3, p/8)".',
    ),
    "more than one can have": (
        {"imbalance": 5},
        (4,),
        "compute.imbalance must be at most p/heavy = 4, which leaves the others no work, got 5 at "
        'p = 4. Write for example "min(5, p)".',
    ),
    "less than the mean": (
        {"imbalance": 0.9},
        (16,),
        "compute.imbalance must be at least 1, got 0.9. It is the work of a heavy processor over "
        "the mean: 1.3 is 30% more.",
    ),
}


@pytest.mark.parametrize(("compute", "p", "says"), BAD.values(), ids=BAD)
def test_an_impossible_imbalance_is_refused(compute, p, says):
    with pytest.raises(ParameterError) as caught:
        times(phase(compute=compute), *p)
    assert str(caught.value) == says


def test_a_sample_of_an_uncertain_imbalance_is_possible():
    assert times(phase(), 16, **{"compute.imbalance*": 0.1}) < times(phase(), 16)
    most = times(phase(compute={"imbalance": 8}), 16)
    assert times(phase(), 16, **{"compute.imbalance": 100.0}) == pytest.approx(most)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"compute": {"imbalance": None}},
            "must have imbalance where it has heavy. Add imbalance = 1.3",
        ),
        ({"compute": {"heavy": "2 +- 1"}}, "must have no +- in heavy, which counts processors."),
        ({"reading": "published"}, 'must not have reading = "published" with compute.imbalance'),
    ],
)
def test_what_does_not_go_together_is_refused(keys, says):
    with pytest.raises(ParameterError) as caught:
        phase(**keys)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"kind": "striped", "communication": {"variability": "none"}},
            'communication.variability must be "exponential" for striped I/O with '
            "compute.imbalance, got none. Anything else is simulated only: ",
        ),
        (
            {"bursts": "geometric", "compute": {"variability": 0.5}},
            'compute.variability must be "exponential", got 0.5. With compute.imbalance anything '
            "else is simulated only: ",
        ),
        (
            {"communication": {"variability": 5}},
            "communication.variability must be at most 3, got 5.0. With compute.imbalance",
        ),
        (
            {"communication": {"group": 4}, "compute": {"heavy": 6}},
            "compute.heavy must be a multiple of communication.group, or less than it, got 6. "
            "Groups that differ in three ways are simulated only: ",
        ),
        (
            {
                "communication": {"group": 4},
                "compute": {"heavy": 1, "variability": "uniform"},
            },
            'compute.variability must not be "uniform" where a group of communication.group has',
        ),
    ],
)
def test_what_is_not_known_is_simulated_only(keys, says):
    with pytest.raises(ParameterError) as caught:
        times(phase(**keys), 16)
    assert str(caught.value).startswith(says)


def test_an_approximation_is_said():
    told = parcast.predict(Program(phase=[phase()]), MACHINE, p=16)
    assert any(text.startswith("Imbalanced processors that queue") for text in told.warnings)
    told = parcast.predict(Program(phase=[phase("striped")]), MACHINE, p=16)
    assert not any(text.startswith("Imbalanced") for text in told.warnings)
