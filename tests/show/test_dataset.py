"""`Result.to_xarray`: rows over axes, where they fill a grid and where they do not."""

import sys

import numpy as np
import pytest

import parcast
from parcast.show.dataset import GridNote
from tests.kernels.trials.made import FakeRanks

pytest.importorskip("xarray")
SEVERAL = {
    "machine": ["a"] * 3 + ["b"] * 3,
    "p": [1, 2, 4] * 2,
    "time": [8.0, 4.6, 2.8, 9.0, 5.2, 3.5],
}


def test_a_forecast_is_over_its_series_and_p():
    told = parcast.forecast(SEVERAL, [8, 16])
    dataset = told.to_xarray()
    assert dict(dataset.sizes) == {"machine": 2, "p": 2}
    for name in ("time", "lower", "upper", "efficiency"):
        np.testing.assert_array_equal(dataset[name], getattr(told, name))
    assert dataset["time"].attrs == {"units": "s"}
    assert "compute" not in dataset  # which no forecast knows
    assert dataset.attrs["title"] == repr(told)
    assert "spans a factor" in dataset.attrs["comment"]


def test_a_prediction_is_over_all_that_was_varied():
    compute = {"parallel": "8 s", "serial": "1 s"}
    program = parcast.Program(phase=[{"law": "spmd", "compute": compute}])
    told = parcast.predict(
        program, parcast.Machine(), p=[1, 2, 4], d=[1, 2], vary={"compute.parallel": [8.0, 16.0]}
    )
    dataset = told.to_xarray()
    assert tuple(dataset.sizes) == tuple(told.axes)
    np.testing.assert_array_equal(dataset["time"], told.time)
    assert dataset.sel(p=4, d=1)["limited_by"].dtype.kind == "U"


def test_rows_that_do_not_fill_a_grid_leave_gaps_and_say_so():
    table = parcast.check({**SEVERAL, "p": [1, 2, 4, 1, 2, 8]}, against=SEVERAL)
    with pytest.warns(GridNote, match="Rows are at 7 of 8 points of the grid of machine, p"):
        dataset = table.to_xarray()
    assert np.isnan(dataset["ratio"].sel(machine="a", p=8))


def test_a_result_without_axes_of_its_own_is_over_the_columns_that_tell_its_rows_apart(tmp_path):
    validation = parcast.validate("sort", launcher=FakeRanks(), p=[1, 2], quick=True)
    assert [*validation.to_xarray().sizes] == ["p", "n"]
    validation.save(tmp_path / "saved.json")
    saved = parcast.load(tmp_path / "saved.json")
    assert saved.to_xarray().identical(validation.to_xarray().assign_attrs(title=repr(saved)))
    plan = parcast.plan_io("32x16x16", "3x4x2", servers=[1, 2, 3])
    assert [*plan.to_xarray().sizes] == ["mesh"]  # which servers follow from


def test_axes_that_are_none_are_refused():
    told = parcast.forecast(SEVERAL, [8, 16])
    for axes, says in [
        (["q"], r"axes must be columns of the rows, got 'q'\. There are machine, p, time_s"),
        (["p"], r"axes must tell all rows apart, got two rows at p = 8\. Name further"),
        (["p", "measured_s"], r"axes must be known in every row, got measured_s, which is not"),
    ]:
        with pytest.raises(parcast.ParameterError, match=says):
            told.to_xarray(axes)
    assert dict(told.to_xarray(["time_s"]).sizes) == {"time_s": 4}


def test_a_grid_that_is_nearly_empty_is_refused():
    many = range(1, 128)
    runs = {"machine": [f"m{i}" for i in many], "p": [*many], "time": [1.0] * len(many)}
    against = parcast.compare(runs, runs)
    with pytest.raises(parcast.ParameterError, match="be those of a grid, got rows at 127 of"):
        against.to_xarray()


def test_where_xarray_is_missing_it_is_said_how_to_install_it(monkeypatch):
    told = parcast.forecast(SEVERAL, 8)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ModuleNotFoundError) as refusal:
        told.to_xarray()
    assert str(refusal.value) == "to_xarray needs xarray. Install with: pip install xarray"
    assert refusal.value.name == "xarray"
