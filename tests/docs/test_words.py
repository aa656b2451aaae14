"""Pages and messages use the ordinary words of the field: a phrase of the list has a better one.

A space in a phrase stands for any white space, so that a phrase is also found across a line break.
Not searched are examples (fenced blocks of pages, whose output other tests compare) and, in the
change log, quotations in backquotes.
"""

import ast
import re

import pytest

from tests.conftest import ROOT

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        ROOT / "benchmarks" / "README.md",
        *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"),
    ]
)
SOURCES = sorted((ROOT / "src" / "parcast").rglob("*.py"))
INSTEAD = {
    # forecasts and how they were tested
    r"(?<!the\s)rests? on": "is based on",
    r"told only": "forecast from ...; as a check: tested by leaving out the largest count",
    r"(?:is|are|was|were|be|been|being|and) told(?! apart| to\b)": "is reported, or is given",
    r"(?:say|says|said) (?:so )?(?:it|them)sel(?:f|ves)": "is reported, warns",
    r"hangs? on": "depends strongly on",
    r"(?:no|had to) say(?=[,.;]| in)": "has no weight",
    r"that far(?=,| such)": "at that distance, or: when it extrapolates to 4x",
    r"(?:eight|nine|8|9) (?:(?:such )?(?:times|cases) )?(?:in|out of) ten": "80%, or 90%, of",
    r"intervals? (?:held|holds?)": "contains, contained the measured time",
    r"(?:how|what) (?:it|time|times|they|things) (?:went|goes|go) on": "how the times change",
    r"unless it says how to go on": "by default",
    r"who(?:ever)? (?:is|are|was) told": "who reads",
    r"signs? of doubt|(?:what|beyond|no|to) doubts?": "uncertainty, or warning",
    r"doubts? (?:about|of)|doubtful": "uncertainty, uncertain",
    r"cautions?": "warning",
    r"believe[sd]?": "assume, trust",
    # processors and costs
    r"time that more processors do not shorten": "parallel overhead",
    r"costs? (?:that )?grows? with the processors": "work that grows with p",
    r"shared work would save": "ideal 50%",
    r"numbers of processors not tried": "processor counts that were not measured",
    r"counts of processors": "processor counts",
    r"counts of ranks": "rank counts",
    r"others used (?:the|its|these|those) processors": "interference from other processes",
    r"nobody(?: else)?(?:'s| has| have| had| knows| can| asked| disturbs| repeated| said)": (
        "unknown, not given, not measured"
    ),
    # commands and files
    r"pass(?:ed|es|ing) over|to pass over": "ignore, ignored",
    r"(?:does|do) not tell(?!(?: \w+){1,4} apart)": "is not determined by, is not given",
    r"must be right": "is required, must be ..., expected ...",
    r"must not be asked for with": "cannot be combined with",
    r"asked together with": "combined with",
    r"timings in, times out": "reads timings, writes times",
    r"referees?": "reference, or: as a check",
    r"plays? (?:\w+ )*through": "simulates",
    r"of (?:ours|our own)": "parcast's",
    # plain English
    r"perhaps": "optionally, possibly, may",
    r"(?<!-)alike(?![=`])": "the same, similar, equally",
    r"(?:or|and) the like": "such as",
    r"behind each other": "one after the other",
    r"speak against": "contradict",
    r"comes? out as nothing": "is zero",
    r"write such as": "write for example",
    r"(?:take )?wider steps": "use larger steps",
}
FORBIDDEN = [
    (re.compile(r"\b(?:" + phrase.replace(" ", r"\s+") + r")(?!\w)", re.IGNORECASE), instead)
    for phrase, instead in INSTEAD.items()
]
FORBIDDEN.append((re.compile(r"(?<=\d)\s%(?!\w)"), "5%, without a space"))
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NEWLINE = "\n"
QUOTED = re.compile(r"`[^`]*`")


def name_of(path):
    return str(path.relative_to(ROOT))


def faults(name, line, text):
    """Where `text`, which begins at `line`, has a phrase that has a better one."""
    return [
        f"{name}:{line + text[: found.start()].count(NEWLINE)}: "
        f"{' '.join(found[0].split())!r}: write {instead!r}"
        for phrase, instead in FORBIDDEN
        for found in phrase.finditer(text)
    ]


def blank(found):
    return re.sub(r"[^\n]", " ", found[0])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_uses_the_words_of_the_field(page):
    text = BLOCK.sub(blank, page.read_text(encoding="utf-8"))
    if page.name == "CHANGELOG.md":
        text = QUOTED.sub(blank, text)
    assert faults(name_of(page), 1, text) == []


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_messages_and_docstrings_use_the_words_of_the_field(source):
    found = []
    for line, text in strings_of(ast.parse(source.read_text(encoding="utf-8"))):
        found += faults(name_of(source), line, text)
    assert found == []


def strings_of(tree):
    """Texts of a module with their first lines; what an f-string inserts is left as `{}`."""
    inserted = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inserted |= {id(part) for part in node.values}
            parts = (getattr(part, "value", "{}") for part in node.values)
            yield node.lineno, "".join(part if isinstance(part, str) else "{}" for part in parts)
        elif isinstance(getattr(node, "value", None), str) and id(node) not in inserted:
            yield node.lineno, node.value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the forecast rests\non 3 runs", "'rests on'"),
        ("It hangs on the runs", "'hangs on'"),
        ("a key is passed over", "'passed over'"),
        ("Perhaps it is", "'Perhaps'"),
    ],
)
def test_a_phrase_is_reported_with_its_place(text, written):
    [fault] = faults("page.md", 7, f"\n{text}")
    assert fault.startswith(f"page.md:8: {written}: write ")


@pytest.mark.parametrize("text", ["rests_on", "are told apart", "the rest on others"])
def test_names_and_ordinary_uses_are_allowed(text):
    assert faults("page.md", 1, text) == []
