"""`parcast.plan_proposal`: tables add up, what is measured is not forecast, and documents read."""

import csv
import re

import numpy as np
import pytest

import parcast as pc
from parcast.deciding.proposal.sites import SITES
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.request import time_kept
from parcast.show.documents import latex_of, markdown_of
from parcast.show.sheet import Column, Fact, Form, Sheet, Table

RUNS = pc.Measurements(
    p=[16, 16, 32, 64, 64, 128, 256],
    time=[14200, 14350, 7310, 3820, 3860, 2075, 1180],
)
P = np.tile([8.0, 16.0, 32.0, 64.0, 128.0], 2)
N = np.repeat([500.0, 1000.0], 5)
SIZED = pc.Measurements(p=P, n=N, time=N**2 * 0.16 / P + 3 * np.sqrt(N) + np.log2(P))


def test_hours_are_runs_times_nodes_times_time():
    told = pc.plan_proposal(RUNS, runs=40, p=500, cores_per_node=32, margin=0.8)
    same = pc.forecast(RUNS, [500])
    time, lower, upper = (float(x[0]) for x in (same.time, same.lower, same.upper))
    assert told.unit == "node-hours"
    for said, seconds in (
        (told.total, time),
        (told.total_lower, lower),
        (told.total_upper, upper),
        (told.request, time_kept(time, upper, 0.8)),
    ):
        assert said == pytest.approx(40 * 16 * seconds / 3600)  # 15.6 nodes are 16
    [job] = told.jobs
    assert (job.nodes, job.cores, job.runs, job.job) == (16, 500, 40, "typical")


@pytest.mark.parametrize("runs", [40.0, np.int64(40), np.array([40])])
def test_any_whole_number_counts_runs(runs):
    assert pc.plan_proposal(RUNS, runs=runs).jobs[0].runs == 40


def test_what_is_measured_stands_apart():
    told = pc.plan_proposal(RUNS, p=2048, p_is="nodes", beyond=True)
    measured = {x.p: x for x in told.scaling if x.kind == "measured"}
    assert {p: x.time for p, x in measured.items()} == {
        16: 14275,
        32: 7310,
        64: 3840,
        128: 2075,
        256: 1180,
    }
    assert [x.p for x in told.scaling if x.kind == "forecast"] == [512, 1024, 2048]
    assert measured[16].runs == 2
    assert measured[256].speedup == pytest.approx(14275 / 1180)
    assert measured[256].efficiency == pytest.approx(14275 / 1180 / 16)
    assert "8 times the largest measured one" in told.method[0]
    assert "tested by leaving out p = 256" in told.method[0]
    known = pc.plan_proposal(RUNS, p=256)
    assert known.method[0].startswith("The time at p = 256 was measured: 7 runs at 5 counts")


def test_the_default_is_the_largest_count_that_is_efficient():
    told = pc.plan_proposal(RUNS, efficiency="60%")
    [job] = told.jobs
    assert job.p == job.largest
    kept = time_kept(job.time, job.upper, 0.9)
    efficiency = 14275 * 16 / (job.p * kept)
    assert efficiency == pytest.approx(0.6, rel=0.1)
    few = SIZED.select(n=500).select(p=[16, 32, 64])
    [sure] = pc.plan_proposal(few, efficiency=1.0, margin=0.99).jobs
    assert sure.p == 16  # by definition


def test_sizes_keep_their_order_and_their_runs():
    told = pc.plan_proposal(SIZED, runs=[3, 10, 40], sizes={"n": [2000, 1000, 500]}, p=128)
    jobs = {x.size: x for x in told.jobs}
    assert [jobs[f"n = {n}"].runs for n in (2000, 1000, 500)] == [3, 10, 40]
    assert [x.job for x in told.jobs] == ["largest", "typical", "smallest"]
    assert told.total == pytest.approx(sum(x.hours for x in told.jobs))
    assert not any(x.kind == "measured" for x in told.scaling if x.size == "n = 2000")
    alone = pc.forecast(SIZED, [128], n=[2000])
    assert jobs["n = 2000"].time == pytest.approx(float(np.ravel(alone.time)[0]))
    own = pc.forecast(SIZED.select(n=500), [128])
    assert jobs["n = 500"].time == pytest.approx(float(own.time[0]))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sizes": {"m": [1]}}, "sizes must name an axis of the runs, got m. There is n."),
        ({}, "sizes must be given, because n takes several values in the runs"),
        ({"sizes": {"n": [500]}, "runs": [1, 2]}, "runs must be one, or one for each of 1 sizes"),
        ({"sizes": {"n": [500]}, "p": [8, 16]}, "p must be one, or one for each of 1 sizes"),
        ({"sizes": {"n": [500]}, "runs": 0}, "runs must be"),
        ({"sizes": {"n": [500]}, "site": "elsewhere"}, "site must be"),
        ({"sizes": {"n": [500]}, "per_run": "years"}, "per_run must be a number above 0 and a un"),
        ({"sizes": {"n": [500]}, "per_run": "0 years"}, "per_run must be a number above 0 and a"),
        ({"sizes": {"n": [500]}, "storage": "5 s"}, "storage must be a size"),
        ({"sizes": {"n": [500]}, "margin": 0.3}, r"margin must lie in \[0.5, 1\)"),
    ],
)
def test_what_is_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        pc.plan_proposal(SIZED, **given)


def test_runs_on_several_machines_are_refused():
    both = pc.Measurements(p=[1, 2, 1, 2], time=[8, 4, 9, 5], machine=["A", "A", "B", "B"])
    with pytest.raises(ParameterError, match="must be of one machine, got A, B"):
        pc.plan_proposal(both)


def test_no_count_without_a_forecast_is_proposed():
    with pytest.raises(FitFailed, match="There is no forecast at p = 100000"):
        pc.plan_proposal(RUNS, p=100_000)


@pytest.mark.parametrize("site", SITES)
def test_each_item_of_a_site_has_its_source(site):
    told = pc.plan_proposal(RUNS, site=site, cores_per_node=32)
    assert len(told.items) == len(SITES[site])
    assert all(x.source.startswith("https://") for x in told.items)
    missing = {x.item for x in told.items if not x.given}
    more = pc.plan_proposal(RUNS, site=site, cores_per_node=32, storage="5 GB", per_run="2 years")
    assert {x.item for x in more.items if not x.given} <= missing
    assert more.jobs[0].per_unit == pytest.approx(more.jobs[0].hours / 2)


def test_the_command_writes_documents_and_figures(parcast, file, tmp_path):
    rows = zip(RUNS.p.tolist(), RUNS.time.tolist(), strict=True)
    times = file("p,time_s\n" + "".join(f"{p:g},{t}\n" for p, t in rows), "times.csv")
    names = ["scaling.svg", "scaling.pdf", "p.md", "p.tex", "p.csv"]
    outputs = [x for name in names for x in ("-o", tmp_path / name)]
    asked = ("--runs", "40", "-p", "512", "--cores-per-node", "32", "--site", "archer2")
    said = parcast("plan", "proposal", times, *asked, *outputs)
    assert said.status == 0
    assert [x.split()[1] for x in said.err.splitlines()] == ["wrote"] * len(names)
    assert said.out.startswith("Request ")
    markdown = (tmp_path / "p.md").read_text(encoding="utf-8")
    assert "](<scaling.svg>)" in markdown
    assert "https://www.archer2.ac.uk/support-access/ta/" in markdown
    table = markdown.split("### Jobs")[1].split("###")[0].splitlines()
    widths = {len(re.findall(r"(?<!\\)\|", x)) for x in table if x.startswith("|")}
    assert len(widths) == 1
    tex = (tmp_path / "p.tex").read_text(encoding="utf-8")
    assert "{scaling.pdf}" in tex
    assert "scaling.svg" not in tex
    assert tex.count("\\begin{table}") == tex.count("\\end{table}") == 4
    table = list(csv.DictReader((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()))
    assert [x["table"] for x in table].count("jobs") == 1


def test_hostile_names_stay_text_in_documents():
    evil = r"a|b_c*[x](y) `z` \input{q} 5% & $x^2$ #~"
    column = Column(title=evil, cells=[evil])
    table = Table(forms=(Form(columns=[column]),))
    sheet = Sheet(title=evil, tables=(table,), facts=(Fact("why", evil),))
    markdown = markdown_of(sheet)
    row = markdown.splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", row)) == 2
    tex = latex_of(sheet)
    assert "\\input{" not in tex
    assert r"5\% \& \$x\textasciicircum{}2\$ \#\textasciitilde{}" in tex


def test_speedup_is_over_what_was_measured():
    told = pc.plan_proposal(RUNS, p=8)
    speedups = {x.p: x.speedup for x in told.scaling}
    assert speedups[16] == 1
    assert speedups[8] < 1
