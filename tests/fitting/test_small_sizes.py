"""What weighs on small sizes, and startups of files: one law for `fit` and for `validate`."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import ParameterError
from parcast.fitting.capacities import capacities
from parcast.fitting.fit import fit
from parcast.kernels.registry import COUNTED
from parcast.kernels.trials.calibration import forms_of
from parcast.kernels.trials.counting import counted_program
from parcast.timings.measurements import Measurements

LAW = {"law": "sort", "merge": "tree", "beta": "8 B * (p - 1) / p"}
TRUE = {
    **{"compute": "300 Mflop/s", "network": "40 MB/s", "latency": "1 ms", "disk": "200 MB/s"},
    **{"half_size": "20000", "half_share": "5000", "half_rows": "300", "disk_startup": "3 ms"},
}
SYMBOLS = {  # of `validate`: the cost of each
    "W": 1 / 300e6,
    "n_half": 20000 / 300e6,
    "m_half": 5000 / 300e6,
    "m_2": 300**2 / 300e6,
    **{"u": 1 / 40e6, "t0": 1e-3, "B": 1 / 200e6, "S0": 3e-3},
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_description_and_validate_have_the_same_law(name):
    program = counted_program(name)
    sizes, counts = np.array([200, 400, 800]), (1, 2, 4)
    form = forms_of(program, counts, sizes.tolist(), cores=4)[0]
    p, n = (x.ravel() for x in np.meshgrid(np.array(counts, dtype=float), sizes))
    costs = np.array([SYMBOLS[x.symbol] for x in form.columns])
    keys = program.phase.model_dump(exclude_none=True)
    used = {x.symbol for x in form.columns}
    small = {"n_half": "half_size", "m_half": "half_share", "m_2": "half_rows"}
    keys["capacities"] = {key: text for key, text in TRUE.items() if key not in small.values()} | {
        key: TRUE[key] for symbol, key in small.items() if symbol in used
    }
    phase = type(program.phase)(**keys)
    times = phase.times(Machine(), {"p": p, "n": n, "d": 1.0})
    assert form.terms(n, p).time @ costs == pytest.approx(times.time, rel=1e-12)


def runs_of(*parts, noise=0.01, seed=2, **own):
    grid = np.array([(a, b) for a in (1, 2, 4) for b in (2e4, 1e5, 2e6) for _ in range(3)]).T
    phase = law_named("sort")(**LAW, capacities=own)
    times = phase.times(Machine(), {"p": grid[0], "n": grid[1], "d": 1.0})
    random = np.random.default_rng(seed)
    of_law = {"compute_s": times.compute, "communication_s": times.communication}
    seconds = {
        name: np.broadcast_to(x, grid[0].shape) * np.exp(random.normal(0, noise, len(grid[0])))
        for name, x in (of_law | {"disk_s": times.io}).items()
    }
    own = {name: seconds[name] for name in parts}
    return Measurements(p=grid[0], n=grid[1], time=sum(seconds.values()), **own)


KEYS = ("compute", "network", "disk", "half_size", "disk_startup")
NAMES = [f"capacities.{key}" for key in KEYS]


def test_a_fit_finds_half_sizes_and_startups_that_are_named():
    true = {key: TRUE[key] for key in KEYS}
    found = fit(Program(phase=[LAW]), runs_of("compute_s", "disk_s", **true), free=NAMES)
    values = (300e6, 40e6, 200e6, 20_000, 3e-3)
    for name, value in zip(NAMES, values, strict=True):
        assert found[name].value == pytest.approx(value, rel=0.03)
        assert found[name].is_determined
    assert found.rms < 0.02


def test_described_half_sizes_are_fitted_and_kept_by_capacities():
    true = {key: TRUE[key] for key in KEYS}
    runs = runs_of("compute_s", "disk_s", noise=0.0, **true)
    kept = {"half_size": TRUE["half_size"], "disk_startup": TRUE["disk_startup"]}
    found = capacities(law_named("sort")(**LAW, capacities=kept), runs, samples=20)
    assert found.compute.value == pytest.approx(300e6)
    assert found.disk.value == pytest.approx(200e6)
    assert [u.value for u in found.network_by_p] == pytest.approx([40e6, 40e6])


def test_a_startup_longer_than_a_run_is_refused():
    phase = law_named("sort")(**LAW, capacities={"disk_startup": "1 min"})
    with pytest.raises(ParameterError) as caught:
        capacities(phase, Measurements(p=[1, 2], n=1000, time=[2.0, 1.0]))
    assert str(caught.value) == (
        "capacities.disk_startup must be below the time of a run, got 60. Check its unit, or "
        "leave it out."
    )


def test_terms_that_the_law_leaves_out_are_named_with_a_first_guess():
    runs = runs_of("compute_s", "disk_s", **{key: TRUE[key] for key in KEYS})
    said = [x for x in fit(Program(phase=[LAW]), runs, starts=2).warnings if "grows with n" in x]
    assert len(said) == 2
    disk, compute = sorted(said, key=lambda x: x.startswith("compute_s"))
    assert disk.startswith("disk_s grows with n otherwise than the law, by up to ")
    assert 'Write disk_startup = "' in disk
    assert 'Write half_size = "' in compute
    again = fit(Program(phase=[LAW | {"capacities": {"disk_startup": "1 ms"}}]), runs, starts=2)
    assert not any(x.startswith("disk_s grows") for x in again.warnings)


def test_no_term_is_named_where_none_is_missing():
    rates = {key: TRUE[key] for key in ("compute", "network", "disk")}
    said = [
        text
        for seed in range(30)
        for text in fit(
            Program(phase=[LAW]),
            runs_of("compute_s", "disk_s", noise=0.03, seed=seed, **rates),
            starts=1,
            interval=False,
        ).warnings
        if "grows with n" in text
    ]
    assert len(said) <= 3


def test_columns_that_would_determine_a_capacity_are_advised():
    runs = Measurements(p=[1, 2, 4], n=1e5, time=[2.0, 1.2, 0.9])
    found = fit(Program(phase=[LAW]), runs, starts=2)
    assert not found["capacities.disk"].is_determined
    assert found.advice[0].startswith("The column")
    assert "disk_s" in found.advice[0]
