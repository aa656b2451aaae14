"""Calibration on the measured times of the source, on made-up runs, and what it refuses."""

import numpy as np
import pytest

import parcast
from parcast.errors import FitFailed, ParameterError
from parcast.pipeline.law.constants import calibrate, run_terms
from tests.conftest import ROOT
from tests.pipeline.published.case import ROWS, TASK, P

TIMES = ROOT / "examples" / "pipeline" / "times.csv"
MEASURED = {"p": ROWS["p"], "n": ROWS["n"], "time_s": ROWS["measured"]}
PIPELINES = ROWS["p"] / P


def select(rows, **changes):
    """Some of the measured runs, calibrated."""
    table = {name: column[rows] for name, column in MEASURED.items()}
    return calibrate(table, pipelines=PIPELINES[rows], **changes)


# KU-3


def test_the_measured_times_follow_the_law_within_two_percent():
    found = calibrate(parcast.read_measurements(TIMES), pipelines=PIPELINES)
    assert f"{found.startup.value:.2f}" == "3.17"
    assert f"{found.step.value:.5f}" == "0.15786"
    assert found.largest_error <= 0.017
    assert (found.outliers, found.warnings) == ((), ())
    assert found.startup.lower < 3.17 < found.startup.upper


def test_runs_of_few_steps_predict_those_of_many_within_one_percent():
    small = ROWS["k"] <= 254
    assert np.sum(small) == 6
    found = select(small)
    time = found.time(ROWS["n"][~small], ROWS["p"][~small], pipelines=PIPELINES[~small])
    assert np.abs(time / ROWS["measured"][~small] - 1).max() <= 0.01


# Recovery

N = np.array([500, 1000, 2000, 4000, 8000, 3000, 6000, 1500.0])
PROCESSORS = np.array([4, 8, 16, 8, 4, 16, 8, 4.0])
CONSTANTS = np.array([2.0, 0.05, 0.3])


@pytest.mark.parametrize("schedule", ["source", "adaptive"])
@pytest.mark.parametrize("drain", [False, True])
def test_exact_times_give_back_their_constants(schedule, drain):
    constants = CONSTANTS[: 2 + drain]
    time = run_terms(N, PROCESSORS, schedule=schedule, drain=drain) @ constants
    runs = {"p": PROCESSORS, "n": N, "time": time}
    found = calibrate(runs, schedule=schedule, drain=drain)
    values = [found.startup.value, found.step.value]
    values += [found.level.value] if drain else []
    assert values == pytest.approx(constants, rel=1e-8)
    assert found.time(10_000, 16) == pytest.approx(
        run_terms(10_000, 16, schedule=schedule, drain=drain) @ constants
    )


def test_intervals_contain_the_true_constants_at_their_rate():
    random = np.random.default_rng(5)
    terms = run_terms(N, PROCESSORS)
    hits, beyond = [], []
    for _ in range(300):
        exact = terms @ CONSTANTS[:2]
        time = exact * (1 + 0.02 * random.standard_normal(len(exact)))
        found = calibrate({"p": PROCESSORS, "n": N, "time": time})
        constants = (found.startup, found.step)
        hits += [x.lower <= y <= x.upper for x, y in zip(constants, CONSTANTS, strict=False)]
        lower, upper = found.interval(10_000, 16)
        new = run_terms(10_000, 16) @ CONSTANTS[:2] * (1 + 0.02 * random.standard_normal())
        beyond.append(bool(lower <= new <= upper))
    assert 0.84 <= np.mean(hits) <= 0.95
    assert 0.84 <= np.mean(beyond) <= 0.95


@pytest.mark.parametrize("row", range(12))
@pytest.mark.parametrize("factor", [0.5, 1.5, 3.0])
def test_a_disturbed_run_is_left_out_and_named(row, factor):
    time = ROWS["measured"].copy()
    time[row] *= factor
    found = calibrate(MEASURED | {"time_s": time}, pipelines=PIPELINES)
    assert found.outliers == (row,)
    where = f"p = {ROWS['p'][row]:g}, n = {ROWS['n'][row]:g}"
    assert found.warnings[0] == (
        f"The run at {where} is far from the others and was left out. Repeat it."
    )
    assert found.step.value == pytest.approx(0.15786, rel=0.005)
    assert found.startup.value == pytest.approx(3.17, rel=0.05)
    assert found.largest_error <= 0.018


def test_a_constant_that_depends_on_one_run_is_named():
    p, n = np.full(5, 4.0), np.array([1000.0, 1001, 1002, 1003, 8000])
    time = run_terms(n, p) @ CONSTANTS[:2] * [1.01, 0.99, 1.01, 0.99, 1.0]
    found = calibrate({"p": p, "n": n, "time": time})
    assert "T_0 depends strongly on the run at p = 4, n = 8000." in found.warnings


# Program files


@pytest.mark.parametrize("task", [None, TASK])
def test_its_keys_make_a_phase_with_the_same_times(task):
    found = calibrate(MEASURED, pipelines=PIPELINES)
    phase = {**found.keys(task), "items": "n", "pipelines": "p / 16"}
    program = parcast.Program(phase=[phase])
    time = program.times(parcast.Machine(), {"p": ROWS["p"], "n": ROWS["n"]}).time
    assert time == pytest.approx(found.time(ROWS["n"], ROWS["p"], pipelines=PIPELINES))


# Refusals


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (
            {"p": [16, 32], "n": [4096, 8192], "time": [83, 84]},
            {},
            "No calibration. 2 constants require at least 3 runs, got 2. Measure more runs.",
        ),
        (
            {"p": [16, 16, 16], "n": 4096, "time": [83, 84, 85]},
            {},
            "No calibration. All runs have the same number of steps. Measure runs with other n "
            "or p.",
        ),
        (
            {"p": 16, "n": [4096, 8192, 16384, 100], "time": [83, 165, 326, 5]},
            {"drain": True},
            "No calibration. The runs do not distinguish the levels of the tree from the start "
            "or the steps. Measure runs with another number of processors in a pipeline, or "
            "leave drain out.",
        ),
    ],
)
def test_runs_that_do_not_determine_it_are_refused(table, options, says, refusal):
    assert refusal(FitFailed, calibrate, table, **options) == says


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: calibrate({"p": [16, 32], "time": [83, 84]}),
            "points must have a column n. It holds the items.",
        ),
        (
            lambda: calibrate(MEASURED, schedule="static"),
            'schedule must be "source" or "adaptive", got \'static\'. Choose one.',
        ),
    ],
)
def test_a_bad_argument_is_named_with_a_remedy(call, says, refusal):
    assert refusal(ParameterError, call) == says


def test_shared_cores_lengthen_the_steps_of_the_published_schedule():
    """P*G/2 items in a step and P*G in the first, on fewer cores."""
    k = (256 / 2 - 8) / 4
    terms = run_terms([256, 256], 16, 2, cores=[16, 4])
    assert terms.tolist() == [[1.0, k], [1.0, 2 * k + 3.0]]
    runs = {"p": [4, 4, 16, 16], "n": [32, 64, 32, 64]}
    time = 0.5 + 0.1 * run_terms(runs["n"], runs["p"], cores=2)[:, 1]
    found = calibrate({**runs, "time_s": time}, cores=2)
    assert found.startup.value == pytest.approx(0.5)
    assert found.step.value == pytest.approx(0.1)
    assert float(found.time(128, 8)) == pytest.approx(0.5 + 0.1 * run_terms(128, 8, cores=2)[1])
    assert found.keys()["cores"] == 2
