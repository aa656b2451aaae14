"""Work quanta: what is disturbed, waiting for quiet processors, repeating runs."""

import threading
import time
from dataclasses import replace

import pytest

from parcast.instrument import accounts as instrument
from parcast.instrument.accounts import waited_for_core
from parcast.kernels import quanta as module
from parcast.kernels import worker
from parcast.kernels.ledger import Alone
from parcast.kernels.quanta import Quanta, work_quantum
from parcast.kernels.sheet import circumstances, measurement_rows, row_of, warnings_of
from parcast.kernels.worker import KernelTask, runs_of
from parcast.testbed.testbed import VARIABLE
from parcast.timings.disturbed import TOLERANCE, is_disturbed

QUIET, SLOW = 3e-4, 5e-4  # [s]


@pytest.fixture
def of_work(monkeypatch):
    """Give a function that says what quanta will take, one after the other, then quiet ones."""
    told = []

    def say(*seconds):
        told[:] = seconds

    monkeypatch.setattr(module, "TIMED", 1)
    monkeypatch.setattr(module, "waited_for_core", lambda: 0.0)  # whatever else runs here
    monkeypatch.setattr(module, "PERIOD", 1000.0)  # none within a run
    monkeypatch.setattr(module, "work_quantum", lambda: told.pop(0) if told else QUIET)
    return say


def test_a_quantum_is_some_processor_time():
    assert 1e-6 < work_quantum() < 1.0


@pytest.mark.parametrize(
    "around", [(), (QUIET,), (QUIET, QUIET * (1 + 0.9 * TOLERANCE)), (*[QUIET] * 9, SLOW)]
)
def test_quanta_near_the_least_are_quiet(around):
    assert not is_disturbed(around, QUIET)


@pytest.mark.parametrize(
    "around", [(SLOW, QUIET), (QUIET, SLOW), (SLOW, SLOW), (*[QUIET] * 4, SLOW)]
)
def test_slow_quanta_are_a_disturbance(around):
    assert is_disturbed(around, QUIET)


def test_waiting_for_a_core_is_a_disturbance():
    assert is_disturbed((QUIET, QUIET), QUIET, waiting=0.1)
    assert not is_disturbed((QUIET, QUIET), QUIET, waiting=0.01)


def test_the_system_tells_how_long_a_core_was_another_s(tmp_path, monkeypatch):
    monkeypatch.setattr(instrument, "RUN_DELAY", tmp_path / "schedstat")
    assert waited_for_core() is None
    (tmp_path / "schedstat").write_text("5000000000 250000000 12\n")
    assert waited_for_core() == 0.25


def test_one_waits_until_it_is_quiet(of_work):
    quanta = Quanta(Alone(), patience=10.0, least=QUIET)
    of_work(SLOW, SLOW, QUIET, SLOW)
    assert quanta.when_quiet() == QUIET
    assert quanta.timed() == SLOW


def test_without_patience_one_does_not_wait(of_work):
    quanta = Quanta(Alone(), least=QUIET)
    of_work(SLOW, QUIET)
    assert quanta.when_quiet() == SLOW


def test_patience_ends(of_work, monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(module, "perf_counter", lambda: next(clock))
    quanta = Quanta(Alone(), patience=5.0, least=QUIET)
    of_work(*[SLOW] * 50)
    assert quanta.when_quiet() == SLOW
    assert not quanta.may_repeat((SLOW, SLOW), 0.0, 0.001)


def test_the_least_is_learnt(of_work):
    quanta = Quanta(Alone(), patience=10.0)
    of_work(SLOW, QUIET)
    assert quanta.timed() == SLOW  # nothing faster is known
    assert quanta.timed() == QUIET
    of_work(SLOW, QUIET)
    assert quanta.when_quiet() == QUIET


def test_a_disturbed_run_is_repeated_while_there_is_time():
    quanta = Quanta(Alone(), patience=1.0, least=QUIET)
    assert not quanta.may_repeat((QUIET, QUIET), 0.0, 0.1)
    assert quanta.may_repeat((QUIET, SLOW), 0.0, 0.7)
    assert not quanta.may_repeat((QUIET, SLOW), 0.0, 0.7)
    assert quanta.may_repeat((QUIET, SLOW), 0.0, 0.2)


@pytest.mark.parametrize("cores", [(1,), (0, 1)])
def test_quanta_are_timed_within_a_run_on_a_core_of_its_own(cores, monkeypatch):
    monkeypatch.setattr(module, "PERIOD", 1e-3)
    monkeypatch.setattr(module, "available_cores", lambda: cores)
    with Quanta(Alone()).around() as watched:
        time.sleep(0.1)
    within = len(watched.quanta) - 2
    assert within > 3 if len(cores) == 1 else within == 0
    assert all(0 < x < 1 for x in watched.quanta)


def test_a_run_that_fails_leaves_no_thread():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), Quanta(Alone()).around():
        raise ZeroDivisionError
    assert threading.active_count() == before


# in the runs of a program

TASK = KernelTask(kernel="monte_carlo", sizes=(100, 200), repetitions=2, check=False)


def test_runs_tell_the_quanta_around_them(of_work):
    of_work(QUIET, SLOW, SLOW)
    runs = list(runs_of(Alone(), TASK))
    assert [run.quanta for run in runs] == [(QUIET, SLOW), (SLOW, QUIET), *[(QUIET, QUIET)] * 2]
    assert [run.repetition for run in runs] == [1, 2, 1, 2]


def test_disturbed_runs_are_given_and_made_again(of_work):
    of_work(QUIET, SLOW, QUIET, QUIET, QUIET, SLOW)
    runs = list(runs_of(Alone(), replace(TASK, patience=60.0, quantum=QUIET)))
    assert [(run.n, run.repetition) for run in runs] == [
        *((100, 1), (100, 2), (100, 3), (100, 4)),
        *((200, 1), (200, 2)),
    ]
    assert [is_disturbed(run.quanta, QUIET) for run in runs] == [True, False, True, *[False] * 3]


def test_one_size_does_not_use_up_all_patience(of_work):
    of_work(*[QUIET, SLOW] * 40)
    runs = runs_of(Alone(), replace(TASK, repetitions=1, patience=1e9, quantum=QUIET))
    assert [run.n for run in runs] == [100] * 4 + [200] * 4


def test_a_host_with_a_share_of_a_core_waits_for_it_and_is_not_disturbed(monkeypatch):
    waits = iter(range(1000))
    monkeypatch.setattr(module, "waited_for_core", lambda: float(next(waits)))
    assert all(run.waited == 1.0 for run in runs_of(Alone(), TASK))
    told = '{"hosts": 2, "link_B_per_s": null, "network": "switch", "latency_s": 0.0, %s}'
    monkeypatch.setenv(VARIABLE, told % '"cpu": 0.1, "disk_B_per_s": null')
    runs = list(runs_of(Alone(), TASK))
    assert [run.waited for run in runs] == [0.0] * 4
    assert all(len(run.quanta) >= 2 for run in runs)


def test_ranks_that_share_a_core_have_no_quanta(monkeypatch):
    monkeypatch.setattr(worker, "available_cores", lambda: ())
    runs = list(runs_of(Alone(), TASK))
    assert [run.quanta for run in runs] == [()] * 4
    assert "work_quantum" not in {row["metric"] for row in measurement_rows(runs)}


def test_runs_warn_of_those_that_were_disturbed(of_work):
    of_work(QUIET, SLOW)
    runs = list(runs_of(Alone(), TASK))
    said = next(text for text in warnings_of(runs) if "disturbed" in text)
    assert said.startswith("1 of 4 runs were disturbed by other processes, at p = 1: ")
    assert "1.7 times as long" in said
    assert row_of(runs[0], circumstances(runs)[0])["quanta_s"] == [QUIET, SLOW]
    assert not any("disturbed" in text for text in warnings_of(runs[1:]))


def test_disturbed_runs_are_no_times_where_others_of_their_size_were_not(of_work):
    of_work(QUIET, SLOW)
    runs = list(runs_of(Alone(), TASK))
    assert [seen.counts for seen in circumstances(runs)] == [False, True, True, True]
    rows = [row for row in measurement_rows(runs) if row["metric"].endswith(("time", "time_s"))]
    assert [row["metric"] for row in rows] == ["disturbed_time", *["time_s"] * 3]
    assert rows[0]["value"] == runs[0].time
    assert "are excluded from a table of measurements" in warnings_of(runs)[-1]
    alone = [run for run in runs if run.n == runs[0].n][:1] + [x for x in runs if x.n != runs[0].n]
    assert all(seen.counts for seen in circumstances(alone))
    assert "(patience)" in warnings_of(alone)[-1]


def test_where_only_some_sizes_have_quiet_runs_it_is_said_how_many_count(of_work):
    of_work(SLOW, SLOW, SLOW, QUIET)
    runs = list(runs_of(Alone(), TASK))
    assert [seen.is_disturbed for seen in circumstances(runs)] == [True, True, False, False]
    assert [seen.counts for seen in circumstances(runs)] == [True, True, True, True]
    assert "Disturbed runs are used, as no other run" in warnings_of(runs)[-1]
    more = [*runs, replace(runs[0], n=runs[2].n)]
    assert "2 of them are used, as no other run" in warnings_of(more)[-1]


def test_runs_without_a_time_or_with_a_wrong_result_stand_in_for_none(of_work):
    of_work(QUIET, SLOW)
    slow, quiet, *_ = runs_of(Alone(), TASK)
    for useless in (replace(quiet, time=0.0), replace(quiet, is_correct=False)):
        assert [seen.counts for seen in circumstances([slow, useless])] == [True, True]
    other = replace(quiet, kernel="sort")
    assert [seen.counts for seen in circumstances([slow, other])] == [True, True]
    assert [seen.counts for seen in circumstances([slow, quiet])] == [False, True]


def test_hosts_of_a_testbed_have_no_quanta_within_a_run(monkeypatch):
    ended = []
    monkeypatch.setattr(module, "available_cores", lambda: (0,))
    monkeypatch.setattr(module, "_sample", lambda _, event: ended.append(event.is_set()))
    for may_wait in (False, True):
        with Quanta(Alone(), may_wait=may_wait).around():
            time.sleep(0.01)
    assert ended == [False, True]
