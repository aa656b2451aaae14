"""`parcast.fit`: recovery of known constants, coverage of intervals, what is not determined."""

import re
from dataclasses import replace

import numpy as np
import pytest

from parcast.descriptions.amount import Amount
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed, ParameterError
from parcast.fitting.fit import fit
from parcast.fitting.result import FittedParameter
from parcast.fitting.written import fitted_text
from parcast.prediction.predict import predict
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements, measurements_of

SEVEN = {
    "compute.parallel": 7.6,
    "compute.serial": 0.4,
    "communication.startup": 0.01,
    "communication.transfer": 0.5,
    "communication.contention": 0.3,
    "io.startup": 0.05,
    "io.transfer": 8.0,
}
P, D = (
    np.ravel(x).astype(float) for x in np.meshgrid([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 64])
)


def qcrd_like(scale="p^(-1/2)", factors=(1,) * 7, **keys):
    """The law of QCRD with seven amounts, each times a factor."""
    x = {name: value * f for (name, value), f in zip(SEVEN.items(), factors, strict=True)}
    return Program(
        phase=[
            {
                "law": "spmd",
                "bursts_per_io": 5,
                "bursts": "geometric",
                "compute": {
                    "parallel": f"{x['compute.parallel']} s",
                    "serial": f"{x['compute.serial']} s",
                },
                "communication": {
                    "startup": f"{x['communication.startup']} s",
                    "transfer": f"{x['communication.transfer']} s * {scale}",
                    "contention": x["communication.contention"],
                },
                "io": {
                    "kind": "striped",
                    "startup": f"{x['io.startup']} s",
                    "transfer": f"{x['io.transfer']} s",
                },
                **keys,
            }
        ]
    )


def times_of(program, p=P, d=D, machine=None, *, noise=0.0, seed=0):
    """Times of a program, with scatter."""
    machine = machine or Machine()
    exact = np.broadcast_to(program.times(machine, {"p": p, "d": d}).time, np.shape(p))
    scatter = np.exp(noise * np.random.default_rng(seed).normal(size=np.shape(p)))
    return Measurements(p=p, d=d, time=exact * scatter)


def speedups_of(time):
    """Speedups over one processor and one disk, by the times relative to that."""
    return measurements_of(Measurements(p=P, d=D, time=time).columns, Measure(quantity="speedup"))


GUESS = (1.5, 0.7, 1.5, 0.7, 1.5, 0.7, 1.5)  # beside the amounts


def test_seven_constants_come_back_from_exact_times():
    found = fit(qcrd_like(factors=GUESS), times_of(qcrd_like()), interval=False)
    for x, guess in zip(found.parameters, GUESS, strict=True):
        assert x.factor == pytest.approx(1 / guess, rel=1e-6)
    assert found.rank == 7
    assert found.rms < 1e-9
    assert found.has_converged


def test_what_algebra_leaves_open_is_said_in_words():
    several = P > 1
    runs = times_of(qcrd_like("(1/p)"), P[several], D[several], noise=0.005)
    found = fit(qcrd_like("(1/p)"), runs, interval=False)
    assert found.rank == 5
    assert not found.is_settled
    assert any(
        "only the sum compute.serial + communication.startup is determined, not each of them, "
        "because all runs have c = 1" in text
        for text in found.undetermined
    )
    assert any("compute.parallel, communication.transfer and" in x for x in found.undetermined)
    assert any(text.startswith("A run at p = 1, d = ") for text in found.advice)
    assert any("No run at another p or d would distinguish" in text for text in found.advice)


def test_speedups_hold_the_time_alone_as_described():
    made = times_of(qcrd_like())
    alone = made.time[(P == 1) & (D == 1)][0]
    speedups = speedups_of(made.time / alone)
    twice = (2, 2.2, 2, 2, 1, 2, 1.99)
    found = fit(qcrd_like(factors=twice), speedups, interval=False)
    ratio = found["compute.parallel"].value / SEVEN["compute.parallel"]
    described = qcrd_like(factors=twice).times(Machine(), {"p": 1.0, "d": 1.0}).time
    assert ratio == pytest.approx(float(described) / alone, rel=1e-6)
    for name, value in SEVEN.items():
        scale = 1.0 if name.endswith("contention") else ratio
        x = found[name]
        fitted = x.value if x.value is not None else x.factor * 2 * value
        assert fitted == pytest.approx(value * scale, rel=1e-5)
    assert found.quantity == "speedup"
    assert len(found.measured) == 41  # the reference says nothing
    assert found.measured == pytest.approx(found.fitted, rel=1e-8)
    assert any("scale of times" in text for text in found.warnings)


def test_published_speedups_are_fitted_over_a_time_without_communication():
    made = qcrd_like(reading="published")
    times = times_of(made)
    keys = ("compute.parallel", "compute.serial", "io.startup", "io.transfer")
    alone = 5 * (SEVEN[keys[0]] + SEVEN[keys[1]]) + SEVEN[keys[2]] + SEVEN[keys[3]]
    speedups = speedups_of(times.time / alone)
    near = qcrd_like(factors=(1, 1, 1.5, 0.7, 1.3, 1, 1), reading="published")
    found = fit(
        near,
        speedups,
        free=["communication.startup", "communication.transfer", "communication.contention"],
        interval=False,
    )
    for name in ("communication.startup", "communication.contention"):
        assert found[name].value == pytest.approx(SEVEN[name], rel=1e-5)


def test_speedups_determine_the_scale_where_something_else_is_known():
    speedups = times_of(qcrd_like())
    speedups = speedups_of(speedups.time / speedups.time.max())
    found = fit(
        qcrd_like(factors=(1, 2, 1, 2, 1, 1, 1)),
        speedups,
        free=["compute.serial", "communication.transfer"],
        interval=False,
    )
    assert found["compute.serial"].value == pytest.approx(0.4, rel=1e-6)
    assert not any("scale of times" in text for text in found.warnings)


@pytest.mark.usefixtures("uncovered")
def test_intervals_hold_the_true_values_nine_times_in_ten():
    names = ["compute.parallel", "communication.transfer", "io.transfer"]
    chosen = (D <= 4) & (P <= 16)
    inside, count = 0, 0
    for seed in range(14):
        runs = times_of(qcrd_like(), P[chosen], D[chosen], noise=0.03, seed=seed)
        found = fit(qcrd_like(), runs, free=names, starts=1)
        inside += sum(x.lower <= 1.0 <= x.upper for x in found.parameters)
        count += len(found.parameters)
    assert inside / count == pytest.approx(0.9, abs=0.07)


def test_three_runs_refine_a_description_with_seven_uncertain_constants():
    described = {
        "law": "spmd",
        "bursts": "geometric",
        "compute": {"parallel": "9 s +- 50%", "serial": "0.4 s +- 20%"},
        "communication": {
            "startup": "0.01 s +- 20%",
            "transfer": "0.5 s * p^(-1/2) +- 20%",
            "contention": "0.3 +- 20%",
        },
        "io": {"kind": "striped", "startup": "0.05 s +- 20%", "transfer": "8 s +- 5%"},
        "bursts_per_io": 5,
    }
    runs = times_of(qcrd_like(), np.array([1.0, 4.0, 8.0]), np.ones(3))
    found = fit(Program(phase=[described]), runs)
    assert found["compute.parallel"].value == pytest.approx(7.6, rel=0.03)
    assert found["compute.parallel"].determined == "runs and +-"
    assert found["communication.startup"].determined == "+- alone"
    assert found["communication.startup"].spread == pytest.approx(0.2, rel=0.5)
    assert found.is_settled
    assert found.noise == pytest.approx(0.03, abs=0.01)
    assert any("too few runs to estimate how much they scatter" in x for x in found.warnings)


def test_a_law_that_misses_the_runs_is_said_so():
    exact = times_of(qcrd_like())
    runs = Measurements(p=P, d=D, time=exact.time * np.where(P > 8, 5.0, 1.0))
    found = fit(qcrd_like(), runs, free=["compute.parallel"], interval=False)
    assert any("The law deviates from these runs by" in text for text in found.warnings)


def test_a_constant_that_the_runs_want_to_be_nothing_is_named():
    nothing = qcrd_like(factors=(1, 1, 1, 1, 1, 1e-9, 1))
    runs = times_of(nothing)
    runs = Measurements(p=P, d=D, time=runs.time * np.where(D == 64, 0.99, 1.0))
    found = fit(qcrd_like(), runs, free=["compute.parallel", "io.startup", "io.transfer"])
    assert found["io.startup"].determined == "only from above"
    assert 0 < found["io.startup"].factor < found["io.startup"].upper
    assert not found.is_settled
    [said] = [x for x in found.warnings if "io.startup" in x]
    assert said.startswith("The runs fit best with 0 for io.startup (at most ")
    assert re.search("io.startup .* up to ", str(found))


def test_constants_of_the_machine_are_fitted_on_request():
    program = Program(
        phase=[
            {
                "law": "spmd",
                "bursts": "geometric",
                "compute": {"parallel": "830 Mflop"},
                "communication": {"messages": 12, "volume": "14 MB / sqrt(p)"},
                "io": {"volume": "10 MB"},
            }
        ]
    )
    parts = {
        "compute": {"rate": "120 Mflop/s"},
        "network": {"latency": "150 us", "bandwidth": "27 MB/s", "saturation": "120 MB/s"},
        "storage": {"servers": 2, "bandwidth": "10 MB/s"},
    }
    machine = Machine(**parts)
    runs = times_of(program, machine=machine)
    guess = {"rate": "100 Mflop/s"}, {"bandwidth": "8 MB/s", "servers": 2}
    network = parts["network"] | {"bandwidth": "40 MB/s"}
    found = fit(
        program,
        runs,
        Machine(compute=guess[0], network=network, storage=guess[1]),
        free=["compute.rate", "network.bandwidth", "storage.bandwidth"],
    )
    assert found["compute.rate"].value == pytest.approx(120e6, rel=1e-6)
    assert found["network.bandwidth"].value == pytest.approx(27e6, rel=1e-6)
    assert found["storage.bandwidth"].value == pytest.approx(10e6, rel=1e-6)
    assert all(x.lower < 27 / 40 + x.factor < 2 + x.upper for x in found.parameters)
    rate = found["network.bandwidth"]
    assert rate.lower < rate.factor < rate.upper
    assert found.machine.compute.rate({}) == pytest.approx(120e6)
    assert found.program.phase == program.phase


def test_rates_and_amounts_that_only_occur_together_are_said_to():
    program = Program(
        phase=[{"law": "spmd", "compute": {"parallel": "830 Mflop", "serial": "1 s"}}]
    )
    machine = Machine(compute={"rate": "120 Mflop/s"})
    p = np.array([1.0, 2.0, 4.0, 8.0])
    runs = times_of(program, p, np.ones(4), machine, noise=0.01)
    free = ["compute.parallel", "compute.rate"]
    found = fit(program, runs, machine, free=free, interval=False)
    assert found.undetermined == (
        "only the ratio compute.parallel / compute.rate is determined, not each of them.",
    )
    latency = Program(
        phase=[
            {"law": "spmd", "compute": {"parallel": "8 s"}, "communication": {"messages": 1000}}
        ]
    )
    machine = Machine(network={"latency": "1 ms"})
    runs = times_of(latency, p, np.ones(4), machine, noise=0.01)
    free = ["communication.messages", "network.latency"]
    found = fit(latency, runs, machine, free=free, interval=False)
    assert found.undetermined == (
        "only the product communication.messages x network.latency is determined, not each of "
        "them.",
    )


def test_one_number_of_disks_does_not_tell_the_parts_of_io():
    several = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    program = Program(
        phase=[
            {
                "law": "spmd",
                "compute": {"parallel": "8 s"},
                "io": {"startup": "2 s", "transfer": "2 s"},
            }
        ]
    )
    runs = times_of(program, several, np.full(5, 2.0), noise=0.005)
    found = fit(program, runs, interval=False)
    assert found.undetermined == (
        "only the time of io.startup and io.transfer together is determined, not each of them, "
        "because all runs have d = 2.",
    )
    assert any(text.startswith("A run at p = ") and "d = " in text for text in found.advice)


def test_constants_that_scatter_hides_are_said_to_be_hardly_told_apart():
    program = Program(
        phase=[
            {
                "law": "spmd",
                "bursts": "geometric",
                "compute": {"parallel": "8 s", "serial": "0.1 s"},
                "communication": {"startup": "5 ms * sqrt(p)"},
            }
        ]
    )
    p = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    runs = times_of(program, p, np.ones(6), noise=0.03)
    found = fit(program, Measurements(p=p, time=runs.time), interval=False)
    assert found.rank == 3
    assert found.undetermined == (
        "these runs hardly distinguish compute.serial and communication.startup.",
    )
    assert found.advice == (
        "A run at p = 128 would help most to distinguish communication.startup and "
        "compute.serial.",
    )


def test_a_law_that_fits_hardly_any_run_does_not_end_the_search_for_the_noise():
    described = {"compute": {"parallel": "8 s +- 1%", "serial": "0.1 s +- 1%"}}
    program = Program(phase=[{"law": "spmd", **described}])
    found = fit(program, Measurements(p=[1, 2, 4], time=[80, 4, 0.2]))
    assert found["compute.parallel"].determined == "+- alone"
    assert found.noise > 1


def test_services_that_are_not_exponential_are_fitted_by_differences():
    def varied(factors=(1,) * 7):
        phase = qcrd_like(factors=factors).phase[0].model_dump(exclude_none=True)
        return Program(phase=[{**phase, "io": phase["io"] | {"variability": 0.5}}])

    chosen = (D <= 4) & (P > 1) & (P < 64)
    runs = times_of(varied(), P[chosen], D[chosen])
    free = ["compute.parallel", "communication.contention", "io.transfer"]
    found = fit(varied((1.5, 1, 1, 1, 1.5, 1, 1.5)), runs, free=free, starts=1, interval=False)
    for name in free:
        assert found[name].value == pytest.approx(SEVEN[name], rel=1e-4)


def fitted(described, **keys):
    """A fitted amount that is twice what was described."""
    options = {"scale": None, "dimension": "size", "factor": 2.0, "lower": np.nan, "upper": np.nan}
    return FittedParameter(
        name="x", is_of_machine=False, described=described, determined="runs", **options | keys
    )


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (fitted("8 MB / p"), "2 * (8 MB / p)"),
        (fitted("2 * (8 MB / p) + 3 * (1 MB)"), "2 * (2 * (8 MB / p) + 3 * (1 MB))"),
        (fitted("1 MB", scale=1e6, lower=1.8, upper=2.2), "2 MB +- 11%"),
        (fitted("1 MB", scale=1e6, lower=0.6, upper=5.0), "2 MB +- 190%"),
        (fitted("1 d", scale=86400.0, dimension="time"), "172800 s"),
        (fitted("1 s", scale=1.0, dimension="time", lower=0.0, upper=3.0), "2 s"),
    ],
)
def test_a_fitted_amount_is_written_so_that_it_can_be_read_again(parameter, text):
    assert fitted_text(parameter) == text
    assert Amount.of(text, [parameter.dimension], name="x").dimension == parameter.dimension


def test_the_fitted_program_predicts_what_was_fitted_and_can_be_fitted_again():
    found = fit(qcrd_like(factors=GUESS), times_of(qcrd_like(), noise=0.01))
    again = predict(found.program, Machine(), p=[4, 64], d=[2], interval=False, bounds=False)
    place = {(p, d): t for p, d, t in zip(P, D, found.fitted, strict=True)}
    axes = found.axes
    place = {(p, d): t for p, d, t in zip(axes["p"], axes["d"], found.fitted, strict=True)}
    assert again.time[:, 0] == pytest.approx([place[4, 2], place[64, 2]], rel=1e-5)
    assert " * (0.35 s * p^(-1/2)) +- " in found.program.phase[0].communication.transfer.text
    twice = fit(found.program, times_of(qcrd_like(), noise=0.01), interval=False)
    assert twice.program.phase[0].communication.transfer.text.count("(0.35 s") == 1
    assert twice["compute.parallel"].factor == pytest.approx(1, abs=0.01)


def test_an_amount_of_0_is_left_out_and_refused_where_it_is_asked_for():
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s", "serial": "0 s"}}])
    runs = Measurements(p=[1, 2, 4], time=[9, 4.6, 2.3])
    assert [x.name for x in fit(program, runs).parameters] == ["compute.parallel"]
    with pytest.raises(ParameterError, match="free must name amounts above 0 at every run, got"):
        fit(program, runs, free=["compute.serial"])


def test_an_axis_that_the_program_does_not_know_is_refused_unless_it_is_one_value():
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
    with pytest.raises(ParameterError) as caught:
        fit(program, Measurements(p=[1, 2], n=[10, 20], time=[9, 4]))
    assert str(caught.value) == (
        "measurements must vary only along axes that the program uses (p, d), got 'n'. "
        "Use n in a formula of the program, or select one value of it."
    )
    found = fit(program, Measurements(p=[1, 2], n=10, time=[9, 4.5]))
    assert found["compute.parallel"].value == pytest.approx(9)


def test_a_program_that_takes_no_time_is_not_fitted():
    phase = {"law": "spmd", "cycles": 0, "compute": {"parallel": "5 s"}}
    runs = Measurements(p=[1, 2, 4], time=[5.0, 3.0, 2.0])
    with pytest.raises(ParameterError, match="must take a time above 0 at every run, got 0 s"):
        fit(Program(phase=[phase]), runs)


def test_rates_are_fitted_as_times_of_runs_or_refused():
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "5 s"}}])
    of_one = Measure(quantity="rate", title="ns/day", unit="ns/day", amount="ns", seconds=86400.0)
    rates = Measurements(p=[1, 2, 4], time=[8.0, 4.0, 2.0])
    with pytest.raises(ParameterError, match="measurements must be times of runs, got times of"):
        fit(program, measurements_of(rates.columns, of_one))
    of_ten = measurements_of(rates.columns, replace(of_one, work=10.0))
    assert fit(program, of_ten)["compute.parallel"].value == pytest.approx(8)


def test_speedups_over_a_larger_count_are_refused(tmp_path):
    (tmp_path / "speed.csv").write_text("p,speedup\n8,1\n16,1.9\n32,3.5\n", encoding="utf-8")
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "5 s"}}])
    with pytest.raises(ParameterError, match="over one processor, got a speedup of 1 at p = 8"):
        fit(program, tmp_path / "speed.csv")


def test_fewer_runs_than_constants_are_refused_with_what_to_do(refusal):
    assert refusal(FitFailed, fit, qcrd_like(), times_of(qcrd_like(), P[:3], D[:3])) == (
        "No fit. 3 runs cannot determine 7 parameters (compute.parallel, compute.serial, "
        "communication.startup, communication.transfer, communication.contention, io.startup, "
        "io.transfer). Measure more runs, fix some parameters (fixed), or write known values "
        'with their uncertainty, such as "6.9 s +- 5%".'
    )


def test_a_surface_that_is_all_one_time_is_refused():
    with pytest.raises(FitFailed, match=r"No fit. All 42 runs took 5 s, so they determine no"):
        fit(qcrd_like(), Measurements(p=P, d=D, time=5.0))


def test_a_candidate_that_is_no_run_of_the_program_is_not_advised():
    phase = qcrd_like().phase[0].model_dump(exclude_none=True)
    grouped = Program(phase=[{**phase, "communication": phase["communication"] | {"group": "2"}}])
    several = P > 1
    runs = times_of(grouped, P[several], D[several], noise=0.01)
    found = fit(grouped, runs, interval=False, starts=2)
    assert not any("A run at p = 1" in text for text in found.advice)
