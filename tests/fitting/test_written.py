"""What a fit writes: values near the description, ranges, and sets that predictions draw from."""

import shutil

import numpy as np
import pytest

from parcast.deciding.machines.match import match
from parcast.descriptions.amount import Amount
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import DescriptionError
from parcast.descriptions.fit_record import FitRecord, SeenByP, departing
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import moved, read_machine, read_program
from parcast.fitting.fit import fit
from parcast.pipeline.planning.plan import plan_pipeline
from parcast.prediction.predict import predict
from parcast.projection.program import project
from parcast.simulation.simulate import simulate
from parcast.timings.measurements import Measurements
from tests.conftest import ROOT


def program_of(parallel="8 s", serial="0.2 s", startup="5 ms * log2(p)"):
    """A program whose startup is not seen in runs on few processors."""
    compute = {"parallel": parallel, "serial": serial}
    return Program(
        phase=[{"law": "spmd", "compute": compute, "communication": {"startup": startup}}]
    )


def runs_of(program, p, machine=None, *, noise=0.0, seed=0):
    """Times of a program, with scatter."""
    times = program.times(machine or Machine(), {"p": np.asarray(p, dtype=float)}).time
    return Measurements(
        p=p, time=times * np.exp(noise * np.random.default_rng(seed).normal(size=len(p)))
    )


@pytest.fixture(scope="module")
def found():
    """A fit that leaves the startup open."""
    true = program_of()
    return fit(program_of("5 s", "0.5 s"), runs_of(true, [1, 2, 4], noise=0.02))


def test_a_constant_that_the_runs_do_not_see_keeps_its_described_value(found):
    startup = found["communication.startup"]
    assert startup.determined in {"only from above", "not"}
    assert 0.3 < startup.factor < 3
    text = found.program.phase[0].communication.startup.text
    spread = found.program.phase[0].communication.startup.spread
    assert "(5 ms * log2(p)) +- " in text
    assert spread > 1
    assert found["compute.parallel"].value == pytest.approx(8, rel=0.1)
    assert found.fitted == pytest.approx(found.measured, rel=0.06)


def test_every_answer_from_such_a_description_says_so(found):
    machine = Machine(name="here", price={"processor_hour": 1.0})
    answers = [
        predict(found.program, machine, p=[8], law_error=False),
        match(found.program, [machine], p=[8]),
        simulate(found.program, machine, p=[4], seed=1),
    ]
    for answer in answers:
        [said] = [text for text in answer.warnings if "which do not determine" in text]
        assert "Fitted to 3 times, p = 1 to 4, which do not determine " in said
        assert "communication.startup" in said


def test_predict_and_match_draw_from_the_sets(found):
    machine = Machine(name="here")
    predicted = predict(found.program, machine, p=[4, 64], law_error=False)
    width = np.log(predicted.upper / predicted.lower)
    assert 0.05 < width[0] < 0.3  # where it was run, whatever the ranges of the constants
    assert width[1] > 2 * width[0]
    [candidate] = match(found.program, [machine], p=[4, 64], law_error=False).candidates
    assert np.log(candidate.upper / candidate.lower) == pytest.approx(width, rel=0.25)


def test_constants_of_a_program_and_a_machine_of_one_fit_stay_together():
    true = program_of("830 Mflop", "0 s", "0 s")
    machine = Machine(compute={"rate": "120 Mflop/s"})
    free = ["compute.parallel", "compute.rate"]
    found = fit(true, runs_of(true, [1, 2, 4, 8], machine, noise=0.01), machine, free=free)
    assert not any(x.is_determined for x in found.parameters)
    both = predict(found.program, found.machine, p=[4], law_error=False)
    alone = predict(found.program, machine, p=[4], law_error=False)
    assert both.upper / both.lower < 1.3
    assert alone.upper / alone.lower > 5


def test_a_range_that_a_fit_left_is_no_measurement_for_the_next(found):
    runs = runs_of(program_of(), [1, 2, 4], noise=0.02)
    again = fit(found.program, runs)
    assert not again["communication.startup"].is_determined


@pytest.mark.usefixtures("uncovered")
def test_predictions_from_three_runs_cover_what_they_did_not_see():
    random = np.random.default_rng(5)
    inside = []
    for seed in range(10):
        startup = 10 ** random.uniform(-3, -1)
        wrong = np.exp(random.normal(size=3))
        true = program_of("8 s", "0.2 s", f"{startup} s * log2(p)")
        described = program_of(
            f"{8 * wrong[0]} s", f"{0.2 * wrong[1]} s", f"{startup * wrong[2]} s * log2(p)"
        )
        runs = runs_of(true, [1, 2, 4], noise=0.03, seed=seed)
        predicted = predict(fit(described, runs, starts=1).program, Machine(), p=64)
        time = true.times(Machine(), {"p": 64.0}).time
        inside.append(bool(predicted.lower[0] <= time <= predicted.upper[0]))
    assert np.mean(inside) >= 0.85


def test_the_file_says_first_what_the_runs_do_not_determine(parcast, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.toml").write_text(
        '# Mine.\n[[phase]]\nlaw = "spmd"\n'
        'compute = { parallel = "700 Mflop", serial = "0.2 s" }\n'
        'communication = { startup = "5 ms * log2(p)" }\n'
    )
    (tmp_path / "machine.toml").write_text('[compute]\nrate = "100 Mflop/s"\n')
    (tmp_path / "runs.csv").write_text("p,time_s\n1,8.3\n2,4.18\n4,2.21\n")
    free = "compute.rate,compute.serial,communication.startup"
    said = parcast("fit", "program.toml", "runs.csv", "machine.toml", "--free", free,
                   "-o", "fitted.toml", "--machine-output", "here.toml")  # fmt: skip
    assert said.status == 1
    for name in ("fitted.toml", "here.toml"):
        first, second, *_ = (tmp_path / name).read_text().splitlines()
        assert first == "# parcast fit: NOT DETERMINED by 3 times, p = 1 to 4:"
        assert second.startswith("# parcast fit:   co")
    assert "# Mine.\n" in (tmp_path / "fitted.toml").read_text()
    program, machine = read_program("fitted.toml"), read_machine("here.toml")
    assert program.fit.key == machine.fit.key
    assert [x.name for x in machine.fit.constant] == ["compute.rate"]
    again = parcast("fit", "fitted.toml", "runs.csv", "here.toml", "--free", free, "-o", "2.toml")
    assert again.status == 1
    text = (tmp_path / "2.toml").read_text()
    assert text.count("NOT DETERMINED") == text.count("[fit]\n") == 1
    predicted = parcast("predict", "fitted.toml", "here.toml", "-p", "16")
    assert "which do not determine" in " ".join(predicted.out.split())


def test_projections_and_plans_begin_with_what_is_to_be_doubted_of_a_fit(found):
    """Guards: only `predict` and `match` said that a fit had written a file with status 1."""
    record = found.program.fit.model_copy(update={"converged": False, "undetermined": ()})
    counts = [{"p": 1, "compute": "8 s"}, {"p": 4, "compute": "8 s"}]
    program = Program(phase=[{"law": "counted", "count": counts}], fit=record)
    here = Machine(network={"latency": "1 ms", "bandwidth": "1 MB/s"})
    fitted = here.model_copy(update={"fit": record})
    pipeline = Program(phase=[{"law": "pipeline", "items": 100, "task": "5 ms"}])
    of_fit = pipeline.model_copy(update={"fit": record})
    for warnings in (
        project(program, here, 4).warnings,
        project(program.model_copy(update={"fit": None}), fitted, 4).warnings,
        plan_pipeline(of_fit, fitted, ranks=4).warnings,  # one fit wrote both: said once
        plan_pipeline(pipeline, fitted, ranks=4).warnings,
    ):
        assert warnings[0].startswith("The fit to 3 times, p = 1 to 4 has not converged")
        assert len([x for x in warnings if "converged" in x]) == 1


def test_growth_that_the_runs_do_not_show_is_uncertain_but_for_computing():
    """Runs at one count above 1 tell what communicating costs, not how it grows."""
    few, several = (
        fit(program_of("5 s"), runs_of(program_of(), p), fixed=["compute.serial"]).program.fit
        for p in ([1, 2], [1, 2, 4])
    )
    assert (few.unseen, several.unseen) == (0.7, 0)
    parts = Breakdown(compute=np.ones(2), communication=np.ones(2))
    lower, upper = (
        departing(parts, [few], [2, 4], (np.zeros(()), np.full((), x))) for x in (-1.645, 1.645)
    )
    assert (lower[0], upper[0]) == (2, 2)
    assert (lower[1], upper[1]) == pytest.approx((1.316, 4.163), rel=1e-3)


def test_a_rate_that_takes_no_time_keeps_what_was_described():
    program = Program(
        phase=[
            {"law": "spmd", "compute": {"parallel": "8 s"}, "communication": {"volume": "1 MB"}}
        ]
    )
    slow = Machine(network={"bandwidth": "100 MB/s"})
    runs = Measurements(p=[1, 2, 4, 8], time=[8.0, 4.0, 1.99, 0.99])
    free = ["compute.parallel", "network.bandwidth"]
    found = fit(program, runs, slow, free=free)
    bandwidth = found["network.bandwidth"]
    assert bandwidth.determined == "only from below"
    assert 100e6 < bandwidth.value < 300e6
    assert any(text.startswith("The runs fit best with no limit for") for text in found.warnings)


def test_a_file_elsewhere_names_the_same_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    text = (ROOT / "examples" / "arrays" / "program.toml").read_text(encoding="utf-8")
    (tmp_path / "here" / "program.toml").write_text(text)
    shutil.copy(ROOT / "examples" / "arrays" / "sp2_like.toml", tmp_path / "here")
    moved_text = moved(text, "here/program.toml", "there/fitted.toml")
    (tmp_path / "there" / "fitted.toml").write_text(moved_text)
    assert '"../here/sp2_like.toml"    # beside this file' in moved_text
    assert read_program("there/fitted.toml").parameters().keys() == (
        read_program("here/program.toml").parameters().keys()
    )
    assert moved(text, "here/program.toml", "here/fitted.toml") == text


@pytest.mark.parametrize("wrong", [[], "1", [1.0, 0.0], [True], [float("inf")]])
def test_factors_that_are_none_are_refused(found, wrong):
    keys = found.program.fit.model_dump()
    keys["constant"] = [{**keys["constant"][0], "factors": wrong}]
    with pytest.raises(DescriptionError, match="must be a list of numbers above 0"):
        FitRecord(**keys)


@pytest.mark.parametrize(
    ("asked", "said", "factor"), [([8, 256], 256, 4), ([2, 4, 96], 2, 8), ([1, 16], None, None)]
)
def test_a_formula_of_p_is_doubted_at_the_count_farthest_from_where_it_was_seen(
    found, asked, said, factor
):
    name, amount = "capacities.disk", "8 MB/s * p"
    seen = SeenByP(name=name, amount=amount, least=16, largest=64)
    record = found.program.fit.model_copy(update={"by_p": (seen,)})
    warnings = list(record.beyond({name: Amount.of(amount, ["rate"], name=name)}, asked))
    assert [x.size for x in warnings] == ([] if said is None else [factor])
    assert all(f"gives at p = {said} was not measured" in x for x in warnings)


def test_a_fit_that_has_not_converged_is_said_of_every_answer(found):
    record = found.program.fit.model_copy(update={"converged": False, "undetermined": ()})
    program = found.program.model_copy(update={"fit": record})
    [said] = [x for x in predict(program, Machine(), p=8).warnings if "converged" in x]
    assert said.startswith("The fit to 3 times, p = 1 to 4 has not converged")
