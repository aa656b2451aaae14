"""`parcast.laws.counted` and its counts: figures by hand, laws, and what is refused."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.counted import CountedPhase, tables_of_counts
from parcast.prediction.predict import predict

LINK = {"latency": "1 ms", "bandwidth": "1 MB/s"}
MACHINE = Machine(name="here", network=LINK)
ONE = {"p": 1, "compute": "8 s"}
FOUR = {"p": 4, "compute": "8 s", "busiest": "2.5 s", "messages": 400, "volume": "4 MB"}


def phase(*counts, **keys):
    return CountedPhase(law="counted", count=list(counts), **keys)


def time(phase, machine, p):
    return phase.times(machine, {"p": np.asarray(p, dtype=float)})


def test_the_busiest_computes_and_each_rank_sends_its_share():
    # 2.5 s, and 100 messages of 10 kB: 100 * (1 ms + 10 ms)
    found = time(phase(ONE, FOUR), MACHINE, [1, 4])
    assert found.time == pytest.approx([8.0, 2.5 + 1.1])
    assert found.compute == pytest.approx([8.0, 2.0])
    assert found.synchronisation == pytest.approx([0.0, 0.5])
    assert found.communication == pytest.approx([0.0, 1.1])


def test_the_pace_stretches_computing_alone():
    found = time(phase(ONE, FOUR, pace=3), MACHINE, [1, 4])
    assert found.time == pytest.approx([24.0, 7.5 + 1.1])


def test_what_all_share_is_a_bound_and_not_a_cost_on_top():
    bus = Machine(network={**LINK, "saturation": "1 MB/s"})
    fast = Machine(network={**LINK, "saturation": "100 MB/s"})
    assert time(phase(ONE, FOUR), bus, 4).time == pytest.approx(2.5 + 4.0)
    assert time(phase(ONE, FOUR), fast, 4).time == pytest.approx(2.5 + 1.1)
    costs = phase(ONE, FOUR).costs(bus, {"p": np.array([4.0])})
    assert costs.shared == pytest.approx([4.0 - 1.1])
    assert costs.time == pytest.approx([6.5])


def test_bounds_of_a_prediction_are_a_link_for_each_pair_and_a_bus():
    machine = Machine(network={**LINK, "saturation": "2 MB/s"})
    told = predict(Program(phase=[phase(ONE, FOUR)]), machine, p=[1, 4])
    assert told.contention_free == pytest.approx([8.0, 3.6])
    assert told.time == pytest.approx([8.0, 4.5])
    assert told.single_bus == pytest.approx([8.0, 6.5])


def test_collectives_are_those_of_the_machine():
    machine = Machine(
        network=LINK,
        primitives={
            "allreduce": {"startup": "2 ms*log2(p)", "bandwidth": "1 MB/s"},
            "barrier": {"startup": "5 ms"},
        },
    )
    four = {
        "p": 4,
        "compute": "8 s",
        "call": [
            {"kind": "allreduce", "calls": 40, "volume": "1 kB"},
            {"kind": "barrier", "calls": 4},
        ],
    }
    found = time(phase(ONE, four), machine, [1, 4])
    assert found.communication == pytest.approx([0.0, 10 * (4e-3 + 1e-3) + 5e-3])


def test_an_alltoall_is_not_faster_than_the_network_that_all_share_unless_it_was_measured():
    call = [{"kind": "alltoall", "calls": 4, "volume": "1 MB"}]
    alltoall = {"p": 4, "compute": "8 s", "call": call}
    primitives = {"alltoall": {"startup": "0 s", "bandwidth": "1 MB/s"}}
    network = {**LINK, "saturation": "1 MB/s"}
    for machine, sent in (
        (Machine(network=LINK), 3.003),
        (Machine(network=network), 12.0),
        (Machine(network=network, primitives=primitives), 1.0),
    ):
        assert time(phase(ONE, alltoall), machine, 4).communication == pytest.approx(sent)


def test_between_two_counts_lies_a_straight_line_in_log_log():
    sixteen = {"p": 16, "compute": "16 s", "messages": 1600, "volume": "64 MB"}
    work = phase(ONE, {**FOUR, "busiest": "2 s"}, sixteen).counted
    at = work.at([8.0, 64.0, 2.0])
    assert at.messages == pytest.approx([800.0, 6400.0, 200.0])
    assert at.volume == pytest.approx([16e6, 1024e6, 2e6])
    assert at.compute == pytest.approx([8 * 2**0.5, 32.0, 8.0])
    assert np.all(at.busiest >= at.compute / [8.0, 64.0, 2.0])


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ([], "count  must be a list of tables, at least one, got []."),
        ([ONE, ONE], "count  must give each p once, got 1 twice. Remove one."),
        ([{"p": 1, "compute": "0 s"}], "count.compute  must be above 0, got 0."),
        ([{**FOUR, "busiest": "1 s"}], "count.busiest  must lie between compute / p and compute"),
        ([{**FOUR, "messages": 0}], "count.volume  must be 0 without messages, got 4e+06."),
        (
            [{**ONE, "call": [{"kind": "barrier", "calls": 1}] * 2}],
            "count  must give each collective once at p = 1. Add up its calls.",
        ),
        (
            [
                {**ONE, "call": [{"kind": "alltoall", "calls": 1, "volume": "1 B"}]},
                {**FOUR, "call": [{"kind": "alltoall", "calls": 1}]},
            ],
            "count.volume of alltoall  must be given for every p or for none",
        ),
    ],
)
def test_counts_that_contradict_are_refused(counts, says):
    with pytest.raises(ParameterError) as refusal:
        phase(*counts)
    assert says in str(refusal.value)


def test_a_machine_without_a_rate_is_refused():
    with pytest.raises(ParameterError, match=r"network\.bandwidth must be given"):
        time(phase(ONE, FOUR), Machine(network={"latency": "1 ms"}), 4)


def test_warnings_say_what_is_not_known():
    four = {**FOUR, "call": [{"kind": "alltoall", "calls": 4}]}
    told = list(phase(ONE, four).warnings(MACHINE))
    assert [text.split(":")[0] for text in told] == [
        "The bytes of alltoall were not counted",
        "here has no network.saturation",
        "here has no [primitives] for alltoall",
        "Counted at p = 1, 4; counts are interpolated between them and extrapolated beyond them "
        "from the last two.",
    ]
    assert list(phase(ONE).warnings(MACHINE)) == ["Counted only at p = 1."]


def test_numbers_become_tables_and_come_back():
    rows = [
        {"p": 1, "compute": 8.0, "busiest": 8.0, "messages": 0.0, "volume": 0.0},
        {
            "p": 4,
            "compute": 8.0,
            "busiest": 2.5,
            "messages": 400.0,
            "volume": 4e6,
            "in_turn": 150.0,
            "calls": {"alltoall": 8.0, "barrier": 4.0},
            "volumes": {"alltoall": 1234.5},
        },
    ]
    work = phase(*tables_of_counts(rows)).counted
    assert work.busiest.tolist() == [8.0, 2.5]
    assert work.in_turn.tolist() == [0.0, 150.0]
    assert work.calls["alltoall"].tolist() == [0.0, 8.0]
    assert work.volumes["alltoall"].tolist() == [0.0, 1234.5]


def test_a_formula_is_that_of_the_processors_of_its_count():
    four = {"p": 4, "compute": "8 s", "messages": "1000*p"}
    found = time(phase(ONE, four), Machine(network={"latency": "1 ms"}), [1, 4])
    assert found.time == pytest.approx([8.0, 2.0 + 1.0])


def test_one_count_answers_itself_alone():
    assert time(phase(FOUR), MACHINE, 4).time == pytest.approx(3.6)
    with pytest.raises(ParameterError) as refusal:
        time(phase(FOUR), MACHINE, [4, 8])
    assert str(refusal.value) == (
        "p must be 4, the only counted p, got 8. Count the program at another p as well."
    )
