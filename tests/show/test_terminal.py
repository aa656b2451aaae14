"""`parcast.show.terminal`: sheets on pages of every width."""

from dataclasses import replace

import pytest

from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.show.terminal import Page, lay_out, text_of
from parcast.show.warning import Rank, RankedWarning

TIMES = [
    Column(title="p", cells=["1", "64"]),
    Column(title="interval", unit="[s]", cells=["9 to 10", "12 to 101"], align="interval"),
]
NAMES = Column(title="machine", cells=["T3E", "SP"], align="left")
WIDE, NARROW = Form(columns=[NAMES, *TIMES]), Form(columns=TIMES, titles=["T3E", "SP"])
IN_FULL = (
    Entry(title="T3E", facts=(Fact("time", "9 s"), Fact("error", ""))),
    Entry(title="SP", lines=("a line that is too long for this page",)),
)


def lines_of(sheet, width=None, style=None):
    page = Page(width=width) if style is None else Page(width=width, style=style)
    return lay_out(sheet, page)[0]


def test_a_table_is_as_wide_as_the_page_allows():
    sheet = Sheet(tables=(Table(forms=(WIDE, NARROW), in_full=IN_FULL),))
    assert lines_of(sheet) == [
        "machine   p   interval",
        " " * 19 + "[s]",
        "T3E       1   9 to 10",
        "SP       64  12 to 101",
    ]
    assert lines_of(sheet, 21) == [
        " p   interval",
        " " * 10 + "[s]",
        "",
        "T3E",
        " 1   9 to 10",
        "",
        "SP",
        "64  12 to 101",
    ]
    assert lines_of(sheet, 12)[:4] == ["T3E", "  time   9 s", "", "SP"]


def test_everything_that_is_said_stands_in_its_order():
    table = Table(
        title="runs",
        forms=(Form(columns=TIMES[:1], caption="counts"),),
        notes=(Fact("run 1", "the first"),),
        legend="p: processors",
    )
    part = Sheet(title="T3E", facts=(Fact("law", "usl"),))
    sheet = Sheet(
        title="all",
        tables=(table,),
        facts=(Fact("law", "none"), Fact("", "at all")),
        warnings=("Beware.",),
        conclusion=(Fact("in sum", "nothing"),),
        parts=(part, Sheet()),
        left_out="1 of 3 rows is shown. All of them",
    )
    assert text_of(sheet).splitlines() == [
        *("all", "", "counts", "", "runs", " p", " 1", "64", "run 1       the first", ""),
        *("p: processors", "", "law         none", "            at all", ""),
        *("T3E", "law         usl", "", "warning:    Beware.", "in sum      nothing"),
        "1 of 3 rows is shown. All of them: to_document().",
    ]
    assert lay_out(sheet, Page(is_verbose=True))[0][10:] == [
        *("p: processors", "", "law         none", "            at all"),
        *("warning:    Beware.", "in sum      nothing", "", "T3E", "law         usl"),
    ]


def test_a_count_and_its_number_stay_in_one_line():
    page = Page(width=20)
    assert page.wrapped("the forecast at p = 8", indent=0) == ["the forecast at", "p = 8"]
    assert page.wrapped("interval 9.7 to 3600 s", indent=0) == ["interval", "9.7 to 3600 s"]


def test_facts_of_a_row_keep_within_the_page():
    """Guards: an interval was one character wider than 40 columns."""
    facts = (Fact("limited by", "overhead"), Fact("", "90% interval 9.7 to 36000 s"))
    lines = lines_of(Sheet(tables=(Table(in_full=(Entry(title="p = 8", facts=facts),)),)), 40)
    assert lines[2:] == ["    90% interval 9.7 to 36000 s"]
    assert max(map(len, lines)) <= 40


SERIOUS = RankedWarning("Wide.", rank=Rank.SERIOUS, kind="wide")
MINOR = RankedWarning("Narrow.", rank=Rank.MINOR)


def test_all_warnings_are_shown_where_they_are_asked_for_the_gravest_first():
    part = Sheet(title="T3E", facts=(Fact("law", "usl"),), warnings=(MINOR, "Plain.", SERIOUS))
    sheet = Sheet(parts=(part, replace(part, title="SP")))
    lines = lay_out(sheet, Page(is_verbose=True))[0]
    each = ["law         usl", *(f"warning:    {x}" for x in ("Wide.", "Plain.", "Narrow."))]
    assert lines == ["T3E", *each, "", "SP", *each]


@pytest.mark.parametrize(
    ("texts", "last"),
    [
        ("abc", "warning:    c"),
        ("abcd", "1 more warning: -v shows all"),
        ("abcdef", "3 more warnings: -v shows all"),
    ],
)
def test_warnings_beyond_the_third_are_counted(texts, last):
    page = Page(warnings_are_in="-v shows all")
    lines = lay_out(Sheet(warnings=(*texts, MINOR)), page)[0]
    assert lines[:3] == ["warning:    a", "warning:    b", "warning:    c"]
    assert lines[-1] == last


def test_a_name_does_not_command_the_terminal():
    name = "\x1b[2Jlu"
    column = Column(title=name, unit=name, cells=[name])
    table = Table(title=name, forms=(Form(columns=[column], titles=[name]),), legend=name)
    part = Sheet(title=name, facts=(Fact("law", name),), warnings=(name,), left_out=name)
    sheet = Sheet(title=name, tables=(table, Table(in_full=(Entry(title=name, lines=(name,)),))))
    for width in (1, None):
        lines, left_out = lay_out(Sheet(parts=(sheet, part), left_out=name), Page(width=width))
        assert "\x1b" not in "".join([*lines, left_out])
