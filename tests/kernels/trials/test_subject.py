"""`parcast.validate`: laws that hold and laws that do not, what was asked, faults, parts."""

import csv
import io
import json
import time
from dataclasses import replace

import numpy as np
import pytest

import parcast
from parcast.errors import FitFailed, ParameterError, RunFailed
from parcast.kernels.registry import COUNTED, kernel_named
from parcast.kernels.trials.calibration import Capacity, calibrated, forms_of
from parcast.kernels.trials.case import KernelCase, KernelLauncher, LaunchSample
from parcast.kernels.trials.counting import count_checks, counted_program
from parcast.kernels.trials.predicting import allowance, interval, scatter
from parcast.kernels.trials.sizes import (
    LOWEST,
    calibrated_counts,
    chosen_sizes,
    share_of_core,
    size_with,
    waiting_in,
)
from parcast.kernels.trials.subject import AskedSizes, KernelSubject, validate
from parcast.show.terminal import Page, lay_out
from parcast.show.warning import by_rank
from parcast.testbed.testbed import Testbed
from parcast.testing.validation import check_launcher, check_subject
from tests.kernels.trials.made import (
    QUANTUM,
    T0,
    B,
    FakeRanks,
    U,
    W,
    asked,
    counted,
    lawful,
    program,
    without_quanta,
)

PLACE = ("n", "p", "purpose", "launch", "repetition")  # of a run


def csv_of(rows):
    """Write rows as the command line does."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def capacity(told, symbol, p=None):
    known = told.parts[0].findings.document["capacities"]
    return next(x["value"] for x in known if (x["symbol"], x["p"]) == (symbol, p))


def warnings(told):
    return told.parts[0].findings.warnings


def calibrated_sizes(told):
    return {run["n"] for run in told.parts[0].runs if run["purpose"] == "calibration"}


# a law that holds


def test_a_law_without_noise_is_recovered_exactly():
    told = asked(p=[1, 2, 3, 4])
    assert told.holds
    assert told.worst_error < 1e-6
    assert told.coverage == 1.0
    for symbol, true in (("W", W), ("u", U), ("B", B)):
        assert capacity(told, symbol) == pytest.approx(true, rel=1e-5)
    assert capacity(told, "t0") == pytest.approx(T0, rel=1e-3)
    counts = told.parts[0].findings.document["counts"]
    assert all(x["agrees"] and x["least_ratio"] == pytest.approx(1, rel=1e-4) for x in counts)


def test_programs_without_answer_leave_the_whole_open():
    told = asked(p=[1, 2, 3, 4])
    assert replace(told, failures={"gauss": "it failed"}).holds is None
    assert replace(told, left_out=("gauss",)).holds is None
    wrong = asked(FakeRanks(time=lambda n, p: lawful(n, p) * n**0.2))
    assert replace(wrong, left_out=("gauss",)).holds is wrong.holds is False


def test_sizes_are_four_to_ten_times_those_calibrated():
    told = asked()
    factors = sorted({round(x.first.facts["factor"], 1) for x in told.compared})
    assert factors[0] == pytest.approx(4, abs=0.1)
    assert factors[-1] == pytest.approx(10, abs=0.1)
    assert {x.case.p for x in told.compared} == {1, 2}
    assert all(len(x.runs) == 4 for x in told.compared)


@pytest.mark.usefixtures("uncovered")
def test_runs_lie_in_their_intervals_as_often_as_said_and_a_law_that_holds_is_refused_seldom():
    told = [asked(FakeRanks(noise=0.05), seed=seed, quick=seed % 2 == 0) for seed in range(12)]
    assert 0.86 <= np.mean([each.coverage for each in told]) <= 1.0
    assert sum(each.holds is True for each in told) >= 11


def test_small_sizes_that_are_slow_do_not_spoil_large_ones():
    def slow_at_first(n, p):
        return lawful(n, p) * (1 + 20_000 / n)

    told = asked(FakeRanks(time=slow_at_first))
    assert told.holds
    assert told.worst_error < 0.03
    halves = [capacity(told, symbol) or 0.0 for symbol in ("n_half", "m_half")]
    assert sum(halves) > 10_000


def test_more_ranks_than_cores_share_them_and_it_is_said():
    def shared(n, p):
        counts = counted(n, p)
        more = float(counts.shared) * (-(-p // 2) - 1) / W  # of the core with most ranks
        return lawful(n, p) + more

    told = asked(FakeRanks(time=shared, cores=2), p=[1, 2, 3, 5, 8])
    assert told.worst_error < 0.01
    assert {x.case.p for x in told.compared if x.first.facts["shared_cores"]} == {3, 5, 8}
    (warning,) = [x for x in warnings(told) if "cores" in x]
    assert warning.startswith("p = 3, 5, 8: more ranks than cores (2).")


def test_rates_that_differ_between_counts_are_found():
    def slower(n, p):
        counts = counted(n, p)
        rest = counts.disk_bytes / B + counts.network_bytes / (U if p == 2 else U / 3)
        return float(counts.steps / (W if p == 1 else W / 2) + rest)

    told = asked(FakeRanks(time=slower), p=[1, 2, 4])  # processor times say that W is one
    assert told.worst_error < 0.05
    assert told.holds


def test_blocks_that_cannot_be_dealt_out_evenly_are_no_part_of_the_rate():
    def blocks(n, p):
        return float(counted(n, p).steps) * (1.0 + (20_000 / n if p > 1 else 0.0) ** 2)

    def time(n, p):
        return lawful(n, p) + (blocks(n, p) - float(counted(n, p).steps)) / W

    told = asked(FakeRanks(steps=blocks, time=time))
    assert told.worst_error < 0.01
    assert all(check["agrees"] for check in told.parts[0].findings.document["counts"])


def test_sizes_that_ranks_take_long_for_come_down_to_four_times():
    def slow_network(n, p):
        return lawful(n, p) + 40 * float(counted(n, p).network_bytes) / U

    told = asked(FakeRanks(time=slow_network), longest=1.0)
    assert {round(x.first.facts["factor"]) for x in told.compared} == {4}
    at_most = asked(FakeRanks(time=lambda n, p: lawful(n, p) * (2 if p > 1 else 1)))
    factors = {round(x.first.facts["factor"], 1) for x in at_most.compared}
    assert max(factors) <= 10


def test_counts_between_those_calibrated_have_wider_intervals():
    told = asked(p=[1, 2, 3, 4])
    width = {x.case.p: x.upper / x.lower for x in told.compared if x.first.facts["factor"] < 5}
    assert width[3] > width[2]
    assert not next(x for x in told.compared if x.case.p == 3).first.facts["calibrated_p"]


# a law that does not hold


def test_a_program_that_grows_faster_than_its_law_is_told():
    told = asked(FakeRanks(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.3))
    assert told.holds is False
    (part,) = told.parts
    assert "are inside their intervals. With a correct law" in part.verdict.text
    assert "more than twice as far off" in part.verdict.text


def test_a_program_that_counts_other_steps_is_told():
    def squared(n, p):
        return float(counted(n, p).steps) * (n / 1e6) ** 0.5

    told = asked(FakeRanks(steps=squared))
    assert told.holds is False
    assert "times the steps that the program counted" in told.parts[0].verdict.text


def test_superlinear_speedup_of_a_compact_algorithm_is_questioned_and_explained():
    told = asked(FakeRanks(time=lambda n, p: lawful(n, p) / (20 if p > 1 else 1)))
    assert any(x.startswith("Measured: Speedup is above p") for x in warnings(told))
    assert any("so W of the serial run is underestimated" in x for x in warnings(told))


def test_a_network_that_costs_nothing_has_a_bound_or_is_free():
    def free(n, p):
        counts = counted(n, p)
        return float(counts.steps / W + counts.disk_bytes / B)

    told = asked(FakeRanks(time=free, noise=0.01))
    text = " ".join(warnings(told))
    u = capacity(told, "u")
    assert u is None or u > 10 * U
    assert u is not None or "is not determined" in text


def test_calibrated_runs_that_do_little_but_wait_are_told():
    def waits(n, p):
        return lawful(n, p) + 4000 * T0 * float(counted(n, p).messages)

    told = asked(FakeRanks(time=waits))
    (warning,) = [x for x in warnings(told) if "calibration runs spend" in x]
    assert "% of their time on communication" in warning
    assert not any("calibration runs spend" in x for x in warnings(asked()))
    alone = asked(p=[1])  # needs no network
    assert alone.holds
    assert not any("calibration runs spend" in x for x in warnings(alone))
    known = alone.parts[0].findings.document["capacities"]
    assert {x["symbol"] for x in known} == {"W", "n_half", "B", "S0"}


def test_a_machine_that_is_not_quiet_is_told():
    told = asked(FakeRanks(noise=0.4))
    (unsteady,) = [x for x in warnings(told) if "(standard deviation)" in x]
    assert unsteady.endswith("Repeat on an idle machine.")
    assert by_rank(warnings(told))[0] == unsteady


# processors that others disturb


def test_disturbed_runs_are_told_and_do_not_count():
    told = asked(FakeRanks(disturbed=0.4, noise=0.01))
    assert told.holds
    assert told.worst_error < 0.05
    document = told.to_document()
    runs = document["runs"]
    disturbed = [run for run in runs if run["disturbed"]]
    assert {round(run["slowdown"], 6) for run in disturbed} == {2.0}
    assert not any(run["counts"] for run in disturbed)
    assert 0.2 < len(disturbed) / len(runs) < 0.6
    assert document["programs"][0]["runs_disturbed"] == len(disturbed)
    assert f"{len(disturbed)} of {len(runs)} runs, excluded" in str(told)
    places = [tuple(run[x] for x in PLACE) for run in runs]
    assert len(set(places)) == len(places)
    table = list(told.measurement_rows())
    read = parcast.read_measurements(io.StringIO(csv_of(table)))
    assert len(read) == len(places) - len(disturbed)
    assert sum(row["metric"] == "disturbed_time" for row in table) == len(disturbed)


def test_a_machine_that_is_never_idle_gets_an_answer():
    told = asked(FakeRanks(disturbed=1.0, noise=0.01), p=[1, 2])
    (part,) = told.parts
    assert part.holds
    assert part.verdict.text.endswith("the machine was never idle, so that limits are wider")
    assert {len(x.predictions) for x in part.compared} == {3}
    wrong = asked(FakeRanks(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.3, disturbed=1.0))
    assert wrong.holds is None


def test_what_others_did_while_it_was_calibrated_is_calibrated_again():
    class QuietLater(FakeRanks):
        def __call__(self, launch, **more):
            self.disturbed = 1.0 if len(self.launches) < 18 else 0.0
            super().__call__(launch, **more)

    told = asked(QuietLater(noise=0.01))
    assert told.holds
    assert max(len(x.predictions) for x in told.compared) <= 2


def test_what_others_did_while_it_was_compared_is_compared_again():
    class BusyForAWhile(FakeRanks):
        def __call__(self, launch, **more):
            self.disturbed = 1.0 if 12 <= len(self.launches) < 16 else 0.0
            super().__call__(launch, **more)

    told = asked(BusyForAWhile(noise=0.01))
    assert told.holds
    assert not any(x.is_disturbed for x in told.compared)


def test_only_sizes_that_lack_undisturbed_runs_are_launched_again():
    largest = 5_000_000
    ranks = FakeRanks(
        change=lambda run: replace(run, quanta=(QUANTUM, (2 if run.n == largest else 1) * QUANTUM))
    )
    asked(ranks, p=[1], sizes=[2e6, 3e6, largest])
    again = [x for x in ranks.launches if {case.n for case in x.cases} == {largest}]
    assert 1 <= len(again) <= 2
    numbers = [x.number for x in ranks.launches if largest in {case.n for case in x.cases}]
    assert len(set(numbers)) == len(numbers)


def test_a_launch_knows_the_least_quantum_of_those_before_it():
    ranks = FakeRanks(disturbed=0.3)
    asked(ranks, p=[1, 2])
    for p in (1, 2):
        timed = [x for x in ranks.launches if x.layout == p and x.number > 0]
        assert all(x.patience > 1.0 for x in timed)
        first, *rest = [x.quantum for x in timed]
        assert first is None
        assert set(rest) == {QUANTUM}


def test_runs_without_quanta_all_count():
    told = asked(FakeRanks(change=without_quanta))
    assert told.holds
    assert {run["slowdown"] for run in told.runs()} == {None}
    assert not any(run["disturbed"] for run in told.runs())


# what was asked


def test_sizes_can_be_given():
    told = asked(sizes=[2e6, 5e6], calibrate_with=[1e5, 2e5, 4e5], p=[1, 2], repetitions=3)
    assert sorted({x.case.n for x in told.compared}) == [2_000_000, 5_000_000]
    assert sorted(calibrated_sizes(told)) == [100_000, 200_000, 400_000]
    assert {x.first.facts["factor"] for x in told.compared} == {5.0, 12.5}
    assert all(len(x.runs) >= 3 for x in told.compared)


def test_sizes_below_those_found_by_trial_can_be_predicted():
    assert {x.case.n for x in asked(sizes=[100]).compared} == {100}


def test_only_calibrated_sizes_are_given():
    told = asked(calibrate_with=[1000, 10_000])
    assert calibrated_sizes(told) == {1000, 10_000}
    assert min(x.first.facts["factor"] for x in told.compared) == pytest.approx(4, abs=0.01)


def test_progress_goes_from_nothing_to_all():
    told = []
    asked(names=["sort", "gauss"], progress=lambda done, total: told.append(done / total))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_predictions_are_written_before_their_runs(tmp_path):
    path = tmp_path / "predictions.json"

    class Looks(FakeRanks):
        def __call__(self, launch, **more):
            if launch.purpose == "comparison":
                made = json.loads(path.read_text())["predictions"]
                assert {case.columns["n"] for case in launch.cases} <= {x["n"] for x in made}
            super().__call__(launch, **more)

    told = asked(Looks(), save_predictions=path)
    assert told.saved.path == str(path)
    assert [x["time_s"] for x in told.saved.made] == [x.predicted for x in told.compared]


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
def test_bad_arguments_are_refused(options, says, refusal):
    assert refusal(ParameterError, asked, **options).startswith(says)


def test_no_program_is_refused():
    with pytest.raises(ParameterError, match="names must be programs, got none"):
        validate([])


# faults


def test_a_clock_that_steps_is_told():
    stepping = FakeRanks(time=lambda n, p: lawful(n, p) if n < 1e6 else -1.0)
    with pytest.raises(ParameterError, match="must report trials of the cases of its launch, of"):
        asked(stepping, sizes=[2e6])


def test_interrupted_before_any_comparison_nothing_is_judged():
    whole = FakeRanks()
    asked(whole)
    calibrating = sum(x.purpose == "calibration" for x in whole.launches)
    told = asked(FakeRanks(fails_after=calibrating))
    assert told.holds is None
    assert told.median_error is told.worst_error is told.coverage is None
    assert told.parts[0].ended_by == "interrupted"
    assert "not compared" in repr(told)
    told = asked(FakeRanks(fails_after=len(whole.launches) - 1))
    assert 0 < sum(len(x.runs) for x in told.compared) < 24
    assert told.holds is not None


def test_interrupted_while_calibrating_there_is_no_answer():
    with pytest.raises(KeyboardInterrupt):
        asked(FakeRanks(fails_after=3))


def test_one_program_that_fails_does_not_stop_the_others():
    class Fails(FakeRanks):
        def __call__(self, launch, **more):
            if launch.cases[0].program == "gauss":
                raise RunFailed("gauss was killed.")
            super().__call__(launch, **more)

    told = asked(Fails(), ["gauss", "sort"])
    assert [x.name for x in told.parts] == ["sort"]
    assert told.failures == {"gauss": "gauss was killed."}
    with pytest.raises(RunFailed, match=r"gauss was killed\."):
        asked(Fails(), "gauss")


def test_too_little_time_to_calibrate_is_told():
    with pytest.raises(FitFailed, match="could not be calibrated within the time limit"):
        asked(FakeRanks(change=lambda run: time.sleep(0.02) or run), time_limit=0.2)
    with pytest.raises(FitFailed, match="before anything was predicted"):
        asked(time_limit=1e-9)


# the parts


@pytest.mark.parametrize("name", COUNTED)
def test_every_program_has_a_law_that_counts(name):
    told = counted_program(name)
    counts = told.counted([100, 1000], [1, 2])
    assert counts.steps.shape == counts.disk_bytes.shape == (2,)
    assert np.all(counts.steps > 0)
    assert counts.network_bytes[1] > 0


def test_a_program_whose_law_does_not_count_is_refused(monkeypatch):
    spmd = replace(kernel_named("fractal"), phase={"law": "spmd", "compute": {"parallel": "1 s"}})
    monkeypatch.setattr("parcast.kernels.trials.counting.kernel_named", lambda _: spmd)
    with pytest.raises(ParameterError, match="must be a program whose law counts steps"):
        counted_program("fractal")


def test_a_size_is_found_by_its_steps():
    n = size_with(program(), 1e7)
    assert float(program().counted(n, 1).steps) <= 1e7 < float(program().counted(n + 1, 1).steps)
    for size in (1, 2, 65, 2**20 - 1, 2**20, 123_456_789):
        steps = float(program().counted(size, 1).steps)
        assert size_with(program(), steps) == size
    assert (size_with(program(), -1.0), size_with(program(), np.inf)) == (1, 2**40 - 1)


def test_laws_that_grow_fast_get_smaller_factors_and_memory_bounds_all():
    cubic = counted_program("matmul")
    chosen = chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=float("inf"))
    top = chosen.predicted[-1] / chosen.calibrated[-1]
    assert 4 <= top < 10
    assert cubic.counted(chosen.predicted[-1], 1).steps * 1e-10 <= 2.05
    short = chosen_sizes(cubic, 1e-10, longest=0.1, most_p=2, memory=float("inf"))
    assert short.predicted[-1] / short.calibrated[-1] == pytest.approx(5, abs=0.2)
    small = chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=1e8)
    assert cubic.kernel.functions.memory(small.predicted[-1], 2) <= 0.4e8
    with pytest.raises(ParameterError, match="needs more memory than is available"):
        chosen_sizes(cubic, 1e-10, longest=2.0, most_p=2, memory=1e3)


def test_sizes_are_whole_blocks_for_every_rank():
    paths = counted_program("monte_carlo")
    assert paths.kernel.block == 512
    for seconds in (1e-8, 1e-7, 1e-6):
        chosen = chosen_sizes(paths, seconds, longest=2.0, most_p=2, memory=float("inf"))
        assert all(n % 1024 == 0 for n in (*chosen.calibrated, *chosen.predicted))
        assert len(chosen.calibrated) > 1
        assert chosen.predicted[0] >= 4 * chosen.calibrated[-1]


def test_counts_of_few_blocks_are_not_compared():
    paths = counted_program("monte_carlo")

    def cells_with(blocks):
        n = 512 * blocks
        share = 512 * -(-blocks // 2)
        law = paths.counted(n, 2)
        run = FakeRanks().run(KernelCase("sort", n, 2))
        sent = (96, 32 * (n - share))
        steps = (64 * share, 64 * (n - share))
        run = replace(run, steps=steps, sent=sent, messages=(round(float(law.messages)), 0))
        run = replace(run, disk_bytes=0)
        alone = replace(run, p=1, steps=(64 * n,), sent=(0,), messages=(0,))
        return {
            (n, 2): [LaunchSample(launch=1, runs=(run,))],
            (n, 1): [LaunchSample(launch=1, runs=(alone,))],
        }

    few = {**cells_with(3), **cells_with(8), **cells_with(11)}  # 2 and 1, 4 and 4, 6 and 5
    assert [x.what for x in count_checks(paths, few, least=1)] == ["steps"]
    assert all(x.agrees for x in count_checks(paths, few, least=1))
    many = {**few, **cells_with(80), **cells_with(81)}
    checks = {x.what: x for x in count_checks(paths, many, least=1)}
    assert set(checks) == {"steps", "network bytes", "messages"}
    assert all(x.agrees for x in checks.values())


def slow_network(startup, *, m_2=0.0, cores=64):
    """Give a program whose waves cost a startup each, as its law and as runs of it.

    `startup` is one [s], or those of each count of ranks.
    """
    startups = startup if isinstance(startup, dict) else {}
    waves = counted_program("gauss")

    def tried(sizes, p):
        made = []
        for size in sizes:
            law = waves.counted(float(size), float(p))
            computing = float(law.steps) * 1e-9 * (1 + m_2**2 * p / size**2)
            computing *= -(-p // cores)
            took = computing + float(law.network_bytes) * 1e-11
            took += float(law.messages) * (startups[p] if startups else startup)
            run = FakeRanks().run(KernelCase("gauss", size, 1))
            seen = {"compute": (computing,) * p, "steps": (round(float(law.steps)),) * p}
            made.append(replace(run, p=p, time=took, disk=0.0, cores=cores, **seen))
        return made

    return waves, tried


@pytest.mark.parametrize(
    ("startup", "factor"), [(0.0, (5, 10)), (1e-5, (4, 4.2)), (1e-2, (2.4, 2.6))]
)
def test_calibrated_sizes_grow_where_small_runs_do_little_but_wait(startup, factor):
    waves, tried = slow_network(startup)
    alone = chosen_sizes(waves, 1e-9, longest=1.0, most_p=8, memory=float("inf"))
    n = alone.calibrated[-1]
    share = waiting_in(waves, 1e-9, tried, n=n, p=8)
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
    cubic = counted_program("matmul")
    ask = {"longest": 4.0, "calibrated": 0.6, "most_p": 2, "memory": float("inf")}
    alone = chosen_sizes(cubic, 1e-10, **ask)
    assert alone.predicted[0] == pytest.approx(4 * alone.calibrated[-1], rel=0.01)
    shared = chosen_sizes(cubic, 1e-10, **ask, middle=LOWEST, lowest=LOWEST)
    assert shared.calibrated[-1] == pytest.approx(2 * alone.calibrated[-1], rel=0.01)
    assert shared.predicted[-1] == alone.predicted[-1]
    assert shared.predicted[0] == pytest.approx(2.5 * shared.calibrated[-1], rel=0.01)


def test_startups_may_differ_from_count_to_count():
    startups = {1: 0.0, 2: 1e-4, 4: 6e-4, 8: 4e-4}
    waves, tried = slow_network(startups)
    sizes = [100, 150, 200, 300]
    cells = samples_of(tried, sizes, list(startups))
    calibration = calibrated(forms_of(waves, list(startups), sizes, 64), cells, seed=0)
    assert calibration.form.startups == (2, 4, 8)
    told = {x.p: x.value for x in calibration.capacities() if x.symbol == "t0"}
    assert told == pytest.approx({p: startups[p] for p in (2, 4, 8)}, rel=0.1)
    waves, tried = slow_network(1e-3)
    cells = samples_of(tried, sizes, list(startups))
    calibration = calibrated(forms_of(waves, list(startups), sizes, 64), cells, seed=0)
    assert calibration.form.startups == (2,)


def test_what_is_done_once_a_row_is_found_as_a_size():
    waves, tried = slow_network(0.0, m_2=50.0)
    sizes = [100, 150, 200, 300]
    cells = samples_of(tried, sizes, [1, 2, 8])
    calibration = calibrated(forms_of(waves, [1, 2, 8], sizes, 64), cells, seed=0)
    told = {x.symbol: x for x in calibration.capacities()}
    assert told["m_2"].value == pytest.approx(50.0, rel=0.02)
    assert told["m_2"].lower <= told["m_2"].value <= told["m_2"].upper


def test_waiting_is_told_from_computing_where_ranks_share_cores():
    waves, tried = slow_network(1e-5, cores=2)
    crowded = waiting_in(waves, 1e-9, tried, n=300, p=3)
    law = waves.counted(300.0, 3.0)
    computing = 2 * float(law.steps) * 1e-9  # two ranks on one of the cores
    took = computing + float(law.network_bytes) * 1e-11 + float(law.messages) * 1e-5
    assert crowded(300) == pytest.approx(1 - computing / took, abs=1e-6)


def test_programs_whose_messages_do_not_grow_need_no_second_trial():
    share = waiting_in(program(), 1e-8, None, n=1000, p=8)
    assert share(1000) == 0.0


def test_calibrated_counts_are_one_two_the_largest_and_one_well_between():
    assert calibrated_counts([2, 3, 4]) == (1, 2, 4)
    assert calibrated_counts([2, 8]) == (1, 2, 8)
    assert calibrated_counts([2, 3, 4, 5, 6, 7, 8]) == (1, 2, 4, 8)
    assert calibrated_counts([2, 3, 8]) == (1, 2, 3, 8)


def test_intervals_are_wider_on_the_side_of_disturbed_runs():
    lower, upper = interval(np.array([1.0]), (-0.01, 0.2), np.array([0.02]))
    assert np.log(upper) > 4 * -np.log(lower)


def test_the_allowance_grows_with_size_and_count():
    grown = allowance(np.array([0.5, 4.0, 10.0]), np.array([2.0, 2.0, 2.0]), [1, 2])
    assert grown[0] == 0 < grown[1] < grown[2]
    assert allowance(np.array([1.0]), np.array([4.0]), [1, 2])[0] > 0


def samples_of(tried, sizes, counts, *, launches=3):
    return {
        (n, p): [
            LaunchSample(launch=k, runs=tuple(tried([n] * 2, p))) for k in range(1, launches + 1)
        ]
        for n in sizes
        for p in counts
    }


def made_by(ranks):
    random = np.random.default_rng(0)
    return lambda sizes, p: [ranks.run(KernelCase("sort", n, p), random) for n in sizes]


def test_one_launch_is_enough_to_calibrate_and_gives_no_doubt_of_its_own():
    cells = samples_of(made_by(FakeRanks(noise=0.02)), [10_000, 40_000], [1, 2], launches=1)
    forms = forms_of(program(), [1, 2], [10_000, 40_000], cores=4)
    found = calibrated(forms, cells, seed=0)
    form = found.form
    assert found.doubt(form.terms([80_000], [2])) == pytest.approx(0, abs=1e-9)
    low, high = scatter(cells)
    assert low == -high < 0


def test_forms_with_fewest_constants_come_first():
    forms = forms_of(program(), [1, 2, 4, 8], [10_000, 40_000], cores=4)
    counts = [len(form.columns) for form in forms]
    assert counts == sorted(counts)
    assert len(forms) == len({(x.rates, x.networks, x.startups) for x in forms}) == 3 * 2 * 2
    assert (forms[0].rates, forms[0].networks, forms[0].startups) == ((1,), (2,), (2,))


def test_one_size_has_no_half_size():
    (form,) = forms_of(program(), [1], [10_000], cores=1)
    assert {column.symbol for column in form.columns} == {"W", "B", "S0"}


@pytest.mark.usefixtures("uncovered")
def test_a_real_program_on_two_ranks(monkeypatch):
    """The processors need not be quiet, and one launch calibrates."""
    monkeypatch.setattr("parcast.kernels.trials.subject.QUICK_LAUNCHES", 1)
    monkeypatch.setattr("parcast.kernels.trials.subject.AGAIN", 0)
    monkeypatch.setattr("parcast.kernels.trials.subject.FURTHER", 0)
    monkeypatch.setattr("parcast.kernels.trials.sizes.MOST_TRIALS", 1)
    told = validate(
        "monte_carlo",
        p=[2],
        sizes=[40_960],
        calibrate_with=[4096, 8192, 10_240],
        repetitions=1,
        quick=True,
        time_limit=60.0,
    )
    (part,) = told.parts
    assert {x.case.p for x in part.compared} == {2}
    assert all(x["agrees"] for x in part.findings.document["counts"])
    assert all(x.measured > 0 and x.lower < x.predicted < x.upper for x in part.compared)


def test_ranks_here_are_a_launcher_and_a_wrong_result_is_not_timed(monkeypatch):
    case = KernelCase("monte_carlo", 4096, 1)
    [made] = check_launcher(KernelLauncher(), [case])
    assert (made.case, made.repetition, made.observed.p) == (case, 1, 1)
    wrong = replace(made.observed, is_correct=False)
    monkeypatch.setattr(
        "parcast.kernels.trials.case.run_kernel", lambda *_, each, **__: each(wrong)
    )
    with pytest.raises(RunFailed, match="monte_carlo on 1 rank gave a wrong result"):
        check_launcher(KernelLauncher(), [case])


def test_a_program_is_a_subject():
    wanted = AskedSizes(counts=(1, 2), predicted=None, calibrated=None, longest=1.0, is_quick=True)
    subject = KernelSubject(program=program(), wanted=wanted, repetitions=2, seed=0)
    found = check_subject(subject, FakeRanks())
    assert all(abs(x.error()) < 1e-6 for x in found.comparisons())


def test_the_sheet_names_the_law_its_capacities_its_counts_and_its_source():
    told = asked(FakeRanks(noise=0.02, cores=2), seed=1)
    text = str(told)
    for words in (
        "sort: sort the keys of a file",
        "law         agrees: ",
        "W (steps per second of one processor): ",
        "u (network bandwidth): ",
        "counts      steps 1",
        "sort: Shi c. 1996",
        "of 24 runs within their 90% interval",
    ):
        assert words in text
    narrow = lay_out(told.to_sheet(), Page(width=40))[0]
    assert max(map(len, narrow)) <= 40
    assert told.plot() is not None


@pytest.mark.parametrize(
    ("symbol", "value", "lower", "upper", "says"),
    [
        ("W", 3.1e8, 3e8, 3.2e8, "W at p = 2 (steps per second of one processor): 3.1e+08/s (3e"),
        ("W", 12.0, 11.0, 13.0, "W at p = 2 (steps per second of one processor): 12.0/s (11.0/s"),
        ("u", None, 5e6, None, "u at p = 2 (network bandwidth): at least 5 MB/s"),
        ("u", 5e6, 4e6, None, "u at p = 2 (network bandwidth): 5 MB/s (4 MB/s to unlimited)"),
        ("u", None, None, None, ""),
        ("t0", None, None, 2e-6, "t0 at p = 2 (startup time of a message): at most 2 us"),
        (
            "t0",
            1e-6,
            None,
            2e-6,
            "t0 at p = 2 (startup time of a message): 1 us (unknown to 2 us)",
        ),
    ],
)
def test_a_capacity_is_told_with_its_interval_or_its_bound(symbol, value, lower, upper, says):
    one = str(Capacity(symbol=symbol, p=2, value=value, lower=lower, upper=upper))
    assert one.startswith(says)
    assert bool(says) == bool(one)


@pytest.mark.parametrize(("cap", "share"), [(0.1, 0.1), (None, 1.0)])
def test_on_a_testbed_a_rank_gets_the_share_of_a_core_that_its_host_has(monkeypatch, cap, share):
    monkeypatch.setenv("PARCAST_TESTBED", json.dumps(Testbed(hosts=2, cpu=cap).description()))
    assert share_of_core() == share


def test_elsewhere_a_rank_has_a_core(monkeypatch):
    monkeypatch.delenv("PARCAST_TESTBED", raising=False)
    assert share_of_core() == 1.0
