"""What pages name is there: modules and what they hold, files, other pages and their headings.

So is what benchmarks import, which run in no test.
"""

import ast
import importlib
import re

import pytest

from tests.conftest import ROOT

PAGES = sorted(
    [*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]
)
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
DEMOS = sorted((ROOT / "examples").rglob("*.py"))
BASES = (ROOT, ROOT / "src" / "parcast", ROOT / "tests")  # what paths start from
# To be made by whoever reads it: examples of the how-tos, and words that stand for a name.
YOURS = re.compile(r"NAME|FOLDER|[./](?:farm|stopwatch)\b|parcast_demo")
DOTTED = re.compile(r"(?<![\w/.:-])parcast(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]+/)+[\w.*-]*\w\.(?:py|toml|csv|txt|json|jsonl|sh|c)(?:\.gz)?\b"
)
FOLDER = re.compile(r"(?<![\w/.:-])(?:src|tests|benchmarks|docs|examples)(?:/[\w-]+)+(?![\w.*-])")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
CONSOLE = re.compile(r"^```console$.*?^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, *DEMOS], ids=name_of)
def test_modules_and_what_they_hold_are_there(page):
    named = set(DOTTED.findall(page.read_text(encoding="utf-8")))
    missing = [name for name in sorted(named) if not (YOURS.search(name) or is_there(name))]
    assert missing == []


@pytest.mark.parametrize("page", [*PAGES, *DEMOS], ids=name_of)
def test_files_are_there(page):
    text = CONSOLE.sub("", page.read_text(encoding="utf-8"))  # commands are run by themselves
    made = set(re.findall(r"<!-- file: (\S+) -->", text))
    named = {
        path
        for path in {*FILE.findall(text), *FOLDER.findall(text)} - made
        if not YOURS.search(path)
    }
    bases = (*BASES, page.parent)
    missing = [path for path in sorted(named) if not any([*base.glob(path)] for base in bases)]
    assert missing == []


@pytest.mark.parametrize("script", BENCHMARKS, ids=name_of)
def test_what_a_benchmark_imports_is_there(script):
    named = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "parcast"
        for alias in node.names
    }
    assert [name for name in sorted(named) if not is_there(name)] == []


def test_every_benchmark_is_in_their_table():
    table = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [script.name for script in BENCHMARKS if f"`{script.name}`" not in table] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_pages_and_headings(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            broken.append(link)
    assert broken == []


def is_there(name):
    """Whether a dotted name is that of a module, or of something in one."""
    place, *inner = name.split(".")
    found = importlib.import_module(place)
    for part in inner:
        place = f"{place}.{part}"
        if hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = importlib.import_module(place)
        except ImportError:
            return False
    return True


def anchors(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w -]", "", title.casefold()).replace(" ", "-")
        for title in HEADING.findall(text)
    }


def test_the_index_leads_to_every_page():
    docs = ROOT / "docs"
    linked = {(docs / path).resolve() for path in LINK.findall((docs / "README.md").read_text())}
    pages = {page for page in docs.rglob("*.md") if page.parent.name not in ("docs", "decisions")}
    assert pages <= linked
