"""The fewest nodes whose memory suffices, and how likely it does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast import forecast_memory
from parcast.forecasting.memory.curves import MemoryAt
from parcast.forecasting.memory.nodes import FITS, need_of_node, running_out

GB = 1e9
P = np.array([1, 2, 4, 8, 16])


def sure(value):
    return MemoryAt(*[np.array(value, dtype=float)] * 3)


def forecast(memory, ranks, upto=64):
    each = 0.2 * GB + 16 * GB / P
    runs = {"p": P, "time": 8.0 / P, "memory_B": each, "memory_total_B": each * P}
    return forecast_memory(runs, [upto], node_memory=memory, ranks_per_node=ranks)


def test_a_node_needs_the_total_or_the_largest_rank_and_others():
    p = np.array([4.0, 16.0])
    largest, total = sure([[5.0, 2.0]]), sure([[8.0, 17.0]])
    assert need_of_node(p, 8, (largest, total)).value.tolist() == [[8.0, 2.0 + 7 * 1.0]]
    assert need_of_node(p, 8, (largest, None)).value.tolist() == [[20.0, 16.0]]
    assert need_of_node(p, 8, (None, total)).value.tolist() == [[8.0, 8.5]]


@given(memory=st.floats(1e6, 1e12), lower=st.floats(0.1, 0.99), upper=st.floats(1.01, 10))
def test_running_out_is_a_probability_that_falls_with_memory(memory, lower, upper):
    need = MemoryAt(np.array([GB]), np.array([GB * lower]), np.array([GB * upper]))
    now, more = (float(running_out(x, need)[0]) for x in (memory, 2 * memory))
    assert 0 <= more <= now <= 1


def test_the_fewest_nodes_fit_and_one_fewer_do_not():
    [needed] = forecast("8 GB", 4).nodes
    assert needed.fits
    assert needed.nodes * 4 == needed.p
    assert needed.out_of_memory <= FITS < needed.one_below
    assert needed.need_upper <= 8.001 * GB


def test_one_node_has_none_below():
    [needed] = forecast("64 GB", 16).nodes
    assert (needed.p, needed.nodes, needed.one_below) == (16, 1, None)


def test_fewer_ranks_a_node_are_named_where_full_nodes_do_not_fit():
    told = forecast("1 GB", 16, upto=64)
    [needed] = told.nodes
    assert not needed.fits
    assert 0 < needed.ranks < 16
    assert "16 ranks do not fit on a node up to p = 64; fewer do:" in str(told)


def test_what_does_not_fit_at_all_is_said():
    told = forecast("100 MB", 16)
    assert told.nodes[0].p is None
    assert "nothing fits into nodes of 100 MB up to p = 64" in str(told)


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        ("--node-memory 8GB --ranks-per-node 4", 0, "nodes of 4 ranks"),
        ("--node-memory 100MB --ranks-per-node 4", 1, "nothing fits"),
        ("--node-memory 8GB", 2, "go together. Add --ranks-per-node 128"),
        ("--node-memory 8 --ranks-per-node 4", 2, "--node-memory must be a size"),
        ("--knee 50%", 2, "--memory cannot be combined with --knee, which is of times"),
        ("--donors other.csv", 2, "cannot be combined with --donors"),
        ("--quantity speedup", 2, "cannot be combined with --quantity"),
    ],
)
def test_the_command_line_says_whether_it_fits(parcast, tmp_path, options, status, says):
    each = 0.2 * GB + 16 * GB / P
    lines = [f"{p},{8 / p},{x},{x * p}" for p, x in zip(P.tolist(), each.tolist(), strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["p,time_s,memory_B,memory_total_B", *lines]) + "\n")
    (tmp_path / "other.csv").write_text(path.read_text())
    said = parcast("forecast", path, "--memory", "-p", "64", *options.split())
    assert said.status == status
    assert says in " ".join((said.out + said.err).split())


def test_nodes_without_memory_are_refused_on_the_command_line(parcast, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p,time_s\n1,8\n2,4\n")
    said = parcast("forecast", path, "--node-memory", "8GB", "--ranks-per-node", "4")
    assert said.status == 2
    assert "require --memory" in said.err
    said = parcast("forecast", path, "--memory")
    assert said.status == 4
    assert "The table has no memory" in said.err
