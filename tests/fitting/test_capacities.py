"""`fitting.capacities`: W, u and B of runs that were made from them, bounds, and doubts."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import FitFailed, ParameterError
from parcast.fitting.capacities import capacities
from parcast.fitting.fit import fit
from parcast.prediction.predict import predict
from parcast.timings.measurements import Measurements

OWN = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}


def phase_of(law="square_sort", **keys):
    return law_named(law)(law=law, **keys)


def runs_of(phase, p, n, *, machine=None, noise=0.0, repetitions=1, seed=0, **columns):
    p, n = (np.repeat(np.asarray(x, dtype=float), repetitions) for x in np.broadcast_arrays(p, n))
    time = phase.times(machine or Machine(), {"p": p, "n": n, "d": 1.0}).time
    random = np.random.default_rng(seed)
    return Measurements(p=p, n=n, time=time * np.exp(random.normal(0, noise, len(p))), **columns)


def test_a_serial_and_two_parallel_runs_give_what_they_were_made_with():
    runs = runs_of(phase_of(capacities=OWN), [1, 2, 5], 40_000)
    found = capacities(phase_of(capacities={"disk": "3.5 MB/s"}), runs)
    assert found.compute.value == pytest.approx(5e6)
    assert [u.value for u in found.network_by_p] == pytest.approx([6e4, 6e4])
    assert [u.symbol for u in found.network_by_p] == ["u_2", "u_5"]
    assert [u.note for u in found.network_by_p] == ["upper bound", "lower bound"]
    assert found.disk.value == 3.5e6
    assert found.latency is None


def test_the_disk_is_measured_where_its_seconds_are():
    disk = 16 * 40_000 / 3.5e6
    runs = runs_of(phase_of(capacities=OWN), [1, 2, 5], 40_000, disk_s=disk)
    found = capacities(phase_of(), runs)
    assert found.disk.value == pytest.approx(3.5e6)
    assert found.compute.value == pytest.approx(5e6)


def test_the_first_row_of_the_source_gives_its_processor():
    runs = Measurements(p=1, n=10_000, time=0.0896)
    law = phase_of("merge_sort", capacities={"disk": "2.5 MB/s"})
    found = capacities(law, runs)
    assert f"{found.compute.value:.2e}" == "5.19e+06"
    assert found.network is None
    assert any(text.startswith("No run has several processors") for text in found.warnings)


def test_contention_puts_the_network_between_its_bounds():
    crowded = phase_of(capacities=OWN | {"network": "120 kB/s / p"})
    found = capacities(phase_of(capacities=OWN), runs_of(crowded, [1, 2, 4, 8], 40_000))
    assert [u.value for u in found.network_by_p] == pytest.approx([6e4, 3e4, 1.5e4])
    assert [u.note for u in found.network_by_p] == ["upper bound", "", "lower bound"]
    assert found.network.value == pytest.approx(3e4)
    assert (found.network.lower, found.network.upper) == pytest.approx((1.5e4, 6e4))
    assert found.phase.capacities.network.spread == pytest.approx(1.0)


def test_the_phase_that_is_given_back_predicts_the_runs():
    runs = runs_of(phase_of(capacities=OWN), [1, 2, 5], 40_000)
    found = capacities(phase_of(capacities={"disk": "3.5 MB/s"}), runs)
    told = predict(Program(phase=[found.phase]), Machine(), p=[1, 2, 5], n=40_000)
    assert told.time[:, 0] == pytest.approx(runs.time)
    assert found.toml.startswith('capacities = { compute = "5 Mflop/s", network = "60 kB/s')


def test_a_negative_u_is_explained():
    runs = Measurements(p=[1, 2, 4], n=40_000, time=[320.2, 60.0, 40.0])
    found = capacities(phase_of(capacities={"disk": "3.5 MB/s"}), runs)
    assert found.network_by_p[0].value < 0
    (told,) = (text for text in found.warnings if text.startswith("u_2"))
    assert "u_2 is negative (" in told
    assert "W is underestimated" in told
    assert found.network.value == found.network_by_p[1].value
    assert found.network.note == "at p = 4 alone"
    assert list(found.rows())[-2]["value"] < 0


def test_where_all_u_are_negative_there_is_none():
    runs = Measurements(p=[1, 2], n=40_000, time=[320.2, 60.0])
    found = capacities(phase_of(capacities={"disk": "3.5 MB/s"}), runs)
    assert found.network is None
    assert "network" not in found.toml


def test_a_network_that_gets_faster_is_doubted():
    odd = phase_of(capacities=OWN | {"network": "30 kB/s * p"})
    found = capacities(phase_of(capacities=OWN), runs_of(odd, [1, 2, 5], 40_000))
    assert any(text.startswith("u_5 is above u_2: the bounds") for text in found.warnings)


def test_a_processor_that_is_slower_at_larger_sizes_is_doubted():
    slower = phase_of("merge_sort", capacities=OWN | {"compute": "5 Mflop/s * (1e4 / n)^0.1"})
    law = phase_of("merge_sort", capacities={"disk": "3.5 MB/s"})
    found = capacities(law, runs_of(slower, 1, [1e4, 1e6]))
    assert any(text.startswith("W is between 3.15 Mflop/s and 5 M") for text in found.warnings)


@pytest.mark.parametrize("repetitions", [2, 8])
def test_repetitions_give_intervals_that_hold_nine_times_in_ten(repetitions):
    true = phase_of(capacities=OWN)
    held = []
    for seed in range(60):
        runs = runs_of(true, [1, 2, 5], 40_000, noise=0.02, repetitions=repetitions, seed=seed)
        found = capacities(phase_of(capacities={"disk": "3.5 MB/s"}), runs, samples=200)
        each = (found.compute, *found.network_by_p)
        ok = [x.lower <= y <= x.upper for x, y in zip(each, (5e6, 6e4, 6e4), strict=True)]
        held.append(ok)
        assert not any("timed once" in text for text in found.warnings)
    share = np.mean(held, axis=0)
    assert np.all((share >= 0.8) & (share <= 0.98))


def test_startups_that_are_known_are_taken_off():
    machine = Machine(network={"latency": "1 ms"})
    own = {"compute": "1 Gflop/s", "network": "100 MB/s"}
    runs = runs_of(phase_of("gauss", capacities=own), [1, 2, 4], 200, machine=machine)
    found = capacities(phase_of("gauss"), runs, machine)
    assert [u.value for u in found.network_by_p] == pytest.approx([1e8, 1e8])
    kept = capacities(phase_of("gauss", capacities={"latency": "1 ms"}), runs)
    assert kept.latency.text == "1 ms"


def test_all_at_once_finds_the_startup_too():
    machine = Machine(network={"latency": "1 ms"})
    own = {"compute": "1 Gflop/s", "network": "100 MB/s"}
    n, p = (x.ravel() for x in np.meshgrid([200, 400, 800], [1, 2, 4]))
    runs = runs_of(phase_of("gauss", capacities=own), p, n, machine=machine)
    found = capacities(phase_of("gauss"), runs, method="fit")
    assert found.compute.value == pytest.approx(1e9)
    assert found.network.value == pytest.approx(1e8)
    assert found.latency.value == pytest.approx(1e-3)
    assert found.disk is None
    assert found.model_error < 1e-9
    assert found.method == "fit"


def test_how_wrong_the_law_was_goes_into_the_interval_of_the_time():
    own = {"compute": "1 Gflop/s", "network": "100 MB/s", "latency": "1 ms"}
    n, p = (x.ravel() for x in np.meshgrid([200, 400, 800], [1, 2, 4]))
    true = phase_of("gauss", capacities=own)
    held = []
    for seed in range(40):
        runs = runs_of(true, p, n, noise=0.05, seed=seed)
        found = capacities(phase_of("gauss", cycles="1 +- 1%"), runs, method="fit")
        assert found.phase.cycles.spread == pytest.approx(
            np.expm1(1.645 * found.model_error), rel=0.06
        )
        told = predict(Program(phase=[found.phase]), Machine(), p=[4], n=1600, samples=200)
        random = np.random.default_rng(1000 + seed)
        time = float(true.times(Machine(), {"p": 4.0, "n": 1600.0}).time)
        time *= np.exp(random.normal(0, 0.05))
        held.append(told.lower[0, 0] <= time <= told.upper[0, 0])
    assert np.mean(held) >= 0.8


def test_as_many_capacities_as_runs_say_nothing_of_the_error():
    runs = runs_of(phase_of("fractal", capacities=OWN), [1, 4], 1e4)
    found = capacities(phase_of("fractal", messages=0), runs, method="fit")
    assert found.model_error is None
    assert np.isnan(found.compute.lower)
    assert "As many" not in str(found)
    assert found.warnings[-1].startswith("There are as many capacities as runs")


def test_what_the_runs_do_not_show_is_left_as_described():
    own = {"compute": "1 Mflop/s", "network": "100 MB/s", "latency": "0 s"}
    n, p = (x.ravel() for x in np.meshgrid([20, 40, 80, 160], [1, 2, 4]))
    runs = runs_of(phase_of("gauss", capacities=own), p, n, noise=1e-4, seed=3)
    found = capacities(phase_of("gauss", capacities={"latency": "2 us"}), runs, method="fit")
    assert found.latency is None
    assert any("cost of latency is too small" in text for text in found.warnings)
    assert found.phase.capacities.latency.text == "2 us"


@pytest.mark.parametrize(
    ("keys", "runs", "says"),
    [
        ({}, {"p": [1, 2], "time": [3, 2]}, "No capacities. The rate of the disk is unknown."),
        (
            {"capacities": {"disk": "1 kB/s"}},
            {"p": [1, 2], "time": [3, 2]},
            "No capacities. The run on one processor took 3 s, but the disk alone should take "
            "640 s.",
        ),
    ],
)
def test_runs_that_say_too_little_are_refused(keys, runs, says):
    with pytest.raises(FitFailed) as caught:
        capacities(phase_of(**keys), {"n": np.full(2, 40_000), **runs})
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("disk", [0.0, 400.0])
def test_seconds_of_the_disk_lie_within_the_run(disk):
    runs = Measurements(p=[1, 2], n=40_000, time=[320.2, 90.5], disk_s=disk)
    with pytest.raises(ParameterError) as caught:
        capacities(phase_of(), runs)
    assert str(caught.value).startswith(
        f"disk_s must lie between 0 and the time of the run, got {disk:g}."
    )


@pytest.mark.parametrize(
    ("phase", "keys", "says"),
    [(phase_of(capacities={"together": "5 Mflop/s"}), {}, "capacities.together must be left")],
)
def test_bad_arguments_are_named(phase, keys, says):
    with pytest.raises(ParameterError) as caught:
        capacities(phase, Measurements(p=1, n=100, time=1.0), **keys)
    assert str(caught.value).startswith(says)


def test_fit_finds_the_capacities_and_tells_the_bounds():
    crowded = phase_of(capacities=OWN | {"network": "120 kB/s / p"})
    runs = runs_of(crowded, [1, 2, 3, 5], 40_000)
    told = fit(Program(phase=[phase_of(capacities=OWN)]), runs, fixed=["capacities.disk"])
    assert told["capacities.compute"].value == pytest.approx(5e6, rel=0.1)
    assert told.warnings[-1] == (
        "With W = 5 Mflop/s from the runs on one processor, the network's rate is 60 kB/s at "
        "p = 2 and 24 kB/s at p = 5: these are its upper and lower bound."
    )


def test_seconds_of_the_disk_of_a_machine_are_taken_as_they_are():
    took = 16 * 40_000 / 3.5e6
    runs = runs_of(phase_of(capacities=OWN), [1, 2, 5], 40_000, disk_s=took)
    own = {"compute": "1 Mflop/s", "network": "1 MB/s"}
    machine = Machine(storage={"bandwidth": "1 MB/s"})
    found = fit(Program(phase=[phase_of(capacities=own)]), runs, machine, interval=False)
    assert found["capacities.compute"].value == pytest.approx(5e6, rel=1e-3)
    assert found["capacities.network"].value == pytest.approx(6e4, rel=1e-3)


@pytest.mark.parametrize(
    "keys", [{"free": ["capacities.compute"]}, {"fixed": ["capacities.disk"]}]
)
def test_a_disk_that_keeps_its_rate_is_not_replaced_by_that_of_a_column(keys):
    program = Program(phase=[phase_of(capacities=OWN).model_dump(exclude_none=True)])
    before = program.parameters()["capacities.disk"]
    runs = runs_of(phase_of(capacities=OWN), [1, 2, 5], 40_000, disk_s=0.1)
    found = fit(program, runs, interval=False, **keys)
    assert found.program.parameters()["capacities.disk"] == before


def test_runs_of_two_machines_are_refused():
    runs = Measurements(p=[1, 2], n=100, time=[2.0, 1.0], machine=["A", "B"])
    with pytest.raises(ParameterError) as caught:
        capacities(phase_of("gauss"), runs)
    assert str(caught.value) == (
        "runs must be of one machine, got A, B. Select one value: select(machine='A')."
    )
