"""`parcast.simulate` of pipelines: the law beside it, what is said, other laws of times."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import parcast
from parcast.descriptions.breakdown import COMPONENTS
from parcast.errors import ParameterError
from parcast.pipeline.simulation import replications
from parcast.simulation.phase import simulators_of
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "pipeline"
MACHINE = parcast.Machine(name="gort", network={"bandwidth": "1 GB/s"})


def program(**keys):
    phase = {"law": "pipeline", "items": 400, "task": "10 ms", "merge": "1 ms"}
    return parcast.Program(name="sum", phase=[phase | keys])


def simulate(of, p=(1, 4, 16), **keys):
    return parcast.simulate(of, MACHINE, p=p, **keys)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ({}, 0.005),
        ({"message": "100 kB"}, 0.02),
        ({"pipelines": 3}, 0.05),
        ({"batch": 4}, 0.03),
        ({"fan_in": 4}, 0.02),
        ({"cores": 2}, 0.02),
        ({"fetch": "1 ms"}, 0.01),
        ({"startup": "5 s", "cycles": 3}, 0.005),
        ({"form": "overlapped", "merge": "10 ms", "communication": "10 ms"}, 0.02),
        ({"form": "serial", "merge": "10 ms", "communication": "10 ms"}, 0.03),
        ({"form": "serial", "merge": "10 ms", "message": "100 kB", "delay": "mm1"}, 0.03),
    ],
)
def test_the_law_agrees_with_the_simulation(keys, wrong):
    told = simulate(program(**{"items": 2000} | keys), precision=0.002)
    assert np.abs(told.difference).max() <= wrong
    if "delay" in keys:  # on one processor nothing is random
        assert (told.lower < told.time)[1:].all()
    else:
        assert told.lower.tolist() == told.upper.tolist() == told.time.tolist()
    parts = [getattr(told.breakdown, name) for name in COMPONENTS]
    assert all((part >= 0).all() for part in parts)
    assert sum(parts) == pytest.approx(told.time)
    assert (told.breakdown.compute <= told.time).all()


@pytest.mark.usefixtures("uncovered")
def test_random_tasks_take_longer_than_the_law_says():
    asked = {"p": [16], "laws": {"task": "exponential"}, "precision": 0.05, "seed": 1}
    told = simulate(program(), **asked)
    same = simulate(program(), p=[4, 16])
    assert (told.lower > same.time[1:]).all()
    assert (told.reached <= 0.05).all()
    assert told.warnings[-1].startswith("The given laws of task are simulated")
    with ThreadPoolExecutor(2) as pool:
        again = simulate(program(), **asked, executor=pool)
    assert again.time.tolist() == told.time.tolist()
    measured = simulate(program(), p=[4], laws={"task": [1.0, 1.0, 1.0, 5.0]}, precision=0.03)
    assert measured.time[0] == pytest.approx(same.time[0], rel=0.05)
    assert measured.lower[0] < measured.upper[0]


def test_lengths_of_messages_vary_as_their_delay_is_described():
    def described(**keys):
        (simulator,) = simulators_of(program(**keys).phase)
        return simulator.described(program(**keys).phase[0])["message"]

    assert described(delay="mm1") == "exponential"
    assert described(delay="md1") == "none"
    assert described(delay="mg1", cv2=4) == 2.0
    assert described(delay="mg1", cv2=1) == "exponential"
    assert described(delay="mg1", cv2=0) == "none"
    varied = program(delay="mg1", cv2="n", message="1 MB")
    with pytest.raises(ParameterError, match="cv2 must be the same at all points"):
        simulate(varied, n=[1, 2])


def test_it_says_what_was_simulated():
    assert simulate(program()).simulated == (
        "1 run of the default schedule, of 400 items; no time varies",
    )
    told = simulate(program(form="serial", communication="1 ms", cycles=5, items="n"), n=[40, 80])
    assert told.simulated == (
        "1 run of the published schedule, in which processors wait for their messages, of 40 to "
        "80 items; no time varies; time: mean run x 5",
    )
    assert told.time == pytest.approx(5 * simulate(
        program(form="serial", communication="1 ms", items="n"), n=[40, 80]
    ).time)  # fmt: skip
    told = simulate(program(), laws={"task": 0.5}, precision=None, replications=3)
    assert told.simulated == ("3 runs of the default schedule, of 400 items",)
    assert told.cycles.tolist() == [3, 3, 3]


def test_runs_of_very_many_items_are_extrapolated(monkeypatch):
    monkeypatch.setattr(replications, "MOST_BLOCKS", 3000)
    monkeypatch.setattr(replications, "FEW_BLOCKS", 1024)
    told = simulate(program(items=10**6, batch=8), p=[8])
    assert told.simulated == (
        "1 run of the default schedule, of up to 1,024 batches, extrapolated to 125,000; no time "
        "varies",
    )
    assert told.warnings[-1].startswith("Runs of more than 3,000 batches are extrapolated")
    assert abs(told.difference[0]) < 0.002
    assert told.upper[0] - told.time[0] < 0.01 * told.time[0]


def test_it_warns_where_law_and_simulation_are_of_different_things():
    texts = " ".join(simulate(program(drain=False, form="overlapped")).warnings)
    assert "The law is its short form (drain = false)" in texts
    texts = " ".join(simulate(program(interarrival="1 ms", message="1 kB", batch=10)).warnings)
    assert "The given interarrival time is that of the law" in texts
    assert "8 items are simulated instead of 10, at 3 of 3 points." in texts
    texts = " ".join(simulate(program(communication="1 ms")).warnings)
    assert "Each processor sends one message at a time" in texts


def test_phases_of_both_laws_are_simulated_one_after_the_other(refusal):
    spmd = {"law": "spmd", "name": "read", "compute": {"parallel": "8 s"}}
    pipeline = {"law": "pipeline", "name": "reduce", "items": 100, "task": "0.1 s"}
    both = parcast.Program(phase=[spmd, pipeline])
    told = simulate(both, p=[4], laws={"reduce.task": "none", "read.compute": "none"})
    assert told.time.tolist() == pytest.approx([2.0 + 2.5])
    assert [text.partition(":")[0] for text in told.simulated] == ["read", "reduce"]
    assert refusal(ParameterError, simulate, both, laws={"disk": "none"}) == (
        "laws must name compute, read.compute, communication, read.communication, io, read.io, "
        "task, reduce.task, merge, reduce.merge, message, reduce.message, fetch, reduce.fetch, "
        "got 'disk'. Use one of these names."
    )


@pytest.mark.parametrize(
    ("keys", "p", "says"),
    [
        ({"form": "serial"}, 6, "processors of a pipeline must be a power of 2"),
        ({"form": "serial", "fan_in": 4}, 16, "fan_in must be 2 for the published schedule"),
        ({"form": "serial", "pipelines": 3}, 8, "p must be a multiple of pipelines, got 8."),
        ({"message": "1 kB"}, 4, "network.bandwidth"),
    ],
)
def test_what_cannot_be_simulated_is_refused(keys, p, says):
    with pytest.raises(ValueError, match=says):
        parcast.simulate(program(**keys), parcast.Machine(), p=[p])


def test_the_command_prints_times_beside_the_law(parcast):
    said = parcast(
        "simulate",
        EXAMPLES / "adaptive.toml",
        EXAMPLES / "machine.toml",
        "-p",
        "2,16",
        "-n",
        "400",
    )
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == (
        "feature extraction, default schedule on NCSA IA-32 cluster, n = 400, simulated"
    )
    assert lines[2].split()[:6] == ["p", "time", "90%", "interval", "law", "diff."]
    assert lines[4].split()[0] == "2"
    assert "simulated   1 run of the default schedule, of 400 items; no time varies" in lines
