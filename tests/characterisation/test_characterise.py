"""`parcast.characterise`: programs that runs were made from are found again, and faults told."""

import dataclasses
import tomllib

import numpy as np
import pytest

from parcast.characterisation.characterise import characterise
from parcast.descriptions.machine import Machine
from parcast.descriptions.toml_files import read_program
from parcast.errors import FileProblems, FitFailed, ParameterError
from parcast.prediction.predict import predict
from parcast.timings.measurements import Measurements
from parcast.timings.profile import RankRecord, RegionTotal, RunProfile

NETWORK = Machine(
    name="net",
    compute={"rate": "1 Gflop/s"},
    network={"latency": "10 us", "bandwidth": "1 GB/s"},
    storage={"bandwidth": "100 MB/s"},
)


def total(name, kind, *, wall, entries=20, processor=None, **keys):
    """All passes through a region."""
    given = {"iterations": entries, "calls": entries, "volume": 0.0, "counts": {}} | keys
    return RegionTotal(
        name=name,
        kind=kind,
        entries=entries,
        wall=wall,
        processor=wall if processor is None else processor,
        squares=wall**2 / max(entries, 1) * 1.01,
        **given,
    )


def run(p, regions_of, *, n=None, program="plate", span=None, entry=1e-7, **keys):
    ranks = []
    for rank in range(p):
        regions = tuple(regions_of(rank))
        ranks.append(
            RankRecord(
                program=program,
                rank=rank,
                p=p,
                begun=0.0,
                span=span or sum(x.wall for x in regions),
                entry=entry,
                other_threads=keys.get("other_threads", 0),
                overlapping=keys.get("overlapping", 0),
                quanta=keys.get("quanta", ()),
                parameters={} if n is None else {"n": float(n), **keys.get("parameters", {})},
                regions=regions,
            )
        )
    return RunProfile(ranks=tuple(ranks), place=f"run.jsonl, line {p}{n or ''}")


def plate(n, p, *, pace=1e-8, waits=1.0):
    """A run of finite differences: n x n points in 20 steps, two checkpoints."""

    def regions(rank):
        rows = (n - 2) * (rank + 1) // p - (n - 2) * rank // p
        cells = 20 * rows * (n - 2)
        if p > 1:
            yield total("halo", "halo", wall=1e-3, volume=20 * 8 * n)
        own = cells * pace
        yield total("sweep", "compute", wall=own * waits, processor=own, iterations=cells)
        yield total("setup", "replicated", wall=n * 1e-6, entries=1, iterations=n)
        yield total("change", "reduce", wall=1e-5, volume=160)
        yield total("sync", "barrier", wall=1e-5, entries=1)
        yield total("save", "write", wall=1e-4, entries=2, volume=2 * 8 * n * rows)

    return run(p, regions, n=n)


RUNS = [plate(n, p) for n in (102, 202, 402) for p in (1, 2, 4)]


def by_name(told):
    return {x.name: x for x in told.regions}


def test_formulas_and_times_are_those_the_runs_were_made_from():
    told = characterise(RUNS)
    rows = by_name(told)
    assert (rows["sweep"].kind, rows["sweep"].calls) == ("loop", "20")
    assert rows["sweep"].iterations == "(n - 2)^2"
    assert rows["sweep"].unit_time == pytest.approx(1e-8)
    assert rows["sweep"].iteration == "10 ns"
    assert rows["sweep"].residual == pytest.approx(0, abs=1e-9)
    assert (rows["setup"].kind, rows["setup"].iterations) == ("replicated", "n")
    assert (rows["halo"].kind, rows["halo"].calls, rows["halo"].volume) == ("halo", "20", "8 B*n")
    assert (rows["change"].kind, rows["change"].volume) == ("reduce", "8 B")
    assert (rows["sync"].calls, rows["sync"].volume) == ("1", None)
    assert (rows["save"].calls, rows["save"].volume) == ("2", "8 B*n*(n - 2)")
    assert all(x.is_exact for x in told.regions)
    assert sum(x.share for x in told.regions) == pytest.approx(1)
    assert (told.p, told.n, told.largest) == ((1, 2, 4), (102, 202, 402), "p = 4, n = 402")
    assert told.warnings == ()


def test_shares_are_of_the_wall_time_whatever_the_clock_of_the_loops():
    """A loop that had a processor for half of its time is not taken for half of its share."""
    waiting = [plate(n, p, waits=2.0) for n in (102, 202, 402) for p in (1, 2, 4)]
    by_processor, by_wall = (
        by_name(characterise(waiting, clock=x)) for x in ("processor", "wall")
    )
    last = waiting[-1].ranks[0]
    expected = {x.name: x.wall / sum(y.wall for y in last.regions) for x in last.regions}
    assert {name: x.share for name, x in by_processor.items()} == pytest.approx(expected, rel=0.05)
    assert {name: x.share for name, x in by_wall.items()} == pytest.approx(
        {name: x.share for name, x in by_processor.items()}
    )


def test_times_of_another_machine_are_warned_of_once():
    told = characterise(RUNS, machine=Machine(name="here"))
    assert 'measured_on = "here"' in told.toml
    there = predict(told.program, NETWORK, p=[1, 2], n=[1002]).warnings
    (warning,) = (x for x in there if "used unchanged" in x)
    assert warning.startswith(
        "The times of computing were measured on here and are used unchanged for net. If these "
        "are two machines, characterise again with a file of the former"
    )
    for machine in (NETWORK.model_copy(update={"name": "here"}), Machine()):
        same = machine.model_copy(update={"network": NETWORK.network, "storage": NETWORK.storage})
        said = predict(told.program, same, p=[2], n=[1002]).warnings
        assert not any("used unchanged" in x for x in said)
    rated = characterise(RUNS, machine=NETWORK)
    assert "measured_on" not in rated.toml  # operations hold on every machine


def test_work_without_iterations_has_a_formula_of_its_time():
    runs = [
        run(p, lambda _, t=n * 1e-4 / p: [total("work", "compute", wall=t, iterations=0)], n=n)
        for n in (100, 200, 400)
        for p in (1, 2)
    ]
    told = characterise(runs)
    assert (by_name(told)["work"].calls, by_name(told)["work"].work) == ("20", "5e-06 s*n/p")
    assert "not counted  5e-06 s*n/p" in str(told)
    assert by_name(characterise(RUNS))["sweep"].work is None


def test_the_program_predicts_a_size_and_a_count_that_were_not_run(file):
    path = file(characterise(RUNS).toml, "program.toml")
    read = read_program(path)
    told = predict(read, NETWORK, p=[1, 8], n=[1002])
    assert told.breakdown.compute.ravel() == pytest.approx(
        [20 * 1e-8 * 1000**2 + 1.002e-3, 20 * 1e-8 * 1000**2 / 8 + 1.002e-3], rel=1e-6
    )
    assert told.breakdown.io.ravel() == pytest.approx([2 * 8 * 1002 * 1000 / 1e8] * 2, rel=1e-6)
    assert told.breakdown.communication.ravel()[0] == 0
    assert tomllib.loads(characterise(RUNS, name='a "plate"').toml)["name"] == 'a "plate"'


def test_on_a_machine_with_a_rate_iterations_are_operations():
    told = characterise(RUNS, machine=NETWORK)
    rows = by_name(told)
    assert rows["sweep"].iteration == "10 flop"
    assert rows["sweep"].residual == pytest.approx(0, abs=1e-9)
    assert rows["save"].residual is not None
    assert rows["halo"].residual is not None
    assert "Operations are these times multiplied by 1e+09 flop/s." in told.toml
    assert "on net," in told.toml
    bare = characterise(RUNS, machine=Machine())
    assert by_name(bare)["halo"].residual is None  # nothing prices its bytes
    formula = Machine(compute={"rate": "1 Gflop/s * p"})
    with pytest.raises(ParameterError, match="must be a plain rate, got a formula"):
        characterise(RUNS, machine=formula)


def test_a_time_that_grows_with_n_is_a_formula():
    runs = [
        run(1, lambda _, n=n: [total("a", "compute", wall=n * 20 * 1e-6, iterations=20)], n=n)
        for n in (10, 20, 40)
    ]
    (row,) = characterise(runs).regions
    assert (row.iterations, row.iteration) == ("1", "1e-06 s*n")


QUIET, SLOW = (1e-4, 1.05e-4), (1e-4, 1.6e-4)  # work quanta before and after a run [s]


def with_quanta(made, quanta, waited=None):
    """The same run, as if processors had been like that; `waited` is a share of it, on rank 0."""
    share = waited or 0.0
    return dataclasses.replace(
        made,
        ranks=tuple(
            dataclasses.replace(
                rank,
                quanta=quanta,
                waited=None if waited is None else 0.0 if rank.rank else share * rank.span,
            )
            for rank in made.ranks
        ),
    )


def test_disturbed_runs_are_left_out_where_others_were_not():
    quiet = [with_quanta(plate(n, p), QUIET) for n in (102, 202) for p in (1, 2)]
    slow = [with_quanta(plate(n, 2, pace=1.6e-8), SLOW) for n in (102, 202)]
    told = characterise([*slow, *quiet])
    assert told.runs == 4
    assert "2 of 6 runs were disturbed by other processes and are left out" in told.warnings[0]
    assert "1.5 times as long" in told.warnings[0]
    assert told.toml == characterise(quiet).toml


def test_runs_that_waited_for_their_core_longer_than_others_are_left_out():
    usual = {102: 0.3, 202: 0.4}  # of ranks that share cores
    quiet = [with_quanta(plate(n, p), QUIET, usual[n]) for n in usual for p in (1, 2)]
    slow = [with_quanta(plate(n, 2, pace=1.6e-8), QUIET, usual[n] + 0.22) for n in usual]
    told = characterise([*slow, *quiet])
    assert told.runs == 4
    assert (
        "2 of 6 runs were disturbed by other processes and are left out: ranks waited"
        in told.warnings[0]
    )
    assert "of a run more than in other runs. Other runs with the same" in told.warnings[0]
    assert "Left out: run.jsonl, line 2102; run.jsonl, line 2202." in told.warnings[0]
    assert "In 4 of 4 runs, ranks waited for a core for up" in told.warnings[1]
    assert told.toml == characterise(quiet).toml
    alone = characterise([with_quanta(plate(n, p), QUIET, 0.5) for n in usual for p in (1, 2)])
    assert (alone.runs, alone.toml) == (4, told.toml)


def test_runs_that_differ_widen_the_interval_and_are_told():
    runs = [plate(n, 1, pace=pace) for n, pace in ((102, 1e-8), (202, 1.4e-8), (402, 1.1e-8))]
    told = characterise(runs)
    assert by_name(told)["sweep"].spread > 0.2
    assert " +- " in by_name(told)["sweep"].iteration
    assert any('region "sweep" is uncertain by' in x for x in told.warnings)


@pytest.mark.usefixtures("uncovered")
def test_nine_in_ten_further_runs_are_within_the_spread():
    sizes, held = (402, 602, 802), []
    for seed in range(100):
        random = np.random.default_rng(seed)
        paces = 1e-8 * np.exp(random.normal(0, 0.03, len(sizes) + 1))
        told = characterise([plate(n, 1, pace=x) for n, x in zip(sizes, paces, strict=False)])
        loop = told.program.phase[0].region[0]
        one = float(loop.iteration({"p": 1.0, "n": 1002.0}))
        held.append(abs(np.log(paces[-1] / one)) <= np.log1p(loop.iteration.spread))
    assert 0.86 <= np.mean(held) <= 0.96


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (
            [plate(202, 1), plate(302, 1), plate(302, 2)],
            [
                'Regions "halo", "change", "sync" were measured at n = 302 only (there is no '
                "communication at p = 1), so the same calls and bytes are assumed for every "
                "size. Add a run of another size on several processors.",
                'Regions "halo", "change", "sync" were measured at p = 2 only (there is no '
                "communication at p = 1), so the same calls and bytes are assumed for every p. "
                "Add a run on more processors.",
            ],
        ),
        ([plate(202, 1), plate(202, 2), plate(302, 4)], []),
    ],
)
def test_communication_that_was_seen_at_one_size_is_told(runs, says):
    told = characterise(runs).warnings
    assert [x for x in told if "measured at" in x] == says


def test_regions_that_the_machine_does_not_explain_are_told():
    def waiting(rank):
        yield total("sweep", "compute", wall=0.1 + rank * 1e-3)
        yield total("halo", "halo", wall=0.5, volume=8e6)
        yield total("change", "reduce", wall=0.4, volume=160)

    (said,) = [x for x in characterise([run(2, waiting)], machine=NETWORK).warnings if "expl" in x]
    assert said.startswith(
        'Regions "halo", "change" take 90% of the run at p = 2, but the machine explains less '
        "than 1% of that: ranks waited for each other"
    )
    fast = [plate(402, p) for p in (1, 2, 4)]
    assert not any("explains" in x for x in characterise(fast, machine=NETWORK).warnings)
    assert not any("explains" in x for x in characterise([run(2, waiting)]).warnings)


def test_uneven_iterations_are_those_of_the_rank_with_the_most_and_are_told():
    def triangle(p):
        return run(
            p, lambda r: [total("a", "compute", wall=(r + 1.0), iterations=20.0 * (r + 1))], n=1
        )

    told = characterise([triangle(1), triangle(2), triangle(4)])
    row = by_name(told)["a"]
    assert row.iterations == "p^2"
    assert row.imbalance == pytest.approx(1.6)
    said = " ".join(told.warnings)
    assert "unevenly distributed: at p = 4 the rank with the most has 1.6 times the mean." in said
    program = predict(told.program, NETWORK, p=[4], n=[1]).time
    assert float(program.ravel()[0]) == pytest.approx(4.0)


def cells(n, wet, dry, p=1):
    """A loop whose time is that of its wet and dry cells."""
    wall = wet * 3e-6 + dry * 1e-6
    counts = {"wet": wet / p, "dry": dry / p}
    return run(p, lambda _: [total("cells", "complex", wall=wall / p, counts=counts)], n=n)


def test_small_regions_of_a_complex_loop_are_told_apart():
    told = characterise([cells(10, 10, 90), cells(20, 80, 320), cells(20, 80, 320, p=2)])
    rows = by_name(told)
    assert rows["cells wet"].unit_time == pytest.approx(3e-6)
    assert rows["cells dry"].unit_time == pytest.approx(1e-6)
    assert rows["cells wet"].kind == "loop"
    assert rows["cells wet"].residual == pytest.approx(0, abs=1e-9)
    assert rows["cells wet"].share + rows["cells dry"].share == pytest.approx(1)
    assert told.conditions["cells"] < 1e3
    assert rows["cells dry"].iterations is not None


def test_a_complex_loop_takes_as_long_as_its_slowest_rank_by_its_own_counts():
    """Ranks with most of different small regions: maxima of each would count the time twice."""

    def uneven(n):
        counts = [{"wet": 30 * n, "dry": 0.0}, {"wet": 0.0, "dry": 60 * n}]
        walls = [counts[0]["wet"] * 3e-6, counts[1]["dry"] * 1e-6]
        return run(
            2,
            lambda r: [total("cells", "complex", wall=walls[r], counts=counts[r])],
            n=n,
        )

    told = characterise([uneven(10), uneven(20), uneven(40)])
    time = predict(told.program, NETWORK, p=[2], n=[10, 20, 40]).time.ravel()
    assert time == pytest.approx([30 * n * 3e-6 for n in (10, 20, 40)])


def test_small_regions_that_run_in_step_are_refused_with_the_condition_number():
    with pytest.raises(
        FitFailed, match=r'Region "cells": The counts do not distinguish .* \(condition'
    ):
        characterise([cells(10, 10, 20), cells(20, 40, 80), cells(30, 90, 180)])


def test_a_loop_that_ranks_run_unequally_often_is_one_of_all_its_iterations():
    def regions(rank):
        return [total("a", "compute", wall=1.0, entries=4 * (1 + rank), iterations=30)]

    row = by_name(characterise([run(2, regions, n=1)]))["a"]
    assert (row.calls, row.iterations) == ("1", "60")


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([cells(10, 10, 20)], "counts 2 small regions, but all runs together have only 1 ranks"),
        ([run(1, lambda _: [total("c", "complex", wall=1.0)])], 'Region "c" is a complex loop'),
        (
            [run(1, lambda _: [total("a", "compute", wall=0.0), total("b", "compute", wall=0.0)])],
            'Region "a" has no iterations that took time: there is nothing to characterise. Leave '
            'it out, or give its iterations and let it run longer.\nRegion "b"',
        ),
    ],
)
def test_what_does_not_tell_times_is_refused(runs, says, refusal):
    assert says in refusal(FitFailed, characterise, runs)


def test_times_without_regions_tell_what_timing_changes():
    p = [1, 2, 4]
    plain = Measurements(p=p, n=[402] * 3, time=[plate(402, k).time * 0.8 for k in p])
    told = characterise([plate(402, k) for k in p], plain=plain)
    assert [x.ratio for x in told.perturbed] == pytest.approx([1.25] * 3)
    assert [x.p for x in told.perturbed] == p
    assert "Perturbation" in str(told)
    assert told.warnings[0].startswith("Counters change the time by more than 5% at p = 1, 2, 4")
    with pytest.raises(ParameterError, match="plain must have times at p"):
        characterise([plate(102, 1)], plain=plain)


def test_a_program_without_a_size_is_compared_and_its_small_regions_share():
    def sized(wet, dry):
        return cells(None, wet, dry)

    runs = [sized(10, 90), sized(80, 320)]
    plain = Measurements(p=[1], time=[runs[0].time])
    told = characterise(runs, plain=plain)
    assert told.n == ()
    assert sum(x.share for x in told.regions) == pytest.approx(1)


def test_a_region_of_some_ranks_only_is_told():
    def regions(rank):
        yield total("a", "compute", wall=1.0)
        if rank == 0:
            yield total("save", "write", wall=0.1, entries=1, volume=1e6)
            yield total("sum", "compute", wall=0.1)

    told = characterise([run(3, regions)])
    assert by_name(told)["save"].volume == "1000000 B"
    said = " ".join(told.warnings)
    assert 'Region "save" ran only on rank 0 of 3 (p = 3): the others skip it.' in said
    assert 'Region "sum" ran only on rank 0 of 3 (p = 3): its work is treated as uneven.' in said


def other(name, kind="compute", p=1):
    return run(p, lambda _: [total(name, kind, wall=1.0)], n=5)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (
            [RUNS[0], RUNS[1], dataclasses.replace(other("a"), place="b.jsonl, line 1")],
            "profiles: 1 problem\n  file  b.jsonl, line 1  must have the regions of the other "
            'runs, but lacks "sweep", "setup", "save" and also has "a".',
        ),
        (
            [other("sweep"), other("sweep"), run(1, lambda _: [], program="solver")],
            'must be of the program "plate" like the other runs, got "solver". Characterise each',
        ),
        ([other("sweep"), other("sweep", "replicated")], 'runs, got "replicated" and "compute"'),
        (
            [RUNS[0], run(1, lambda _: [total("sweeps", "compute", wall=1.0)], n=102)],
            'Is "sweeps" the same as "sweep"? Make all runs',
        ),
        (
            [plate(102, 1), run(1, lambda _: RUNS[0].ranks[0].regions)],
            "parameter n  must be the same in all runs, got 102, none. Give it in all runs.",
        ),
        (
            [
                run(1, lambda _: RUNS[0].ranks[0].regions, n=1, parameters={"m": m})
                for m in (1.0, 2.0)
            ],
            "parameter m  must be the same in all runs, got 1, 2. Formulas depend on p and one "
            "size: make this the size with size='m'",
        ),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(runs, says, refusal):
    assert says in refusal(FileProblems, characterise, runs)


def test_another_parameter_may_be_the_size():
    runs = [
        run(
            1,
            lambda _, m=m: [total("a", "compute", wall=m, iterations=m)],
            n=7,
            parameters={"m": m},
        )
        for m in (10.0, 20.0, 40.0)
    ]
    told = characterise(runs, size="m")
    assert told.n == (10, 20, 40)
