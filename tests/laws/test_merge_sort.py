"""The law merge_sort against the source's Tables 1 to 3, its own laws, and bad input."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError
from parcast.laws.sorters import MergeSortPhase
from tests.laws.counting import merge_sort_counts
from tests.laws.published import reference_rows


@pytest.mark.parametrize("row", reference_rows("steady_state_tables.csv"), ids=str)
def test_times_are_those_of_the_source(row):
    w, b = float(row["W"]) * 1e6, float(row["B"]) * 1e6
    phase = MergeSortPhase(
        law="merge_sort", capacities={"compute": f"{w} flop/s", "disk": f"{b} B/s"}
    )
    found = phase.times(Machine(), {"p": 1.0, "n": float(row["n"])})
    part = {"cpu": found.compute, "io": found.io, "all": found.time}[row["part"]]
    assert float(part) == pytest.approx(float(row["time_s"]), abs=0.006)


def test_the_first_row_calibrates_the_processor():
    counts = merge_sort_counts(10_000)
    w = counts.steps / (0.0896 - counts.disk_bytes / 2.5e6)
    assert f"{w:.2e}" == "5.19e+06"


def test_processors_change_nothing_and_the_phase_says_so():
    phase = MergeSortPhase(law="merge_sort")
    machine = Machine(compute={"rate": "1 Mflop/s"}, storage={"bandwidth": "1 MB/s"})
    one, many = np.broadcast_to(phase.times(machine, {"p": [1.0, 64.0], "n": 1e6}).time, 2)
    assert one == many
    assert list(phase.warnings(machine)) == [
        "This sort is sequential: more processors do not change its time."
    ]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"n": 0}, "n must be at least 1, got 0. Count inputs from 1."),
        ({"n": np.nan}, "n must be at least 1, got nan. Count inputs from 1."),
        ({"n": np.inf}, "n must be at least 1, got inf. Count inputs from 1."),
        ({"alpha": -1}, "alpha must be at least 0, got -1. Count it in the serial program."),
        ({"gamma": np.inf}, "gamma must be at least 0, got inf. Count it in the serial program."),
    ],
)
def test_bad_input_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    assert refusal(ParameterError, merge_sort_counts, **{"n": 8} | bad) == says
