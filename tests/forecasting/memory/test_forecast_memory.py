"""`parcast.forecast_memory`: laws of memory, their intervals, and what is said of odd tables."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast.errors import FitFailed, ParameterError

P = np.array([1, 2, 4, 8, 16])
GB = 1e9


def table(memory, total=None, p=P, **axes):
    columns = {"p": p, "time": 8.0 / np.asarray(p), "memory_B": memory, **axes}
    return columns | ({} if total is None else {"memory_total_B": total})


def shared(p):
    return 0.2 * GB + 16 * GB / p


LAWS = {
    "a copy": lambda p: 0.7 * GB + 0 * p,
    "shared": shared,
    "halo": lambda p: 0.1 * GB + 16 * GB / p + 2 * GB * p ** (-2 / 3),
    "tables": lambda p: 0.1 * GB + 4 * GB / p + 0.02 * GB * p,
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_memory_on_a_law_is_forecast_for_a_rank_and_for_all(law):
    memory = law(P.astype(float))
    told = parcast.forecast_memory(table(memory, memory * P), [32, 64])
    far = np.array([32.0, 64.0])
    np.testing.assert_allclose(told.memory, law(far), rtol=0.08)
    np.testing.assert_allclose(told.total, law(far) * far, rtol=0.08)
    assert (told.lower <= law(far)).all()
    assert (law(far) <= told.upper).all()


@given(
    copy=st.floats(0.01, 1),
    part=st.floats(0.01, 100),
    halo=st.floats(0, 10),
    each=st.floats(0, 0.01),
    seed=st.integers(0, 2**20),
)
def test_intervals_of_memory_with_noise_hold_mostly_and_are_in_order(copy, part, halo, each, seed):
    def law(p):
        return GB * (copy + part / p + halo * p ** (-2 / 3) + each * p)

    noise = np.exp(np.random.default_rng(seed).normal(0, 0.003, len(P)))
    told = parcast.forecast_memory(table(law(P.astype(float)) * noise), [32])
    assert told.lower[0] <= told.memory[0] <= told.upper[0]
    assert told.lower[0] / 1.1 <= law(32.0) <= told.upper[0] * 1.1


def test_all_have_no_less_than_the_largest_rank():
    told = parcast.forecast_memory(table([GB] * 5, [GB * 1.2] * 5), [64])
    assert (told.total >= told.memory).all()


def test_a_count_that_is_held_out_is_compared():
    told = parcast.forecast_memory(table(shared(P)), hold_out=[16])
    assert told.observed[0] == shared(16)
    assert "error" in str(told)
    assert told.notes[0].measured == (1, 8)


def test_series_are_told_apart_and_one_of_a_single_count_is_refused():
    runs = {
        "p": [1, 2, 4, 1, 2, 4, 1],
        "time": [8, 4, 2, 9, 5, 3, 1],
        "machine": ["A"] * 3 + ["B"] * 3 + ["C"],
        "memory_B": [4e9, 2e9, 1e9, 8e9, 4e9, 2e9, 5e8],
    }
    told = parcast.forecast_memory(runs, [8])
    assert told.memory.shape == (2, 1)
    assert told.memory[1, 0] == pytest.approx(2 * told.memory[0, 0], rel=0.01)
    assert told.refused == {"C": "Memory is known at p = 1 alone: two counts are needed."}
    assert [row["machine"] for row in told.rows()] == ["A", "B"]
    assert np.isnan(told.total).all()


def test_memory_over_sizes_goes_along_n_and_then_along_p():
    n = np.array([1000.0, 2000.0, 4000.0])
    p, size = (x.ravel() for x in np.meshgrid([1.0, 2.0, 4.0, 8.0], n))

    def law(p, n):
        return 5e7 + 8 * n**2 / p + 3e4 * n

    runs = table(law(p, size), p=p, n=size)
    told = parcast.forecast_memory(runs, [8, 16], n=[4000, 8000])
    np.testing.assert_allclose(told.memory[0], law(np.array([8.0, 16.0]), 4000.0), rtol=0.05)
    np.testing.assert_allclose(told.memory[1], law(np.array([8.0, 16.0]), 8000.0), rtol=0.1)
    assert told.by == ("n",)
    assert (told.upper / told.lower)[1, 0] > (told.upper / told.lower)[0, 0]


def test_a_size_that_goes_with_p_is_forecast_along_p_alone():
    runs = table(np.full(5, 2 * GB), p=P, n=100.0 * P)
    assert parcast.forecast_memory(runs, [32]).memory == pytest.approx(2 * GB, rel=0.02)
    with pytest.raises(FitFailed, match="Where n goes with p, leave it out"):
        parcast.forecast_memory(runs, [32], n=[1e6])


# What a table must not be taken for


def said(runs, p=(32,)):
    return " ".join(parcast.forecast_memory(runs, list(p)).warnings)


def test_a_few_mb_that_are_equal_at_every_p_are_those_of_a_launcher():
    told = parcast.forecast_memory(table([9.1e6, 9.0e6, 9.1e6, 9.1e6, 9.1e6]), [32])
    assert "This may be no memory of ranks" in told.verdict[0]
    assert "This may be no memory of ranks" in str(told)
    assert "no memory of ranks" not in said(table([9.1e6, 9.0e6, 8e6, 8e6, 7e6]))


def test_memory_that_does_not_change_with_p_is_said_to():
    assert "each rank holds everything" in said(table([GB] * 5, GB * P))
    assert "nor does that of all" in said(table([GB] * 5, [GB] * 5))
    assert "does not change" not in said(table(shared(P)))


def test_a_forecast_that_fails_its_test_is_said_to():
    assert "Tested at p = 16, the forecast of memory was" in said(
        table([16e9, 8e9, 4e9, 2e9, 9e9])
    )


def test_one_count_and_no_memory_are_no_forecast():
    with pytest.raises(FitFailed, match="known at p = 4 alone: two counts are needed"):
        parcast.forecast_memory({"p": 4, "time": 1, "memory_B": GB}, [8])
    with pytest.raises(FitFailed, match="The table has no memory: no column memory_B"):
        parcast.forecast_memory({"p": [1, 2], "time": [2, 1]}, [8])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"node_memory": "256 GB"}, "ranks_per_node must be given with the other"),
        ({"ranks_per_node": 4}, "node_memory must be given with the other"),
        ({"node_memory": -1, "ranks_per_node": 4}, "node_memory must be memory above 0, got -1"),
        ({"node_memory": "1 GB", "ranks_per_node": 0}, "ranks_per_node must be"),
        ({"m": [1]}, "m must be a parameter of forecast_memory or an axis"),
    ],
)
def test_bad_arguments_are_refused(options, says):
    with pytest.raises(ParameterError, match=says):
        parcast.forecast_memory(table(shared(P)), [32], **options)


# Everywhere else


def test_a_forecast_of_times_has_a_line_on_memory_and_rows_of_it():
    told = parcast.forecast(table(shared(P), shared(P) * P), [32])
    assert "memory      p = 32: 700 MB a rank, 22.4 GB in all" in str(told)
    assert told.to_document()["memory"][0]["memory_B"] == pytest.approx(shared(32), rel=0.01)
    without = parcast.forecast({"p": P, "time": 8.0 / P}, [32])
    assert without.memory is None
    assert "memory" not in without.to_document()


def test_the_line_says_where_memory_may_be_that_of_a_launcher():
    told = parcast.forecast(table([9e6] * 5), [32])
    assert "no memory of ranks: parcast forecast TIMINGS --memory says why)" in str(told)


def test_the_document_is_json_and_the_table_has_its_keys(tmp_path):
    told = parcast.forecast_memory(
        table(shared(P), shared(P) * P), [32], node_memory="4 GB", ranks_per_node=4
    )
    told.save(tmp_path / "memory.json")
    document = json.loads((tmp_path / "memory.json").read_text())
    assert document["schema"] == "parcast/memory-forecast/1"
    assert document["ranks_per_node"] == 4
    assert document["rows"][0]["out_of_memory"] < 0.05
    assert document["nodes"][0]["p"] == told.nodes[0].p == 24
    assert set(document["rows"][0]) == set(told.to_pandas().columns)


def test_the_picture_has_an_axis_of_memory(tmp_path):
    pytest.importorskip("matplotlib")
    told = parcast.forecast_memory(
        table(shared(P), shared(P) * P), [32], node_memory="4 GB", ranks_per_node=4
    )
    told.save(tmp_path / "memory.svg")
    drawn = (tmp_path / "memory.svg").read_text()
    assert "memory [GB]" in drawn
    assert "a node has 4 GB" in drawn
    assert ">time" not in drawn
    assert told.plot().get_ylabel() == "memory [GB]"


# All ranks together are looked at from time to time


def test_repetitions_that_saw_one_process_or_less_than_others_do_not_count():
    p = np.repeat([1, 2, 4, 8, 16], 3)
    rank = 16 * GB / p
    total = rank * p * 1.0
    total[4] = rank[4]  # one process was seen
    total[7] *= 0.5  # some were
    runs = table(rank, total, p=p)
    assert parcast.forecast_memory(runs, [32]).total == pytest.approx(16 * GB, rel=0.02)
    total[12:15] = [9 * GB, 4 * GB, 16 * GB]  # at p = 16 no two agree: it is not known
    told = parcast.forecast_memory(table(rank, total, p=p), hold_out=[16])
    assert np.isnan(told.observed_total[0])
    assert told.observed[0] == GB


def test_a_total_that_was_hardly_seen_is_not_forecast_and_that_is_said():
    rank = 16 * GB / P
    total = [16 * GB, 8 * GB, 16 * GB, 2 * GB, GB]  # of all at p = 4 alone, and of one rank
    runs = {name: np.array(x, dtype=float)[1:] for name, x in table(rank, total).items()}
    told = parcast.forecast_memory(runs, [32], node_memory="4 GB", ranks_per_node=4)
    assert np.isnan(told.total[0])
    assert "Memory of all is not forecast: all processes were seen" in told.warnings[0]
    assert next(told.rows())["node_B"] == pytest.approx(4 * told.memory[0])


def test_a_total_of_one_process_at_every_p_is_none_where_memory_falls():
    rank = 16 * GB / P
    told = parcast.forecast_memory(table(rank, rank), [32], node_memory="4 GB", ranks_per_node=4)
    assert np.isnan(told.total[0])
    assert "Memory of all is not forecast" in told.warnings[0]
    assert next(told.rows())["node_B"] == pytest.approx(4 * told.memory[0])


def test_threads_have_together_what_their_process_has():
    process = 3e6 + 4e6 * P
    told = parcast.forecast_memory(table(process, process * 1.001), [32, 64])
    assert (told.total == told.memory).all()
    assert "taken to be one of several threads" in told.warnings[-1]
