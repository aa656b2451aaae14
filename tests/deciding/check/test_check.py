"""`check`: levels that hold for the family, what it can see, a second run, and bad input."""

import csv
import json

import numpy as np
import pytest

import parcast
from parcast.deciding.check.history import add_line
from parcast.deciding.compare.noise import together
from parcast.errors import FileProblems, FitFailed, ParameterError
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import write_measurements
from tests.conftest import ROOT

BASE, NEW, AGAIN = (
    str(ROOT / "examples" / "versions" / f"{name}.csv") for name in ("base", "new", "again")
)
COUNTS = np.array([1.0, 2, 4, 8, 16])


def runs(seed, repetitions=5, slower=None, noise=0.01, p=COUNTS):
    """Runs of Amdahl's law with log-normal noise; `slower` gives factors by count."""
    random = np.random.default_rng(seed)
    factor = np.array([(slower or {}).get(int(x), 1.0) for x in p])
    time = (2 + 96 / p) * factor * np.exp(random.normal(0, noise, (repetitions, len(p))))
    return Measurements(p=np.tile(p, repetitions), time=time.ravel())


def test_holm_and_sidak_adjust_as_computed_by_hand():
    # 1 - (1 - 0.01)^3, 1 - (1 - 0.04)^2, and the last no smaller than the one before
    got = together(np.array([0.04, 0.01, 0.05, 0.0]), np.array([True, True, True, False]))
    assert got == pytest.approx([0.0784, 0.029701, 0.0784, 1.0])


def test_unchanged_programs_are_reported_no_more_often_than_the_level():
    alarms = asked = 0
    for i in range(150):
        first = parcast.check(
            runs(i, p=np.arange(1.0, 21)), against=runs(i + 999, p=np.arange(1.0, 21))
        )
        asked += first.answer == "measure again"
        at_once = parcast.check(
            runs(i, p=np.arange(1.0, 21)), against=runs(i + 999, p=np.arange(1.0, 21)), confirm=0
        )
        alarms += at_once.regressed
    assert alarms <= 4  # 1% of 150, and its scatter
    assert asked <= 14  # 5%


def test_what_it_says_it_can_see_is_found():
    found = 0
    for i in range(100):
        base = runs(i + 999)
        factor = 1 + float(parcast.check(against=base).visible[2])
        slow, again = (runs(i + shift, n, {4: factor}) for shift, n in ((0, 5), (5000, 3)))
        result = parcast.check([slow, again], against=base)
        found += result.gate.is_slower[2]
    assert found >= 92


def test_a_slowdown_is_reported_only_after_a_second_run_of_its_counts():
    slow = runs(1, slower={8: 1.2})
    first = parcast.check(slow, against=runs(2))
    assert first.answer == "measure again"
    assert [x["result"] for x in first.rows()].count("measure again") == 1
    too_few = parcast.check([slow, runs(3, 2, {8: 1.2})], against=runs(2))
    assert too_few.answer == "measure again"
    assert parcast.check([slow, runs(3, 3, {8: 1.2})], against=runs(2)).regressed
    fine_again = parcast.check([slow, runs(3, 3)], against=runs(2))
    assert fine_again.answer == "no regression"
    assert parcast.check(slow, against=runs(2), confirm=0).regressed


def test_a_tolerated_slowdown_does_not_count_and_a_faster_version_is_no_regression():
    slow = runs(1, slower=dict.fromkeys((1, 2, 4, 8, 16), 1.08))
    assert parcast.check(slow, against=runs(2), confirm=0).regressed
    assert not parcast.check(slow, against=runs(2), confirm=0, tolerate=0.1).regressed
    fast = parcast.check(runs(1, slower={8: 0.7}), against=runs(2))
    assert fast.answer == "no regression"
    assert list(fast.result) == ["no change seen"] * 3 + ["faster", "no change seen"]


def test_a_slowdown_that_is_tolerated_is_called_so():
    slow = runs(1, slower={8: 1.17})
    told = parcast.check(slow, against=runs(2), tolerate=0.3)
    assert told.answer == "no regression"
    assert list(told.result) == ["no change seen"] * 3 + ["tolerated", "no change seen"]


def stopped(seed, number, limit, repetitions=5):
    """Runs at 1 to 8, and at 16 some of five that were stopped."""
    done = runs(seed, repetitions)
    at = np.flatnonzero(done.p == 16)[:number]
    rest = np.delete(np.arange(len(done)), at)
    left = Measurements(p=done.p[rest], time=done.time[rest])
    return left.with_cut_off(p=[16] * number, time=[limit] * number)


@pytest.mark.parametrize("number", [4, 5])
def test_runs_that_were_stopped_above_the_base_are_slower_and_said(number):
    new = stopped(1, number, 60)
    once = parcast.check(new, against=runs(2))
    assert once.answer == "measure again"
    assert "p = 16 has stopped runs, which took over 7.5 times as long" in once.verdict
    twice = parcast.check([new, stopped(3, number, 60)], against=runs(2))
    assert list(twice.result)[-1] == "slower"
    assert parcast.check(new, against=runs(2), confirm=0).regressed
    for told in (once, parcast.compare(runs(2), new)):
        assert any(f"p = 16 ({number} of 5 runs, after 60" in x for x in told.warnings)


def test_runs_that_were_all_stopped_are_looked_into_before_the_next(tmp_path):
    text = "p,time_s,status\n" + "".join(f"{p},600,timeout\n" for p in (1, 2, 4))
    (tmp_path / "new.csv").write_text(text)
    base = {"p": [1, 2, 4], "time": [100, 52, 28]}
    said = parcast.check(str(tmp_path / "new.csv"), against=base).warnings
    assert any("No run ended: find out whether the program hangs" in x for x in said)
    some = parcast.check(stopped(1, 5, 60), against=runs(2)).warnings
    assert not any("No run ended" in x for x in some)


def test_a_run_that_was_stopped_is_asked_for_again_and_a_low_limit_tells_nothing():
    one = stopped(1, 1, 60)
    assert parcast.check(one, against=runs(2), confirm=0).answer == "measure again"
    assert parcast.check([one, stopped(3, 1, 60)], against=runs(2)).answer == "measure again"
    assert parcast.check([one, runs(3, 3)], against=runs(2)).answer == "no regression"
    low = parcast.check(stopped(1, 5, 2), against=runs(2))
    assert low.answer == "no regression"
    assert any("were stopped: p = 16 (5 of 5 runs" in x for x in low.warnings)


def test_sessions_that_disagree_are_said():
    """Guards: a second session that was half as slow again was no regression, without a word."""
    said = "The further runs of the new version differ from the first by more than runs do: "
    base = runs(2)
    told = parcast.check([runs(1), runs(3, slower={8: 1.5})], against=base)
    assert told.answer == "no regression"
    assert said + "p = 8 (1.5" in told.warnings[0]
    single = [runs(i, 1, slower=x) for i, x in ((1, None), (3, dict.fromkeys(range(17), 1.6)))]
    assert told.warnings[0].startswith(parcast.check(single, against=runs(2, 1)).warnings[0][:60])
    alike = [parcast.check([runs(i), runs(i + 500)], against=base) for i in range(40, 80)]
    assert sum(said in " ".join(x.warnings) for x in alike) <= 3


def test_a_table_that_is_given_twice_does_not_confirm_itself():
    slow = runs(1, slower={8: 1.2})
    with pytest.raises(ParameterError, match="new must be tables of different runs, got the runs"):
        parcast.check([slow, slow], against=runs(2))
    with pytest.raises(ParameterError, match=r"against must be tables .* again as table 3"):
        parcast.check(slow, against=[runs(2), runs(3), runs(2)])
    hangs = [runs(i, slower={8: 9.0}).with_cut_off(p=[16] * 3, time=[60] * 3) for i in (1, 3)]
    assert parcast.check(hangs, against=runs(2)).regressed


def test_a_run_that_was_stopped_above_one_run_of_the_base_is_asked_for_again():
    """Guards: 40 min against 21 min were no regression, at the level of 1% of one run."""
    base = Measurements(p=[1, 2, 4, 8], time=[7200, 3900, 2130, 1260])
    for new in (base, Measurements(p=[1, 2, 4], time=[7200, 3900, 2130])):
        told = parcast.check(new.with_cut_off(p=8, time=2400), against=base)
        assert told.answer == "measure again"
        assert "p = 8 has stopped runs, which took over 1.9 times as long" in told.verdict
        assert not any("only in the base" in x for x in told.warnings)
    assert parcast.check(base.with_cut_off(p=8, time=1300), against=base).answer == "cannot tell"


def test_the_first_session_of_each_cell_is_its_first_run():
    some = runs(1, p=COUNTS[:4])
    told = parcast.check([some, runs(3, slower={16: 2.0})], against=runs(2))
    assert told.answer == "measure again"
    assert told.gate.waits.tolist() == [False] * 4 + [True]
    assert np.isfinite(told.visible[-1])


def test_more_repetitions_and_less_noise_show_smaller_slowdowns():
    few, many = (parcast.check(against=runs(1), repetitions=n).visible.max() for n in (2, 20))
    assert many < few
    assert parcast.check(against=runs(1, noise=0.1)).visible.min() > few


def test_several_sessions_of_the_base_tell_how_days_differ():
    one = parcast.check(against=runs(1))
    assert (one.between, one.between_known) == (0.01, False)
    assert any("one session" in text for text in one.warnings)
    days = [Measurements(p=x.p, time=x.time * f) for x, f in ((runs(1), 1), (runs(2), 1.2))]
    far = parcast.check(against=days)
    assert far.between_known
    assert far.between > 0.05
    assert far.visible.min() > one.visible.max()


def test_a_base_of_one_repetition_says_what_it_cannot_see():
    single = runs(1, 1)
    told = parcast.check(single, against=single)
    assert told.answer == "cannot tell"
    assert told.visible.min() > 1
    assert "a factor of" in told.verdict
    assert any("one run of each" in text for text in told.warnings)


def test_single_runs_that_would_not_show_twice_the_time_are_no_answer(parcast, file):
    """Guards: a count that was 19% slower was no regression, with status 0."""
    base = "MPI ranks;Wall time [s]\n1;812,5\n2;420,1\n4;221,7\n8;121,3\n16;74,9\n"
    new = "MPI ranks;Wall time [s]\n1;850,5\n2;500,1\n"
    said = parcast("check", file(new, "new.csv"), "--against", file(base, "base.csv"))
    assert said.status == 4
    assert said.out.startswith("Cannot tell: 2 counts compared. A slowdown of a factor of 5.4 ")
    assert "too few runs" in said.err


def test_what_is_tolerated_is_no_lack_of_runs():
    assert parcast.check(runs(1), against=runs(2), tolerate=1.5).answer == "no regression"


def test_call_paths_and_counts_of_one_version_only_are_named():
    base = {
        "p": [1, 1, 2, 2] * 2,
        "time": [8.0, 8.1, 4.0, 4.1] * 2,
        "callpath": ["a"] * 4 + ["b"] * 4,
    }
    new = {"p": [1, 1, 4, 4], "time": [8.0, 8.1, 2.0, 2.1], "callpath": ["a"] * 4}
    told = parcast.check(new, against=base)
    assert list(told.result).count("not compared") == 4
    assert (
        "Not compared, as it is only in the base: a, p = 2, b, p = 1, b, p = 2." in told.warnings
    )
    assert "Not compared, as it is only in the new runs: a, p = 4." in told.warnings


def test_deviations_of_means_tell_the_noise():
    mean = {"p": [1, 2], "time": [8.0, 4.0], "deviation": [0.08, 0.04]}
    wide = {**mean, "deviation": [0.8, 0.4]}
    lone = {"p": [1, 2], "time": [8.0, 4.0]}
    seen = [parcast.check(against=x, repetitions=5).visible.max() for x in (mean, wide, lone)]
    assert seen[0] < seen[1]
    assert seen[0] < seen[2]


def test_machines_of_the_two_versions_do_not_tell_cells_apart():
    one, other = (
        runs(i).with_columns(machine=name) for i, name in ((1, "runner-1"), (2, "runner-2"))
    )
    told = parcast.check(one, against=other)
    assert told.ratios.in_both.all()
    assert any("runner-2 in the base and runner-1 in the new runs" in x for x in told.warnings)


def test_versions_with_nothing_in_common_are_refused():
    with pytest.raises(FitFailed, match=r"the base has p = 1, .*; the new version has p = 3\."):
        parcast.check(runs(1, p=np.array([3.0])), against=runs(2))


def test_times_are_not_compared_with_rates(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("p,ns/day\n1,10\n2,19\n")
    with (
        pytest.warns(ImportNote),
        pytest.raises(ParameterError, match="times, or rates of the same work"),
    ):
        parcast.check(path, against=runs(1))


def test_a_column_that_varies_in_one_table_only_is_refused():
    with_n = Measurements(p=[1, 2, 1, 2], n=[10, 10, 20, 20], time=[1, 2, 3, 4])
    with pytest.raises(ParameterError, match="n must be a column of all tables"):
        parcast.check(with_n, against=runs(1))


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"level": 0}, "level must lie above 0 and below 0.5, got 0. Write 1% as 0.01."),
        ({"tolerate": -1}, "tolerate must lie from 0 and below 10, got -1. Write 1% as 0.01."),
        ({"confirm": 1.5}, "confirm must be a whole number of at least 0, got 1.5."),
        ({"repetitions": 0}, "repetitions must be a whole number of at least 1, got 0."),
    ],
)
def test_a_bad_argument_is_named(bad, says):
    with pytest.raises(ParameterError) as caught:
        parcast.check(against=runs(1), **bad)
    assert str(caught.value).startswith(says)


def test_the_command_ends_with_the_status_of_its_answer(parcast, tmp_path):
    assert parcast("check", "--against", BASE).status == 0
    assert parcast("check", BASE, "--against", BASE).status == 0
    first = parcast("check", NEW, "--against", BASE, "--json")
    assert first.status == 4
    assert json.loads(first.out)["answer"] == "measure again"
    path = tmp_path / "check.csv"
    second = parcast("check", NEW, AGAIN, "--against", BASE, "-o", str(path))
    assert second.status == 1
    assert [row["result"] for row in csv.DictReader(path.read_text().splitlines())][-2:] == [
        "slower",
        "slower",
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([NEW, "--repetitions", "3"], "--repetitions is of runs not made"),
        (["--history", "h.csv"], "--history needs NEW"),
        ([NEW, "--commit", "1a"], "--commit is of a line of --history"),
        (["--level", "60%"], "--level must lie above 0 and below 0.5"),
    ],
)
def test_options_that_contradict_each_other_are_refused(parcast, options, says):
    said = parcast("check", *options, "--against", BASE)
    assert said.status == 2
    assert says in said.err


def test_a_history_has_a_line_a_check_as_otava_reads_it(tmp_path):
    path = tmp_path / "history.csv"
    assert add_line(str(path), [runs(1)], commit="1a2b") == []
    assert add_line(str(path), [runs(2), runs(3, 3, p=COUNTS[:2])], commit="3c,d") == []
    first, second = csv.DictReader(path.read_text().splitlines())
    assert list(first) == ["time", "commit", "p1_s", "p2_s", "p4_s", "p8_s", "p16_s"]
    assert second["commit"] == "3c,d"
    assert float(second["p16_s"]) == pytest.approx(8, rel=0.03)
    assert '"p16_s": {direction: -1, scale: 1}' in path.with_suffix(".yaml").read_text()
    [note] = add_line(str(path), [runs(4, p=COUNTS[:3])], commit="5")
    assert "no line was added" in note
    assert len(list(csv.DictReader(path.read_text().splitlines()))) == 2


@pytest.mark.fault(
    "Output files",
    "`--history` names a file that is no history.",
    promise="Status 3; it stays as it is.",
)
def test_a_history_that_is_another_file_stays_as_it_is(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FileProblems, match="must be a history"):
        add_line(str(path), [runs(1)], commit="")
    assert path.read_text() == "a,b\n1,2\n"


def test_a_picture_shows_both_versions_and_what_is_found():
    axes = parcast.check([NEW, AGAIN], against=BASE).plot()
    labels = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert labels == [
        "base",
        "new",
        "smallest slowdown that is found in 95% of checks",
        "change, 90% interval",
    ]


def test_a_history_keeps_call_paths_apart_and_overwrites_no_other_file(tmp_path):
    new = [Measurements(p=[4, 4], callpath=["a b", "a-b"], time=[1.0, 9.0])]
    path = tmp_path / "history.csv"
    for _ in range(2):
        add_line(str(path), new, commit="x")
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert len(set(rows[0])) == 4
    assert [row[2:] for row in rows[1:]] == [["1", "9"]] * 2
    other = tmp_path / "bench.yaml"
    other.write_text("mine: 1\n", encoding="utf-8")
    for name in ("bench.csv", "bench.yaml", "new.yaml"):
        with pytest.raises(FileProblems):
            add_line(str(tmp_path / name), new, commit="x")
    assert other.read_text(encoding="utf-8") == "mine: 1\n"
    assert not (tmp_path / "bench.csv").exists()


def test_results_stand_for_their_runs():
    base, new = runs(2), runs(1, slower={8: 1.3})
    told = parcast.check(new, against=base)
    again = parcast.check(parcast.forecast(new, 32), against=[parcast.forecast(base, 32)])
    assert again.verdict == told.verdict
    program = parcast.Program(phase=[{"law": "spmd", "compute": {"parallel": "9 s"}}])
    predicted = parcast.predict(program, parcast.Machine(), p=[1, 2])
    with pytest.raises(ParameterError, match="against must be runs, or results with theirs"):
        parcast.check(new, against=predicted)


def test_tables_of_which_no_run_ended_are_a_slowdown_or_named_and_left_out(tmp_path):
    write_measurements(runs(2), tmp_path / "base.csv")
    write_measurements(runs(1), tmp_path / "new.csv")
    (tmp_path / "cut.csv").write_text("p,time_s,status\n16,,failed\n")
    base, new, cut = (str(tmp_path / f"{x}.csv") for x in ("base", "new", "cut"))
    with pytest.warns(ImportNote, match=r"new: .*cut\.csv is left out: none of its runs ended"):
        told = parcast.check([new, cut], against=base)
    assert told.answer == parcast.check(new, against=base).answer
    with pytest.raises(FileProblems, match="must have a run that ended, got 1 that failed or"):
        parcast.check([cut], against=base)
    (tmp_path / "cut.csv").write_text("p,time_s,status\n" + "16,60,timeout\n" * 3)
    (tmp_path / "more.csv").write_text("p,time_s,status\n" + "16,61,timeout\n" * 3)
    once, twice = ([cut], [cut, str(tmp_path / "more.csv")])
    assert parcast.check(once, against=base).answer == "measure again"
    told = parcast.check(twice, against=base)
    assert told.verdict == (
        "Regression: p = 16 has stopped runs, which took over 7.5 times as long."
    )
    with pytest.raises(FileProblems, match="must have a run that ended"):
        parcast.check(new, against=cut)


def test_the_command_takes_tables_of_which_all_runs_were_stopped(parcast, tmp_path):
    """Guards: a program that always hangs was called a file with an error, status 3."""
    hangs = [tmp_path / "cut.csv", tmp_path / "more.csv"]
    for i, path in enumerate(hangs):
        path.write_text("p,time_s,status\n" + f"8,{900 + i},timeout\n" * 3)
    assert parcast("check", hangs[0], "--against", BASE).status == 4
    history = tmp_path / "history.csv"
    picture = tmp_path / "check.svg"
    told = parcast("check", *hangs, "--against", BASE, "--history", history, "-o", picture)
    assert told.status == 1
    assert "Regression: p = 8 has stopped runs" in told.out
    assert "no line was added, as no run ended" in told.err
