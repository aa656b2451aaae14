"""POP efficiencies against numbers worked out by hand, and what profiles do not tell."""

import json

import numpy as np
import pytest

import parcast
from parcast.errors import FileProblems, ParameterError
from parcast.timings.profile import RankRecord, RegionTotal

SECOND = 10**9


def record(rank, p, regions, span, **parameters):
    totals = [
        RegionTotal(
            name=name,
            kind=kind,
            entries=1,
            wall=wall,
            processor=wall,
            squares=wall**2,
            iterations=1.0,
            calls=1.0,
            volume=0.0,
        )
        for name, kind, wall in regions
    ]
    own = RankRecord(
        program="made up",
        rank=rank,
        p=p,
        begun=1000.0 * p,
        span=span,
        entry=0.0,
        other_threads=0,
        parameters=parameters,
        regions=tuple(totals),
    )
    return json.dumps(own.to_document())


@pytest.fixture
def runs(tmp_path):
    """Two ranks compute 40 and 30 of 50 s; alone it is 64 of 65 s."""
    lines = [
        record(0, 1, [("solve", "compute", 64.0), ("sum", "allreduce", 1.0)], 65.0),
        record(0, 2, [("solve", "compute", 40.0), ("sum", "allreduce", 10.0)], 50.0),
        record(1, 2, [("solve", "compute", 30.0), ("sum", "allreduce", 20.0)], 50.0),
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_efficiencies_are_those_worked_out_by_hand(runs):
    [told] = parcast.explain(runs).problems
    assert told.p.tolist() == [1, 2, 4]
    by_hand = {  # at p = 2: mean useful 35 s, longest 40 s, elapsed 50 s
        "parallel_efficiency": 35 / 50,
        "load_balance": 35 / 40,
        "communication_efficiency": 40 / 50,
        "thread_efficiency": 1.0,
        "computation_scalability": 64 / 70,
        "global_efficiency": 35 / 50 * 64 / 70,
    }
    for name, value in by_hand.items():
        assert told.values[name][1] == pytest.approx(value), name
    assert told.values["parallel_efficiency"][0] == pytest.approx(64 / 65)
    losses = {(x.region, x.why): x.share for x in told.losses}
    assert losses == {
        ("sum", "messages"): pytest.approx(30 / 100),
        ("solve", "imbalance"): pytest.approx(10 / 100),
        ("solve", "more computation"): pytest.approx(6 / 100),
    }
    assert told.losses[0].region == "sum"
    lowered = {x.why: x.lowers for x in told.losses}
    assert lowered == {
        "messages": "parallel efficiency",
        "imbalance": "load balance",
        "more computation": "computation scalability",
    }
    assert told.is_forecast.tolist() == [False, False, True]
    for name in by_hand:
        low, value, high = (x[name][2] for x in (told.lower, told.values, told.upper))
        assert 0 < low <= value <= high
    assert "Each count was run once" in " ".join(told.unmeasured)


def talp(folder, ranks, *, name="Global", **metrics):
    common = {"numCpus": ranks, "numMpiRanks": ranks}
    document = {
        "dlbVersion": "3.5.0",
        "resources": common,
        "Application": {name: common | metrics},
    }
    path = folder / f"talp_{ranks}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_talp_files_are_read_as_talp_pages_reads_them(tmp_path):
    paths = [
        talp(
            tmp_path,
            p,
            elapsedTime=100 * SECOND // p,
            usefulTime=useful * SECOND,
            parallelEfficiency=useful / 100,
            mpiParallelEfficiency=useful / 100,
            mpiLoadBalance=0.95,
            mpiCommunicationEfficiency=useful / 95,
        )
        for p, useful in ((2, 90), (4, 80))
    ]
    [told] = parcast.explain(paths, p=8).problems
    assert told.values["parallel_efficiency"][:2] == pytest.approx([0.9, 0.8])
    assert told.values["load_balance"][:2] == pytest.approx([0.95, 0.95])
    assert told.values["computation_scalability"][:2] == pytest.approx([1, 90 / 80])
    assert told.values["global_efficiency"][:2] == pytest.approx([0.9, 0.9])
    assert told.p.tolist() == [2, 4, 8]


def test_what_was_not_measured_is_said(tmp_path):
    paths = [
        talp(tmp_path, p, elapsedTime=SECOND * 100 // p, usefulTime=80 * SECOND) for p in (2, 4)
    ]
    told = parcast.explain(paths)
    [only] = told.problems
    assert only.values["parallel_efficiency"][:2] == pytest.approx([0.8, 0.8])
    assert np.all(np.isnan(only.values["load_balance"]))
    assert "Not measured: load balance, communication efficiency" in " ".join(only.unmeasured)
    assert "No regions were measured" in " ".join(only.unmeasured)
    assert next(told.rows())["load_balance"] is None
    told.save(tmp_path / "told.svg")
    assert "  -" in str(told)


def test_profiles_of_one_rank_and_of_unequal_regions_are_answered(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text(record(0, 1, [("solve", "compute", 64.0)], 65.0), encoding="utf-8")
    [told] = parcast.explain(path).problems
    assert not told.is_forecast.any()
    text = " ".join(told.unmeasured)
    assert "All runs have one rank" in text
    assert "All runs have one count" in text
    lines = [
        record(0, 2, [("solve", "compute", 40.0), ("extra", "compute", 1.0)], 50.0),
        record(1, 2, [("solve", "compute", 30.0)], 50.0),
    ]
    other = tmp_path / "two.jsonl"
    other.write_text("\n".join(lines), encoding="utf-8")
    [both] = parcast.explain([path, other]).problems
    assert "Not in the profiles of all counts: region extra." in both.unmeasured
    assert "Up to 29% of the time is in no region and counts as computing." in " ".join(
        both.unmeasured
    )
    assert ("extra", "imbalance") in [(x.region, x.why) for x in both.losses]


def test_a_problem_that_grows_with_p_is_weak_scaling(tmp_path):
    lines = [
        record(0, 1, [("solve", "compute", 50.0)], 50.0, n=10.0),
        record(0, 2, [("solve", "compute", 50.0), ("sum", "allreduce", 12.5)], 62.5, n=20.0),
        record(1, 2, [("solve", "compute", 50.0), ("sum", "allreduce", 12.5)], 62.5, n=20.0),
    ]
    path = tmp_path / "weak.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    [told] = parcast.explain(path).problems
    assert told.scaling == "weak"
    assert told.values["computation_scalability"][1] == pytest.approx(1)
    [strong] = parcast.explain(path, scaling="strong").problems
    assert strong.values["computation_scalability"][1] == pytest.approx(0.5)


def test_losses_of_parallel_efficiency_are_apart_and_add_up_to_what_it_lacks(runs):
    told = parcast.explain(runs)
    assert "parallel efficiency lacks 30.0%, of which regions lose 30.0%" in str(told)
    ends = [str(told).index(x) for x in ("messages  ", "imbalance  ", "more computation  ")]
    assert ends == sorted(ends)
    above, below = told.plot()
    bars = {x.get_label(): [y.get_width() for y in x] for x in below.containers}
    assert bars == {
        "lowers parallel efficiency": [pytest.approx(30)],
        "lowers load balance": [pytest.approx(10)],
        "lowers computation scalability": [pytest.approx(6)],
    }
    hollow = [x for x in above.lines if x.get_markerfacecolor() == "white"]
    assert hollow
    for line in hollow:
        shown = line.get_xdata()[line.get_markevery()]
        assert shown.tolist() == [4]  # the forecast count alone


def test_its_command_prints_it_and_refuses_mixtures(parcast, runs, tmp_path):
    said = parcast("explain", f"{runs}", "-o", f"{tmp_path / 'x.json'}")
    assert said.status == 0
    assert "p = 2: parallel efficiency 70%; lowest is communication efficiency" in said.out
    document = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert document["losses"][0]["region"] == "sum"
    mixed = parcast("explain", f"{runs}", "examples/nas_bt/times.csv")
    assert (mixed.status, "must all be of parcast.region, all of TALP" in mixed.err) == (2, True)
    by = parcast("explain", f"{runs}", "--by", "n")
    assert (by.status, "--by requires TIMINGS" in by.err) == (2, True)


def test_a_damaged_talp_file_is_refused(tmp_path):
    path = talp(tmp_path, 2, elapsedTime=-5, usefulTime=3)
    with pytest.raises(FileProblems, match="an elapsedTime above 0"):
        parcast.explain([path])
    with pytest.raises(ParameterError):
        parcast.explain(path, scaling="both")


def caliper(folder, times):
    """Write exclusive times of call paths by rank as `format json-split` does."""
    names = list(times)
    ranks = len(times[names[0]])
    rows = [[rank, times[name][rank], i] for rank in range(ranks) for i, name in enumerate(names)]
    document = {
        "data": rows,
        "columns": ["mpi.rank", "time", "path"],
        "column_metadata": [
            {"is_value": True},
            {"is_value": True, "attribute.alias": "time", "attribute.unit": "sec"},
            {"is_value": False},
        ],
        "nodes": [{"label": name, "column": "path"} for name in names],
        "mpi.world.size": f"{ranks}",
    }
    path = folder / f"caliper_{ranks}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_caliper_profiles_of_ranks_have_the_same_efficiencies(tmp_path):
    paths = [
        caliper(tmp_path, {"solve": [64.0], "MPI_Allreduce": [1.0]}),
        caliper(tmp_path, {"solve": [40.0, 30.0], "MPI_Allreduce": [10.0, 20.0]}),
    ]
    [told] = parcast.explain(paths).problems
    assert told.values["parallel_efficiency"][:2] == pytest.approx([64 / 65, 0.7])
    assert told.values["load_balance"][1] == pytest.approx(35 / 40)
    assert told.values["computation_scalability"][1] == pytest.approx(64 / 70)
    assert (told.losses[0].region, told.losses[0].share) == ("MPI_Allreduce", pytest.approx(0.3))
    silent = parcast.explain(caliper(tmp_path, {"solve": [40.0, 30.0]})).problems[0]
    assert np.isnan(silent.values["parallel_efficiency"][0])
    assert "Not measured" in silent.unmeasured[0]
    assert "nan" not in str(parcast.explain(tmp_path / "caliper_2.json"))


def test_counts_below_the_largest_are_said_to_have_no_forecast(tmp_path):
    lines = [
        record(i, p, [("solve", "compute", 64.0 / p)], 65.0 / p) for p in (1, 4) for i in range(p)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    [told] = parcast.explain(path, p=[2, 4, 8]).problems
    assert told.p.tolist() == [1, 4, 8]
    assert any("Not forecast: p = 2." in x for x in told.unmeasured)
