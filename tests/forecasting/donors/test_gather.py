"""`parcast.forecast` with donors: who is used, what is told, and how often the intervals hold."""

import re

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

COUNTS = (1, 2, 4, 8, 16)


def runs(machines, counts=COUNTS, **more):
    """Measurements of machines, each a function of p."""
    return Measurements(
        p=[p for _ in machines for p in counts],
        time=[time(p) for time in machines.values() for p in counts],
        machine=[name for name in machines for _ in counts],
        **more,
    )


def amdahl(a, b, c=0.0):
    """Time of a program with a part that grows."""
    return lambda p: a + b / p + c * p


OTHERS = {"A": amdahl(1, 100), "B": amdahl(2, 180), "C": amdahl(1.5, 120)}
DONORS = runs(OTHERS)
ONE = Measurements(p=4, time=20.0)
STEADY = Measurements(p=[1, 2, 4, 8], time=[80.0, 41, 21, 11])


def only(told):
    """The notes of the one series of a forecast."""
    (note,) = told.notes
    return note


def named(note):
    return sorted(donor.machine for donor in note.donors)


def test_one_run_is_enough():
    told = forecast(ONE, [1, 4, 16], donors=DONORS)
    truth = 20 / 26 * np.array([101, 26, 7.25])
    assert told.time == pytest.approx(truth, rel=0.03)
    assert np.all((told.lower < told.time) & (told.time < told.upper))
    note = only(told)
    assert note.rests_on.startswith(
        "1 run at p = 4, and the scaling on other machines; weight of 3 other machines 100% at p ="
    )
    assert named(note) == ["A", "B", "C"]
    assert sum(donor.weight for donor in note.donors) == pytest.approx(1)
    assert note.scaling_reason == "assumed: nothing says that the work grows with p"
    assert note.backtest is None


def test_donors_that_would_leave_the_interval_of_the_own_runs_are_limited_and_told():
    known = Measurements(p=[1, 2, 4, 8], time=[100.0, 50, 25, 12.5])
    slow = {p: 100 / p for p in (1, 2, 4, 8)} | {16: 40.0, 32: 120.0}
    plain = forecast(known, 32)
    told = forecast(known, 32, donors=runs(dict.fromkeys("ABCD", slow.get), counts=list(slow)))
    assert told.time == pytest.approx(plain.upper)
    (warning,) = [x for x in told.warnings if "own runs alone" in x]
    assert "The forecast was kept within the interval of the own runs." in warning


def test_between_own_counts_the_donors_are_asked_and_told():
    known = Measurements(p=[1, 16], time=[101.0, 7.25])
    told = forecast(known, [1, 4, 16], donors=DONORS)
    assert told.time == pytest.approx([101, 26, 7.25], rel=0.03)
    assert named(only(told)) == ["A", "B", "C"]
    assert "weight of 3 other machines" in only(told).rests_on
    assert "at p = 4: " in only(told).rests_on
    at_own = forecast(known, [1, 16], donors=DONORS)
    assert at_own.time == pytest.approx([101, 7.25])
    assert only(at_own).donors == ()


def test_a_donor_that_contradicts_the_runs_is_left_out_and_told():
    odd = runs(OTHERS | {"X": amdahl(1, 1, 50)})
    known = Measurements(p=[2, 4], time=[40.0, 21.0])
    told, without = (forecast(known, 16, donors=donors) for donors in (odd, DONORS))
    assert told.time == pytest.approx(without.time, rel=1e-3)
    assert (
        "X was not used as a donor: its times change with p in another way than those of the runs "
        in " ".join(only(told).warnings)
    )


def test_donors_with_one_run_each_cannot_help_one_run():
    with pytest.raises(FitFailed) as caught:
        forecast(ONE, 8, donors=Measurements(p=[4, 8], time=[2, 1.0], machine=["Y", "Z"]))
    assert str(caught.value).endswith(
        "Y, Z have runs at one processor count only and are ignored. No other machine can be "
        "used for this forecast: none has runs at two processor counts or more."
    )


def test_a_machine_in_both_tables_is_no_donor_of_itself():
    here = Measurements(p=[4, 4], time=[20.0, 30.0], machine=["A", "T"])
    told = forecast(here, 8, donors=DONORS)
    ours, other = told.notes
    assert named(ours) == ["B", "C"]
    assert ours.warnings[-1] == (
        "A is among the donors as well: its runs there were not used. "
        "Put all runs on it into one table, or rename it."
    )
    assert named(other) == ["A", "B", "C"]
    alone = forecast(Measurements(p=4, time=20.0, machine="A"), 8, by=[], donors=DONORS)
    assert named(only(alone)) == ["B", "C"]


@pytest.mark.parametrize(
    ("donors", "here", "says"),
    [
        (1001, 1, "donors must be at most 1,000 other machines for each series, got 1,001. "),
        (
            *(1000, 5001),
            "donors must be at most 5,000,000 pairs of a series and another machine, got "
            "5,001,000. ",
        ),
    ],
)
def test_donors_have_a_limit(donors, here, says):
    there = Measurements(
        p=[1, 2] * donors, time=1.0, machine=[f"M{i}" for i in range(donors) for _ in "12"]
    )
    known = Measurements(p=4, time=[1.0] * here, machine=[f"H{i}" for i in range(here)])
    with pytest.raises(ParameterError, match=re.escape(says)):
        forecast(known, 8, donors=there)


def test_donors_have_the_same_callpath_and_axes():
    here = Measurements(p=4, time=[20.0, 30.0, 5.0], callpath=["a", "b", "a"], n=[1, 1, 2])
    donors = runs(OTHERS, callpath="a", n=1)
    told = forecast(here, 8, donors=donors)
    assert [note.label for note in told.notes] == ["a, n = 1"]
    assert named(only(told)) == ["A", "B", "C"]
    assert told.refused["b, n = 1"].endswith(
        "No other machine can be used for this forecast: none has runs at two processor counts "
        "or more with b, n = 1."
    )
    assert sorted(told.refused) == ["a, n = 2", "b, n = 1"]


def test_one_run_of_a_weak_scaling_study_has_donors_that_grow_likewise():
    donors = runs({"A": lambda p: 20 + p / 9, "B": lambda p: 30 + p / 9}, n=[*COUNTS, *COUNTS])
    told = forecast(Measurements(p=4, time=20.0, n=4), 16, donors=donors)
    assert (only(told).scaling, only(told).scaling_reason) == (
        "weak",
        "n grows with p on the other machines",
    )
    assert told.time == pytest.approx(21, rel=0.03)
    said = forecast(Measurements(p=4, time=20.0, n=4), 16, donors=donors, scaling="strong")
    assert (only(said).scaling, only(said).scaling_reason) == ("strong", "as requested")


@pytest.mark.parametrize(
    ("scale", "far"), [(1000.0, "1250 times the time here. "), (1e-3, "1/200 of the")]
)
def test_times_that_cannot_be_those_of_a_machine_are_told(scale, far):
    odd = {"A": OTHERS["A"], "B": lambda p: scale * (500.0 if scale > 1 else 2000.0) / (5 * p)}
    (warning,) = [x for x in forecast(ONE, 8, donors=runs(odd)).warnings if "unit of time" in x]
    assert warning.startswith(f"At p = 4 the time on B is {far}")
    between = runs({"B": odd["B"]}, counts=(1, 16))
    (warning,) = [x for x in forecast(ONE, 8, donors=between).warnings if "unit of time" in x]
    assert warning.startswith(f"At p = 4 the time on B, interpolated between its runs, is {far}")
    all_odd = {name: (lambda p, t=time: 1000 * t(p)) for name, time in OTHERS.items()}
    said = " ".join(forecast(ONE, 8, donors=runs(all_odd)).warnings)
    assert "on B is 2350 times the time here (C, A: similar)" in said
    assert "unit of time" not in " ".join(forecast(ONE, 8, donors=DONORS).warnings)


def test_how_long_it_takes_if_it_goes_on_as_there_is_told():
    told = forecast(ONE, [8, 16], donors=DONORS)
    said = {name: times[1] for name, times in told.curve.as_elsewhere(0, [8, 16]).items()}
    assert {x.machine: x.time for x in only(told).donors} == pytest.approx(said)
    assert min(said.values()) <= told.time[1] <= max(said.values())
    two = runs({name: OTHERS[name] for name in "AB"})  # of two, their speed is not allowed for
    elsewhere = forecast(ONE, [4, 16], donors=two).curve.as_elsewhere(0, [2, 4, 16])
    for name, times in elsewhere.items():
        shape = [OTHERS[name](p) / OTHERS[name](4) for p in (2, 16)]
        assert times[[0, 2]] == pytest.approx(20 * np.array(shape))
        assert np.isnan(times[1])
    assert only(forecast(ONE, 16, donors=two)).elsewhere == (
        "time at p = 16 if scaling continues as on A: 5.6 s, as on B: 5.6 s"
    )
    assert only(forecast(STEADY, 16)).elsewhere == ""
    assert forecast(STEADY, 16).curve.as_elsewhere(0, [16]) == {}


def grouped(good, bad):
    """Donors of which some scale well and some badly."""
    return runs(
        {f"{'GB'[i >= good]}{i}": amdahl(100.0 * (i >= good), 1000 + i) for i in range(good + bad)}
    )


@pytest.mark.parametrize(("good", "bad"), [(3, 4), (2, 2), (5, 2)])
def test_donors_that_go_on_in_two_ways_are_told_and_the_interval_reaches_both(good, bad):
    told = forecast(ONE, [8, 16], donors=grouped(good, bad))
    (warning,) = [x for x in told.warnings if "two groups" in x]
    assert warning.startswith("The other machines fall into two groups: 5 s (as on G")
    assert re.search(r"\) and (8|8.9|9) s \(as on B", warning)  # 9.3 at the speed of B
    times = [donor.time for donor in only(told).donors]
    assert told.lower[1] < min(times) < max(times) < told.upper[1]


@pytest.mark.parametrize("donors", [grouped(4, 1), grouped(1, 4), grouped(5, 0), grouped(1, 1)])
def test_donors_of_one_way_and_a_single_odd_one_are_no_groups(donors):
    assert "two groups" not in " ".join(forecast(ONE, [8, 16], donors=donors).warnings)


@pytest.mark.parametrize(
    ("here", "donors", "says"),
    [
        (
            ONE,
            Measurements(p=[1, 2], time=[2.0, 1.0], machine="A", callpath=["a", "b"]),
            "donors must have one callpath where the measurements name none, got 2. "
            "Select the one that was measured: donors.select(callpath='a').",
        ),
        (
            Measurements(p=[4, 4], time=[2.0, 1.0], callpath=["a", "b"]),
            DONORS,
            "donors must have a column callpath where the measurements have 2, got none. "
            "Name the callpath of every run in it, or select one of the measurements.",
        ),
    ],
)
def test_donors_that_cannot_be_matched_are_refused(here, donors, says, refusal):
    assert refusal(ParameterError, forecast, here, 8, donors=donors) == says


MACHINES, PROGRAMS = 8, 50


def family(kind, draw):
    """Times of one program on several machines at 1 to 64: shape (machines, counts)."""
    p = 2.0 ** np.arange(7)
    column = (MACHINES, 1)
    speed, network = draw.lognormal(0, 0.5, column), draw.lognormal(0, 0.5, column)
    serial, tree, line = 10 ** draw.uniform([-3, -3.5, -5], [-1, -1.5, -2.5])
    if kind == "tree":
        time = speed * (serial + 1 / p) + network * tree * np.log2(p)
    else:
        time = speed * (serial + 1 / p) + network * line * p
    return time * draw.lognormal(0, 0.08, time.shape)  # as real machines differ from laws


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("kind", ["tree", "line"])
@pytest.mark.parametrize("known", [1, 2, 3])
def test_intervals_hold_about_as_often_as_they_promise(kind, known):
    draw = np.random.default_rng([known, len(kind)])
    counts, time = 2.0 ** np.arange(7), np.array([family(kind, draw) for _ in range(PROGRAMS)])

    def measured(machines, points):
        program, machine, count = np.meshgrid(
            np.arange(PROGRAMS), machines, np.arange(7)[points], indexing="ij"
        )
        return Measurements(
            p=counts[count.ravel()],
            time=time[program, machine, count].ravel(),
            machine=[f"M{i}" for i in machine.ravel()],
            callpath=[f"P{i:02}" for i in program.ravel()],
        )

    here = measured([0], slice(2, 2 + known)).select(machine="M0")
    here = Measurements(p=here.p, time=here.time, callpath=here.labels["callpath"])
    asked, seen = counts[2 + known :], time[:, 0, 2 + known :]
    told = forecast(here, asked, donors=measured(np.arange(1, MACHINES), slice(None)))
    assert 0.85 <= np.mean((told.lower <= seen) & (seen <= told.upper)) <= 0.99
    if known > 1:
        plain = forecast(here, asked).time
        error, other = (np.median(np.abs(np.log(x / seen))) for x in (told.time, plain))
        assert error < other


def described(name, rate):
    return Machine(name=name, compute={"rate": f"{rate} Mflop/s"})


def test_machines_like_the_target_weigh_more():
    like_a = [
        described("A", 100),
        described("B", 6400),
        described("C", 6400),
        described("me", 100),
    ]
    plain = forecast(ONE, p=16, donors=DONORS)
    weighed = forecast(ONE, p=16, donors=DONORS, machines=like_a)
    first, *_ = weighed.notes[0].donors
    assert first.machine == "A"
    assert first.weight > next(x.weight for x in plain.notes[0].donors if x.machine == "A")
    assert "similar machines weighted more" in weighed.notes[0].rests_on
    assert "similar machines" not in plain.notes[0].rests_on


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["A", "A"], "machines must be described once each, got 'A' twice"),
        (["A", "X", "Y"], "machines must be those of the runs, got X, Y. The runs name A, B, C"),
    ],
)
def test_descriptions_of_other_machines_are_refused(names, says):
    with pytest.raises(ParameterError, match=says):
        forecast(ONE, p=16, donors=DONORS, machines=[described(name, 100) for name in names])


def test_donors_that_are_not_used_are_told():
    far = runs({"far": amdahl(1, 100)}, counts=(1, 2))
    near = runs(OTHERS)
    both = Measurements(
        **{name: [*near.columns[name], *far.columns[name]] for name in near.columns}
    )
    told = forecast(ONE, p=16, donors=both)
    assert any(
        "far has no weight at p = 16: too few runs near it" in text
        for text in told.notes[0].warnings
    )


def test_call_paths_of_a_single_run_scale_alike():
    parts = {
        "main": amdahl(60, 100),
        "main->solve": amdahl(1, 95),
        "main->io": lambda p: 58 + p / 4,
    }
    rows = [(f, p, time(p), m) for m in "ABC" for f, time in parts.items() for p in COUNTS]
    callpath, p, time, machine = zip(*rows, strict=True)
    donors = Measurements(callpath=callpath, p=p, time=time, machine=machine)
    here = {f: time(4) for f, time in parts.items()}
    one = Measurements(p=4, time=list(here.values()), callpath=list(here))
    told = forecast(one, 16, donors=donors)
    assert {note.scaling for note in told.notes} == {"strong"}
    assert told.verdict == ()  # io does not scale, main does
    several = Measurements(p=[1, 4, 4], time=[160, 85, 59], callpath=["main", "main", "main->io"])
    both = forecast(several, 16, donors=donors)
    assert [note.scaling for note in both.notes] == ["strong", "strong"]
    assert both.verdict == ()


def test_runs_here_that_say_otherwise_than_the_donors_are_told_with_both_times():
    flat = Measurements(p=[4, 8, 16, 32], time=[211.0, 119, 71, 49])
    donors = runs({x: amdahl(0.2, 700 + 50 * i) for i, x in enumerate("ABCDE")}, (*COUNTS, 256))
    told = forecast(flat, 256, donors=donors)
    (warning,) = [x for x in told.warnings if "own runs alone" in x]
    alone = forecast(flat, 256).time.item()
    assert warning.startswith(f"The own runs alone forecast {alone:.2g} s at p = 256, the other")
    assert "own runs alone" not in " ".join(forecast(ONE, 16, donors=DONORS).warnings)
    assert "own runs alone" not in " ".join(forecast(STEADY, 16, donors=DONORS).warnings)


def test_the_run_that_decides_between_own_runs_and_donors_is_named():
    """It is the first doubling at which they differ by half, so what it takes tells them apart."""
    flat = Measurements(p=[1, 2], time=[90.0, 85])
    told = forecast(flat, 64, donors=runs(OTHERS, (1, 2, 4, 8, 16, 32, 64)))
    (warning,) = [x for x in told.warnings if "own runs alone" in x]
    found = re.search(
        r"A run at p = (\d+) decides between them: (\d+) s as .* (\d+) s as on", warning
    )
    p, ours, theirs = (int(x) for x in found.groups())
    assert p == 4
    assert ours > 1.5 * theirs
    assert "A run at" not in str(forecast(flat, 4, donors=DONORS).warnings)  # it is asked for
    paths = Measurements(
        p=[1, 2, 1, 2, 2, 4],
        time=[90.0, 85, 80, 78, 90, 88],
        callpath=["a", "a", "b", "b", "c", "c"],
    )
    named = ["a"] * 7 + ["b"] * 7 + ["c"] * 7
    donors = runs(
        {f"{x}{name}": OTHERS[x] for x in OTHERS for name in "abc"}, (1, 2, 4, 8, 16, 32, 64)
    )
    machine = [x[0] for x in donors.labels["machine"]]
    donors = Measurements(p=donors.p, time=donors.time, machine=machine, callpath=named * 3)
    notes = forecast(paths, 64, donors=donors).notes
    runs_named = [re.findall(r"A run at p = (\d+)", " ".join(note.warnings)) for note in notes]
    assert runs_named == [["4"], ["4"], ["8"]]
