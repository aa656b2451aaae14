"""`parcast.show.page.page`: one or several answers as a page for a browser."""

import re
from dataclasses import replace

import numpy as np
import pytest

import parcast
from parcast.show.page.page import Answer, PagePicture, answer_for, in_words, page_of, save_page
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.show.warning import Rank, RankedWarning
from tests.browser import needs_browser, opened, violations
from tests.conftest import ROOT

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m'


def forecast_of_paths(many):
    rng = np.random.default_rng(1)
    p = np.array([1.0, 2, 4, 8, 16])
    columns = {"callpath": [], "p": [], "time": []}
    for i in range(many):
        columns["callpath"] += [f"main->solve->kernel_{i}"] * len(p)
        columns["p"] += p.tolist()
        columns["time"] += (rng.uniform(1, 9) * (1 / p + rng.uniform(0, 0.2))).tolist()
    return parcast.forecast(parcast.Measurements(**columns), [32])


def text_of(answers, **about):
    return "".join(page_of(answers, **about))


@pytest.fixture(scope="module")
def of_paths():
    return forecast_of_paths(300)


def test_verdicts_and_warnings_come_before_pictures_and_tables():
    verdict = RankedWarning("This does not scale.", rank=Rank.VERDICT)
    table = Table(forms=(Form(columns=[Column(title="p", cells=["64"])]),))
    sheet = Sheet(title="T", tables=(table,), warnings=("It is far off.", verdict))
    text = text_of([Answer(sheets=[sheet], pictures=[PagePicture("<svg></svg>")])])
    order = [text.index(x) for x in ("This does not", "It is far", "<svg>", "<td>64", "</main>")]
    assert order == sorted(order)


def test_hostile_names_stay_text_in_every_field():
    column = Column(title=HOSTILE, unit=HOSTILE, cells=[HOSTILE])
    form = Form(columns=[column], titles=[HOSTILE], caption=HOSTILE, left_out=HOSTILE)
    table = Table(title=HOSTILE, forms=(form,), notes=(Fact(HOSTILE, HOSTILE),), legend=HOSTILE)
    said = {"facts": (Fact(HOSTILE, HOSTILE),), "warnings": (HOSTILE,)}
    part = Sheet(title=HOSTILE, name=HOSTILE, **said)
    sheet = Sheet(title=HOSTILE, tables=(table,), parts=(part,), left_out=HOSTILE, **said)
    origin = {
        "law": HOSTILE,
        "sources": [HOSTILE],
        "schema": HOSTILE,
        "inputs": {
            **dict.fromkeys(("file", "sha256", "format"), HOSTILE),
            "options": {HOSTILE: HOSTILE},
        },
    }
    answer = Answer(sheets=[sheet], origin=origin)
    text = text_of([answer, answer], title=HOSTILE, command=HOSTILE)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "\x1b" not in text


def test_a_picture_says_its_result_in_words(of_paths):
    columns = [Column(title="p", cells=["32", "64"]), Column(title="time", cells=["7.2", "5.8"])]
    sheet = Sheet(tables=(Table(forms=(Form(columns=columns),)),))
    assert in_words([sheet]) == "p 32, time 7.2. p 64, time 5.8."
    facts = (Fact("limited by", "disks"), Fact("work", "much"))
    part = replace(sheet, title="Run: 5 s", facts=facts)
    says = "Run: 5 s. limited by: disks. p 32, time 7.2. p 64, time 5.8."
    assert in_words([part]) == says
    assert in_words([Sheet(title="Two runs.", parts=(part,), facts=facts)]) == f"Two runs. {says}"
    assert len(in_words([of_paths._whole_sheet()])) <= 310


def test_a_page_of_300_call_paths_is_small_and_has_them_all(of_paths, tmp_path):
    of_paths.save(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert len(text) <= 1_000_000
    assert all(f"kernel_{i}<" in text for i in range(300))


@pytest.mark.parametrize("ending", ["html", "md", "tex"])
def test_a_page_of_more_rows_than_anyone_reads_says_which_it_has(tmp_path, monkeypatch, ending):
    told = forecast_of_paths(30)
    path = tmp_path / f"a.{ending}"
    told.save(path)
    assert all(re.search(rf"kernel.?_{i}\b", path.read_text()) for i in range(30))
    monkeypatch.setattr("parcast.show.result.LONGEST", 29)
    told.save(path)
    text = path.read_text()
    assert "10 more series are not shown; these 20 take longest. All of them: saved as" in text
    assert sum(bool(re.search(rf"kernel.?_{i}\b", text)) for i in range(30)) == 20


def test_a_picture_of_logarithmic_axes_has_a_switch_to_linear_ones():
    told = parcast.forecast(RUNS, 16)
    text = text_of([answer_for(told), answer_for(told, 2)])
    switches = re.findall(
        r'<input type="checkbox" class="switch" id="([\w-]+)"><label for="\1">', text
    )
    assert switches == ["linear-1-1", "linear-2-1"]
    ours, linear = (x.partition("</svg>\n</div>")[0] for x in text.split('class="scroll')[1:3])
    assert ">0<" not in ours
    assert linear.count(">0<") == 2
    [schedule] = answer_for(parcast.explain_pipeline(4)).pictures
    assert schedule.linear == ""


def test_the_date_can_be_given_so_that_a_page_is_the_same_again(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    text = text_of([Answer(sheets=[Sheet(title="T")])])
    assert "1970-01-02 00:00 UTC" in text
    assert text == text_of([Answer(sheets=[Sheet(title="T")])])


def test_a_page_of_several_answers_lists_them():
    answers = [Answer(sheets=[Sheet(title=x)]) for x in ("one", "two")]
    text = text_of(answers)
    assert re.findall(r'<a href="#(answer-\d)">(\w+)</a>', text) == [
        ("answer-1", "one"),
        ("answer-2", "two"),
    ]
    assert "<title>Report - parcast</title>" in text


def test_a_picture_that_was_asked_for_and_cannot_be_drawn_is_refused(tmp_path):
    result = forecast_of_paths(2)
    with pytest.raises(parcast.ParameterError, match="quantity"):
        result.save(tmp_path / "a.html", quantity="nothing")
    assert not (tmp_path / "a.html").exists()


def test_where_it_comes_from_has_files_and_their_hashes(tmp_path):
    told = parcast.forecast({"p": [1, 2, 4], "time": [8.0, 4.5, 2.8]}, 16)
    answer = answer_for(told)
    origin = {**answer.origin, "inputs": {"file": "a/t.csv", "sha256": "ab12"}}
    answer = Answer(sheets=answer.sheets, pictures=answer.pictures, origin=origin)
    save_page(tmp_path / "a.html", [answer], command="parcast forecast a/t.csv")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "a/t.csv <code>sha256 ab12</code>" in text
    assert "<code>parcast forecast a/t.csv</code>" in text
    assert answer.title == "Forecast of t.csv"


# In a browser.


@needs_browser
def test_a_page_says_nothing_on_the_console_and_has_its_tools(chromium, of_paths, tmp_path):
    of_paths.save(tmp_path / "a.html")
    with opened(chromium, (tmp_path / "a.html").as_uri()) as page:
        assert page.said == []
        assert len(page.asked) == 1
        assert page.locator('input[type="search"]').count() == 1
        assert page.locator("text=/^CSV$/").count() == 1
        assert page.locator("text=/^SVG$/").count() == 1
        page.fill('input[type="search"]', "kernel_17")
        assert page.locator("tbody tr:visible").count() == 11  # and kernel_170 to kernel_179


@needs_browser
def test_a_page_has_no_violation_that_axe_finds(chromium, tmp_path):
    grid = parcast.predict(
        parcast.read_program(BTIO / "program.toml"),
        parcast.read_machine(BTIO / "sp2.toml"),
        p=[k * k for k in range(1, 17)],
        d=range(1, 17),
    )
    answers = [forecast_of_paths(20), parcast.explain(RUNS), grid]
    parcast.report(answers, tmp_path / "a.html")
    with opened(chromium, (tmp_path / "a.html").as_uri()) as page:
        assert violations(page) == []
        contours = page.locator("figure").last
        contours.locator(".scroll").focus()
        page.keyboard.press("ArrowRight")
        assert contours.locator("figcaption").inner_text() == "p = 1, d = 1: speedup 1"
        page.set_viewport_size({"width": 360, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


RUNS = {"p": [1, 2, 4, 8], "time": [80.0, 41.0, 22.0, 12.5]}
BTIO = ROOT / "examples" / "btio"
