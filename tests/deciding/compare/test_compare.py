"""`compare`: ratios, what changed, saved results, and versions that cannot be compared."""

import json

import numpy as np
import pytest

import parcast
from parcast.deciding.compare.noise import prior_of
from parcast.deciding.proposal.propose import plan_proposal
from parcast.errors import FitFailed, ParameterError
from parcast.timings.measurements import Measurements
from tests.conftest import ROOT

BASE, NEW = (str(ROOT / "examples" / "versions" / f"{name}.csv") for name in ("base", "new"))
P = np.tile(2.0 ** np.arange(7), 4)


def runs(seed, *, serial=2.0, grows=0.02, work=96.0, noise=0.01, **more):
    time = serial + work / P + grows * P
    return Measurements(
        p=P, time=time * np.exp(np.random.default_rng(seed).normal(0, noise, len(P))), **more
    )


def test_equal_versions_do_not_differ_and_intervals_hold_one():
    inside = said = 0
    for i in range(100):
        told = parcast.compare(runs(i), runs(i + 999))
        inside += np.sum((told.ratios.lower <= 1) & (told.ratios.upper >= 1))
        said += not told.verdict.startswith("No difference is seen in 7 counts; the largest: p =")
    assert inside >= 630  # 90% of 700, and more for the day
    assert said <= 12


@pytest.mark.parametrize(
    ("change", "part", "share"),
    [
        ({"work": 192.0}, "shared", 96 / 64 / (2 + 1.5 + 1.28)),
        ({"serial": 6.0}, "constant", 4 / (2 + 1.5 + 1.28)),
        ({"grows": 0.10}, "growing", 0.08 * 64 / (2 + 1.5 + 1.28)),
    ],
)
def test_the_work_that_changed_is_found(change, part, share):
    told = parcast.compare(runs(1), runs(2, **change))
    by_part = {x.part: x for x in told.changes}
    assert by_part[part].is_seen
    assert by_part[part].change == pytest.approx(share, rel=0.35)
    assert max(by_part.values(), key=lambda x: abs(x.change)).part == part
    assert f"{part.capitalize()} work takes more" in told.verdict


def test_a_faster_version_has_ratios_below_one():
    told = parcast.compare(runs(1), runs(2, serial=0.5))
    assert told.ratios.ratio[-1] < 0.8
    assert told.verdict.startswith("Faster at ")
    assert "% faster (" in told.verdict
    assert next(x for x in told.changes if x.part == "constant").change < 0


def test_call_paths_are_compared_each_with_its_own():
    both = [
        Measurements(
            p=np.tile(P, 2),
            time=np.concatenate([a.time, b.time]),
            callpath=["solve"] * len(P) + ["halo"] * len(P),
        )
        for a, b in ((runs(1), runs(3)), (runs(2), runs(4, serial=4.0)))
    ]
    told = parcast.compare(*both)
    rows = list(told.rows())
    assert [row["callpath"] for row in rows] == ["solve"] * 7 + ["halo"] * 7
    assert {x.series for x in told.changes if x.is_seen} == {"halo"}


def test_saved_forecasts_are_compared_at_their_counts_and_by_their_runs(tmp_path):
    for name, own in (("a", runs(1)), ("b", runs(2, grows=0.1))):
        parcast.forecast(own, [256, 512]).save(tmp_path / f"{name}.json")
    saved = parcast.compare(tmp_path / "a.json", tmp_path / "b.json")
    again = parcast.compare(runs(1), runs(2, grows=0.1), p=[256, 512])
    assert [row["p"] for row in saved.rows()] == [256, 512]
    assert saved.ratios.ratio == pytest.approx(again.ratios.ratio)
    assert [x.change for x in saved.changes] == pytest.approx([x.change for x in again.changes])
    assert next(saved.rows())["base_runs"] is None


def test_a_prediction_is_compared_with_runs(tmp_path):
    program = parcast.Program(
        phase=[{"law": "spmd", "compute": {"parallel": "96 s", "serial": "2 s"}}]
    )
    parcast.predict(program, parcast.Machine(), p=[1, 2, 4]).save(tmp_path / "p.json")
    told = parcast.compare(str(tmp_path / "p.json"), runs(1, grows=0.0))
    assert [row["p"] for row in told.rows()] == [1, 2, 4]
    assert np.all((told.ratios.lower < 1.02) & (told.ratios.upper > 0.98))
    assert told.changes == ()


def test_the_command_prints_both_tables_and_writes_the_same_facts(parcast, tmp_path):
    path = tmp_path / "c.json"
    said = parcast("compare", BASE, NEW, "-o", str(path))
    assert said.status == 0
    assert "base, new: geometric mean of the runs\n" in said.out
    assert "base, change: median of the fits, the change over" in said.out
    document = json.loads(path.read_text())
    assert document["schema"] == "parcast/compare/1"
    assert [x["part"] for x in document["changes"]] == ["shared", "constant", "growing"]
    assert len(document["rows"]) == 6


def test_two_counts_tell_nothing_of_the_kind_of_work():
    few = {"p": [1, 2], "time": [8.0, 5.0]}
    assert parcast.compare(few, few).changes == ()
    assert "takes as long" in parcast.compare(few, few).verdict


def test_versions_with_no_count_in_common_are_refused():
    with pytest.raises(FitFailed, match="Nothing was run in both: the base has p = 1"):
        parcast.compare({"p": [1, 2], "time": [8, 5]}, {"p": [3, 5], "time": [4, 3]})
    told = parcast.forecast({"p": [1, 2, 4], "time": [8, 5, 3]}, 64)
    with pytest.raises(FitFailed, match="the base has p = 64; the new version has p = 1, p = 2"):
        parcast.compare(told, {"p": [1, 2], "time": [8, 5]})


def test_what_has_no_times_or_no_runs_is_refused():
    check = parcast.check(BASE, against=BASE)
    with pytest.raises(ParameterError, match="base must have times by count"):
        parcast.compare(check, BASE)
    proposal = plan_proposal({"p": [1, 2, 4], "time": [8, 5, 3]})
    with pytest.raises(ParameterError, match="base must be one table of times by count"):
        parcast.compare(proposal, proposal)
    program = parcast.Program(phase=[{"law": "spmd", "compute": {"parallel": "9 s"}}])
    told = parcast.predict(program, parcast.Machine(), p=[1, 2])
    with pytest.raises(
        ParameterError, match=r"p must be counts of a version that has no runs .*got 64, which"
    ):
        parcast.compare(BASE, told, p=64)
    with pytest.raises(ParameterError, match="n must be a column of both versions"):
        parcast.compare(told, {"p": [1, 1], "n": [1, 2], "time": [8, 5]})


def test_a_picture_shows_times_and_changes():
    axes = parcast.compare(BASE, NEW).plot()
    labels = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert labels == ["base", "new", "change, 90% interval"]


def test_cells_tell_the_noise_of_each_other_where_it_is_the_same():
    random = np.random.default_rng(3)
    free = np.full(2000, 4.0)
    same, weight = prior_of(0.03**2 * random.chisquare(4, 2000), free)
    assert same == pytest.approx(0.03**2, rel=0.05)
    assert weight > 100
    of_ten = 0.03**2 * 10 / random.chisquare(10, 2000)  # an inverse chi-square, of 10
    known, weight = prior_of(of_ten * random.chisquare(4, 2000), free)
    assert known == pytest.approx(0.03**2, rel=0.1)
    assert weight == pytest.approx(10, rel=0.35)
    assert prior_of(np.exp(random.normal(0, 5, 2000)), free)[1] == 1.0
    assert prior_of(np.array([1.0] * 9), np.full(9, 4.0)) == (0.02**2, 1.0)


def test_one_slow_call_path_of_thousands_is_found_and_its_work_named():
    paths, p = 2000, np.tile(np.repeat([1.0, 2, 4, 8], 3), 2000)
    names = np.repeat([f"f{i}" for i in range(paths)], 12).astype(object)
    random = np.random.default_rng(1)
    one, *others = (random.lognormal(0, 0.02, len(p)) * (1 + 8 / p) for _ in range(3))
    base = Measurements(p=p, time=one, callpath=names)
    factor = np.where(names == "f7", 1.4, 1.0)
    new, again = (Measurements(p=p, time=x * factor, callpath=names) for x in others)
    told = parcast.compare(base, new)
    assert told.verdict.startswith("Slower at 4 of 8,000 rows; most: f7, p = ")
    assert "work of f7 takes more" in told.verdict
    assert {
        key["callpath"]
        for key, slow in zip(
            told.ratios.keys, parcast.check([new, again], against=base).gate.is_slower, strict=True
        )
        if slow
    } == {"f7"}


@pytest.mark.parametrize("number", [1, 4])
def test_a_version_whose_runs_were_stopped_is_not_called_as_fast(number):
    done = runs(2, work=60.0)  # faster where it ends
    at = np.flatnonzero(done.p == 64)[:number]
    kept = np.delete(np.arange(len(done)), at)
    left = Measurements(p=done.p[kept], time=done.time[kept])
    new = left.with_cut_off(p=[64] * number, time=[60] * number)
    told = parcast.compare(runs(1), new)
    assert told.verdict.startswith(
        "Runs of the new version were stopped above the times of the other: p = 64 (over 1"
    )
    assert "Faster at 6 of" in told.verdict
    turned = parcast.compare(new, runs(1)).verdict
    assert turned.startswith("Runs of the base were stopped above the times of the other: p = 64")
    low = parcast.compare(runs(1), left.with_cut_off(p=[64] * number, time=[1] * number))
    assert low.verdict.startswith("Faster at")  # such a limit tells nothing of the times


def test_counts_that_are_given_change_no_times_that_are_known(tmp_path):
    parcast.forecast(runs(1), p=[128, 256]).save(tmp_path / "told.json")
    counts = np.repeat([128.0, 256.0, 512.0], 3)
    time = (2 + 96 / counts + 0.02 * counts) * np.tile([0.99, 1.0, 1.01], 3)
    big = {"p": counts, "time": time}
    by_all = parcast.compare(str(tmp_path / "told.json"), big)
    asked = parcast.compare(str(tmp_path / "told.json"), big, p=[256])
    for name in ("base", "new", "ratio", "lower", "upper"):
        assert getattr(asked.ratios, name) == getattr(by_all.ratios, name)[1:], name
    more = parcast.compare(str(tmp_path / "told.json"), big, p=[256, 512])
    assert more.ratios.ratio[0] == asked.ratios.ratio[0]
    assert [key["p"] for key in more.ratios.keys] == [256, 512]
    measured = parcast.compare(runs(1), runs(2))
    some = parcast.compare(runs(1), runs(2), p=[4, 16])
    assert some.ratios.ratio.tolist() == measured.ratios.ratio[[2, 4]].tolist()
    assert some.names == {"base": "measured", "new": "measured"}


def of_sizes(factor, *rows):
    """Times of rows of p and n, without noise."""
    p, n = np.array(rows, dtype=float).T
    return Measurements(p=p, n=n, time=factor * n * (0.1 / p + 0.002))


def test_a_count_of_one_series_is_forecast_for_another():
    rows = [(1, 100), (2, 100), (4, 100), (8, 100), (1, 200), (2, 200), (4, 200)]
    told = parcast.compare(of_sizes(1.0, *rows), of_sizes(0.9, *rows), p=8)
    assert [(row["n"], row["p"]) for row in told.rows()] == [(100, 8), (200, 8)]
    assert told.ratios.base[0] == pytest.approx(100 * (0.1 / 8 + 0.002))  # as measured
    alone = [*rows[:4], (1, 300)]
    few = parcast.compare(of_sizes(1.0, *alone), of_sizes(0.9, *alone), p=8)
    assert [row["n"] for row in few.rows()] == [100]
    assert "as the base runs give no forecast of it: n = 300, p = 8." in " ".join(few.warnings)


def test_nothing_in_both_at_the_counts_that_are_asked_for_is_refused():
    base, new = (
        of_sizes(1.0, (1, 100), (2, 100), (1, 200)),
        of_sizes(1.0, (1, 100), (1, 200), (2, 200)),
    )
    with pytest.raises(FitFailed, match="the base has n = 100, p = 2; the new version has n = 2"):
        parcast.compare(base, new, p=2)


def test_intervals_of_two_forecasts_hold_what_they_say_and_are_no_wider_than_need_be():
    rng = np.random.default_rng(5)
    p, asked = np.array([1, 2, 4, 8, 16]), np.array([64.0])
    inside, width = [], []
    for _ in range(60):
        terms = np.array([96.0, rng.uniform(0, 3), rng.uniform(0, 0.02)])
        new = terms * np.exp(rng.normal(0, 0.3, 3))

        def time(of, at):
            return of[0] / at + of[1] + of[2] * at

        tables = [
            {"p": p, "time": time(x, p) * np.exp(rng.normal(0, 0.02, 5))} for x in (terms, new)
        ]
        told = parcast.compare(*tables, p=asked).ratios
        true = float(time(new, asked)[0] / time(terms, asked)[0])
        inside.append(told.lower[0] <= true <= told.upper[0])
        alone = [parcast.forecast(x, asked) for x in tables]
        spread = np.hypot(*(np.log(x.upper[0] / x.lower[0]) for x in alone))
        width.append(np.log(told.upper[0] / told.lower[0]) / spread)
    assert np.mean(inside) >= 0.88
    assert np.median(width) == pytest.approx(np.sqrt(0.5), abs=0.03)


def test_a_run_beside_a_forecast_widens_its_interval_by_the_noise_of_the_run():
    """Guards: both errors had the degrees of freedom of the run, and -66 to +243% was said."""
    told = parcast.forecast({"p": [1, 2, 4, 8], "time": [7200, 3900, 2130, 1262]}, [16, 32])
    single = parcast.compare(told, {"p": [16, 32], "time": [900.0, 600.0]})
    width = np.log(told.upper / told.lower)
    noise = 2 * 1.645 * np.hypot(0.02, 0.01)  # of a run and of its day
    ratios = single.ratios
    assert np.log(ratios.upper / ratios.lower) == pytest.approx(np.hypot(width, noise), rel=0.02)
    assert "The new version has one run of each" in "".join(single.warnings)
    assert "2% is assumed" in str(single)
    measured = parcast.compare({"p": [16], "time": [800.0]}, {"p": [16], "time": [900.0]}).ratios
    assert np.log(measured.upper / measured.lower)[0] == pytest.approx(
        2 * 6.314 * np.hypot(0.02, 0.01) * 2**0.5, rel=0.001
    )
    exact = parcast.compare(told, told).ratios
    assert np.isfinite(exact.upper).all()


def test_no_work_changes_between_equal_times():
    runs = parcast.Measurements(p=[1, 2, 4, 8, 16], time=[812.5, 420.1, 221.7, 121.3, 74.9])
    again = parcast.Measurements(p=runs.p, time=runs.time)
    told = parcast.compare(runs, again)
    assert len(told.changes) == 3
    for x in told.changes:
        assert x.change == pytest.approx(0.0, abs=1e-4)
        assert x.new == pytest.approx(x.base, abs=0.02)
        assert x.lower <= 0 <= x.upper


def test_a_change_is_the_new_time_less_that_of_the_base():
    runs = parcast.Measurements(p=[1, 2, 4, 8, 16], time=[812.5, 420.1, 221.7, 121.3, 74.9])
    slower = parcast.Measurements(p=runs.p, time=runs.time + 20)
    changes = {x.part: x for x in parcast.compare(runs, slower).changes}
    whole = sum(x.base for x in changes.values())
    for x in changes.values():
        assert x.new - x.base == pytest.approx(x.change * whole, rel=0.1, abs=0.02 * whole)


def test_rows_that_differ_only_by_themselves_are_counted():
    """Guards: ten rows, each 30% slower (6 to 59%), were reported as no difference."""
    p = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    base = [1000.0 / x + 3 for x in p]
    told = parcast.compare({"p": p, "time": base}, {"p": p, "time": [1.3 * x for x in base]})
    assert told.verdict.startswith(
        "No difference is certain in 10 counts, though 10 differ by their own 90% intervals"
    )
