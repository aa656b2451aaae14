"""`parcast.validate`: laws that hold and laws that do not, what was asked, faults, parts."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

import parcast
from parcast.errors import FitFailed, ParameterError, RunFailed
from parcast.kernels.validating.calibration import calibrated, forms_of
from parcast.kernels.validating.cells import Sample
from parcast.kernels.validating.interval import allowance, interval, scatter
from parcast.kernels.validating.plan import (
    LOWEST,
    calibrated_counts,
    chosen_sizes,
    size_with,
    waiting_in,
)
from parcast.kernels.validating.program import share_of_core
from parcast.kernels.validating.result import Comparison, TimedRun
from parcast.kernels.validating.runs import Stopwatch, jobs_of
from parcast.kernels.validating.subject import subject_named
from parcast.kernels.validating.validate import validate
from parcast.kernels.validating.verdict import count_checks, points_allowed, verdict_of
from parcast.show.warning import by_rank
from parcast.testbed.testbed import Testbed
from tests.kernels.validating.validated import (
    QUANTUM,
    T0,
    B,
    FakeRunner,
    U,
    W,
    counted,
    lawful,
    subject,
)

PLACE = ("n", "p", "purpose", "launch", "repetition")  # of a run


def csv_of(rows):
    """Write rows as the command line does."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def asked(runner=None, **options):
    """Validate the program of these tests."""
    return validate("sort", runner=runner or FakeRunner(), subject=subject, **options)


def capacity(told, symbol, p=None):
    return next(x for x in told.programs[0].capacities if (x.symbol, x.p) == (symbol, p))


# a law that holds


def test_a_law_without_noise_is_recovered_exactly():
    told = asked(p=[1, 2, 3, 4])
    assert told.holds
    assert told.worst_error < 1e-6
    assert told.coverage == 1.0
    for symbol, true in (("W", W), ("u", U), ("B", B)):
        assert capacity(told, symbol).value == pytest.approx(true, rel=1e-5)
    assert capacity(told, "t0").value == pytest.approx(T0, rel=1e-3)
    assert all(x.agrees and x.least == pytest.approx(1, rel=1e-4) for x in told.programs[0].counts)


def test_programs_without_answer_leave_the_whole_open():
    told = asked(p=[1, 2, 3, 4])
    assert replace(told, failures={"gauss": "it failed"}).holds is None
    assert replace(told, left_out=("gauss",)).holds is None
    wrong = asked(FakeRunner(time=lambda n, p: lawful(n, p) * n**0.2))
    assert replace(wrong, left_out=("gauss",)).holds is wrong.holds is False


def test_sizes_are_four_to_ten_times_those_calibrated():
    told = asked()
    factors = sorted({round(x.factor, 1) for x in told.compared})
    assert factors[0] == pytest.approx(4, abs=0.1)
    assert factors[-1] == pytest.approx(10, abs=0.1)
    assert {x.p for x in told.compared} == {1, 2}
    assert all(len(x.runs) == 4 for x in told.compared)


@pytest.mark.usefixtures("uncovered")
def test_runs_lie_in_their_intervals_as_often_as_said_and_a_law_that_holds_is_refused_seldom():
    told = [asked(FakeRunner(noise=0.05), seed=seed, quick=seed % 2 == 0) for seed in range(25)]
    assert 0.86 <= np.mean([each.coverage for each in told]) <= 1.0
    assert sum(each.holds is True for each in told) >= 23


def test_small_sizes_that_are_slow_do_not_spoil_large_ones():
    def slow_at_first(n, p):
        return lawful(n, p) * (1 + 20_000 / n)

    told = asked(FakeRunner(time=slow_at_first))
    assert told.holds
    assert told.worst_error < 0.03
    halves = [capacity(told, symbol).value or 0.0 for symbol in ("n_half", "m_half")]
    assert sum(halves) > 10_000


def test_more_ranks_than_cores_share_them_and_it_is_said():
    def shared(n, p):
        counts = counted(n, p)
        more = float(counts.shared) * (-(-p // 2) - 1) / W  # of the core with most ranks
        return lawful(n, p) + more

    told = asked(FakeRunner(time=shared, cores=2), p=[1, 2, 3, 5, 8])
    assert told.worst_error < 0.01
    assert {x.p for x in told.compared if x.is_shared} == {3, 5, 8}
    (warning,) = [x for x in told.programs[0].warnings if "cores" in x]
    assert warning.startswith("p = 3, 5, 8: more ranks than cores (2).")


def test_rates_that_differ_between_counts_are_found():
    def slower(n, p):
        counts = counted(n, p)
        rest = counts.disk_bytes / B + counts.network_bytes / (U if p == 2 else U / 3)
        return float(counts.steps / (W if p == 1 else W / 2) + rest)

    told = asked(FakeRunner(time=slower), p=[1, 2, 4])  # processor times say that W is one
    assert told.worst_error < 0.05
    assert told.holds


def test_blocks_that_cannot_be_dealt_out_evenly_are_no_part_of_the_rate():
    def blocks(n, p):
        return float(counted(n, p).steps) * (1.0 + (20_000 / n if p > 1 else 0.0) ** 2)

    def time(n, p):
        return lawful(n, p) + (blocks(n, p) - float(counted(n, p).steps)) / W

    told = asked(FakeRunner(steps=blocks, time=time))
    assert told.worst_error < 0.01
    assert all(check.agrees for check in told.programs[0].counts)


def test_sizes_that_ranks_take_long_for_come_down_to_four_times():
    def slow_network(n, p):
        return lawful(n, p) + 40 * float(counted(n, p).network_bytes) / U

    told = asked(FakeRunner(time=slow_network), longest=1.0)
    assert {round(x.factor) for x in told.compared} == {4}
    at_most = asked(FakeRunner(time=lambda n, p: lawful(n, p) * (2 if p > 1 else 1)))
    factors = {round(x.factor, 1) for x in at_most.compared}
    assert max(factors) <= 10


def test_counts_between_those_calibrated_have_wider_intervals():
    told = asked(p=[1, 2, 3, 4])
    width = {x.p: x.upper / x.lower for x in told.compared if x.factor < 5}
    assert width[3] > width[2]
    assert not next(x for x in told.compared if x.p == 3).is_calibrated_p


# a law that does not hold


def test_a_program_that_grows_faster_than_its_law_is_told():
    told = asked(FakeRunner(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.3))
    assert told.holds is False
    (program,) = told.programs
    assert "are inside their intervals. With a correct law" in program.verdict[0]
    assert any("more than twice as far off" in x for x in program.verdict)


def test_a_program_that_counts_other_steps_is_told():
    def squared(n, p):
        return float(counted(n, p).steps) * (n / 1e6) ** 0.5

    told = asked(FakeRunner(steps=squared))
    assert told.holds is False
    assert "times the steps that the program counted" in told.programs[0].verdict[0]


def test_superlinear_speedup_of_a_compact_algorithm_is_questioned():
    told = asked(FakeRunner(time=lambda n, p: lawful(n, p) / (20 if p > 1 else 1)))
    texts = told.programs[0].warnings
    assert any(x.startswith("Measured: Speedup is above p") for x in texts)


def test_a_negative_rate_of_the_network_is_explained():
    told = asked(FakeRunner(time=lambda n, p: lawful(n, p) / (20 if p > 1 else 1)))
    assert any("so W of the serial run is underestimated" in x for x in told.programs[0].warnings)


def test_a_network_that_costs_nothing_has_a_bound_or_is_free():
    def free(n, p):
        counts = counted(n, p)
        return float(counts.steps / W + counts.disk_bytes / B)

    told = asked(FakeRunner(time=free, noise=0.01))
    text = " ".join(told.programs[0].warnings)
    u = capacity(told, "u")
    assert u.value is None or u.value > 10 * U
    assert u.value is not None or "is not determined" in text


def test_calibrated_runs_that_do_little_but_wait_are_told():
    def waits(n, p):
        return lawful(n, p) + 4000 * T0 * float(counted(n, p).messages)

    told = asked(FakeRunner(time=waits))
    (warning,) = [x for x in told.programs[0].warnings if "calibration runs spend" in x]
    assert "% of their time on communication" in warning
    assert not any("calibration runs spend" in x for x in asked().programs[0].warnings)
    assert not any("calibration runs spend" in x for x in asked(p=[1]).programs[0].warnings)


def test_a_machine_that_is_not_quiet_is_told():
    told = asked(FakeRunner(noise=0.4))
    (unsteady,) = [x for x in told.programs[0].warnings if "(standard deviation)" in x]
    assert unsteady.endswith("Repeat on an idle machine.")
    assert by_rank(told.programs[0].warnings)[0] == unsteady


# verdicts that nobody should rely on


def points(n=6, *, factor=5.0, half=1.2, off=(), runs=(1.0, 1.0), p=2):
    """Comparisons predicted with 1 s; those numbered in `off` took 1.5 times their upper end."""
    return [
        Comparison(
            **{"n": 100, "p": p, "factor": factor, "predicted": 1.0},
            **{"lower": 1 / half, "upper": half, "compute": 1.0, "communication": 0.0},
            **{"disk": 0.0, "is_shared": False, "is_calibrated_p": True},
            runs=tuple(
                TimedRun(n=100, p=p, launch=1, repetition=1, time=t, compute=t, disk=0.0)
                for t in ([1.3 * half for _ in runs] if i in off else runs)
            ),
        )
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("compared", "holds", "says"),
    [
        (
            points(),
            True,
            "6 of 6 medians are inside their intervals, as expected of a correct law",
        ),
        (points(half=1.55), True, "as expected of a correct law"),
        (points(half=1.6), None, "(median 625 ms to 1.6 s) that a wrong law would"),
        (
            points(half=1.6, off=range(6)),
            False,
            "0 of 6 medians are inside their intervals. With a correct law",
        ),
        (points(runs=(0.5, 1.0, 1.5)), None, "repeated runs differ by a factor of 3.0"),
        (
            points(1, half=1.5, off=[0]),
            None,
            "0 of 1 medians are inside their intervals, but these",
        ),
        (points(factor=1.0), None, "no size or count is far from the calibrated ones"),
        (points(off=[0, 1, 2], half=1.5), False, "more than 2 are outside in less than"),
        (points(off=[0, 1], half=1.5), True, "4 of 6 medians are inside their intervals, as"),
        ((), None, ""),
    ],
)
def test_a_law_holds_only_where_it_could_have_been_refused(compared, holds, says):
    told, rules = verdict_of(compared, ())
    assert told is holds
    assert says in " ".join(rules)
    assert bool(rules) == bool(compared)


def test_runs_that_scatter_refuse_a_law_only_if_all_of_them_lie_outside():
    scattered = points(half=1.1, runs=(0.5, 1.2, 1.5))
    assert verdict_of(scattered, ())[0] is None
    beyond = points(half=1.1, runs=(1.2, 2.0, 4.0))
    assert verdict_of(beyond, ())[0] is False


def test_all_programs_must_be_told_for_all_to_hold():
    told = asked()
    (one,) = told.programs
    for verdicts, of_all in (
        ([True, True], True),
        ([True, None], None),
        ([False, None], False),
        ([False, True], False),
    ):
        programs = tuple(replace(one, holds=x) for x in verdicts)
        assert replace(told, programs=programs).holds is of_all


# processors that others disturb


def test_disturbed_runs_are_told_and_do_not_count():
    told = asked(FakeRunner(disturbed=0.4, noise=0.01))
    assert told.holds
    assert told.worst_error < 0.05
    program = told.programs[0]
    assert {round(run.slowdown, 6) for run in program.disturbed} == {2.0}
    assert not any(run.counts for run in program.disturbed)
    assert all(run.counts for x in told.compared for run in x.runs)
    assert 0.2 < len(program.disturbed) / len(list(told.rows())) < 0.6
    document = told.to_document()
    assert document["programs"][0]["runs_disturbed"] == len(program.disturbed)
    rows = [row for row in document["rows"] if row["purpose"] == "comparison"]
    assert len(rows) == sum(x["runs"] + x["runs_disturbed"] for x in document["comparisons"])
    assert sum(not row["counts"] for row in document["rows"]) == len(program.disturbed)
    assert f"{len(program.disturbed)} of {len(document['rows'])} runs, excluded" in str(told)
    places = [tuple(row[x] for x in PLACE) for row in document["rows"]]
    assert len(set(places)) == len(places)
    table = list(told.measurement_rows())
    read = parcast.read_measurements(io.StringIO(csv_of(table)))
    assert len(read) == len(places) - len(program.disturbed)
    assert sum(row["metric"] == "disturbed_time" for row in table) == len(program.disturbed)
    assert sum(row["metric"] == "time_s" for row in table) + len(program.disturbed) == len(places)


def test_runs_count_where_all_were_disturbed():
    told = asked(FakeRunner(disturbed=0.97, noise=0.01), quick=True)
    assert all(x.runs for x in told.programs[0].comparisons)
    slowed = [run for x in told.compared for run in x.runs if run.slowdown > 1.2]
    assert slowed
    assert all(run.counts for run in slowed)
    assert any(
        "Runs disturbed by other processes are used" in text for text in told.programs[0].warnings
    )


def test_a_law_is_not_refused_by_what_others_did_while_it_was_calibrated():
    class QuietLater(FakeRunner):
        def __call__(self, *given, **more):
            self.disturbed = 1.0 if len(self.asked) < 18 else 0.0
            return super().__call__(*given, **more)

    told = asked(QuietLater(noise=0.01))
    program = told.programs[0]
    assert told.worst_error > 0.5
    assert (program.holds, program.answer) == (None, "cannot tell")
    assert "most of the runs it was calibrated with" in program.verdict[0]
    assert told.to_document()["rows"][0]["disturbed"]


def test_a_law_is_not_refused_by_what_others_did_while_it_was_compared():
    class QuietAtFirst(FakeRunner):
        def __call__(self, *given, **more):
            self.disturbed = 0.0 if len(self.asked) < 12 else 1.0
            return super().__call__(*given, **more)

    runner = QuietAtFirst(noise=0.01)
    told = asked(runner)
    assert told.programs[0].answer == "cannot tell"
    assert all(x.is_disturbed for x in told.compared)
    assert all(len(x.runs) == 8 for x in told.compared)  # launched again, as often as asked
    assert "~: most runs were disturbed by other processes" in str(told)
    assert "disturbed by other processes" in told._repr_html_()
    assert told.plot() is not None


def test_only_sizes_that_lack_undisturbed_runs_are_launched_again():
    class OneSlow(FakeRunner):
        def __call__(self, name, *, n, **more):
            runs = super().__call__(name, n=n, **more)
            slow = max(n) if len(set(n)) == 3 else None  # three sizes are predicted
            return [replace(x, quanta=(QUANTUM, 2 * QUANTUM)) if x.n == slow else x for x in runs]

    runner = OneSlow()
    told = asked(runner, p=[1])
    largest = max(x.n for x in told.compared)
    again = [x for x in runner.asked if set(x["n"]) == {largest}]
    assert 1 <= len(again) <= 2
    seeds = [x["seed"] for x in runner.asked if largest in x["n"]]
    assert len(set(seeds)) == len(seeds)


def test_a_launch_knows_the_least_quantum_of_those_before_it():
    runner = FakeRunner(disturbed=0.3)
    asked(runner, p=[1, 2])
    timed = [x for x in runner.asked if x["patience"] > 0]
    for p in (1, 2):
        first, *rest = [x["quantum"] for x in timed if x["p"] == p]
        assert first is None
        assert set(rest) == {QUANTUM}


def test_runs_without_quanta_all_count():
    class Untimed(FakeRunner):
        def __call__(self, *given, **more):
            return [replace(run, quanta=()) for run in super().__call__(*given, **more)]

    told = asked(Untimed())
    assert told.holds
    assert told.programs[0].disturbed == ()
    assert {row["slowdown"] for row in told.rows()} == {None}


# what was asked


def test_sizes_can_be_given():
    told = asked(sizes=[2e6, 5e6], calibrate_with=[1e5, 2e5, 4e5], p=[1, 2], repetitions=3)
    assert sorted({x.n for x in told.compared}) == [2_000_000, 5_000_000]
    assert sorted({x.n for x in told.programs[0].calibration}) == [100_000, 200_000, 400_000]
    assert {x.factor for x in told.compared} == {5.0, 12.5}
    assert all(len(x.runs) >= 3 for x in told.compared)


def test_only_predicted_sizes_are_given():
    told = asked(sizes=[2e6])
    assert {x.n for x in told.compared} == {2_000_000}
    assert max(x.n for x in told.programs[0].calibration) <= 2_000_000


def test_sizes_below_those_found_by_trial_can_be_predicted():
    assert {x.n for x in asked(sizes=[100]).compared} == {100}


def test_only_calibrated_sizes_are_given():
    told = asked(calibrate_with=[1000, 10_000])
    assert {x.n for x in told.programs[0].calibration} == {1000, 10_000}
    assert min(x.factor for x in told.compared) == pytest.approx(4, abs=0.01)


def test_one_rank_needs_no_network():
    told = asked(p=[1])
    assert told.holds
    assert {x.symbol for x in told.programs[0].capacities} == {"W", "n_half", "B", "S0"}


def test_launches_of_one_round_have_the_same_input_and_rounds_differ():
    runner = FakeRunner()
    asked(runner, seed=3)
    pairs = {(x["p"], x["seed"]) for x in runner.asked[1:]}
    assert len(pairs) == len(runner.asked[1:])
    assert all(x["limit"] >= 120 for x in runner.asked)


def test_the_same_seed_gives_the_same_answer():
    one, other = (asked(FakeRunner(noise=0.05), seed=7) for _ in range(2))
    first, second = one.to_document(), other.to_document()
    for document in (first, second):
        for program in document["programs"]:
            del program["seconds"]
    assert first == second
    json.dumps(first, allow_nan=False)


def test_progress_goes_from_nothing_to_all():
    told = []
    validate(
        ["sort", "other"],
        runner=FakeRunner(),
        subject=subject,
        progress=lambda done, total: told.append(done / total),
    )
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"p": []}, "p must be counts from 1 to 4096, got []. Give counts such as 1, 2 and 4."),
        ({"p": [0, 2]}, "p must be counts from 1 to 4096, got [0, 2]."),
        ({"repetitions": 0}, "repetitions must be a whole number of at least 1, got 0."),
        ({"longest": 0.0}, "longest must be above 0, got 0."),
        ({"sizes": [1.5]}, "sizes must be whole numbers of at least 1, got 1.5."),
        ({"sizes": []}, "sizes must be at least 1 size, got 0."),
        ({"calibrate_with": [1e4]}, "calibrate_with must be at least 2 sizes, got 1."),
    ],
)
def test_bad_arguments_are_refused(options, says):
    with pytest.raises(ParameterError) as caught:
        asked(**options)
    assert str(caught.value).startswith(says)


def test_no_program_is_refused():
    with pytest.raises(ParameterError, match="names must be programs, got none"):
        validate([])


def test_a_program_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="must be a program,"):
        validate("bubblesort")


# faults


def test_a_wrong_result_is_not_timed():
    with pytest.raises(RunFailed, match="gave a wrong result"):
        asked(FakeRunner(is_correct=False))


def test_a_clock_that_steps_is_told():
    with pytest.raises(RunFailed, match="took no measurable time"):
        asked(FakeRunner(time=lambda _n, _p: -1.0))


def test_runs_of_other_sizes_are_refused():
    class Deaf(FakeRunner):
        def __call__(self, name, *, n, **others):
            return super().__call__(name, n=n[:1], **others)

    with pytest.raises(RunFailed, match="returned times of other sizes than requested"):
        asked(Deaf())


def test_interrupted_it_shows_what_was_compared():
    whole = FakeRunner()
    asked(whole)
    told = asked(FakeRunner(fails_after=len(whole.asked) - 2))
    (program,) = told.programs
    assert program.ended_by == "interrupted"
    assert 0 < sum(len(x.runs) for x in program.compared) < 24
    assert program.holds is not None


def test_interrupted_before_any_comparison_nothing_is_judged():
    whole = FakeRunner()
    sizes = {x.n for x in asked(whole).compared}
    calibrating = sum(1 for x in whole.asked if not sizes & set(x["n"]))
    told = asked(FakeRunner(fails_after=calibrating))
    assert told.holds is None
    assert told.median_error is told.worst_error is told.coverage is None
    assert told.programs[0].ended_by == "interrupted"
    assert "not compared" in repr(told)


def test_interrupted_while_calibrating_there_is_no_answer():
    with pytest.raises(KeyboardInterrupt):
        asked(FakeRunner(fails_after=3))


def test_interrupted_in_the_second_program_the_first_is_shown():
    whole = FakeRunner()
    asked(whole)
    runner = FakeRunner(fails_after=len(whole.asked) + 2)
    told = validate(["sort", "other"], runner=runner, subject=subject)
    assert [x.program for x in told.programs] == ["sort"]


def test_too_little_time_to_calibrate_is_told():
    with pytest.raises(FitFailed, match="could not be calibrated within the time limit"):
        asked(time_limit=1e-9)


def test_the_time_limit_ends_the_comparison():
    ticks = iter(range(10_000))
    watch = Stopwatch(limit=5, clock=lambda: next(ticks))
    assert watch.ended_by == ""
    while not watch.is_over:
        pass
    assert watch.ended_by == "time limit"


def test_one_program_that_fails_does_not_stop_the_others():
    class Fails(FakeRunner):
        def __call__(self, name, **others):
            if name == "other":
                raise RunFailed("other was killed.")
            return super().__call__(name, **others)

    told = validate(["other", "sort"], runner=Fails(), subject=subject)
    assert [x.program for x in told.programs] == ["sort"]
    assert told.failures == {"other": "other was killed."}
    with pytest.raises(RunFailed, match="No program could be validated"):
        validate(
            ["other", "other2"],
            runner=FakeRunner(fails_after=0, failure=RunFailed("no")),
            subject=subject,
        )
    with pytest.raises(RunFailed, match=r"other was killed\."):
        validate("other", runner=Fails(), subject=subject)


# the parts


@pytest.mark.parametrize(
    "name",
    ["sort", "square_sort", "sample_sort", "fractal", "monte_carlo", "matmul", "gauss", "stencil"],
)
def test_every_program_has_a_law_that_counts(name):
    told = subject_named(name)
    counts = told.counted([100, 1000], [1, 2])
    assert counts.steps.shape == counts.disk_bytes.shape == (2,)
    assert np.all(counts.steps > 0)
    assert counts.network_bytes[1] > 0


def test_a_program_whose_law_does_not_count_is_refused(monkeypatch):
    from dataclasses import replace

    from parcast.kernels.registry import kernel_named

    spmd = replace(kernel_named("fractal"), phase={"law": "spmd", "compute": {"parallel": "1 s"}})
    monkeypatch.setattr("parcast.kernels.validating.subject.kernel_named", lambda _: spmd)
    with pytest.raises(ParameterError, match="must be a program whose law counts steps"):
        subject_named("fractal")


def test_a_size_is_found_by_its_steps():
    n = size_with(subject(), 1e7)
    assert float(subject().counted(n, 1).steps) <= 1e7 < float(subject().counted(n + 1, 1).steps)
    for size in (1, 2, 65, 2**20 - 1, 2**20, 123_456_789):
        steps = float(subject().counted(size, 1).steps)
        assert size_with(subject(), steps) == size
    assert (size_with(subject(), -1.0), size_with(subject(), np.inf)) == (1, 2**40 - 1)


def test_laws_that_grow_fast_get_smaller_factors_and_memory_bounds_all():
    cubic = subject_named("matmul")
    chosen = chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=float("inf"))
    top = chosen.predicted[-1] / chosen.calibrated[-1]
    assert 4 <= top < 10
    assert cubic.counted(chosen.predicted[-1], 1).steps * 1e-10 <= 2.05
    short = chosen_sizes(cubic, 1e-10, longest=0.1, most_p=2, memory=float("inf"))
    assert short.predicted[-1] / short.calibrated[-1] == pytest.approx(5, abs=0.2)
    small = chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=1e8)
    assert cubic.memory(small.predicted[-1], 2) <= 0.4e8
    with pytest.raises(ParameterError, match="needs more memory than is available"):
        chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=1e3)


def test_sizes_are_whole_blocks_for_every_rank():
    paths = subject_named("monte_carlo")
    assert paths.block == 512
    for seconds in (1e-8, 1e-7, 1e-6):
        chosen = chosen_sizes(paths, seconds, longest=2.0, most_p=2, memory=float("inf"))
        assert all(n % 1024 == 0 for n in (*chosen.calibrated, *chosen.predicted))
        assert len(chosen.calibrated) > 1
        assert chosen.predicted[0] >= 4 * chosen.calibrated[-1]


def test_counts_of_few_blocks_are_not_compared():
    paths = subject_named("monte_carlo")

    def cells_with(blocks):
        n = 512 * blocks
        share = 512 * -(-blocks // 2)
        law = paths.counted(n, 2)
        run = FakeRunner()("sort", n=[n], ranks=2, seed=0, check=False, time_limit=1.0)[0]
        sent = (96, 32 * (n - share))
        steps = (64 * share, 64 * (n - share))
        run = replace(run, steps=steps, sent=sent, messages=(round(float(law.messages)), 0))
        run = replace(run, disk_bytes=0)
        alone = replace(run, p=1, steps=(64 * n,), sent=(0,), messages=(0,))
        return {
            (n, 2): [Sample(launch=1, runs=(run,))],
            (n, 1): [Sample(launch=1, runs=(alone,))],
        }

    few = {**cells_with(3), **cells_with(8), **cells_with(11)}  # 2 and 1, 4 and 4, 6 and 5
    assert [x.what for x in count_checks(paths, few, least=1)] == ["steps"]
    assert all(x.agrees for x in count_checks(paths, few, least=1))
    many = {**few, **cells_with(80), **cells_with(81)}
    checks = {x.what: x for x in count_checks(paths, many, least=1)}
    assert set(checks) == {"steps", "network bytes", "messages"}
    assert all(x.agrees for x in checks.values())


def slow_network(startup, *, m_2=0.0, cores=64):
    """Give a program whose waves cost a startup each, as a runner and as a subject.

    `startup` is one [s], or those of each count of ranks.
    """
    startups = startup if isinstance(startup, dict) else {}
    waves = subject_named("gauss")

    def runner(name, *, n, ranks, seed, check, time_limit):
        del name, seed, check, time_limit
        made = []
        for size in n:
            law = waves.counted(float(size), float(ranks))
            computing = float(law.steps) * 1e-9 * (1 + m_2**2 * ranks / size**2)
            computing *= -(-ranks // cores)
            took = computing + float(law.network_bytes) * 1e-11
            took += float(law.messages) * (startups[ranks] if startups else startup)
            (run,) = FakeRunner()("gauss", n=[size], ranks=1, seed=0, check=False, time_limit=1.0)
            seen = {"compute": (computing,) * ranks, "steps": (round(float(law.steps)),) * ranks}
            made.append(replace(run, p=ranks, time=took, disk=0.0, cores=cores, **seen))
        return made

    return waves, runner


@pytest.mark.parametrize(
    ("startup", "factor"), [(0.0, (5, 10)), (1e-5, (4, 4.2)), (1e-2, (2.4, 2.6))]
)
def test_calibrated_sizes_grow_where_small_runs_do_little_but_wait(startup, factor):
    waves, runner = slow_network(startup)
    alone = chosen_sizes(waves, 1e-9, longest=1.0, most_p=8, memory=float("inf"))
    n = alone.calibrated[-1]
    share = waiting_in(waves, 1e-9, n=n, p=8, runner=runner, seed=0)
    law = waves.counted(float(n), 8.0)
    parts = [float(law.steps) * 1e-9 + float(law.network_bytes) * 1e-11]
    parts += [float(law.messages) * startup]
    assert share(n) == pytest.approx(1 - float(law.steps) * 1e-9 / sum(parts), abs=1e-6)
    chosen = chosen_sizes(
        waves, 1e-9, longest=1.0, most_p=8, memory=float("inf"), waiting=share, lowest=LOWEST
    )
    assert factor[0] <= chosen.predicted[-1] / chosen.calibrated[-1] <= factor[1]
    assert chosen.calibrated[-1] >= n
    assert chosen.predicted[-1] <= 1.01 * alone.predicted[-1]
    here = chosen_sizes(waves, 1e-9, longest=1.0, most_p=8, memory=float("inf"), waiting=share)
    assert here.predicted[0] >= 4 * here.calibrated[-1]


def test_calibrated_sizes_have_many_slices_where_a_host_has_a_share_of_a_core():
    cubic = subject_named("matmul")
    ask = {"longest": 4.0, "calibrated": 0.6, "most_p": 2, "memory": float("inf")}
    alone = chosen_sizes(cubic, 1e-10, **ask)
    assert alone.predicted[0] == pytest.approx(4 * alone.calibrated[-1], rel=0.01)
    shared = chosen_sizes(cubic, 1e-10, **ask, middle=LOWEST, lowest=LOWEST)
    assert shared.calibrated[-1] == pytest.approx(2 * alone.calibrated[-1], rel=0.01)
    assert shared.predicted[-1] == alone.predicted[-1]
    assert shared.predicted[0] == pytest.approx(2.5 * shared.calibrated[-1], rel=0.01)


def test_startups_may_differ_from_count_to_count():
    startups = {1: 0.0, 2: 1e-4, 4: 6e-4, 8: 4e-4}
    waves, runner = slow_network(startups)
    sizes = [100, 150, 200, 300]
    cells = samples_of(runner, sizes, list(startups))
    calibration = calibrated(forms_of(waves, list(startups), sizes, 64), cells, seed=0)
    assert calibration.form.startups == (2, 4, 8)
    told = {x.p: x.value for x in calibration.capacities() if x.symbol == "t0"}
    assert told == pytest.approx({p: startups[p] for p in (2, 4, 8)}, rel=0.1)
    waves, runner = slow_network(1e-3)
    cells = samples_of(runner, sizes, list(startups))
    calibration = calibrated(forms_of(waves, list(startups), sizes, 64), cells, seed=0)
    assert calibration.form.startups == (2,)


def test_what_is_done_once_a_row_is_found_as_a_size():
    waves, runner = slow_network(0.0, m_2=50.0)
    sizes = [100, 150, 200, 300]
    cells = samples_of(runner, sizes, [1, 2, 8])
    calibration = calibrated(forms_of(waves, [1, 2, 8], sizes, 64), cells, seed=0)
    told = {x.symbol: x for x in calibration.capacities()}
    assert told["m_2"].value == pytest.approx(50.0, rel=0.02)
    assert told["m_2"].lower <= told["m_2"].value <= told["m_2"].upper


def test_waiting_is_told_from_computing_where_ranks_share_cores():
    waves, runner = slow_network(1e-5, cores=2)
    crowded = waiting_in(waves, 1e-9, n=300, p=3, runner=runner, seed=0)
    law = waves.counted(300.0, 3.0)
    computing = 2 * float(law.steps) * 1e-9  # two ranks on one of the cores
    took = computing + float(law.network_bytes) * 1e-11 + float(law.messages) * 1e-5
    assert crowded(300) == pytest.approx(1 - computing / took, abs=1e-6)


def test_programs_whose_messages_do_not_grow_need_no_second_trial():
    runner = FakeRunner()
    share = waiting_in(subject(), 1e-8, n=1000, p=8, runner=runner, seed=0)
    assert (share(1000), runner.asked) == (0.0, [])


def test_calibrated_counts_are_one_two_the_largest_and_one_well_between():
    assert calibrated_counts([2, 3, 4]) == (1, 2, 4)
    assert calibrated_counts([2, 8]) == (1, 2, 8)
    assert calibrated_counts([2, 3, 4, 5, 6, 7, 8]) == (1, 2, 4, 8)
    assert calibrated_counts([2, 3, 8]) == (1, 2, 3, 8)


def test_every_round_has_every_count_once():
    jobs = jobs_of(
        [1, 2], {10: 2, 20: 1}, launches=3, seconds=float, random=np.random.default_rng(0)
    )
    assert sorted((job.launch, job.p) for job in jobs) == [
        (launch, p) for launch in (1, 2, 3) for p in (1, 2)
    ]
    assert all(sorted(job.sizes) == [10, 10, 20] for job in jobs)
    assert len({job.sizes for job in jobs}) > 1


def test_points_outside_are_allowed_as_chance_has_them():
    assert [points_allowed(m) for m in (1, 2, 6, 20, 100)] == [1, 1, 2, 4, 15]


def test_intervals_are_wider_on_the_side_of_disturbed_runs():
    lower, upper = interval(np.array([1.0]), (-0.01, 0.2), np.array([0.02]))
    assert np.log(upper) > 4 * -np.log(lower)


def test_the_allowance_grows_with_size_and_count():
    grown = allowance(np.array([0.5, 4.0, 10.0]), np.array([2.0, 2.0, 2.0]), [1, 2])
    assert grown[0] == 0 < grown[1] < grown[2]
    assert allowance(np.array([1.0]), np.array([4.0]), [1, 2])[0] > 0


def samples_of(runner, sizes, counts, *, launches=3):
    return {
        (n, p): [
            Sample(
                launch=k,
                runs=tuple(
                    runner("sort", n=[n] * 2, ranks=p, seed=k, check=False, time_limit=1.0)
                ),
            )
            for k in range(1, launches + 1)
        ]
        for n in sizes
        for p in counts
    }


def test_one_launch_is_enough_to_calibrate_and_gives_no_doubt_of_its_own():
    cells = samples_of(FakeRunner(noise=0.02), [10_000, 40_000], [1, 2], launches=1)
    forms = forms_of(subject(), [1, 2], [10_000, 40_000], cores=4)
    found = calibrated(forms, cells, seed=0)
    form = found.form
    assert found.doubt(form.terms([80_000], [2])) == pytest.approx(0, abs=1e-9)
    low, high = scatter(cells)
    assert low == -high < 0


def test_forms_with_fewest_constants_come_first():
    forms = forms_of(subject(), [1, 2, 4, 8], [10_000, 40_000], cores=4)
    counts = [len(form.columns) for form in forms]
    assert counts == sorted(counts)
    assert len(forms) == len({(x.rates, x.networks, x.startups) for x in forms}) == 3 * 2 * 2
    assert (forms[0].rates, forms[0].networks, forms[0].startups) == ((1,), (2,), (2,))


def test_one_size_has_no_half_size():
    (form,) = forms_of(subject(), [1], [10_000], cores=1)
    assert {column.symbol for column in form.columns} == {"W", "B", "S0"}


@pytest.mark.usefixtures("uncovered")
def test_a_real_program_on_two_ranks(monkeypatch):
    """The processors need not be quiet, and one launch calibrates."""
    monkeypatch.setattr("parcast.kernels.validating.runs.PATIENCE", (0.0, 0.0))
    monkeypatch.setattr("parcast.kernels.validating.program.QUICK_LAUNCHES", 1)
    monkeypatch.setattr("parcast.kernels.validating.program.AGAIN", 0)
    monkeypatch.setattr("parcast.kernels.validating.plan.MOST_TRIALS", 1)
    told = validate(
        "monte_carlo",
        p=[1, 2],
        sizes=[40_960],
        calibrate_with=[4096, 8192, 10_240],
        repetitions=1,
        quick=True,
        time_limit=60.0,
    )
    (program,) = told.programs
    assert {x.p for x in program.compared} == {1, 2}
    assert all(x.agrees for x in program.counts)
    assert all(x.measured > 0 and x.lower < x.predicted < x.upper for x in program.compared)


@pytest.mark.parametrize(("cap", "share"), [(0.1, 0.1), (None, 1.0)])
def test_on_a_testbed_a_rank_gets_the_share_of_a_core_that_its_host_has(monkeypatch, cap, share):
    monkeypatch.setenv("PARCAST_TESTBED", json.dumps(Testbed(hosts=2, cpu=cap).description()))
    assert share_of_core() == share


def test_elsewhere_a_rank_has_a_core(monkeypatch):
    monkeypatch.delenv("PARCAST_TESTBED", raising=False)
    assert share_of_core() == 1.0
