"""Slopes of `parcast.laws.spmd.law` against differences of the times themselves."""

import numpy as np
import pytest

from parcast.descriptions.machine import LEVEL, Machine
from parcast.laws.spmd.law import SpmdPhase
from parcast.laws.spmd.tables import Computing

STEP = 1e-4
POINTS = {"p": np.repeat([1.0, 2.0, 4.0, 16.0], 3), "d": np.tile([1.0, 2.0, 4.0], 4)}
MACHINE = {
    "compute": {"rate": "120 Mflop/s"},
    "network": {"latency": "150 us", "bandwidth": "27 MB/s", "saturation": "120 MB/s"},
    "storage": {"bandwidth": "10 MB/s", "latency": "10 ms"},
}
COMPUTE = {"parallel": "830 Mflop", "serial": "0.08 s"}
EVERYTHING = {
    "compute": COMPUTE,
    "communication": {
        "messages": "6*sqrt(p)",
        "startup": "1 ms",
        "volume": "1.4 MB * (p/4)^(-1/6)",
        "transfer": "20 ms",
    },
    "io": {"volume": "10 MB", "startup": "50 ms", "transfer": "0.3 s"},
}


def phase_of(kind="striped", bursts="geometric", communication=None, **keys):
    described = {
        **EVERYTHING,
        "io": EVERYTHING["io"] | {"kind": kind},
        "communication": EVERYTHING["communication"] | (communication or {}),
    }
    return SpmdPhase(law="spmd", bursts=bursts, cycles=3, bursts_per_io=5, **described, **keys)


def require_slopes(phase, machine, points=POINTS, tolerance=1e-6):
    time, slopes = phase.slopes(machine, points)
    np.testing.assert_allclose(time, phase.times(machine, points).time, rtol=1e-13)
    for name, slope in slopes.items():
        above, below = (
            phase.times(machine, {**points, f"{name}*": np.exp(step)}).time
            for step in (STEP, -STEP)
        )
        expected = (above - below) / (2 * STEP)
        np.testing.assert_allclose(
            np.broadcast_to(slope, time.shape), expected, atol=tolerance * time.max(), err_msg=name
        )
    return slopes


@pytest.mark.parametrize("kind", ["striped", "clustered", "synchronous"])
def test_slopes_are_those_of_the_times_for_every_amount(kind):
    slopes = require_slopes(phase_of(kind), Machine(**MACHINE))
    assert set(slopes) == {
        *("compute.parallel", "compute.serial", "compute.rate"),
        *("communication.messages", "communication.startup", "communication.volume"),
        *("communication.transfer", "network.latency", "network.bandwidth"),
        *("network.saturation", "io.volume", "io.startup", "io.transfer"),
        *("storage.bandwidth", "storage.latency"),
    }


NODE = {"processors": 8, "memory_bandwidth": "40 GB/s"}


@pytest.mark.parametrize("own", [{}, {"memory_bandwidth": "15 GB/s"}])
def test_slopes_where_memory_limits_the_computing(own):
    # 830 Mflop take 6.9 s on one processor, 90 GB 6 s at 15 GB/s: from p = 4 on 10 GB/s each
    machine = Machine(**MACHINE | {"compute": {"rate": "120 Mflop/s", **own}, "node": NODE})
    phase = phase_of()
    phase = phase.model_copy(update={"compute": Computing(**COMPUTE, traffic="90 GB")})
    slopes = require_slopes(phase, machine)
    p, by_node = POINTS["p"], slopes["node.memory_bandwidth"]
    assert (by_node[p >= 4] < 0).all()
    assert (slopes["compute.parallel"][p >= 4] == 0).all()
    assert (slopes["compute.parallel"][p == 1] > 0).all() or not own


@pytest.mark.parametrize("link", ["10 MB/s", "60 MB/s"])
def test_slopes_where_processors_share_the_link_of_a_node(link):
    node = {"processors": 2, "network_bandwidth": link, "message_bandwidth": "1 GB/s"}
    slopes = require_slopes(phase_of(), Machine(**MACHINE, node=node))
    is_many = POINTS["p"] > 2
    assert (slopes["node.network_bandwidth"][is_many] < 0).all() == (link == "10 MB/s")
    assert (slopes["node.message_bandwidth"][POINTS["p"] > 1] < 0).all()


def test_slopes_with_a_fixed_number_of_bursts():
    require_slopes(phase_of("synchronous", "fixed"), Machine(**MACHINE), tolerance=2e-4)


def test_slopes_in_groups_that_load_the_network_once_for_each_processor():
    communication = {"group": "min(p, 2)", "traffic": "processor"}
    require_slopes(phase_of(communication=communication), Machine(**MACHINE))


def test_slopes_of_the_published_reading():
    phase = phase_of("striped", reading="published")
    require_slopes(phase, Machine(**MACHINE), {"p": np.array([2.0, 8.0]), "d": np.ones(2)})


@pytest.mark.parametrize("of", ["program", "machine"])
def test_contention_that_is_given_is_followed_and_not_the_rates(of):
    network = {"latency": "150 us", "bandwidth": "27 MB/s"}
    communication = {}
    if of == "program":
        communication = {"contention": 0.3}
    else:
        network["contention"] = 0.3
    machine = Machine(**MACHINE | {"network": network})
    slopes = require_slopes(phase_of(communication=communication), machine)
    name = "communication.contention" if of == "program" else "network.contention"
    assert np.any(slopes[name] != 0)


def test_a_pair_held_to_the_rate_of_all_follows_that_rate():
    network = {"latency": "150 us", "bandwidth": "270 MB/s", "saturation": "120 MB/s"}
    slopes = require_slopes(phase_of(), Machine(**MACHINE | {"network": network}), POINTS)
    assert not slopes["network.bandwidth"].any()
    assert slopes["network.saturation"].any()


def test_contention_that_a_point_sets_is_held():
    points = {**POINTS, LEVEL: np.array(0.4)}
    slopes = require_slopes(phase_of(), Machine(**MACHINE), points)
    assert "network.saturation" not in slopes


def test_slopes_sum_to_the_time_where_all_demands_are_times():
    phase = SpmdPhase(
        law="spmd",
        bursts="geometric",
        compute={"parallel": "8 s", "serial": "1 s"},
        communication={"startup": "10 ms", "transfer": "1 s / p", "contention": 0.5},
        io={"transfer": "2 s"},
    )
    time, slopes = phase.slopes(Machine(), POINTS)
    del slopes["communication.contention"]
    np.testing.assert_allclose(sum(slopes.values()), time, rtol=1e-10)


@pytest.mark.parametrize("which", ["io", "communication"])
def test_slopes_where_striped_services_are_not_exponential(which):
    described = {
        "compute": {"parallel": "8 s", "serial": "0.1 s"},
        "communication": {"startup": "10 ms", "transfer": "1 s / p", "contention": 0.3},
        "io": {"kind": "striped", "transfer": "1 s"},
    }
    described[which]["variability"] = 0.5
    require_slopes(SpmdPhase(law="spmd", **described), Machine(), tolerance=1e-4)
