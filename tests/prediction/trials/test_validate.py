"""`parcast.validate_program`: errors as computed by hand, what was fitted, what is warned of."""

import io
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from parcast.descriptions.description import DescriptionError
from parcast.descriptions.fit_record import FitRecord
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.prediction.predict import predict
from parcast.prediction.trials.picture import figure_of, figure_of_fit
from parcast.prediction.trials.validate import validate_program
from parcast.show.pictures.canvas import svg_of
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements

EXAMPLES = Path(__file__).parents[3] / "examples"

WORK = {"parallel": "80 s", "serial": "2 s"}
PROGRAM = Program(
    name="made",
    phase=[{"law": "spmd", "compute": WORK, "io": {"kind": "striped", "transfer": "1 s / p"}}],
)
P, D = (x.ravel() for x in np.meshgrid([1, 2, 4, 8], [1, 2, 4], indexing="ij"))
RANDOM = np.random.default_rng(5)


def made(factor=1.0, *, runs=1, noise=0.0):
    """Runs of the program as its law has them, times a factor."""
    grid = predict(PROGRAM, Machine(), p=[1, 2, 4, 8], d=[1, 2, 4], interval=False).time.ravel()
    times = np.tile(grid * factor, runs)
    times *= np.exp(noise * RANDOM.standard_normal(len(times)))
    return Measurements(p=np.tile(P, runs), d=np.tile(D, runs), time=times)


def test_errors_are_those_computed_by_hand():
    runs = made(np.linspace(0.9, 1.1, 12), runs=3, noise=0.02)
    found = validate_program(PROGRAM, runs)
    predicted = predict(PROGRAM, Machine(), p=[1, 2, 4, 8], d=[1, 2, 4])
    rows = list(found.rows())
    assert [(x["p"], x["d"]) for x in rows] == list(zip(P, D, strict=True))
    for row, time, lower in zip(
        rows, predicted.time.ravel(), predicted.lower.ravel(), strict=True
    ):
        here = (runs.p == row["p"]) & (runs.axes["d"] == row["d"])
        measured = np.median(runs.time[here])
        assert row["predicted_s"] == pytest.approx(time, rel=1e-12)
        assert row["lower_s"] == pytest.approx(lower, rel=1e-12)
        assert row["error"] == pytest.approx(time / measured - 1, rel=1e-12)
        assert row["runs"] == 3
    assert found.median_error == pytest.approx(np.median([abs(x["error"]) for x in rows]))
    assert found.coverage == sum(x["runs_inside"] for x in rows) / 36


def test_speedups_are_over_the_own_time_on_the_fewest_processors():
    found = validate_program(PROGRAM, made(np.linspace(1.0, 1.3, 12)))
    time = {(x["p"], x["d"]): (x["predicted_s"], x["measured_s"]) for x in found.rows()}
    speedups = found.speedups()
    assert len(speedups) == 9
    for x in speedups:
        p, d = x.case.columns["p"], x.case.columns["d"]
        ours = [base / own for base, own in zip(time[1, d], time[p, d], strict=True)]
        assert (x.base, x.predicted, x.measured) == (1, *map(pytest.approx, ours))


@pytest.mark.parametrize(
    ("factor", "holds"),
    [(1.02, True), (1.6, False), (np.where(P == 8, 2.0, 1.0), False)],
)
def test_the_verdict_is_that_of_the_intervals(factor, holds):
    assert validate_program(PROGRAM, made(factor)).holds is holds


def test_a_count_that_is_missed_by_all_leaves_it_open():
    verdict = validate_program(PROGRAM, made(np.where(P == 8, 1.35, 1.0))).parts[0].verdict
    assert verdict.holds is None
    assert "at p = 8 all 3 are outside, by -26%" in verdict.text


def test_times_that_differ_by_one_factor_are_told():
    findings = validate_program(PROGRAM, made(60.0, noise=0.02)).parts[0].findings
    assert any("times the predicted ones: check the unit" in x for x in findings.warnings)
    near = validate_program(PROGRAM, made(1.2)).parts[0].findings
    assert not any("times the predicted ones" in x for x in near.warnings)


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_do_not_show_that_a_law_holds(runs):
    some = Measurements(p=P[:runs], d=D[:runs], time=made().time[:runs])
    assert validate_program(PROGRAM, some).holds is None


def test_runs_that_were_fitted_decide_nothing():
    runs = made(noise=0.01)
    small = runs.p <= 4
    some = Measurements(p=runs.p[small], d=runs.axes["d"][small], time=runs.time[small])
    fitted = fit(PROGRAM, some).program
    found = validate_program(fitted, runs)
    assert [x.was_fitted for x in found.cases] == (P <= 4).tolist()
    errors = [x["error"] for x in found.rows() if x["p"] == 8]
    assert found.median_error == pytest.approx(np.median(np.abs(errors)))
    assert [x.least for x in found.own_law_errors()] == [8]
    alone = validate_program(fitted, some)
    assert (alone.holds, alone.own_law_errors()) == (None, ())
    assert "nothing was predicted" in alone.parts[0].verdict.reason


def test_a_fit_that_does_not_say_where_is_warned_of():
    fitted = fit(PROGRAM, made(noise=0.01)).program
    forgot = fitted.model_copy(update={"fit": fitted.fit.model_copy(update={"at": {}})})
    found = validate_program(forgot, made())
    assert not any(x.was_fitted for x in found.cases)
    assert any("does not say to which" in x for x in found.parts[0].findings.warnings)


@pytest.mark.parametrize("at", [{"p": 3}, {"p": [1], "d": [1, 2]}, {"p": ["x"]}, [1]])
def test_places_that_are_none_are_refused(at):
    fitted = fit(PROGRAM, made(noise=0.01)).program.fit
    with pytest.raises(DescriptionError, match="equally many numbers"):
        FitRecord(**(fitted.model_dump() | {"at": at}))


def test_speedups_are_compared_over_the_described_time():
    folder = EXAMPLES / "qcrd"
    program, machine = folder / "program.toml", folder / "machine.toml"
    runs = read_measurements(folder / "speedups.csv")
    found = validate_program(program, runs, machine)
    predicted = predict(program, machine, p=[512], d=[64])
    row = next(x for x in found.rows() if (x["p"], x["d"]) == (512, 64))
    speedup = float(predicted.speedup.item())
    measured = 1 / runs.time[(runs.p == 512) & (runs.axes["d"] == 64)].item()
    assert row["error"] == pytest.approx(measured / speedup - 1, rel=1e-9)


def test_parts_that_a_table_has_are_compared():
    compute = 80 / P + 2.5
    runs = made().with_columns(compute_s=compute)
    found = validate_program(PROGRAM, runs)
    for x, own in zip(found.cases, compute, strict=True):
        assert x.observed == {"compute": pytest.approx(own)}
    assert "Parts of the time" in [x.title for x in found.to_sheet().parts[0].tables]


def test_runs_of_another_machine_and_stopped_ones_are_said():
    runs = (
        made()
        .with_columns(machine="elsewhere")
        .with_cut_off(p=[8], d=[1], time=[99.0], machine="elsewhere")
    )
    found = validate_program(PROGRAM, runs, Machine(name="here"))
    warnings = " ".join(found.parts[0].findings.warnings)
    assert "The runs are of elsewhere, the description is of here" in warnings
    assert "Left out: 1 run that was stopped" in warnings


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ({"p": [1, 2], "m": [1, 2], "time": [3, 2]}, "vary only along axes that the program uses"),
        ({"p": [1, 1], "machine": ["a", "b"], "time": [3, 2]}, "be of one machine"),
        ({"p": [1, 1], "callpath": ["a", "b"], "time": [3, 2]}, "be of one callpath"),
    ],
)
def test_runs_that_the_program_cannot_have_are_refused(runs, says):
    with pytest.raises(ParameterError, match=says):
        validate_program(PROGRAM, runs)


@pytest.mark.parametrize("picture", [None, "lines", "surface", "errors", "times"])
def test_every_picture_is_drawn(picture):
    found = validate_program(PROGRAM, made(np.linspace(0.8, 1.4, 12)))
    assert isinstance(figure_of(found, picture=picture), Figure)
    svg = svg_of(partial(figure_of, found, picture=picture))
    assert "p = 8, d = 4: " in svg or picture in (None, "lines", "times")


def test_points_of_the_surface_stand_where_they_were_measured():
    found = validate_program(PROGRAM, made(1.25))
    space = figure_of(found, picture="surface").axes[0]
    x, y, z = next(line for line in space.lines if "measured" in line.get_label()).get_data_3d()
    alone = predict(PROGRAM, Machine(), p=1, d=1).time.item()
    assert x == pytest.approx(np.log2(P))
    assert y == pytest.approx(np.log2(D))
    assert z == pytest.approx(alone / found.column("measured_s"))


def test_pictures_that_the_axes_do_not_have_are_refused():
    runs = Measurements(p=[1, 2], time=[82.0, 42.0])
    for picture in ("surface", "errors"):
        with pytest.raises(ParameterError, match="two axes that vary"):
            figure_of(validate_program(PROGRAM, runs), picture=picture)
    with pytest.raises(ParameterError, match="picture"):
        figure_of(validate_program(PROGRAM, runs), picture="pie")


def test_a_fit_is_drawn_with_hollow_markers():
    figure = figure_of_fit(fit(PROGRAM, made(noise=0.01)))
    measured = [
        x for x in figure.axes[0].lines if x.get_linestyle() == "None" and len(x.get_xdata())
    ]
    assert len(measured) == 3
    assert {x.get_markerfacecolor() for x in measured} == {"white"}


def test_many_configurations_become_a_grid_of_errors():
    p, d = (x.ravel() for x in np.meshgrid(2 ** np.arange(7), [1, 2, 4, 8], indexing="ij"))
    grid = predict(PROGRAM, Machine(), p=2 ** np.arange(7), d=[1, 2, 4, 8]).time.ravel()
    found = validate_program(PROGRAM, Measurements(p=p, d=d, time=grid * 1.1))
    [title] = [x.title for x in found.to_sheet().parts[0].tables]
    assert title == "Errors [%]"
    titles = [x.title for x in found.to_sheet(show_all=True).parts[0].tables]
    assert titles == ["", "Speedups", "Errors [%]"]


def test_the_command_writes_the_error_back(parcast, tmp_path):
    folder = EXAMPLES / "qcrd"
    files = [folder / name for name in ("speedups.csv", "machine.toml", "program.toml")]
    told, written, picture = (tmp_path / f"x.{x}" for x in ("json", "toml", "svg"))
    said = parcast("validate", *files, "-o", told, "-o", written, "-o", picture)
    assert said.status == 4  # all runs at p = 512 are missed
    document = json.loads(told.read_text())
    assert (document["schema"], document["machine"]) == (
        "parcast/validation/1",
        "a Paragon, synthetic",
    )
    worst = max(abs(np.log1p(x["error"])) for x in document["rows"])
    assert f"error = {np.expm1(worst):.3g}" in written.read_text()
    again = parcast("validate", written, files[1], files[0], "-o", written, "--all")
    assert again.status == 0
    assert written.read_text().count("[[law_error]]") == 1
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["program.toml", "nothere.csv"], 3, "must exist"),
        (["program.toml"], 2, "validate runs needs one table of timings"),
        (["speedups.csv", "program.toml", "--picture", "pie"], 2, "must be lines, surface"),
        (["speedups.csv", "program.toml", "--picture", "errors"], 2, "requires a figure to draw"),
    ],
)
def test_wrong_use_is_refused(parcast, monkeypatch, args, status, says):
    monkeypatch.chdir(EXAMPLES / "qcrd")
    said = parcast("validate", *args)
    assert said.status == status
    assert says in said.err


def test_speedups_of_several_sizes_are_each_over_their_own_time():
    work = {"parallel": "1 s * n", "serial": "0.02 s * n"}
    program = Program(phase=[{"law": "spmd", "compute": work}])
    p, n = (x.ravel() for x in np.meshgrid([2, 4, 8], [10, 1000], indexing="ij"))
    time = predict(program, Machine(), p=[2, 4, 8], n=[10, 1000]).time.ravel()
    alone = predict(program, Machine(), p=1, n=[10, 1000]).time.ravel()
    speedup = np.tile(alone, 3) / time
    runs = read_measurements_of({"p": p, "n": n, "speedup": speedup})
    errors = [row["error"] for row in validate_program(program, runs).rows()]
    assert errors == pytest.approx([0] * 6, abs=1e-9)


def read_measurements_of(columns):
    """A table as a file has it, with speedups in place of times."""
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    return read_measurements(io.BytesIO("\n".join(lines).encode()))


def test_runs_of_another_machine_or_with_more_disks_were_not_fitted():
    small = Measurements(p=[1, 2, 4], time=[83.0, 43.0, 23.0])
    here, there = Machine(name="here"), Machine(name="there")
    fitted = fit(PROGRAM, small, here).program
    assert all(x.was_fitted for x in validate_program(fitted, small, here).cases)
    assert not any(x.was_fitted for x in validate_program(fitted, small, there).cases)
    wide = validate_program(fitted, made(), here).cases
    assert [x.was_fitted for x in wide] == ((P <= 4) & (D == 1)).tolist()


def test_without_intervals_nothing_is_decided():
    found = validate_program(PROGRAM, made(1.02), law_error=False)
    assert (found.holds, found.coverage) == (None, None)
    assert "there are no intervals" in found.parts[0].verdict.text


def test_three_axes_that_vary_have_a_picture():
    work = {"parallel": "1 s * n"}
    program = Program(phase=[{"law": "spmd", "compute": work, "io": {"transfer": "1 s"}}])
    p, d, n = (x.ravel() for x in np.meshgrid([1, 2, 4], [1, 2, 3], [1, 2, 3], indexing="ij"))
    found = validate_program(program, Measurements(p=p, d=d, n=n, time=n / p + 1))
    assert isinstance(figure_of(found), Figure)


def test_the_error_of_runs_that_were_fitted_is_not_written(parcast, tmp_path):
    folder = EXAMPLES / "qcrd"
    table, fitted = folder / "speedups.csv", tmp_path / "fitted.toml"
    parcast("fit", folder / "program.toml", table, "-o", fitted)
    said = parcast("validate", fitted, table, "-o", tmp_path / "new.toml")
    assert "was not written: fitted runs do not determine the error" in said.err
    assert not (tmp_path / "new.toml").exists()


def test_parts_are_those_that_a_fit_takes_them_for():
    work = {"parallel": "80 s", "serial": "2 s", "variability": "exponential"}
    talk = {"startup": "1 s", "transfer": "2 s / p", "group": "p"}
    law = {"law": "spmd", "compute": work, "communication": talk}
    program = Program(phase=[law])
    parts = predict(program, Machine(), p=[4], interval=False).breakdown
    runs = Measurements(p=[4], time=[30.0]).with_columns(compute_s=22.0, communication_s=8.0)
    [x] = validate_program(program, runs).cases
    waiting = parts.communication + parts.synchronisation
    assert parts.synchronisation.item() > 0
    assert x.parts["communication"] == pytest.approx(waiting.item())
    assert x.parts["compute"] == pytest.approx(parts.compute.item())
    assert x.observed == {"compute": 22.0, "communication": 8.0}
