"""Elasticities of time: what more of each resource saves, and so what limits a program."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.prediction.predict import predict

CLUSTER = Machine(
    compute={"rate": "100 Mflop/s"},
    network={"latency": "10 us", "bandwidth": "100 MB/s", "saturation": "300 MB/s"},
    storage={"servers": 2, "bandwidth": "50 MB/s", "latency": "1 ms"},
)
FASTER = 1.01
SPEEDS = {  # each resource of the cluster by so much faster
    "compute": {"compute": {"rate": f"{100 * FASTER} Mflop/s"}},
    "communication": {
        "network": {
            "latency": f"{10 / FASTER!r} us",
            "bandwidth": f"{100 * FASTER} MB/s",
            "saturation": f"{300 * FASTER} MB/s",
        }
    },
    "io": {
        "storage": {
            "servers": 2,
            "bandwidth": f"{50 * FASTER} MB/s",
            "latency": f"{1 / FASTER!r} ms",
        }
    },
}
SPMD = {
    "law": "spmd",
    "bursts_per_io": 4,
    "compute": {"parallel": "800 Mflop", "serial": "1 Mflop", "variability": "exponential"},
    "communication": {"messages": "4", "volume": "8 MB / sqrt(p)"},
    "io": {"volume": "20 MB"},
}
COUNT = [
    {"p": 1, "compute": "8 s"},
    {"p": 64, "compute": "8 s", "busiest": "0.2 s", "messages": 4e4, "volume": "90 MB"},
]
PROGRAMS = {
    "synchronous": SPMD,
    "geometric": SPMD | {"bursts": "geometric"},
    "striped": SPMD | {"io": {"kind": "striped", "volume": "20 MB"}},
    "clustered": SPMD | {"io": {"kind": "clustered", "volume": "20 MB"}},
    "regions": {
        "law": "regions",
        "region": [
            {"kind": "loop", "iterations": 1000, "iteration": "1 Mflop"},
            {"kind": "halo", "volume": "1 MB", "neighbours": 4},
            {"kind": "write", "volume": "20 MB"},
        ],
    },
    "matmul": {"law": "matmul"},
    "pipeline": {
        "law": "pipeline",
        "items": 4000,
        "task": "1 ms",
        "merge": "0.1 ms",
        "message": "1 MB",
    },
    "counted": {"law": "counted", "count": COUNT},
}
OWN_TIMES = ("counted", "pipeline")  # whose computing does not follow the machine's


def of(law, machine=CLUSTER):
    return predict(
        Program(phase=[PROGRAMS[law]]), machine, p=[1, 4, 16, 64], n=[500], bounds=False
    )


@pytest.mark.parametrize("law", PROGRAMS)
def test_elasticities_say_what_a_faster_resource_saves(law):
    told = of(law)
    np.testing.assert_allclose(sum(told.elasticity.values()), 1.0, atol=0.015)
    for resource, elasticity in told.elasticity.items():
        if resource == "compute" and law in OWN_TIMES:
            continue
        changed = Machine(**SPEEDS[resource])
        tables = {name: getattr(changed, name) for name in SPEEDS[resource]}
        other = of(law, CLUSTER.model_copy(update=tables))
        saved = np.log(told.time / other.time) / np.log(FASTER)
        np.testing.assert_allclose(elasticity, saved, atol=0.02, err_msg=resource)


def test_what_limits_is_not_what_takes_most_of_the_time():
    """Near the knee of a queue most time is computing, and most would be saved by transfers."""
    work = {"parallel": "160 s", "variability": "none"}
    sent = {"transfer": "0.9 s", "contention": "100%", "variability": "none"}
    phase = {"law": "spmd", "bursts_per_io": 50, "compute": work, "communication": sent}
    told = predict(Program(phase=[phase]), Machine(), p=[16])
    shares = {name: part / told.time for name, part in told.breakdown.components()}
    assert max(shares, key=lambda name: shares[name][0]) == "compute"
    assert shares["compute"] > 0.6
    assert told.limited_by.tolist() == ["communication"]
    assert told.limits[0].startswith("communication (1% faster saves 0.")

    def faster(**parts):
        changed = Program(phase=[phase | parts])
        return float(predict(changed, Machine(), p=[16]).time[0])

    now = float(told.time[0])
    by_transfers = now - faster(communication=sent | {"transfer": f"{0.9 / FASTER!r} s"})
    by_processors = now - faster(compute=work | {"parallel": f"{160 / FASTER!r} s"})
    assert by_transfers > by_processors


def test_waiting_is_of_what_is_waited_for():
    """Of groups whose processors wait for the slowest of them it is computing that limits."""
    phase = {
        "law": "spmd",
        "compute": {"parallel": "64 s", "variability": "exponential"},
        "communication": {"startup": "1.5 s", "group": "p"},
    }
    told = predict(Program(phase=[phase]), Machine(), p=[64])
    assert told.breakdown.synchronisation > told.breakdown.compute
    assert told.breakdown.communication > told.breakdown.compute
    assert told.limited_by.tolist() == ["compute"]


def test_a_law_without_any_speed_has_the_shares_of_its_parts():
    curve = {"law": "linear", "fixed": "1 s", "shared": "16 s", "growing": "0.1 s"}
    told = predict(Program(phase=[curve]), Machine(), p=[1, 64])
    np.testing.assert_allclose(
        told.elasticity["communication"], told.breakdown.communication / told.time
    )
    assert told.limited_by.tolist() == ["compute", "communication"]


def test_phases_are_added_and_each_has_its_own_names():
    named = [
        PROGRAMS["pipeline"] | {"name": x, "task": t} for x, t in (("a", "1 ms"), ("b", "9 ms"))
    ]
    told = predict(Program(phase=named), CLUSTER, p=[16], bounds=False)
    alone = [
        predict(Program(phase=[phase]), CLUSTER, p=[16], bounds=False).by_resource
        for phase in named
    ]
    for name, slope in told.by_resource.components():
        np.testing.assert_allclose(slope, sum(getattr(x, name) for x in alone), atol=1e-9)
