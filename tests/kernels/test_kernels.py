"""The programs on one processor: known values, NumPy's answers, counts, and refusals."""

import errno
import os
from math import erf, exp, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.program import phase_of
from parcast.errors import ParameterError, RunFailed
from parcast.kernels import (
    fractal,
    gauss,
    matmul,
    monte_carlo,
    sample_sort,
    sorters,
    worker,
)
from parcast.kernels.kernel import KernelRun, random_numbers
from parcast.kernels.ledger import Alone, Ledger, shares
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.kernels.sheet import document_of, measurement_rows, warnings_of
from parcast.kernels.worker import KernelTask, memory_refusal, runs_of, whole_size
from parcast.show.warning import by_rank

OURS = tuple(name for name in KERNELS if name not in {"stencil", "writer"})
keys = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=200)


def run_of(**changes):
    """A run."""
    facts = {
        "kernel": "sort",
        "n": 8,
        "p": 2,
        "repetition": 1,
        "time": 2.0,
        "compute": (0.5, 1.5),
        "disk": 0.25,
        "steps": (24, 16),
        "messages": (1, 1),
        "sent": (32, 32),
        "disk_bytes": 128,
        "is_correct": True,
        "cores": 2,
    }
    return KernelRun(**facts | changes)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("n", [0, 1, 2, 97])
def test_one_rank_computes_what_the_serial_reference_does(name, n, tmp_path):
    run = kernel_named(name).run(Alone(), n, 5, check=True, directory=tmp_path)
    assert (run.is_correct, run.p, run.messages, run.sent) == (True, 1, (0,), (0,))
    assert run.time >= run.compute[0] * 0.5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", OURS)
def test_one_rank_takes_the_steps_of_the_law(name):
    kernel = kernel_named(name)
    run = kernel.run(Alone(), 300)
    phase = phase_of(kernel.phase)
    counts = phase.counts(300.0, 1.0, {"n": 300.0, "p": 1.0})
    assert sum(run.steps) == pytest.approx(float(counts.steps), rel=0.05)
    assert run.disk_bytes == float(counts.disk_bytes)
    assert float(counts.network_bytes) == float(counts.messages) == 0


@pytest.mark.parametrize("name", OURS)
def test_memory_grows_with_the_size_and_with_ranks(name):
    memory = kernel_named(name).functions.memory
    assert 0 < memory(100, 1) < memory(200, 1)
    assert memory(100, 1) <= memory(100, 4)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(("n", "seed", "says"), [(-1, 0, "n must be"), (1, -1, "seed must be")])
def test_sizes_and_seeds_below_0_are_refused(name, n, seed, says):
    with pytest.raises(ParameterError, match=says):
        kernel_named(name).run(Alone(), n, seed)


def test_a_program_is_checked_up_to_its_size_unless_asked():
    assert kernel_named("matmul").run(Alone(), 4).is_correct
    assert kernel_named("monte_carlo").run(Alone(), 400_001).is_correct is None


def test_an_unknown_program_is_refused_with_the_nearest(refusal):
    assert refusal(ParameterError, kernel_named, "matmull") == (
        "name must be a program, got matmull. Did you mean matmul? Programs: sort, square_sort, "
        "sample_sort, fractal, monte_carlo, matmul, gauss, stencil, writer."
    )
    with pytest.raises(ParameterError, match=r"got \\x1b\. Programs: sort, square_sort"):
        kernel_named("\x1b")


# Sorting


@given(keys)
def test_counting_gives_the_places_of_the_keys(given_keys):
    array = np.array(given_keys, dtype=np.int64)
    expected = np.searchsorted(np.sort(array), array)
    np.testing.assert_array_equal(sorters.smaller_keys(array), expected)


def test_counting_is_right_over_many_tiles(monkeypatch):
    monkeypatch.setattr(sorters, "TILE", 32)
    monkeypatch.setattr(sorters, "COLUMNS", 8)
    array = np.random.default_rng(1).integers(0, 20, 77)  # many equal keys
    in_order = sorters.sort_by_counting(Ledger(Alone()), array)
    np.testing.assert_array_equal(in_order, np.sort(array))


def test_square_sort_takes_n_squared_steps_whatever_the_order():
    for array in (np.arange(50), np.arange(50)[::-1], np.zeros(50, dtype=np.int64)):
        ledger = Ledger(Alone())
        np.testing.assert_array_equal(sorters.sort_by_counting(ledger, array), np.sort(array))
        assert ledger.steps == 2500


@given(st.lists(keys, min_size=1, max_size=9))
def test_parts_are_merged_in_n_lg_p_steps(parts):
    bounds = np.cumsum([0, *map(len, parts)]).tolist()
    merged = np.concatenate([np.sort(np.array(part, dtype=np.int64)) for part in parts])
    expected = np.sort(merged)
    steps = sorters.merge_sorted_parts(merged, bounds)
    np.testing.assert_array_equal(merged, expected)
    assert steps <= merged.size * np.ceil(np.log2(len(parts)))
    if len(parts) in (1, 2, 4, 8):
        assert steps == merged.size * np.log2(len(parts))


def test_keys_do_not_depend_on_how_many_blocks_they_are_made_in(monkeypatch):
    assert sorters.keys_of(0, 1).tolist() == []
    monkeypatch.setattr(sorters, "BLOCK", 10)
    blocks = [x.size for x in sorters.key_blocks(25, seed=1)]
    assert blocks == [10, 10, 5]
    np.testing.assert_array_equal(
        sorters.SORT.functions.serial(25, 1), np.sort(sorters.keys_of(25, 1))
    )


def test_a_wrong_order_is_found(tmp_path):
    ledger = Ledger(Alone(), tmp_path)
    state = sorters.prepare(ledger, 100, 1)
    state[0].write(sorters.keys_of(100, 1))  # as they came
    assert not sorters.is_sorted_input(ledger, state, None)
    sorters.finish(state)
    sorters.finish((None, 100, 1))  # that of another rank
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_refused_before_anything_is_written(tmp_path, monkeypatch, refusal):
    monkeypatch.setattr(sorters.shutil, "disk_usage", lambda _: SimpleNamespace(free=1e6))
    assert refusal(RunFailed, sorters.SORT.run, Alone(), 1_000_000, directory=tmp_path) == (
        f"{tmp_path} has 1 MB free, but the files of the keys need 16 MB. Use fewer keys or "
        "another directory."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_at_the_output_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    usual, written = os.write, []

    def full_later(number, block):
        written.append(len(block))
        if len(written) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(number, block)

    monkeypatch.setattr(sorters.os, "write", full_later)
    with pytest.raises(RunFailed, match="no space left on device"):
        sorters.SORT.run(Alone(), 1000, directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_cut_short_is_told(tmp_path):
    files = sorters.KeyFiles.written(tmp_path, 100, 1)
    files.input.write_bytes(b"12345678" * 99)
    with pytest.raises(RunFailed, match="is shorter than when it was written"):
        files.read()


def test_a_system_without_advice_on_its_cache_writes_the_same(tmp_path, monkeypatch):
    monkeypatch.delattr(sorters.os, "posix_fadvise")
    files = sorters.KeyFiles.written(tmp_path, 100, 1)
    np.testing.assert_array_equal(files.read(), sorters.keys_of(100, 1))


# Sorting by samples


def test_a_wrong_range_is_found():
    ledger = Ledger(Alone())
    state = sample_sort.prepare(ledger, 100, 1)
    assert not sample_sort.is_correct(ledger, state, sorters.keys_of(100, 1))
    assert sample_sort.is_correct(ledger, state, sample_sort.work(ledger, state))
    assert not sample_sort.is_correct(ledger, state, state[2][:50])


# Fractal


@pytest.mark.parametrize(
    ("point", "count"),
    [
        (0.0, 256),
        (-1.0, 256),
        (0.25, 256),
        (0.5, 5),
        (1.0, 3),
        (2.0, 2),
        (2.5, 1),
        (2.0 + 2.0j, 1),
    ],
)
def test_points_leave_the_circle_when_they_are_known_to(point, count):
    found = fractal.iterations(np.array([point.real]), np.array([complex(point).imag]))
    assert found.tolist() == [count]


def test_the_area_of_the_set_is_the_known_one():
    image = fractal.pixels_of(90_000, 0, 1)
    # 1.50659 of the square of 4: K. Mitchell 2001, R. Munafo 2012; 256 iterations hold it larger.
    assert (image == fractal.MOST).mean() * 4.0 == pytest.approx(1.5066, rel=0.02)


def test_the_density_that_the_law_is_told_is_the_counted_one():
    alpha = fractal.KERNEL.phase["alpha"]
    for n in (10_000, 100_000):
        assert fractal.pixels_of(n, 0, 1).mean() == pytest.approx(alpha, rel=0.01)


@given(st.integers(0, 3000), st.integers(1, 5))
def test_an_image_is_the_same_however_it_is_dealt_out(n, p):
    whole = fractal.pixels_of(n, 0, 1)
    for rank in range(p):
        np.testing.assert_array_equal(whole[rank::p], fractal.pixels_of(n, rank, p))


# Monte Carlo


def test_the_option_has_the_price_of_black_and_scholes():
    spot, strike = monte_carlo.START, monte_carlo.STRIKE
    sigma, rate, years = monte_carlo.VOLATILITY, monte_carlo.RATE, monte_carlo.YEARS
    d1 = (log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * sqrt(years))
    d2 = d1 - sigma * sqrt(years)
    normal = [(1 + erf(d / sqrt(2))) / 2 for d in (d1, d2)]
    expected = spot * normal[0] - strike * exp(-rate * years) * normal[1]
    assert expected == pytest.approx(8.0214, abs=1e-4)
    found = monte_carlo.serial(100_000, 3)
    paid = np.maximum(found.prices - strike, 0) * exp(-rate * years)
    assert abs(found.option - expected) < 4 * paid.std() / sqrt(paid.size)
    grown = spot * np.exp(rate * years * np.arange(1, 5) / 4)
    np.testing.assert_allclose(found.means, grown, rtol=0.005)


def test_without_paths_there_is_no_price():
    assert np.isnan(monte_carlo.serial(0, 1).option)


@given(st.integers(0, 10**6), st.integers(1, 64))
def test_paths_are_dealt_out_in_whole_blocks(n, p):
    bounds = monte_carlo.path_bounds(n, p)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, n, p + 1)
    assert all(bound % monte_carlo.BLOCK == 0 or bound == n for bound in bounds)


def test_numbers_of_another_seed_block_or_slice_are_others():
    drawn = {
        random_numbers(seed, number, block).standard_normal()
        for seed, block, number in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2**64, 0, 0)]
    }
    assert len(drawn) == 5


# Matrices


@given(st.integers(0, 40), st.integers(0, 20))
def test_tiles_give_the_product(n, m):
    source = np.random.default_rng(n)
    a, b = source.random((m, n)), source.random((n, n))
    c = np.full((m, n), 7.0)
    matmul.multiply(a, b, c)
    np.testing.assert_allclose(c, a @ b)


def test_many_tiles_give_the_product(monkeypatch):
    monkeypatch.setattr(matmul, "TILE", 8)
    a, b = matmul.matrices_of(30, 1)
    c = np.empty((30, 30))
    matmul.multiply(a, b, c)
    np.testing.assert_allclose(c, matmul.serial(30, 1), atol=1e-12)


def eliminated(matrix, right):
    """Solve a system on one rank."""
    ledger = Ledger(Alone())
    n = len(right)
    state = (n, 0, np.column_stack([matrix, right]).astype(float))
    return gauss.solution(ledger, state, gauss.work(ledger, state))


def test_elimination_solves_a_system_worked_out_by_hand():
    # x + 2y = 5, 3x + 4y = 11
    np.testing.assert_allclose(eliminated([[1, 2], [3, 4]], [5, 11]), [1, 2])


def test_a_pivot_of_0_is_gone_round():
    np.testing.assert_allclose(eliminated([[0, 2], [3, 0]], [4, 9]), [3, 2])


def test_elimination_is_stable_where_a_small_pivot_would_spoil_it():
    np.testing.assert_allclose(eliminated([[1e-20, 1], [1, 1]], [1, 2]), [1, 1])


@pytest.mark.parametrize(
    ("block", "chunk", "columns"),
    [(1, 1, 1), (2, 16, 7), (3, 5, 16), (13, 2048, 256), (39, 2048, 256), (64, 2048, 256)],
)
def test_elimination_agrees_with_the_library(block, chunk, columns, monkeypatch):
    monkeypatch.setattr(gauss, "BLOCK", block)
    monkeypatch.setattr(gauss, "CHUNK", chunk)
    monkeypatch.setattr(gauss, "COLUMNS", columns)
    matrix, right = gauss.system_of(40, 2)
    np.testing.assert_allclose(eliminated(matrix, right), gauss.serial(40, 2), rtol=1e-9)


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ([[1, 2], [2, 4]], "The matrix is singular: row 2 depends on the rows above it."),
        ([[0, 0], [1, 1]], "The matrix is singular: row 1 depends"),
        ([[0.0]], "The matrix is singular: row 1 depends"),
        ([[1, np.inf], [1, 1]], "Row 1 of the matrix has entries that are not finite"),
        ([[1, 0], [np.nan, 1]], "Row 2 of the matrix has entries that are not finite"),
    ],
)
def test_a_matrix_that_cannot_be_eliminated_is_refused(matrix, says, refusal):
    assert says in refusal(RunFailed, eliminated, matrix, np.ones(len(matrix)))


# What all of them rest on


@given(st.integers(0, 10**9), st.integers(1, 1000))
def test_shares_hold_everything_and_differ_by_one(n, p):
    sizes = np.diff(shares(n, p))
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_one_rank_has_nobody_to_send_to():
    ledger = Ledger(Alone())
    ledger.send_to_all(np.ones(3))
    ledger.broadcast(np.ones(3), 0)
    assert (ledger.messages, ledger.sent) == (0, 0)
    with pytest.raises(RunFailed, match="no other rank to send to"):
        ledger.send(np.ones(3), 1)


def test_a_rate_needs_steps_and_time():
    assert run_of().rate == 20.0
    assert run_of(steps=(0, 0)).rate is None
    assert run_of(compute=(0.0, 0.0)).rate is None


# The worker


def test_a_size_beyond_the_memory_is_refused_with_the_largest_that_fits(monkeypatch):
    monkeypatch.setattr(worker, "free_memory", lambda: 24e6)
    expected = (
        "n must fit into the memory of the host, got 2,000: matmul needs 96 MB, 24 MB are free. "
        "Use n up to 1,000."
    )
    assert str(memory_refusal(matmul.KERNEL, 2000, 1)) == expected
    assert memory_refusal(matmul.KERNEL, 1000, 1) is None
    assert memory_refusal(matmul.KERNEL, 2000, 1, share=0.25) is None  # on four hosts
    with pytest.raises(ParameterError) as caught:
        list(runs_of(Alone(), KernelTask(kernel="matmul", sizes=(1, 2000))))
    assert str(caught.value) == expected
    monkeypatch.setattr(worker, "free_memory", lambda: None)
    assert memory_refusal(matmul.KERNEL, 10**9, 1) is None


@pytest.mark.parametrize("text", ["", "MemTotal: 3 kB\n", "MemAvailable: x kB\n", None])
def test_a_system_that_does_not_tell_its_memory_refuses_nothing(monkeypatch, text):
    def read_text(*_, **__):
        if text is None:
            raise FileNotFoundError
        return text

    assert worker.free_memory() is None or worker.free_memory() > 1e6
    monkeypatch.setattr(worker.Path, "read_text", read_text)
    assert worker.free_memory() is None


@pytest.mark.parametrize("bad", ["x", 1.5, -1, float("nan"), float("inf"), "1e400", ""])
def test_a_size_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match="n must be a whole number of at least 0"):
        whole_size(bad)


# Rows


def test_a_document_has_every_fact_of_a_run():
    told = document_of([run_of()])
    assert told["schema"] == "parcast/runs/1"
    assert told["warnings"] == []
    assert told["rows"] == [
        {
            "program": "sort",
            "p": 2,
            "n": 8,
            "repetition": 1,
            "time_s": 2.0,
            "compute_s": [0.5, 1.5],
            "disk_s": 0.25,
            "checkpoint_s": 0.0,
            "restart_s": 0.0,
            "steps": [24, 16],
            "rate": 20.0,
            "messages": [1, 1],
            "sent_bytes": [32, 32],
            "disk_bytes": 128,
            "is_correct": True,
            "cores": 2,
            "quanta_s": [],
            "waited_s": 0.0,
            "servers": 0,
            "slowdown": None,
            "disturbed": None,
            "counts": True,
        }
    ]


def test_a_table_of_measurements_has_a_row_for_each_figure_that_is_known():
    rows = list(measurement_rows([run_of(is_correct=None, steps=(0, 0))]))
    assert {"callpath": "sort", "p": 2, "n": 8, "repetition": 1}.items() <= rows[0].items()
    figures = {row["metric"]: row["value"] for row in rows}
    assert figures == {
        "time_s": 2.0,
        "compute_max": 1.5,
        "compute_mean": 1.0,
        "disk": 0.25,
        "steps": 0,
        "messages": 2,
        "sent_bytes": 64,
        "disk_bytes": 128,
        "cores": 2,
    }


def test_a_run_in_which_the_clock_stepped_has_no_time():
    rows = list(measurement_rows([run_of(time=-0.5)]))
    assert "time_s" not in {row["metric"] for row in rows}


def test_a_wrong_result_is_warned_of_first():
    said = warnings_of([run_of(cores=1), run_of(is_correct=False)])
    assert by_rank(reversed(said))[0].startswith("Wrong result at p = 2")


def test_what_a_reader_must_know_is_said():
    assert warnings_of([]) == []
    assert warnings_of([run_of(is_correct=None), run_of()]) == []
    assert warnings_of([run_of(cores=1), run_of(p=4, cores=3)]) == [
        "2 ranks took turns on one core, so the wall time shows no speedup beyond that: "
        "forecast, fit and others leave it out. Processor times are not affected.",
        "4 ranks took turns on 3 cores, so the wall time shows no speedup beyond that: "
        "forecast, fit and others leave it out. Processor times are not affected.",
    ]
    assert warnings_of([run_of(is_correct=False)]) == [
        "Wrong result at p = 2, n = 8, 1: it differs from that of one processor. Do not use "
        "these times."
    ]
    assert warnings_of([run_of(time=-0.5), run_of()]) == [
        "The clock was changed during the run, so there is no wall time at p = 2, n = 8, 1. Run "
        "it again."
    ]
    assert warnings_of([run_of(is_correct=None)]) == [
        "No result was checked, as by default this is done only up to n = 4,000,000. Check them "
        "with check=True."
    ]
