"""`parcast.fitting.guesses`: fits of laws that count, whose capacities nobody described."""

import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.fitting.guesses import with_guesses
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements, measurements_of

TRUE = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}
N = (10_000, 40_000, 160_000)
RATES = Machine(
    compute={"rate": "1 Gflop/s"}, network={"bandwidth": "1 GB/s"}, storage={"bandwidth": "1 GB/s"}
)


def phase_of(law="square_sort", **keys):
    return law_named(law)(law=law, **keys)


def runs_of(phase, **columns):
    """Times of a phase at three sizes, each on 1, 2 and 5 processors."""
    p, n = zip(*[(float(p), float(n)) for n in N for p in (1, 2, 5)], strict=True)
    at = Measurements(p=p, n=n, time=1.0).axes
    return Measurements(p=p, n=n, time=phase.times(Machine(), at).time, **columns)


@pytest.mark.parametrize("machine", [None, RATES])
def test_capacities_that_nobody_described_are_found(machine):
    found = fit(Program(phase=[phase_of()]), runs_of(phase_of(capacities=TRUE)), machine)
    for name, value in (("compute", 5e6), ("network", 6e4), ("disk", 3.5e6)):
        assert found[f"capacities.{name}"].value == pytest.approx(value, rel=1e-3)
    assert {x.described for x in found.parameters} == {""}
    assert "none (start " in str(found)
    assert any("has no effect" in x for x in found.warnings) == (machine is not None)
    assert found.warnings[0].startswith(
        "Not described, so the fit started from estimates based on the runs: capacities.compute "
        "= 5 Mflop/s, "
    )


def test_only_what_is_needed_and_not_described_is_guessed():
    own = {"compute": "1 Mflop/s"}
    law = phase_of("gauss", capacities=own)
    runs = runs_of(phase_of("gauss", capacities=TRUE))
    program, guesses = with_guesses(Program(phase=[law]), Machine(), runs, free=None)
    assert list(guesses) == ["capacities.network"]
    assert str(program.phase[0].capacities.compute) == "1 Mflop/s"
    given = Program(phase=[law])
    assert with_guesses(given, RATES, runs, free=None) == (given, {})
    named = with_guesses(given, RATES, runs, free=["capacities.network"])[1]
    assert list(named) == ["capacities.network"]
    spmd = Program(phase=[{"law": "spmd", "compute": {"parallel": "5 s"}}])
    assert with_guesses(spmd, Machine(), runs, free=None) == (spmd, {})


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"fixed": ["capacities.compute"]}, "capacities.compute must be described, as it is not"),
        ({"free": ["capacities.compute"]}, "capacities.network must be described, as it is not"),
    ],
)
def test_what_is_not_fitted_must_be_described(keys, says):
    with pytest.raises(ParameterError) as caught:
        fit(Program(phase=[phase_of()]), runs_of(phase_of(capacities=TRUE)), **keys)
    assert str(caught.value).startswith(says)


def test_speedups_do_not_tell_rates():
    runs = measurements_of(runs_of(phase_of(capacities=TRUE)).columns, Measure(quantity="speedup"))
    with pytest.raises(ParameterError, match="must be described, as it is not"):
        fit(Program(phase=[phase_of()]), runs)


def test_a_machine_that_no_time_depends_on_is_told():
    runs = Measurements(p=[1, 2, 4, 8], time=[104.0, 53.0, 28.0, 15.0])
    in_seconds = Program(phase=[{"law": "spmd", "cycles": 10, "compute": {"parallel": "10 s"}}])
    machine = Machine(name="here", compute={"rate": "1 Gflop/s"})
    said = fit(in_seconds, runs, machine=machine).warnings
    assert any(x.startswith("The machine here has no effect") for x in said)
    in_work = Program(phase=[{"law": "spmd", "compute": {"parallel": "100 Gflop"}}])
    for program, given in ((in_work, machine), (in_seconds, Machine())):
        assert not any("no effect" in x for x in fit(program, runs, machine=given).warnings)
