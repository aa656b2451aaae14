"""`parcast.benchmarking.records`: what is written is read again, torn lines too."""

import pytest

from parcast.benchmarking.records import BenchmarkPlan, BenchmarkRecorder, read_launch
from parcast.errors import ParameterError


@pytest.mark.fault(
    "Measuring", "A benchmark is killed while it writes.", promise="Its complete lines are kept."
)
def test_a_torn_last_line_is_passed_over(tmp_path):
    path = tmp_path / "r.jsonl"
    BenchmarkRecorder(path).times("write", 8, [1.0])
    path.write_text(path.read_text() + '{"bench": "write", "ranks": 1, "by')
    assert read_launch(path).times == {("write", 1, 8): [1.0]}


def test_times_of_a_clock_that_stepped_are_counted_and_not_used(tmp_path):
    record = BenchmarkRecorder(tmp_path / "r.jsonl")
    record.times("write", 8, [1.0, 0.0, -3.0])
    record.times("write", 16, [0.0])
    found = read_launch(tmp_path / "r.jsonl")
    assert found.times == {("write", 1, 8): [1.0]}
    assert found.refused == {("write", 1, 8): 2, ("write", 1, 16): 1}


@pytest.mark.parametrize("wrong", [{"sizes": ()}, {"sizes": (-1,)}, {"sizes": (1,), "fewest": 0}])
def test_a_plan_that_measures_nothing_is_refused(wrong):
    with pytest.raises(ParameterError, match="A plan must have sizes of at least 0"):
        BenchmarkPlan(**({"budget": 1.0} | wrong))


def test_repetitions_in_which_another_program_had_the_core_are_kept_apart(tmp_path):
    record = BenchmarkRecorder(tmp_path / "r.jsonl", 2)
    record.times("pingpong", 8, [1.0, 9.0, 1.1, 1.2], [0, 2, 0, 0])
    record.times("pingpong", 16, [1.0, 9.0, 1.1], [0, 1, 0])  # too few are left
    apart = read_launch(tmp_path / "r.jsonl")
    assert apart.times["pingpong", 2, 8] == [1.0, 1.1, 1.2]
    assert apart.disturbed == {("pingpong", 2, 8): [9.0]}
    assert apart.times["pingpong", 2, 16] == [1.0, 9.0, 1.1]
    together = read_launch(tmp_path / "r.jsonl", is_pinned=False)
    assert together.times["pingpong", 2, 8] == [1.0, 9.0, 1.1, 1.2]
    assert together.disturbed == {}
