"""The pipeline as a phase: published values, limits, its parts, warnings, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast import Machine, Program
from parcast.descriptions.description import DescriptionError
from parcast.errors import ParameterError
from parcast.pipeline.law.adaptive import adaptive_time
from parcast.pipeline.law.formulas import pipeline_time, sequential_time
from parcast.pipeline.law.phase import PipelinePhase
from tests.conftest import ROOT
from tests.pipeline.published.case import ROWS

EXAMPLES = ROOT / "examples" / "pipeline"
FORMS = ("adaptive", "overlapped", "serial")
FAST = Machine(network={"bandwidth": "1.28 Gbit/s"})
AT = {"p": ROWS["p"], "n": ROWS["n"]}
times = st.floats(1e-3, 1e3)


def phase(**keys):
    return PipelinePhase(law="pipeline", **{"items": 4096, "task": "0.15 s"} | keys)


def time(p, machine=FAST, n=None, **keys):
    at = {"p": p} if n is None else {"p": p, "n": n}
    return phase(**keys).times(machine, at).time


# Published values


def test_the_example_gives_the_totals_of_the_stated_formula():
    program = parcast.read_program(EXAMPLES / "published.toml")
    machine = parcast.read_machine(EXAMPLES / "machine.toml")
    found = dict(zip(ROWS["k"], program.times(machine, AT).time, strict=True))
    assert [f"{found[k]:.4f}" for k in (62, 510, 2046)] == ["9.4593", "76.7268", "307.3582"]
    full = program.phase[0].model_copy(update={"drain": True})
    full = PipelinePhase(**{**full.model_dump(exclude_none=True), "merge": "0.15 s"})
    found = dict(zip(ROWS["k"], full.times(machine, AT).time, strict=True))
    assert [f"{found[k]:.4f}" for k in (62, 510, 2046)] == ["10.0599", "77.3274", "307.9588"]


def test_a_fit_finds_what_the_calibration_finds():
    program = parcast.read_program(EXAMPLES / "calibrated.toml")
    runs = parcast.read_measurements(EXAMPLES / "times.csv")
    found = {x.name: x.value for x in parcast.fit(program, runs, fixed=["task"]).parameters}
    # Least squares of logarithms, of which 0.15 s are the first task.
    assert found["startup"] + 0.15 == pytest.approx(3.17, rel=0.01)
    assert found["communication"] + 0.15 == pytest.approx(0.15786, rel=0.001)


# Forms


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("extra", [{}, {"prefetch": True}, {"pipelines": "p / 4"}])
def test_one_processor_takes_the_sequential_time(form, extra):
    keys = {"merge": "0.1 s", "fetch": "0.02 s", "message": "1 MB", "overhead": "1 ms"}
    found = phase(form=form, startup="2 s", **keys, **extra).times(FAST, {"p": 1})
    assert found.time == pytest.approx(
        2 + float(sequential_time(4096, task=0.15, merge=0.1, fetch=0.02))
    )
    assert found.communication == 0


parts = st.fixed_dictionaries({"task": times, "merge": times, "communication": times})


@given(n=st.integers(1, 10**6), level=st.integers(1, 8), keys=parts, g=st.sampled_from([1, 3]))
def test_the_published_forms_are_their_formulas(n, level, keys, g):
    p = 2**level
    texts = {key: f"{x!r} s" for key, x in keys.items()}
    for form in ("serial", "overlapped"):
        found = phase(form=form, items=n, pipelines=g, **texts).times(FAST, {"p": p * g})
        expected = pipeline_time(n, p, pipelines=g, overlapped=form == "overlapped", **keys)
        assert found.time == pytest.approx(float(expected), rel=1e-9)
        assert all(part >= 0 for _, part in found.components())


def test_the_default_form_is_the_law_of_the_default_schedule():
    keys = {"merge": 0.02, "communication": 0.01, "overhead": 0.001, "batch": 4, "fan_in": 4}
    texts = {key: f"{x} s" if isinstance(x, float) else x for key, x in keys.items()}
    p = np.array([2, 3, 100])
    assert time(p, **texts) == pytest.approx(adaptive_time(4096, p, task=0.15, **keys).time)


def test_work_is_shared_by_all_but_in_the_published_schedule_by_half():
    p = np.array([16, 64])
    shared = 4096 * 0.15 / p
    assert time(p) == pytest.approx(shared)
    assert time(p, form="overlapped") == pytest.approx(2 * shared, rel=0.04)


def test_oversubscribed_processors_hide_the_waste_of_the_published_schedule():
    own, shared = (time(16, form="overlapped", merge="1 ms", **x) for x in ({}, {"cores": 2}))
    assert own == pytest.approx(4096 * 0.15 / 8, rel=0.01)
    assert shared == pytest.approx(4096 * 0.151 / 2, rel=0.01)
    assert time(16, merge="1 ms", cores=2) == pytest.approx(4096 * 0.151 / 2, rel=0.01)


def test_every_term_of_the_published_forms_counts():
    keys = {"form": "overlapped", "items": 12, "task": "1 s"}
    # 4 processors: k = 4. Two cores for 4 tasks at first, then for 2 tasks and 2 merges a step.
    assert time(4, merge="0.5 s", cores=2, drain=False, **keys) == pytest.approx(2 + 4 * 1.5)
    # 4 items are fetched for the first tasks, and 2 during each step.
    assert time(4, fetch="0.1 s", prefetch=True, **keys) == pytest.approx(0.4 + 1 + 4)
    assert time(4, fetch="0.6 s", prefetch=True, **keys) == pytest.approx(2.4 + 1 + 4 * 1.2)


@pytest.mark.parametrize("g", [1, 2])
def test_computing_is_the_mean_over_the_processors(g):
    keys = {"form": "serial", "items": 12 * g, "task": "1 s", "merge": "0.5 s", "pipelines": g}
    found = phase(**keys, communication="0.25 s").times(FAST, {"p": 4 * g})
    parts = [float(x) for _, x in found.components()]
    compute, sent = (12 + 11 * 0.5) / 4, (4 + 2) * 0.25
    assert parts == pytest.approx([compute, sent, 0.0, 1 + 4 + 2 * 0.5 - compute])


def test_items_are_dealt_to_published_pipelines_in_whole_cycles():
    keys = {"items": 100, "task": "1 s", "pipelines": 4}
    # 48, 20, 16 and 16 items of 16 processors each; (6) has 25 each.
    assert time(64, form="overlapped", **keys) == pytest.approx(1 + (48 - 16) / 8)
    assert time(64, form="serial", **keys) == pytest.approx(1 + (25 - 16) / 8)


# Messages


def test_pipelines_that_share_a_channel_wait_longer():
    keys = {"form": "serial", "message": "200 kB", "pipelines": 4, "delay": "mm1"}
    own, shared = (time(64, channel=x, **keys) for x in ("own", "shared"))
    k = (1024 - 16) / 8 + 4
    service = 2e5 / 1.6e8
    for g, found in ((1, own), (4, shared)):
        used = g * 16 / 0.15 * service
        expected = (k - 3) * 0.15 + k * service / (1 - used)
        assert found == pytest.approx(expected, rel=1e-9)


def test_steps_send_half_as_many_messages_as_the_example_assumes():
    keys = {"message": "23720 B", "delay": "mm1", "task": "1 us"}
    with pytest.raises(ParameterError, match="channel utilisation"):
        time(16, form="serial", **keys)
    keys["task"] = "2 ms"
    found = time(2, form="overlapped", interarrival="2 ms", **keys)
    assert time(2, form="overlapped", **keys) == pytest.approx(float(found))


@pytest.mark.parametrize(("channel", "channels"), [("own", 2), ("shared", 1)])
def test_messages_of_the_default_schedule_arrive_during_the_run(channel, channels):
    keys = {"items": 1000, "pipelines": 2, "channel": channel, "message": "1 MB", "delay": "mm1"}
    apart = 1000 * 0.15 / 8 / (1000 * 7 / 8 / channels)
    found = float(time(8, **keys))
    assert time(8, interarrival=f"{apart!r} s", **keys) == pytest.approx(found, rel=1e-12)
    assert time(8, interarrival="1 h", **keys) < found


def test_the_default_form_is_limited_by_a_slow_channel_and_not_refused():
    p = np.array([16, 64])
    found = phase(message="20 MB").times(FAST, {"p": p})
    assert found.time == pytest.approx(4095 * (1 - 1 / p) * 20e6 / 1.6e8, rel=0.02)
    assert np.all(found.communication > 0.8 * found.time)


def test_a_measured_time_of_messages_needs_no_bandwidth():
    slow = Machine()
    keys = {"message": "1 MB", "communication": "2 ms"}
    for form in FORMS:
        assert time(16, slow, form=form, **keys) > 0
    with pytest.raises(ParameterError, match=r"network\.bandwidth must be given"):
        time(16, slow, message="1 MB")


# As a part of parcast


@pytest.mark.parametrize("form", FORMS)
def test_the_parts_add_up_along_a_grid(form):
    program = Program(phase=[phase(form=form, items="n", message="n * 10 B", startup="3 s")])
    at = {"p": np.array([[1.0], [2], [16]]), "n": np.array([100.0, 5000, 20000])}
    whole = program.times(FAST, at)
    assert whole.time.shape == (3, 3)
    for i, p in enumerate((1, 2, 16)):
        for j, n in enumerate((100, 5000, 20000)):
            alone = program.times(FAST, {"p": p, "n": n})
            assert whole.time[i, j] == float(alone.time)
    assert np.all(whole.synchronisation >= 3.0 - 1e-9)


def test_a_prediction_has_speedup_interval_and_varied_parameters():
    program = Program(phase=[phase(task="0.15 s +- 10%", message="23720 B")])
    found = parcast.predict(program, FAST, p=[1, 16], vary={"batch": [1, 16]})
    assert found.speedup[:, 0] == pytest.approx([1, 16], rel=0.01)
    assert np.all(found.lower < found.time)
    assert np.all(found.time < found.upper)


def test_items_that_grow_with_p_make_scaling_weak():
    program = Program(phase=[phase(items="1000 * p")])
    found = parcast.predict(program, FAST, p=[1, 16])
    assert found.scaling == "weak"
    assert found.efficiency == pytest.approx([1, 1], rel=0.01)


def test_a_fit_recovers_the_constants_of_the_default_schedule():
    p = np.array([1, 2, 4, 8, 16, 32, 64, 64, 64])
    n = np.array([100, 200, 400, 800, 1600, 3200, 6400, 640, 64.0])
    known = {"items": "n", "task": "30 ms", "merge": "8 ms", "startup": "1.5 s"}
    run = parcast.Measurements(p=p, n=n, time=time(p, n=n, **known))
    guess = phase(items="n", task="50 ms", merge="5 ms", startup="1 s")
    found = {x.name: x.value for x in parcast.fit(Program(phase=[guess]), run).parameters}
    assert found == pytest.approx({"task": 0.03, "merge": 0.008, "startup": 1.5}, rel=0.01)


def test_runs_that_leave_its_constants_open_are_reported():
    program = parcast.read_program(EXAMPLES / "calibrated.toml")
    found = parcast.fit(program, parcast.read_measurements(EXAMPLES / "times.csv"))
    assert found.undetermined == (
        "only a combination of task, communication and startup is determined, not each of them.",
    )


# Warnings


def warnings(p, machine=FAST, **keys):
    return parcast.predict(Program(phase=[phase(**keys)]), machine, p=p).warnings


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"form": "serial"}, "adds the communication of each step"),
        ({"form": "overlapped"}, "half of the processors merge"),
        ({"form": "serial", "message": "1 kB"}, "the source calls it M/G/1"),
        ({"message": "1 kB", "delay": "md1"}, "the source calls it M/G/1"),
        ({"pipelines": "2", "channel": "shared", "message": "1 kB"}, "share one channel"),
        ({"form": "serial", "merge": "1 s"}, "takes longer than a task"),
        ({"items": 100, "batch": 10}, "some processors have no work (at p = 16)"),
        ({"cores": 4}, "p = 16 exceeds the 4 cores"),
        ({"items": 70}, "Fewer than 5 batches for each processor (4.4 at p = 16)"),
        ({"form": "overlapped", "items": 60}, "Fewer than 30 steps of each pipeline (5.5 at"),
        (
            {"form": "serial", "pipelines": "p / 2", "items": 20},
            "One pipeline gets 3 of the items, not N/G = 2.5",
        ),
    ],
)
def test_what_a_reader_must_know_is_said(keys, says):
    assert sum(says in text for text in warnings([2, 16], **keys)) == 1


def test_what_holds_at_some_points_is_not_said_elsewhere():
    assert warnings([2, 4], cores=4) == ()
    assert warnings([2], items=100, batch=10) == ()


# Refusals


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"task": "0 s"}, 'task must be above 0, got 0. Write for example "150 ms".'),
        ({"items": "0"}, "items must be at least 1, got 0. Use a whole number."),
        ({"fan_in": 1}, "fan_in must be at least 2, got 1. 2 is usual."),
        (
            {"pipelines": "3", "form": "serial"},
            "p must be a multiple of pipelines, got 16. Choose such a p, or let pipelines follow "
            'it, such as "p / 16".',
        ),
        (
            {"pipelines": "17"},
            "p must be at least pipelines, got 16. Choose such a p, or let pipelines follow it, "
            'such as "p / 16".',
        ),
        (
            {"pipelines": "p / 10"},
            'p must give a whole number of pipelines = "p / 10", got 16. Choose another p.',
        ),
        ({"pipelines": "1.5"}, "pipelines must be a whole number, got 1.5. Use for example 4."),
        (
            {"form": "serial", "fan_in": 3},
            "processors of a pipeline must be a power of 3 in the published schedule, got 16. "
            'Use such a number, or form = "adaptive", which takes any.',
        ),
    ],
)
def test_a_value_out_of_its_domain_is_named_with_a_remedy(keys, says, refusal):
    assert refusal(ParameterError, time, 16, **keys) == says


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"delay": "mg1"},
            'must give cv2 if delay = "mg1". Add the variance of the lengths over their mean '
            "squared; 0 is md1, 1 mm1.",
        ),
        ({"cv2": 2}, 'must give cv2 only if delay = "mg1". Add delay = "mg1", or leave cv2 out.'),
        (
            {"task_cv": 0.5, "form": "serial"},
            'must give task_cv only if form = "adaptive". Leave task_cv out. A simulation '
            "takes the variation for all: parcast simulate PROGRAM MACHINE -p LIST",
        ),
        ({"form": "static"}, "must be 'adaptive', 'overlapped' or 'serial', got 'static'."),
        ({"mesage": "1 kB"}, "is not a known key. Did you mean message?"),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys, says):
    with pytest.raises(DescriptionError) as caught:
        phase(**keys)
    [problem] = caught.value.problems
    assert problem.message == says
