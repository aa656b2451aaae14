"""`parcast.forecasting.sheet`: what is said of one series, and of several together."""

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast, largest_regions
from parcast.show.warning import Rank
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements

P = np.array([1.0, 2, 4, 8, 16])
ASSUMED = "assumed: nothing says that the work grows with p"


def table(**machines):
    return Measurements(
        p=np.tile(P, len(machines)),
        machine=np.repeat(list(machines), len(P)),
        time=np.concatenate(list(machines.values())),
    )


def callpaths(paths):
    columns = table(**paths).columns
    return {"p": columns["p"], "time": columns["time"], "callpath": columns["machine"]}


def facts(told):
    """Facts on all series, by their labels."""
    return {fact.label: fact.text for fact in told.to_sheet().facts}


@pytest.fixture(scope="module")
def profile():
    return forecast(read_measurements("examples/call_paths/profile.csv"), 512)


@pytest.fixture(autouse=True, scope="module")
def at_home():
    from pathlib import Path

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[2])
        yield


def test_series_are_read_alike_and_those_that_do_not_scale_are_named_first():
    told = forecast(table(A=9 / P, B=5 + 0 * P, C=8 / P + 0.1), 32)
    assert facts(told)["scaling"] == f"strong ({ASSUMED})"
    first, *_ = str(told).splitlines()
    assert first == "B: This does not scale: p = 16 takes as long as p = 1."
    told = forecast(table(A=9 / P, B=5 + 0 * P), 32, scaling="weak")
    assert facts(told)["scaling"] == "weak (as requested)"
    assert told.verdict == ()


def test_a_factor_that_is_the_same_in_all_rows_is_said_once(profile):
    text = str(profile)
    assert "x4" not in text
    assert (
        "\nextrapolated by a factor of 4; speedup and efficiency: relative to p = 8, the" in text
    )
    text = str(forecast(table(A=9 / P, B=5 / P), [32, 64]))
    assert "xN: extrapolated by a factor of N" in text
    assert text.count("x4") == 2


def test_the_total_is_shown_where_the_call_path_that_holds_all_others_is_not(profile):
    lines = str(largest_regions(profile, 2)).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == [
        *("main->checkpoint", "main->dot->MPI_Allreduce", "total")
    ]
    main = str(profile).splitlines()[2].split()
    assert lines[4].split()[:6] == ["total", *main[1:6]]
    assert "total" not in str(profile)


def test_warnings_on_call_paths_that_take_hardly_any_time_are_minor():
    odd = np.array([8, 5, 3, 2.5, 9.0])
    paths = {"solve": 900 / P, "odd": odd}
    told = forecast(callpaths(paths), 64)
    assert str(told).startswith("odd: No forecast at p = 64: ")
    told = forecast(callpaths(paths | {"odd": odd / 1e4}), 64)
    assert told.notes[1].warnings[0].rank == Rank.VERDICT
    assert "No forecast" not in str(told)
    assert "warning:" not in str(told)
