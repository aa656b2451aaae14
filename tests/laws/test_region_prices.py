"""Halos and files of `parcast.laws.regions`: their formulas by hand, and bad input."""

import numpy as np
import pytest

from parcast.descriptions.machine import PRIMITIVES, Machine
from parcast.errors import ParameterError
from parcast.laws.regions import KINDS, RegionsPhase

NETWORK = Machine(name="net", network={"latency": "10 us", "bandwidth": "1 MB/s"})
BUS = Machine(network={"latency": "10 us", "bandwidth": "1 MB/s", "saturation": "2 MB/s"})
DISK = Machine(name="disk", storage={"bandwidth": "1 MB/s", "latency": "1 ms", "servers": 2})
AT = {"p": np.array([1.0, 2, 3, 64])}


def times(machine, at=AT, **region):
    return RegionsPhase(law="regions", region=[region]).times(machine, at)


def test_a_halo_is_a_message_to_each_neighbour_there_is():
    told = times(NETWORK, kind="halo", calls=10, volume="1 kB")
    assert told.communication == pytest.approx([0, 10 * 1.01e-3, 20 * 1.01e-3, 20 * 1.01e-3])
    one = times(NETWORK, kind="halo", calls=10, volume="1 kB", neighbours=1)
    assert one.communication == pytest.approx([0, *[10 * 1.01e-3] * 3])


def test_a_halo_takes_at_least_the_time_of_all_bytes_through_what_saturates():
    told = times(BUS, kind="halo", volume="1 kB").communication
    assert told == pytest.approx([0, 1.01e-3, 3e-3, 64e-3])
    assert times(BUS, kind="halo").communication == pytest.approx([0, 1e-5, 2e-5, 2e-5])


def test_a_halo_is_priced_by_the_measured_send():
    measured = Machine(primitives={"send": {"startup": "1 ms", "bandwidth": "1 GB/s"}})
    assert times(measured, kind="halo").communication[1] == pytest.approx(1e-3)
    halo = RegionsPhase(law="regions", region=[{"kind": "halo"}])
    assert list(halo.warnings(measured)) == []
    assert "no [primitives] for send" in next(halo.warnings(NETWORK))


def test_files_count_as_io_and_share_the_disks():
    told = times(DISK, kind="write", calls=3, volume="2 MB", at={"p": np.array([1.0, 8])})
    assert told.io == pytest.approx(3 * (1e-3 + 1.0))
    assert float(told.compute) == float(told.communication) == 0
    assert times(DISK, kind="write", volume="2 MB", at={"p": 1.0, "d": 4.0}).io == pytest.approx(
        0.501
    )
    assert times(DISK, kind="read").io == pytest.approx(1e-3)
    assert times(Machine(), kind="read").io == 0


def test_what_is_read_has_a_rate_of_its_own_where_it_is_known():
    keys = {"bandwidth": "1 MB/s", "read_bandwidth": "4 MB/s"}
    both = Machine(storage=keys)
    assert times(both, kind="read", volume="4 MB").io == pytest.approx(1)
    assert times(both, kind="write", volume="4 MB").io == pytest.approx(4)


def test_a_loop_that_is_run_several_times_has_what_is_left_over_each_time():
    at = {"p": np.array([1.0, 3])}
    told = times(NETWORK, at=at, kind="loop", calls=5, iterations=10, iteration="1 s")
    assert told.compute == pytest.approx([50, 5 * 4])
    told = times(NETWORK, at=at, kind="replicated", calls=5, iterations=10, iteration="1 s")
    assert float(told.compute) == 50


@pytest.mark.parametrize("kind", [*PRIMITIVES, "halo"])
def test_every_kind_has_a_price_and_costs_nothing_alone(kind):
    assert kind in KINDS
    volume = {} if kind == "barrier" else {"volume": "1 kB"}
    told = times(NETWORK, kind=kind, **volume).communication
    assert told[0] == 0
    assert np.all(told[1:] > 0)


@pytest.mark.parametrize(
    ("region", "at", "says"),
    [
        ({"kind": "barrier", "volume": "1 B"}, AT, "must not give volume if its kind is barr"),
        ({"kind": "write", "neighbours": 1}, AT, "must not give neighbours if its kind is wri"),
        ({"kind": "halo", "iteration": "1 s"}, AT, "must not give iteration if its kind is h"),
        ({"kind": "write", "volume": "1 B"}, AT, "storage.bandwidth must be given in the descrip"),
        ({"kind": "read", "volume": "1 B"}, {"p": 1.0, "d": 0.0}, "d must be at least 1, got 0."),
    ],
)
def test_what_makes_no_sense_is_refused(region, at, says):
    with pytest.raises(ParameterError) as caught:
        times(NETWORK, at=at, **region)
    assert says in str(caught.value)


def test_a_bus_is_the_same_by_its_rate_and_by_its_level():
    rate = {"bandwidth": "1 GB/s", "latency": "0 s"}
    buses = [
        Machine(network=rate | shared) for shared in ({"saturation": "1 GB/s"}, {"contention": 1})
    ]
    one, other = (times(bus, kind="halo", volume="1 MB").communication for bus in buses)
    assert one == pytest.approx(other)
    alone = times(Machine(network=rate | {"contention": 0}), kind="halo", volume="1 MB")
    assert np.all(alone.communication[1:] < one[1:])
