"""The SPMD law against the published equations, against itself, and against bad descriptions."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import LEVEL, Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.law import SpmdPhase
from parcast.prediction.predict import predict

DATA = Path(__file__).parents[1] / "data"
KINDS = ("synchronous", "striped", "clustered")
REFERENCE = 48.05  # T1 [s]


def table(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    return np.genfromtxt(rows, delimiter=",", names=True, dtype=None, encoding="utf-8")


def phase(kind="synchronous", *, compute=None, communication=None, io=None, **keys):
    """The synthetic program of the reference table, with changes."""
    given = {
        "law": "spmd",
        "bursts_per_io": 5,
        "bursts": "geometric",
        "compute": {"parallel": "7.6 s", "serial": "0.4 s", "variability": "exponential"},
        "communication": {"startup": "0.01 s", "transfer": "0.5 s * p^(-1/2)", "contention": 0.3},
        "io": {"kind": kind, "startup": "0.05 s", "transfer": "8 s"},
    }
    for table_name, changes in (
        ("compute", compute),
        ("communication", communication),
        ("io", io),
    ):
        given[table_name] = {**given[table_name], **(changes or {})}
    return SpmdPhase(**{**given, **keys})


def time(of, p, d=1, machine=None, **at):
    return of.cycle(machine or Machine(), {"p": p, "d": d, **at}).time


@pytest.mark.parametrize(
    "row", table("spmd.csv"), ids=lambda row: "-".join(map(str, row.tolist()[:4]))
)
def test_every_family_gives_the_published_times(row):
    found = float(
        time(phase(row["kind"], communication={"group": int(row["c"])}), row["p"], row["d"])
    )
    assert found == pytest.approx(row["time"], rel=1e-6)
    assert REFERENCE / found == pytest.approx(row["speedup"], rel=1e-6)


def btio(messages, volume):
    communication = {"group": 1, "contention": 0.23}
    if volume:
        communication |= {"messages": messages, "volume": volume}
    return SpmdPhase(
        law="spmd",
        bursts="geometric",
        bursts_per_io=5,
        compute={"parallel": "6.9 s", "serial": "0.08 s", "variability": "exponential"},
        communication=communication,
        io={"volume": "10 MB"},
    )


SP2 = Machine(
    network={"latency": "150 us", "bandwidth": "27 MB/s"},
    storage={"servers": 3, "bandwidth": "10 MB/s"},
)


@pytest.mark.parametrize(
    ("column", "messages", "volume"),
    [
        ("A", "6*sqrt(p)", "1 MB"),  # the volume of the table replaces it
        ("B", "6*sqrt(p)", "1.40628 MB * (p/4)^(-1/6)"),
        ("C", "sqrt(p)", "1 MB * p^(-1/6)"),
        ("D", "1", "1 MB * p^(-1/6)"),
        ("E", None, None),
    ],
)
def test_btio_gives_the_times_of_its_published_parameters(column, messages, volume):
    rows = table("btio_sp2.csv")
    at = {"p": rows["p"]} | ({"communication.volume": rows["bytes"]} if column == "A" else {})
    found = btio(messages, volume).cycle(SP2, at).time
    np.testing.assert_allclose(found, rows[column], rtol=1e-3, atol=5e-5)


def test_btio_without_fork_and_join():
    rows = table("btio_sp2.csv")
    together = SpmdPhase(
        law="spmd",
        bursts_per_io=5,
        compute={"parallel": "6.9 s", "serial": "0.08 s"},
        communication={"group": "p"},
        io={"volume": "10 MB"},
    )
    np.testing.assert_allclose(
        together.cycle(SP2, {"p": rows["p"]}).time, rows["F"], rtol=1e-3, atol=5e-5
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bursts", ["fixed", "geometric"])
def test_one_processor_takes_the_reference_time(kind, bursts):
    found = float(time(phase(kind, bursts=bursts), 1))
    assert found == pytest.approx(REFERENCE, rel=1e-14)


def test_a_single_group_without_communication_is_amdahls_law_with_io():
    one = SpmdPhase(
        law="spmd",
        compute={"parallel": "8 s", "serial": "1 s"},
        communication={"group": "p"},
        io={"startup": "0.1 s", "transfer": "2 s"},
    )
    p, d = np.array([1.0, 2, 8])[:, None], np.array([1.0, 4])
    np.testing.assert_allclose(time(one, p, d), 8 / p + 1 + 0.1 + 2 / d, rtol=1e-14)


@pytest.mark.parametrize("bursts", ["fixed", "geometric"])
def test_a_saturated_network_takes_the_time_of_all_bytes(bursts):
    heavy = phase(bursts=bursts, communication={"transfer": "500 s", "contention": 1})
    K = 64  # noqa: N806 - the symbol of the source
    assert float(time(heavy, K)) == pytest.approx(5 * K * 500, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bursts", ["fixed", "geometric"])
def test_parts_add_up_and_are_never_negative(kind, bursts):
    p, d = 2.0 ** np.arange(10)[:, None], 2.0 ** np.arange(5)
    parts = phase(kind, bursts=bursts).cycle(Machine(), {"p": p, "d": d})
    total = sum(np.broadcast_to(x, (10, 5)) for _, x in parts.components())
    np.testing.assert_allclose(parts.time, total, rtol=1e-12)
    assert all(np.all(x >= 0) for _, x in parts.components())


@pytest.mark.parametrize(("kind", "expected"), [("striped", 10.447022), ("clustered", 11.848773)])
def test_the_published_reading_has_groups_as_customers(kind, expected):
    of = phase(kind, reading="published", communication={"group": 4})
    assert of.bursts == "geometric"
    assert float(time(of, 16, 4)) == pytest.approx(expected, rel=1e-7)


def test_published_speedups_are_over_a_time_without_communication():
    keys = {"communication": {"transfer": "0.5 s"}, "reading": "published", "cycles": 3}
    for kind in KINDS:
        of = phase(kind, **keys)
        told = predict(Program(phase=[of]), Machine(), p=[1, 8], d=1)
        np.testing.assert_allclose(told.speedup, 3 * REFERENCE / told.time, rtol=1e-13)
        assert told.speedup[0, 0] < 1
        assert any("equation (1), without" in x for x in of.warnings(Machine()))
    assert phase().alone == phase()


def test_traffic_is_that_of_a_group_or_of_every_processor():
    once, each = (
        phase(communication={"group": 4, "traffic": x}).demands(Machine(), {"p": 16.0, "d": 1.0})
        for x in ("group", "processor")
    )
    assert float(each.queue) == pytest.approx(4 * float(once.queue))


def test_times_come_from_operations_messages_and_bytes():
    machine = Machine(
        compute={"rate": "100 Mflop/s"},
        network={"latency": "1 ms", "bandwidth": "10 MB/s", "saturation": "40 MB/s"},
        storage={"bandwidth": "5 MB/s", "latency": "2 ms"},
    )
    asked = SpmdPhase(
        law="spmd",
        compute={"parallel": "800 Mflop", "serial": "50 Mflop"},
        communication={"messages": "p", "volume": "2 MB / p", "startup": "3 ms"},
        io={"volume": "10 MB", "startup": "1 ms"},
    ).demands(machine, {"p": 4.0, "d": 2.0})
    assert float(asked.computing) == pytest.approx(8 / 4 + 0.5)
    assert float(asked.startup) == pytest.approx(3e-3 + 4e-3)
    assert float(asked.transfer) == pytest.approx(0.05)
    assert float(asked.shared) == pytest.approx(0.25 * 0.05)
    assert float(asked.io_startup) == pytest.approx(3e-3)
    assert float(asked.io_transfer) == pytest.approx(2)


NODES = Machine(
    compute={"rate": "10 Gflop/s", "memory_bandwidth": "20 GB/s"},
    node={"processors": 48, "memory_bandwidth": "200 GB/s", "servers": 2},
    storage={"bandwidth": "1 GB/s"},
)


def test_computing_takes_the_longer_of_rate_and_share_of_memory_bandwidth():
    phase = SpmdPhase(law="spmd", compute={"parallel": "1 Tflop", "traffic": "1 TB"})
    p = np.array([1, 8, 16, 48, 64, 96])
    rate = np.minimum(20e9, 200e9 / np.minimum(p, 48))
    expected = np.maximum(1e12 / 1e10, 1e12 / rate) / p
    np.testing.assert_allclose(phase.times(NODES, {"p": p}).time, expected, rtol=1e-13)
    [warning] = phase.warnings_at(NODES, {"p": p})
    assert "Memory bandwidth limits the computing from p = 48 on" in warning
    assert float(phase.work(NODES, {"p": 96.0})) == pytest.approx(100)


def test_servers_of_each_node_grow_with_the_nodes():
    phase = SpmdPhase(law="spmd", io={"volume": "8 GB"})
    times = phase.times(NODES, {"p": np.array([1, 48, 49, 192])}).time
    np.testing.assert_allclose(times, 8 / np.array([2, 2, 4, 8]))
    assert predict(
        Program(phase=[phase]), NODES, p=[48, 96], interval=False
    ).time.tolist() == pytest.approx([4, 2])
    times = phase.times(NODES, {"p": np.array([1, 192]), "d": np.array(1)}).time
    np.testing.assert_allclose(times, 8)


def linked(off_node=None, **node):
    machine = Machine(network={"bandwidth": "1 GB/s"}, node={"processors": 4, **node})
    communication = {"volume": "8 GB", "off_node": off_node}
    phase = SpmdPhase(law="spmd", communication=communication)
    return phase.demands(machine, {"p": np.array([1, 2, 4, 8, 13])}).transfer


def test_processors_of_a_node_share_its_link_and_talk_faster_within_it():
    leaving = np.array([0, 0, 0, 4 / 7, 9 / 12])  # of partners anywhere
    np.testing.assert_allclose(
        linked(network_bandwidth="2 GB/s", message_bandwidth="10 GB/s"),
        8 * np.array([0, 1, 1, 1, 1]) * (leaving / 0.5 + (1 - leaving) / 10),
    )
    np.testing.assert_allclose(
        linked("1/4", network_bandwidth="2 GB/s"), [0, 8, 8, 8 * 1.25, 8 * 1.25]
    )
    np.testing.assert_allclose(linked(network_bandwidth="9 GB/s"), [0, 8, 8, 8, 8])
    np.testing.assert_allclose(linked(), [0, 8, 8, 8, 8])


def sharing(kind, bandwidth="1 GB/s", saturation="4 GB/s", **node):
    """Times of 2 to 32 processors that send 2 GB off their nodes in each of five bursts."""
    described = SpmdPhase(
        law="spmd",
        bursts_per_io=5,
        compute={"parallel": "40 s", "variability": "30%"},
        communication={"volume": "2 GB", "off_node": "1" if node else None},
        io={"kind": kind, "volume": "1 GB"},
    )
    storage = {"bandwidth": "2 GB/s"}
    network = {"bandwidth": bandwidth, "saturation": saturation}
    machine = Machine(network=network, storage=storage, node=node)
    return described.times(machine, {"p": 2.0 ** np.arange(1, 6)}).time


@pytest.mark.parametrize("kind", ["synchronous", "striped", "clustered"])
def test_a_link_and_a_network_that_all_share_count_each_byte_once(kind):
    open_link, no_link = sharing(kind, processors=1, network_bandwidth="1 EB/s"), sharing(kind)
    np.testing.assert_array_equal(open_link, no_link)
    # One rank a node: the slower of pair and link is the rate of a pair.
    alone = sharing(kind, processors=1, network_bandwidth="0.5 GB/s")
    np.testing.assert_allclose(alone, sharing(kind, bandwidth="0.5 GB/s"), rtol=1e-12)
    narrow = sharing(kind, processors=1, network_bandwidth="8 GB/s", saturation="0.2 GB/s")
    np.testing.assert_allclose(narrow, sharing(kind, saturation="0.2 GB/s"), rtol=1e-12)
    # Of more than one node: more ranks a node are slower, and neither limit is forgotten.
    times = np.array([sharing(kind, processors=m, network_bandwidth="2 GB/s") for m in (2, 4, 8)])
    assert (np.diff(times, axis=0)[:, 3:] >= -1e-12).all()
    assert times[-1][3] > times[0][3] + 1
    for m, both in zip((2, 4, 8), times, strict=True):
        link = sharing(kind, processors=m, network_bandwidth="2 GB/s", saturation=None)
        waits = no_link - sharing(kind, saturation=None)
        away = 2.0 ** np.arange(1, 6) > m
        assert (both >= np.maximum(link, no_link) - 1e-9)[away].all()
        assert (both <= link + waits + 1e-9)[away].all()


def test_bytes_within_a_node_do_not_wait_for_the_network():
    network = {"bandwidth": "1 GB/s", "saturation": "2 GB/s"}
    machine = Machine(network=network, node={"processors": 4, "message_bandwidth": "8 GB/s"})
    phase = SpmdPhase(law="spmd", communication={"volume": "7 GB"})
    asked = phase.demands(machine, {"p": np.array([1, 4, 8])})
    np.testing.assert_allclose(asked.shared, [0, 0, 2])  # of 7 partners 4 are elsewhere
    np.testing.assert_allclose(asked.transfer, [0, 7 / 8, 4 + 3 / 8])
    np.testing.assert_allclose(asked.delay, [0, 7 / 8, 2 + 3 / 8])


def test_traffic_needs_a_memory_bandwidth():
    phase = SpmdPhase(law="spmd", compute={"traffic": "1 TB"})
    with pytest.raises(ParameterError, match=r"compute\.memory_bandwidth must be given"):
        phase.times(Machine(), {"p": 2.0})


BAD = [
    ({"communication": {"group": 3}}, "communication.group must divide p, got 3 at p = 16"),
    ({"communication": {"group": "p/5"}}, "communication.group must be a whole number"),
    ({"bursts_per_io": "1/p"}, "bursts_per_io must be at least 1, got 0.0625"),
    (
        {"communication": {"transfer": "1 s * (8 - p)"}},
        "communication.transfer must be at least 0",
    ),
    ({"compute": {"parallel": "1 s * log(p - 16)"}}, "compute.parallel must be finite"),
    ({"communication": {"contention": "p/4"}}, "communication.contention must lie in"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_has_no_answer_is_refused_with_its_place(changes, message):
    with pytest.raises(ParameterError) as refusal:
        time(phase(**changes), 16, 4)
    assert message in str(refusal.value)


def test_a_phase_that_does_nothing_is_refused():
    with pytest.raises(
        ParameterError, match=r"the time must be above 0 and finite, got 0 s at p = 2\."
    ):
        predict(Program(phase=[{"law": "spmd"}]), Machine(), p=[2])


def test_a_phase_may_have_nothing_to_do_for_a_lone_processor():
    only_talks = {"law": "spmd", "communication": {"transfer": "1 s", "contention": 0}}
    computes = {"law": "spmd", "compute": {"parallel": "2 s"}}
    told = predict(Program(phase=[only_talks, computes]), Machine(), p=[1, 2])
    np.testing.assert_allclose(told.time, [2, 2])


def test_a_pair_is_never_faster_than_all_together():
    volume = {"transfer": None, "startup": None, "contention": None, "volume": "10 MB"}
    of = phase(communication=volume, bursts="fixed")
    network = {"bandwidth": "100 MB/s", "saturation": "10 MB/s"}
    found = of.demands(Machine(network=network), {"p": 16.0})
    assert float(found.transfer) == pytest.approx(1.0)
    assert float(time(of, 16, machine=Machine(network=network))) > 5 * 16
    free = of.demands(Machine(network=network), {"p": 16.0, LEVEL: 0.0})
    assert float(free.queue) == 0
    assert float(free.transfer) == pytest.approx(0.1)


def test_a_rate_that_follows_p_does_not_make_scaling_weak():
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "100 Mflop"}}])
    machine = Machine(compute={"rate": "100 Mflop/s / (1 + 0.02*p)"})
    told = predict(program, machine, p=[1, 256])
    assert told.scaling == "strong"
    assert told.speedup[1] == pytest.approx(told.time[0] / told.time[1])


def test_a_parameter_that_replaces_another_is_checked():
    with pytest.raises(
        ParameterError, match=r"io\.transfer must be finite and at least 0, got -1"
    ):
        time(phase(), 2, **{"io.transfer": -1})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compute": {"variability": -1}}, "got -1"),
        ({"compute": {"variability": "gamma"}}, 'must be "none"'),
        ({"io": {"kind": "sync"}}, "synchronous"),
        ({"bursts": "random"}, "fixed"),
        ({"reading": "literal"}, "corrected"),
        ({"burst_per_io": 5}, "Did you mean bursts_per_io?"),
    ],
)
def test_what_cannot_be_described_is_refused(changes, message):
    with pytest.raises(ParameterError) as refusal:
        phase(**changes)
    assert message in str(refusal.value)


@pytest.mark.parametrize("bursts", ["fixed", "geometric"])
def test_joined_bursts_know_no_wild_services(bursts):
    of = phase(bursts=bursts, communication={"variability": 4})
    with pytest.raises(ParameterError, match=r"communication\.variability must be at most 3"):
        time(of, 16)


def test_few_geometric_bursts_of_exponential_times_warn():
    (said,) = phase().warnings(Machine())
    assert "equation (16)" in said
    assert not list(phase(bursts_per_io=20).warnings(Machine()))
    assert not list(phase(compute={"variability": 0.9}).warnings(Machine()))


@pytest.mark.parametrize("kind", ["synchronous", "striped", "clustered"])
def test_the_published_reading_takes_all_times_as_exponential(kind):
    steady = {"variability": "none"}
    published = phase(kind, reading="published")
    other = phase(kind, reading="published", communication=steady, io=steady)
    assert time(other, 16, 4) == time(published, 16, 4)


def test_warnings_say_what_is_not_known():
    unknown = SpmdPhase(law="spmd", compute={"parallel": "1 s"}, communication={"transfer": "1 s"})
    (said,) = unknown.warnings(Machine())
    assert "No contention in the network is assumed" in said
    assert not list(phase(bursts="fixed").warnings(Machine()))


@pytest.mark.parametrize("kind", ["striped", "clustered"])
def test_a_run_ends_later_than_its_cycles(kind):
    at = {"p": [1.0, 4.0, 32.0], "d": 2.0}
    many = phase(kind, cycles=20)
    cycles = many.cycle(Machine(), at) * 20.0
    run = many.times(Machine(), at)
    assert run.time[0] == cycles.time[0]
    assert (run.time[1:] > 1.05 * cycles.time[1:]).all()
    np.testing.assert_array_equal(run.compute, cycles.compute)
    np.testing.assert_allclose(
        run.time - cycles.time, run.synchronisation - cycles.synchronisation
    )


@pytest.mark.parametrize(("keys", "cycles"), [({}, 1), ({"reading": "published"}, 20)])
def test_one_cycle_and_published_runs_have_neither_start_nor_end(keys, cycles):
    of = phase("striped", cycles=cycles, **keys)
    at = {"p": 16.0, "d": 1.0}
    expected = of.cycle(Machine(), at).time * cycles
    assert of.times(Machine(), at).time == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("kind", ["striped", "clustered"])
def test_few_cycles_warn(kind):
    def warnings(cycles, p=(1.0, 4.0)):
        return list(phase(kind, cycles=cycles).warnings_at(Machine(), {"p": np.array(p)}))

    (one,) = warnings(1)
    assert "one of many, without the start and end of a run" in one
    assert f"Start and end are much of a run of 8 cycles of {kind} I/O" in warnings("2 * p")[0]
    assert "20 cycles the law knows them to a few per cent" in warnings(19)[0]
    assert not warnings(20)
    assert not warnings(1, p=(1.0,))
    assert not list(phase(cycles=1).warnings_at(Machine(), {"p": np.array([4.0])}))
