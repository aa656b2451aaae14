"""Explained descriptions against predictions with other descriptions, and as users see them."""

import json

import numpy as np
import pytest

import parcast
from parcast.deciding.explain.descriptions.elasticities import ends_of
from parcast.errors import ParameterError
from tests.deciding.explain.random_programs import (
    SPEEDS,
    elasticity_by_predicting,
    machine_of,
    random_question,
    resource_by_predicting,
    saved_by_predicting,
)

BTIO = ("examples/btio/program.toml", "examples/btio/sp2.toml")


@pytest.mark.parametrize("seed", range(4))
def test_it_says_what_predictions_with_other_descriptions_say(seed):
    program, speeds, servers, p = random_question(seed)
    told = parcast.explain(program, machine_of(speeds, servers=servers), p=p)
    saved = saved_by_predicting(program, speeds, servers, p)
    alone = [x for x in told.upgrades if not x.pair]
    for x in alone:
        assert x.saved.value == pytest.approx(saved[x.names[0]], abs=1e-9)
        assert x.saved.lower <= x.saved.value <= x.saved.upper
    assert saved[alone[0].names[0]] == pytest.approx(max(saved.values()), abs=1e-12)
    assert told.limited_by == resource_by_predicting(program, speeds, servers, p)
    found = {x.name: float(x.elasticity[0]) for x in told.amounts}
    for name in SPEEDS:
        exact = elasticity_by_predicting(program, speeds, servers, p, name)
        assert found.get(name, 0.0) == pytest.approx(exact, abs=1e-6)


def test_pairs_are_predicted_together_and_costs_are_those_of_a_run():
    price = {"processor_hour": 2.0, "currency": "EUR"}
    work = {"parallel": "80 Gflop", "serial": "1 Gflop"}
    program = parcast.Program(
        phase=[{"law": "spmd", "compute": work, "communication": {"volume": "1 GB"}}]
    )
    network = {"bandwidth": "1 GB/s"}
    machine = parcast.Machine(compute={"rate": "1 Gflop/s"}, network=network, price=price)
    told = parcast.explain(program, machine, p=8, law_error=False)
    pair = next(x for x in told.upgrades if set(x.names) == {"compute.rate", "p"})
    faster = parcast.Machine(compute={"rate": "2 Gflop/s"}, network=network)
    assert pair.time.value == pytest.approx(parcast.predict(program, faster, p=16).time[0])
    assert pair.cost.value == pytest.approx(2.0 * 16 * pair.time.value / 3600)
    assert "[EUR]" in str(told)
    assert "90% interval" not in str(told)


def test_elasticities_that_print_as_zero_are_left_out_and_counted():
    files = ("examples/checkpoint/program.toml", "examples/checkpoint/nfs.toml")
    told = parcast.explain(*files, p=4096, law_error=False)
    seen = [x for x in told.amounts if max(map(abs, (x.lower[0], x.upper[0]))) >= 0.0005]
    short, whole = told.to_sheet(), told.to_sheet(show_all=True)
    assert 0 < len(seen) < 10 < len(told.amounts)
    assert f"{len(seen)} of {len(told.amounts)} amounts are shown" in short.left_out
    assert len(short.tables[1].in_full) == len(seen)
    assert len(whole.tables[1].in_full) == len(told.amounts)


def test_what_limits_changes_where_it_says():
    told = parcast.explain(*BTIO, p=64)
    assert [x.resource for x in told.limiting] == ["compute", "communication"]
    change = told.limiting[1].p
    around = [parcast.explain(*BTIO, p=p).limited_by for p in (change - 1, change)]
    assert around == ["compute", "communication"]
    [many] = [x for x in told.extremes if x.of == "d"]
    assert many.time.value == pytest.approx(
        parcast.predict(*BTIO, p=64, d=2**40).time[0], rel=1e-4
    )
    assert [x.kind for x in told.extremes if x.of == "p"] == ["grows"]


def test_a_resource_is_saturated_from_the_count_that_is_named():
    law = {"law": "linear", "fixed": "0 s", "shared": "100 s", "growing": "1.1 s"}
    told = parcast.explain(parcast.Program(phase=[law]), parcast.Machine(), p=200)
    use = {x.resource: x for x in told.resources}
    # 1.1 p >= 9 * 100 / p, and 1.1 p > 100 / p
    assert use["communication"].saturated_from == 29
    assert use["compute"].saturated_from is None
    assert [x.p for x in told.limiting] == [1, 10]


def test_an_interval_of_a_share_allows_for_the_law_by_odds():
    value, half = np.array([0.5, -0.5, 1.0, 2.5, 0.0]), np.full(5, np.log(1.5))
    lower, upper = ends_of(value, None, half)
    assert lower == pytest.approx([0.4, -0.6, 1.0, 2.4, 0.0])
    assert upper == pytest.approx([0.6, -0.4, 1.0, 2.6, 0.0])
    sampled = np.linspace(0.3, 0.7, 101)[:, None]
    lower, upper = ends_of(np.array([0.5]), sampled, np.zeros(1))
    assert [lower[0], upper[0]] == pytest.approx([0.32, 0.68])


def test_an_uncertain_amount_widens_the_intervals():
    work = {"parallel": "80 s +- 30%", "serial": "10 s"}
    program = parcast.Program(phase=[{"law": "spmd", "compute": work}])
    told = parcast.explain(program, parcast.Machine(), p=8, law_error=False)
    share = {x.name: x for x in told.amounts}["compute.parallel"]
    assert share.elasticity[0] == pytest.approx(0.5)
    ends = [80 * f / (80 * f + 80) for f in (1 / 1.3, 1.3)]
    assert [share.lower[0], share.upper[0]] == pytest.approx(ends, abs=0.01)


def test_its_command_prints_the_answer_first_and_one_document(parcast, tmp_path):
    said = parcast("explain", *BTIO[::-1], "-p", "4,64", "-o", f"{tmp_path / 'x.svg'}")
    assert said.status == 0
    assert "limited by communication; network.saturation x 2 saves 37%" in " ".join(
        said.out.split("\n\n")[0].split()
    )
    assert "network.saturation x 2" in (tmp_path / "x.svg").read_text(encoding="utf-8")
    document = json.loads(parcast("explain", *BTIO, "-p", "64", "--json").out)
    assert document["schema"] == "parcast/explain-descriptions/1"
    assert document["upgrades"][0]["what"] == ["network.saturation x 2"]
    rows = {row["amount"]: row for row in document["rows"]}
    assert rows["network.saturation"]["lower"] < -0.8 < rows["network.saturation"]["upper"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"p": 0}, "p must be a whole number of at least 1, got 0."),
        ({"p": 4, "d": [1, 2]}, "d must be one value, got 2 values."),
        ({"p": 4, "n": -1}, "n must be above 0, got -1."),
        ({"p": []}, "p must have one dimension and at least one number"),
    ],
)
def test_what_is_no_question_is_refused(given, says):
    with pytest.raises(ParameterError) as refused:
        parcast.explain(*BTIO, **given)
    assert str(refused.value).startswith(says)


def test_a_program_that_does_nothing_alone_or_has_no_law_beyond_n_is_answered():
    program = parcast.Program(phase=[{"law": "matmul"}])
    machine = parcast.Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "1 MB/s"})
    told = parcast.explain(program, machine, p=8, n=8)
    assert "p must be at most n" in next(x.kind for x in told.extremes)
    assert ("p x 2",) not in [x.what for x in told.upgrades]
    assert "infinitely many disks" not in str(told)


def test_speedups_of_fixed_and_growing_size_are_those_of_amdahl_and_gustafson():
    law = {"law": "amdahl", "t1": "100 s", "serial": "20%"}
    machine = parcast.Machine()
    told = parcast.explain(parcast.Program(phase=[law]), machine, p=10, law_error=False).speedups
    assert told.speedup == pytest.approx((100 / 28,) * 3)
    assert told.serial_of_one == pytest.approx((0.2,) * 3)
    assert told.serial_of_p == pytest.approx((20 / 28,) * 3)
    assert told.scaled_speedup == pytest.approx((10 - 0.2 * 9,) * 3)
    assert told.rate is None
    grown = {"law": "gustafson", "time": "100 s", "serial": "20%"}
    assert parcast.explain(parcast.Program(phase=[grown]), machine, p=10).speedups is None
    alone = parcast.explain(parcast.Program(phase=[law]), machine, p=1)
    assert alone.speedups is None
    assert "(Amdahl)" not in str(alone)


def test_the_grain_and_compactness_of_a_law_and_the_used_rate_are_told():
    machine = "examples/laws/machine.toml"
    told = parcast.explain("examples/laws/sort.toml", machine, p=8, n=1e6)
    [phase] = told.phases
    assert phase.grain == (125_000.0, 125_000.0)
    assert phase.is_compact
    value, lower, upper = told.speedups.used_rate
    assert value == pytest.approx(told.speedups.speedup[0] * 1e7)
    assert lower < value < upper <= told.speedups.rate == pytest.approx(8e7)
    assert "sort is search-space compact" in str(told)
    square = parcast.explain("examples/laws/square_sort.toml", machine, p=8, n=1e4)
    assert not square.phases[0].is_compact
    assert "of all processors is used" not in str(square)


def test_a_law_that_counts_every_request_is_not_asked_for_counts_without_end():
    told = parcast.explain("examples/arrays/program.toml", BTIO[1], p=12)
    kinds = {x.of: x.kind for x in told.extremes}
    assert kinds["p"] == kinds["d"] == "its law counts every request"
    assert told.upgrades[0].saved.value > 0
    assert told.whole == ("communication.group", "io.arrays", "io.servers", "io.subchunk")


def test_changes_with_which_a_law_has_no_answer_are_left_out():
    pipeline = "examples/pipeline"
    told = parcast.explain(f"{pipeline}/published.toml", f"{pipeline}/machine.toml", p=16, n=1000)
    assert told.upgrades[0].saved.value > 0
