"""The allowance for how wrong laws have been: its figures, and what its intervals cover."""

import numpy as np
import pytest

from parcast.descriptions.description import DescriptionError
from parcast.descriptions.fit_record import OwnLawError
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import IO_LAWS, LAWS, Program
from parcast.descriptions.toml_files import read_program
from parcast.kernels.trials.command import PARTS
from parcast.kernels.trials.counting import counted_program
from parcast.laws.allowances import (
    BUS,
    ELSEWHERE,
    KINDS,
    LEAST,
    MEASURED,
    NODE,
    SWITCH,
    WIDEST,
    allowance,
    counted_half_width,
    how_to_measure,
    law_errors,
    law_half_width,
    platform_of,
)
from parcast.prediction.predict import predict
from parcast.prediction.trials.validate import validate_program
from tests.conftest import ROOT
from tests.laws.published import reference_rows

AT = {"p": np.array([4.0])}


@pytest.mark.parametrize(
    "row", reference_rows("law_errors.csv"), ids=lambda x: f"{x['law']}-{x['platform']}"
)
def test_an_allowance_is_that_of_the_errors_that_were_measured(row):
    median, worst = float(row["median"]) / 100, float(row["worst"]) / 100
    h, measured = allowance(row["law"], row["platform"])
    assert h == pytest.approx(max(min(2.44 * median, worst), LEAST), abs=0.006)
    assert measured


def test_the_interval_covers_the_runs_of_btio():
    """The description alone, with the 10.49 MB that the runs wrote."""
    rows = reference_rows("btio_runs.csv")
    known = read_program(ROOT / "examples" / "btio" / "program.toml").phase[0]
    phase = known.model_dump(exclude_unset=True, exclude={"io", "cycles"})
    phase |= {"cycles": 4, "io": {"kind": "synchronous", "volume": "10.49 MB"}}
    machine = Machine(
        compute={"rate": "120 Mflop/s"},
        network={"latency": "150.6 us", "bandwidth": "26.97 MB/s", "saturation": "120 MB/s"},
        storage={"bandwidth": "10 MB/s"},
    )
    counts, disks = ([*dict.fromkeys(int(row[x]) for row in rows)] for x in "pd")
    told = predict(Program(phase=[phase]), machine, p=counts, d=disks)
    measured = np.array([float(row["time_s"]) for row in rows]).reshape(2, -1).T
    inside = (told.lower <= measured) & (measured <= told.upper)
    assert inside.mean() == 15 / 16  # p = 25, d = 1 took 18% more processor time than p = 1
    narrow = predict(Program(phase=[phase]), machine, p=counts, d=disks, law_error=False)
    assert narrow.lower is None


def described(kind):
    """The program `writer` as `benchmarks/io_kinds.py` describes it, from calibrated figures."""
    bursts = {"striped": "16/d", "clustered": "16"}.get(kind, "16*min(p, d)/d")
    ends = "min(p, d)" if kind == "synchronous" else "p"
    compute = {
        "parallel": "1 ns * (143 + 0.8*p) * n",
        "serial": f"1 s * 8*n / ({ends} * {bursts} * 49.2e6)",
    }
    io = {"kind": kind, "volume": "8 B * n", "variability": "none"}
    phase = {"law": "spmd", "cycles": 10, "bursts_per_io": bursts, "compute": compute, "io": io}
    return Program(phase=[phase])


def test_the_interval_covers_real_runs_of_every_kind_of_io():
    """Runs of `writer` that nothing was fitted to."""
    machine = Machine(
        network={"latency": "137 us"}, storage={"bandwidth": "9.835 MB/s", "latency": "0.49 ms"}
    )
    errors, inside = [], []
    for kind in ("striped", "clustered", "synchronous"):
        rows = [row for row in reference_rows("io_kinds_runs.csv") if row["kind"] == kind]
        runs = {name: [float(row[name]) for row in rows] for name in ("p", "d", "n", "time")}
        found = [*validate_program(described(kind), runs, machine).rows()]
        errors += [abs(row["error"]) for row in found]
        inside += [row["lower_s"] <= row["measured_s"] <= row["upper_s"] for row in found]
    assert len(errors) == 54
    assert np.median(errors) <= 0.1
    assert max(errors) <= 0.25
    assert np.mean(inside) >= 0.88


def test_kinds_of_io_have_errors_of_their_own():
    machine = Machine(network={"latency": "1 us"})
    at = {**AT, "d": np.array([2.0])}
    for kind in ("striped", "clustered"):
        phase = {"law": "spmd", "compute": {"parallel": "8 s"}, "io": {"kind": kind}}
        assert [x.law for x in law_errors(Program(phase=[phase]), machine, at)] == ["spmd"]
        phase["io"]["transfer"] = "1 s"
        [error] = law_errors(Program(phase=[phase]), machine, at)
        assert (error.law, error.is_measured_here) == (f"spmd {kind}", True)
        known = MEASURED[error.law][SWITCH][0]
        assert error.most == known
        width = law_half_width(Program(phase=[phase]), machine, at)
        assert width == pytest.approx(np.log1p(known))
        talking = phase | {"communication": {"startup": "1 ms"}}
        assert [x.law for x in law_errors(Program(phase=[talking]), machine, at)] == ["spmd"]
        own = OwnLawError(
            law="spmd", platform=SWITCH, error=0.5, runs="mine", least=1.0, largest=4.0
        )
        seen = Program(phase=[phase], law_error=[own])
        assert law_half_width(seen, machine, at) == pytest.approx(np.log1p(0.5))
        assert [x.law for x in law_errors(seen, machine, at)] == ["spmd"]


def test_the_kind_of_platform_is_that_of_the_network():
    def kind(**network):
        machine = Machine(network=network)
        return [KINDS[i] for i in np.atleast_1d(platform_of(machine, {"p": np.array([2.0, 64])}))]

    assert kind() == [NODE]
    assert kind(latency="1 us", bandwidth="1 GB/s") == [SWITCH]
    assert kind(bandwidth="27 MB/s", saturation="120 MB/s") == [SWITCH]
    assert kind(bandwidth="100 MB/s", saturation="100 MB/s") == [BUS]
    assert kind(saturation="100 MB/s") == [BUS]
    assert kind(contention="100%") == [BUS]
    assert kind(bandwidth="10 MB/s", saturation="10 MB/s * p/2") == [BUS, SWITCH]
    measured = Machine(primitives={"barrier": {"startup": "1 ms"}})
    assert platform_of(measured, {"p": 2.0}) == KINDS.index(SWITCH)


def test_a_law_measured_elsewhere_or_never_says_so_and_has_a_cautious_allowance():
    bus = Machine(network={"contention": "100%"})
    work = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
    told = predict(work, bus, p=[4])
    assert told.law_error == pytest.approx([2 * 0.15])
    assert told.upper == pytest.approx(told.time * (1 + ELSEWHERE * 0.15))
    assert told.warnings == (
        "The error of the law spmd was not measured on a bus: the interval allows 30% for it, as "
        "a precaution. Compare it with runs at a few p: parcast validate PROGRAM MACHINE TIMINGS",
    )
    curve = Program(phase=[{"law": "amdahl", "t1": "80 s", "serial": "5%"}])
    told = predict(curve, Machine(), p=[4])
    assert told.law_error == pytest.approx([WIDEST])
    assert "was not measured anywhere: the interval allows 41% for it" in told.warnings[0]


def test_an_error_seen_on_another_platform_only_widens_the_allowance():
    def own(law, error):
        return [OwnLawError(law=law, platform=NODE, error=error, runs="r", least=1, largest=8)]

    assert allowance("array_io", SWITCH, own("array_io", 0.05)) == allowance("array_io", SWITCH)
    assert allowance("array_io", SWITCH, own("array_io", 0.5)) == (1.0, "r")
    assert allowance("array_io", NODE, own("array_io", 0.05)) == (0.05, "r")
    assert allowance("array_io", NODE, own("spmd", 0.05)) == allowance("array_io", NODE)
    assert allowance("sort", SWITCH, own("sort", 0.05)) == allowance("sort", SWITCH)
    assert allowance("sort", SWITCH, own("sort", 0.5)) == (0.5, "r")
    assert allowance("amdahl", BUS, own("amdahl", 0.05)) == (WIDEST, "")
    assert allowance("amdahl", BUS, own("amdahl", 0.5)) == (1.0, "")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"platform": "a ring"}, "platform"),
        ({"error": -0.1}, "error"),
        ({"error": float("nan")}, "error"),
        ({"least": 16}, "must have a least p of at most its largest, 8, got 16"),
        ({"runs": None}, "runs"),
        ({"law": 3}, "law"),
    ],
)
def test_an_error_in_a_file_that_is_none_is_refused(wrong, says):
    right = {"law": "amdahl", "platform": NODE, "error": 0.1, "runs": "r"}
    right |= {"least": 1, "largest": 8}
    curve = {"law": "amdahl", "t1": "80 s", "serial": "5%"}
    assert Program(phase=[curve], law_error=[right]).law_error[0].error == 0.1
    with pytest.raises(DescriptionError, match=says):
        Program(phase=[curve], law_error=[right | wrong])


def test_an_error_of_another_law_or_twice_is_refused():
    right = {
        "law": "amdahl",
        "platform": NODE,
        "error": 0.1,
        "runs": "r",
        "least": 1,
        "largest": 8,
    }
    curve = {"law": "amdahl", "t1": "80 s", "serial": "5%"}
    both = [right, right | {"platform": BUS}]
    assert len(Program(phase=[curve], law_error=both).law_error) == 2
    for wrong in ([right, right | {"error": 0.2}], [right | {"law": "sort"}]):
        with pytest.raises(DescriptionError, match="must be of one of its laws, and each on a"):
            Program(phase=[curve], law_error=wrong)


# What a prediction advises, for every law that has no program to be validated with.
OWN = {
    "spmd": {"compute": {"parallel": "9 s", "serial": "1 s"}},
    "regions": {"region": [{"kind": "loop", "iterations": 100, "iteration": "90 ms"}]},
    "merge_sort": {"capacities": {"compute": "5 Mflop/s", "disk": "2 MB/s"}},
    "gustafson": {"time": "10 s", "serial": "5%"},
    "amdahl": {"t1": "12 s", "serial": "5%"},
    "logarithmic": {"shared": "10 s", "growing": "1 s"},
    "linear": {"shared": "10 s", "growing": "1 s"},
    "quadratic": {"shared": "10 s", "growing": "1 s"},
    "usl": {"t1": "12 s", "contention": 0.05, "coherency": 1e-4},
    "power": {"t1": "12 s", "exponent": 0.8},
}
COUNTED = {"counted"}  # knows its error: nothing is advised


@pytest.mark.parametrize("law", [*LAWS, *IO_LAWS])
def test_what_is_advised_exists_for_every_law(law):
    advice = how_to_measure([law])
    if law in COUNTED:
        return
    if law not in OWN:
        name = advice.removeprefix("Measure it: parcast validate ")
        assert name in PARTS or counted_program(name).kernel.name == law
        return
    assert advice.startswith("Compare it with runs at a few p: parcast validate ")
    program = Program(phase=[{"law": law, **OWN[law]}])
    machine = Machine(network={"contention": "100%"})
    (told,) = [
        x
        for x in predict(program, machine, p=[4], **SIZE.get(law, {})).warnings
        if "Compare it" in x
    ]
    assert told.endswith(f"as a precaution. {advice}")
    runs = {"p": [1, 2, 4, 8, 16], "time": [12.0, 7.0, 4.5, 3.25, 2.6]}
    runs |= {"n": [1e6] * 5} if law in SIZE else {}
    errors = validate_program(program, runs).own_law_errors()
    assert [x.law for x in errors] == [law]


SIZE = {"merge_sort": {"n": [1e6]}}


def test_phases_err_together_each_by_its_share():
    phases = [
        {"law": "amdahl", "t1": "30 s", "serial": 1},
        {"law": "regions", "region": [{"kind": "replicated", "iteration": "10 s"}]},
    ]
    h = np.log1p([WIDEST, LEAST])
    both = Program(phase=phases)
    assert law_half_width(both, Machine(), AT) == pytest.approx(0.75 * h[0] + 0.25 * h[1])
    assert [(x.law, x.platform) for x in law_errors(both, Machine(), AT)] == [
        ("amdahl", NODE),
        ("regions", NODE),
    ]


def test_an_allowance_comes_on_top_of_what_is_uncertain():
    unsure = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s +- 20%"}}])
    network = Machine(network={"latency": "1 us"})
    both = predict(unsure, network, p=[1, 4])
    parameters = predict(unsure, network, p=[1, 4], law_error=False)
    law = np.log1p(0.15)
    np.testing.assert_allclose(
        np.log(both.upper / both.time), np.hypot(np.log(parameters.upper / both.time), law)
    )
    np.testing.assert_allclose(
        np.log(both.time / both.lower), np.hypot(np.log(both.time / parameters.lower), law)
    )


def test_the_interval_covers_counted_programs_on_every_network():
    rows = reference_rows("counted_errors.csv")
    own, shared, error = (
        np.array([float(row[name]) for row in rows]) for name in ("own", "shared", "log_error")
    )
    inside = np.abs(error) <= counted_half_width(own=own, shared=shared, beyond=np.zeros(()))
    where = np.array([row["platform"] for row in rows])
    covered = {name: inside[where == name].mean() for name in dict.fromkeys(where.tolist())}
    assert len(rows) == 270
    assert {name: round(share, 2) for name, share in covered.items()} == {
        "xbar_gbe": 0.98,
        "mesh_gbe": 0.92,
        "sp2": 0.98,
    }
    assert inside[shared > 0.2].all()  # 30 of them, all on one network: a margin for others


def test_extrapolated_counts_widen_the_interval_by_how_far_they_are_and_by_what_is_sent():
    count = [
        {"p": 2, "compute": "8 s", "messages": 1000, "volume": "10 MB"},
        {"p": 8, "compute": "8 s", "messages": 4000, "volume": "20 MB"},
    ]
    program = Program(phase=[{"law": "counted", "count": count}])
    machine = Machine(network={"latency": "0.1 ms", "bandwidth": "10 MB/s"})
    told = predict(program, machine, p=[1, 2, 5, 8, 16, 64])
    assert program.phase[0].counted.octaves_beyond(told.axes["p"]).tolist() == [1, 0, 0, 0, 1, 3]
    inside, beyond = told.law_error[[1, 2, 3]], told.law_error[[0, 4, 5]]
    assert inside.max() < 0.1 < beyond.min()
    quiet = Program(
        phase=[{"law": "counted", "count": [{"p": x, "compute": "8 s"} for x in (1, 8)]}]
    )
    told = predict(quiet, machine, p=[8, 16, 32])
    assert np.log1p(told.law_error) == pytest.approx(
        [0.03, np.hypot(0.03, 0.1), np.hypot(0.03, 0.2)]
    )
    assert [(x.law, x.platform) for x in told.law_errors] == [("counted", "")]
