"""`parcast.projection.counted`: pace, donors, intervals, and what is refused."""

import numpy as np
import pytest

from parcast.descriptions.machine import ComputeNode, Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.counted import tables_of_counts
from parcast.projection.counted import project_counts
from parcast.projection.program import project
from parcast.timings.measurements import Measurements

HERE = Machine(name="here", network={"latency": "1 ms", "bandwidth": "1 MB/s"})
FAST = Machine(name="fast", network={"latency": "0.1 ms", "bandwidth": "10 MB/s"})
BUS = Machine(
    name="bus", network={"latency": "1 us", "bandwidth": "1 MB/s", "saturation": "1 MB/s"}
)
P = [1, 2, 4, 8]
ROWS = [
    {"p": p, "compute": 8.0, "busiest": 8.0 / p, "messages": 100.0 * p, "volume": 1e5 * p}
    if p > 1
    else {"p": 1, "compute": 8.0}
    for p in P
]
PROGRAM = Program(name="solve", phase=[{"law": "counted", "count": tables_of_counts(ROWS)}])
KNOWN = {"p": [1], "time": [24.0]}


def runs(machine, factor, pace=1.0, counts=P):
    """Times of the program on a machine where all that is sent takes `factor` times as long."""
    told = project_counts(PROGRAM, machine, counts, known={"p": [1], "time": [8.0 * pace]})
    sent = told.time - pace * 8.0 / np.array(counts)
    return Measurements(
        p=counts, time=told.time + (factor - 1) * sent, machine=[machine.name] * len(counts)
    )


def test_the_run_on_one_processor_gives_the_pace():
    told = project_counts(PROGRAM, HERE, [1, 4], known=KNOWN)
    assert told.pace == pytest.approx(3.0)
    assert told.pace_from == "a run at p = 1"
    assert told.time == pytest.approx([24.0, 6.0 + 0.2])  # 100 messages of 1 kB: 1 ms + 1 ms each
    assert told.factor.tolist() == [1.0, 1.0]


def test_a_run_on_more_processors_gives_it_without_what_is_sent():
    told = project_counts(PROGRAM, HERE, [8], known={"p": [4, 8], "time": [6.2, 99.0]})
    assert told.pace == pytest.approx(3.0)
    assert told.pace_from == "a run at p = 4"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"n": [10, 20]}, "known must be of one n, got 10.0, 20.0. Keep the runs of"),
        ({"machine": ["here", "there"]}, "known must be of one machine, got here, there. Keep"),
        ({"callpath": ["main", "loop"]}, "known must be of one callpath, got main, loop. Keep"),
    ],
)
def test_runs_that_are_not_alike_have_no_median(column, says):
    with pytest.raises(ParameterError) as refusal:
        project_counts(PROGRAM, HERE, [1], known={"p": [1, 1], "time": [24.0, 90.0], **column})
    assert str(refusal.value).startswith(says)
    donors = {"p": [1, 4, 4], "time": [8.0, 2.5, 9.0], "machine": ["fast"] * 3, "n": [10, 10, 20]}
    with pytest.raises(ParameterError, match=r"donors must be of one n, got 10\.0, 20\.0\."):
        project_counts(PROGRAM, HERE, [1], donors=donors, donor_machines=[FAST])


def test_without_a_run_the_pace_is_that_of_the_phase_and_said():
    told = project_counts(PROGRAM, HERE, [1, 4])
    assert told.time[0] == pytest.approx(8.0)
    assert told.warnings[0].startswith("No run on here: it is assumed to compute at 100%")


def test_a_donor_of_the_same_kind_corrects_what_the_model_leaves_out():
    donor = runs(HERE, 2.0)
    told = project_counts(
        PROGRAM, HERE, P, known={"p": [1], "time": [8.0]}, donors=donor, donor_machines=[HERE]
    )
    assert told.time == pytest.approx(donor.time)
    assert told.donors["here"].tolist() == [0.0, 1.0, 1.0, 1.0]


def test_a_donor_where_other_things_take_the_time_says_nothing():
    latency = {"latency": "1 ms", "bandwidth": "1 TB/s"}
    here = Machine(name="here", network=latency)
    alone = project_counts(PROGRAM, here, P, known=KNOWN)
    told = project_counts(
        PROGRAM, here, P, known=KNOWN, donors=runs(BUS, 2.0), donor_machines=[BUS]
    )
    assert told.time == pytest.approx(alone.time, rel=2e-3)
    assert told.upper == pytest.approx(alone.upper, rel=2e-3)
    assert told.warnings[0].startswith(
        "The donor bus has no effect: its time is spent on other parts"
    )


def test_of_two_donors_the_liker_one_counts_more():
    both = [runs(HERE, 2.0), runs(FAST, 0.5)]
    donors = Measurements(
        p=np.concatenate([x.p for x in both]),
        time=np.concatenate([x.time for x in both]),
        machine=[name for x in both for name in x.labels["machine"]],
    )
    told = project_counts(
        PROGRAM, HERE, [8], known=KNOWN, donors=donors, donor_machines=[HERE, FAST]
    )
    shares = [float(told.donors[name][0]) for name in ("here", "fast")]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] > shares[1] > 0


def test_a_donor_narrows_the_interval_and_sending_widens_it():
    alone = project_counts(PROGRAM, HERE, P, known=KNOWN)
    widths = np.log(alone.upper / alone.lower)
    assert np.all(np.diff(widths) > 0)
    told = project_counts(
        PROGRAM, HERE, P, known=KNOWN, donors=runs(HERE, 1.0), donor_machines=[HERE]
    )
    assert np.all(np.log(told.upper / told.lower)[1:] < widths[1:])


def test_what_is_known_badly_of_the_machine_widens_the_interval():
    network = {"latency": "1 ms +- 50%", "bandwidth": "1 MB/s"}
    vague = project_counts(PROGRAM, Machine(network=network), [8, 4, 8], known=KNOWN)
    sharp = project_counts(PROGRAM, HERE, [8, 4, 8], known=KNOWN)
    assert np.all(vague.upper / vague.lower > sharp.upper / sharp.lower)
    assert vague.upper[0] == vague.upper[2]


def test_beyond_the_counts_is_said():
    told = project_counts(PROGRAM, HERE, [4, 16], known=KNOWN)
    assert told.warnings[0].startswith(
        "p = 16 is outside the counted range (1 to 8): the counts are extrapolated"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"p": [0]}, "p must be whole numbers of at least 1, got 0. Count from 1."),
        ({"p": [1.5]}, "p must be whole numbers of at least 1, got 1.5."),
        ({"known": {"p": [4], "time": [0.1]}}, "known must take longer than what it sends, got 0"),
        ({"donors": {"p": [1, 4], "time": [8.0, 3.0]}}, "donors must have a column machine."),
        (
            {"donors": {"p": [1, 4], "time": [8.0, 3.0], "machine": ["old", "old"]}},
            "donor_machines must include 'old', got none. Add a description with that name.",
        ),
        (
            {"donors": {"p": [1], "time": [8.0], "machine": ["fast"]}, "donor_machines": [FAST]},
            "donors must have runs at two processor counts or more, got one on fast.",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(options, says):
    options = {"p": [1, 4], **options}
    with pytest.raises(ParameterError) as refusal:
        project(PROGRAM, HERE, options.pop("p"), **options)
    assert says in str(refusal.value)


@pytest.mark.parametrize("phases", [["counted", "counted"], ["spmd"]])
def test_another_program_is_refused(phases):
    keys = {"counted": {"count": tables_of_counts(ROWS)}, "spmd": {"compute": {"parallel": "8 s"}}}
    made = [{"law": law, "name": f"{law} {i}", **keys[law]} for i, law in enumerate(phases)]
    with pytest.raises(
        ParameterError, match='phase of law "counted", or phases of law "regions", got '
    ):
        project_counts(Program(phase=made), HERE, [1])


@pytest.mark.parametrize(
    ("time", "says"),
    [
        (1e-4, "According to the known run, here computes 80,000 times faster than the machine"),
        (8e6, "According to the known run, here computes 1,000,000 times slower than"),
    ],
)
def test_a_pace_that_no_machine_has_is_told(time, says):
    told = project_counts(PROGRAM, HERE, [1], known={"p": [1], "time": [time]})
    assert told.warnings[0].startswith(says)
    assert "most likely a unit is wrong" in told.warnings[0]


def test_more_processors_than_the_machine_has_are_told():
    small = HERE.model_copy(update={"processors": 2})
    assert not any(
        "has 2 processors" in x for x in project_counts(PROGRAM, small, [1, 2]).warnings
    )
    said = project_counts(PROGRAM, small, [1, 4], known=KNOWN).warnings
    assert (
        said[0]
        == "here has 2 processors: results for p > 2 assume a larger machine of the same kind."
    )


def test_one_of_several_programs_is_named(file):
    path = file("program,p,compute_s\nCG,1,8\nMG,1,9\n", "counts.csv")
    assert project(path, HERE, 1, name="MG").program == "MG"
    with pytest.raises(ParameterError) as refusal:
        project(path, HERE, 1)
    assert str(refusal.value) == (
        "name must name one of the programs, got none. There is 'CG', 'MG'."
    )
    with pytest.raises(ParameterError, match="got 'LU'"):
        project(path, HERE, 1, name="LU")
    with pytest.raises(ParameterError, match="got 'LU'"):
        project(PROGRAM, HERE, 1, name="LU")


def test_what_a_node_shares_and_counts_ignore_is_said():
    machine = HERE.model_copy(
        update={"node": ComputeNode(processors=2, network_bandwidth="1 MB/s")}
    )
    [said] = [
        x for x in project_counts(PROGRAM, machine, [4], known=KNOWN).warnings if "no eff" in x
    ]
    assert said.startswith("node.network_bandwidth has no effect: the law counted")
