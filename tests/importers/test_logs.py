"""Logs: of LAMMPS, of GROMACS, and of one's own by patterns."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements
from parcast.timings.tables.durations import duration
from tests.importers.refused import refusal

DATA = Path(__file__).parent / "data"
NO_COPIES = "they did not find each other. Start it with the mpirun of the MPI"


@pytest.fixture
def log(file):
    def write(*lines, name="run.log"):
        return file("\n".join(lines) + "\n", name)

    return write


# LAMMPS


def loop(time, p, steps=100, atoms=4000):
    return f"Loop time of {time} on {p} procs for {steps} steps with {atoms} atoms"


HEADER = "LAMMPS (2 Aug 2023)"


def test_runs_of_a_log_of_lammps_are_callpaths():
    told = import_timings([DATA / f"lammps.np{p}.log" for p in (1, 2, 4)])
    first, second = "run 1: 100 steps", "run 2: 200 steps"
    assert told.measurements == Measurements(
        p=[1, 1, 2, 2, 4, 4],
        time=[0.00888581, 0.0184634, 0.010241, 0.0210549, 0.935998, 1.876],
        callpath=[first, second] * 3,
        memory_B=np.repeat([3.119, 3.115, 3.095], 2) * 2**20,
        memory_total_B=np.repeat([3.119, 2 * 3.115, 4 * 3.095], 2) * 2**20,
    )
    assert told.notes == (
        "memory is what LAMMPS counts: its arrays, without the program and MPI.",
    )
    assert recognised(DATA / "lammps.np1.log").name == "lammps"


def test_one_run_a_log_is_one_series_and_atoms_that_grow_are_n(log):
    paths = [
        log(HEADER, loop(8, 1, atoms=100), name="a"),
        log("OMP_NUM_THREADS is 1", HEADER, loop(8.5, 2, atoms=200), name="b"),
    ]
    told = import_timings(paths)
    assert told.measurements == Measurements(p=[1, 2], n=[100, 200], time=[8, 8.5])
    assert told.notes == ("n is the number of atoms.",)


def test_threads_of_lammps_are_in_its_procs_and_it_is_said(log):
    told = import_timings(
        log(HEADER, loop(8, 4), "98% CPU use with 2 MPI tasks x 2 OpenMP threads")
    )
    assert told.measurements == Measurements(p=4, time=8)
    assert told.notes == ("p is the number of MPI tasks times that of OpenMP threads.",)


def test_starts_of_lammps_that_ended_in_an_error_are_left_out_and_counted(log):
    path = log(HEADER, "ERROR: Lost atoms (src/thermo.cpp:494)", HEADER, loop(8, 4), HEADER)
    told = import_timings(path)
    assert told.measurements == Measurements(p=4, time=8)
    assert told.notes == (
        "2 failed runs were left out: Lost atoms (src/thermo.cpp:494), no Loop time.",
    )
    assert "got none: Lost atoms. Run it to its end." in refusal(log(HEADER, "ERROR: Lost atoms"))


def test_ranks_of_lammps_that_did_not_find_each_other_are_refused(log):
    assert "got 4 that each say 1 procs: " + NO_COPIES in refusal(DATA / "lammps_wrong_mpirun.txt")
    in_turn = [HEADER, loop(8, 1), "Total wall time: 0:00:08"] * 4
    assert "got 4 equal runs that each say 1 procs: " + NO_COPIES in refusal(log(*in_turn))
    assert "got 3 equal runs" in refusal(log(loop(8, 1), loop(8.1, 1), loop(8.2, 1)))
    named = log(HEADER, loop(8, 1), name="lj_np4.log")
    assert "got 4 in its name and 1 process in its text: " + NO_COPIES in refusal(named)


def test_runs_of_one_process_are_taken_with_a_word_of_what_they_could_be(log):
    told = import_timings([log(HEADER, loop(8 + i, 1), name=f"run{i}") for i in range(2)])
    assert told.measurements == Measurements(p=1, time=[8, 9], repetition=[1, 2])
    assert told.notes[0].startswith("All 2 runs say that they had 1 process. If they were started")
    again = import_timings(log(HEADER, loop(8, 1), loop(8.5, 1)))  # two runs in one start
    assert again.measurements.labels["callpath"].tolist() == [
        "run 1: 100 steps",
        "run 2: 100 steps",
    ]


# GROMACS


def mdrun(ranks, wall, rate=10.0, threads=1):
    return [
        "GROMACS:      gmx mdrun, version 2023",
        f"Using {ranks} MPI process" + "es" * (ranks > 1),
        f"Using {threads} OpenMP thread" + "s" * (threads > 1) + " per MPI process",
        "               Core t (s)   Wall t (s)        (%)",
        f"       Time:   {wall * ranks * threads:.3f}   {wall:.3f}   100.0",
        "                 (ns/day)    (hour/ns)",
        f"Performance:   {rate:.3f}   {24 / rate:.3f}",
    ]


def test_logs_of_gromacs_tell_ranks_times_threads_and_the_wall_time():
    told = import_timings([DATA / f"gromacs_{x}.log" for x in ("1", "2", "1x2", "crashed")])
    assert told.measurements == Measurements(
        p=[1, 2, 2], time=[0.491, 0.794, 1.246], repetition=[1, 1, 2]
    )
    assert told.notes == (
        "1 failed run was left out: no wall time.",
        "p is the number of MPI ranks times that of OpenMP threads.",
    )
    assert recognised(DATA / "gromacs_1.log").name == "gromacs"


def test_runs_of_gromacs_that_simulated_different_times_are_compared_by_1_ns(log):
    paths = [
        log(*mdrun(p, 60, rate=rate), name=f"md{p}") for p, rate in ((1, 12), (2, 24), (4, 36))
    ]
    told = import_timings(paths)
    assert told.measurements == Measurements(p=[1, 2, 4], time=[7200, 3600, 2400])
    assert told.notes[0].startswith("The time is that of 1 ns, from ns/day, as the runs simulated")
    fixed = [log(*mdrun(p, 60 / p, rate=12 * p), name=f"md{p}") for p in (1, 2)]
    assert import_timings(fixed).measurements.time.tolist() == [60, 30]
    assert import_timings(fixed, metric="time of 1 ns").measurements.time.tolist() == [7200, 3600]


# logs of one's own


TIME, COUNT = r"elapsed: ([\d.:a-z]+)", r"ranks: (\d+)"


def test_patterns_find_time_and_count(log):
    paths = [log("x", f"ranks: {p}", f"elapsed: {8 / p} s", name=f"{p}.log") for p in (1, 2, 4)]
    told = import_timings(paths, time_pattern=TIME, count_pattern=COUNT)
    assert told.measurements == Measurements(p=[1, 2, 4], time=[8, 4, 2])
    assert told.notes == ("The unit of the times is s.",)


def test_one_log_may_have_several_runs_and_the_count_may_stand_below(log):
    runs = [line for p in (1, 2) for line in (f"ranks: {p}", f"elapsed: {8 / p}", "elapsed: 9")]
    told = import_timings(log(*runs), time_pattern=TIME, count_pattern=COUNT).measurements
    assert told == Measurements(p=[1, 1, 2, 2], time=[8, 9, 4, 9], repetition=[1, 2, 1, 2])
    below = log("elapsed: 8", "ranks: 1", "elapsed: 4", "ranks: 2")
    told = import_timings(below, time_pattern=TIME, count_pattern=COUNT).measurements
    assert told == Measurements(p=[1, 2], time=[8, 4])
    odd = log("elapsed: 8", "elapsed: 7", "ranks: 1", "elapsed: 4", "ranks: 2")
    says = refusal(odd, time_pattern=TIME, count_pattern=COUNT)
    assert "must have a count for each time, got 3 times and 2 counts." in says


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("elapsed: 80 ms", 0.08), ("Time [min] elapsed: 2", 120), ("elapsed: 1:40", 100),
     ("elapsed: 1m40s", 100), ("elapsed: 3", 3), ("elapsed: 2 h", 7200), ("elapsed: 5 MB", 5)],
)  # fmt: skip
def test_the_unit_beside_a_time_counts(log, text, seconds):
    told = import_timings(log(text, name="np4.log"), time_pattern=TIME)
    assert told.measurements.time.tolist() == [pytest.approx(seconds)]
    assert told.measurements.p.tolist() == [4]


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_durations_are_read_as_people_write_them(hours, minutes, seconds):
    told = hours * 3600 + minutes * 60 + seconds
    assert duration(f"{hours}:{minutes:02}:{seconds:02}") == told
    assert duration(f"{hours}h{minutes}m{seconds}s") == told


def test_logs_without_a_time_are_failed_runs_unless_none_has_one(log):
    good, bad = log("ranks: 4", "elapsed: 2", name="good"), log("killed", name="bad")
    told = import_timings([good, bad], time_pattern=TIME, count_pattern=COUNT)
    assert told.measurements == Measurements(p=4, time=2)
    assert told.notes[0] == "1 failed run was left out: no time in bad."
    assert "got none. Correct time_pattern." in refusal(bad, time_pattern=TIME)


def test_what_patterns_find_must_be_numbers_and_every_log_must_tell_its_count(log):
    assert "must be a time where time_pattern finds one, got 'soon'." in refusal(
        log("elapsed: soon", name="np4"), time_pattern=TIME
    )
    told = log("ranks: 4", "elapsed: 2", name="told")
    untold = log("elapsed: 2", name="untold")
    says = refusal([told, untold], time_pattern=TIME, count_pattern=COUNT)
    assert "must have a count that count_pattern finds, as other files do" in says
    assert NO_COPIES in refusal(
        log("ranks: 1", "elapsed: 2", name="np4.log"), time_pattern=TIME, count_pattern=COUNT
    )
    with pytest.raises(ParameterError, match="time_pattern must be for logs of your own"):
        import_timings(DATA / "extrap.txt", "extrap", time_pattern=TIME)
    assert "needs the pattern of the time" in refusal(told, format="log")


def test_continued_runs_of_gromacs_and_lone_ranks(log):
    told = import_timings(log(*mdrun(4, 60), *mdrun(4, 60)))
    assert told.measurements == Measurements(p=4, time=[60, 60], repetition=[1, 2])
    assert NO_COPIES in refusal(log(*mdrun(1, 60), name="md_np8.log"))
    assert "got none: Fatal error:. Run it" in refusal(log(*mdrun(4, 60)[:3], "Fatal error:"))
