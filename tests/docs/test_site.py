"""What the site is made from is whole; `make docs` builds it, and draws the whole gallery."""

import shlex
import sys

import click
import pytest

import parcast
from parcast.cli import cli
from tests.conftest import ROOT

DOCS = ROOT / "docs"
MOST_WORDS = 2500  # of the page that an assistant reads whole
MOST_BYTES = 1_500_000  # of all pictures
DRAWN = ["forecast-weak", "match-cost", "explain-upgrades", "pipeline-schedule", "predict-regions"]


@pytest.fixture
def imported(monkeypatch):
    """Import a module of a folder of docs, as Sphinx does."""

    def import_it(folder, name):
        monkeypatch.syspath_prepend(DOCS / folder)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    return import_it


def test_every_page_is_in_the_menu(imported):
    menu = imported("_ext", "menu").menu()
    listed = [path for sections in menu.values() for _, pages in sections for path in pages]
    pages = {str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md")}
    others = {path.name for path in ROOT.glob("*.md")} | {"benchmarks/README.md"}
    assert sorted(listed) == sorted((pages | others) - {"README.md"})  # and each of them once


def test_every_public_name_is_in_the_reference():
    lines = (DOCS / "reference" / "python.md").read_text(encoding="utf-8").splitlines()
    listed = [x.strip().removeprefix("parcast.") for x in lines if x.startswith("   parcast.")]
    assert sorted(listed) == sorted({*parcast.__all__} - {"__version__"})


def test_the_gallery_lists_what_is_there(imported):
    pictures = imported("gallery", "draw").pictures()
    assert len(pictures) >= 30
    assert {x.path for x in pictures} == {*(DOCS / "gallery").glob("*.svg")}
    assert sum(x.path.stat().st_size for x in pictures) <= MOST_BYTES
    for picture in pictures:
        assert [x for x in [*picture.data, picture.page] if not (ROOT / x).exists()] == []
        for line in picture.commands:
            program, name, *_ = shlex.split(line)
            assert (program, cli.get_command(click.Context(cli), name) is None) == (
                "parcast",
                False,
            )


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_what_its_command_draws(imported, name):
    [picture] = [x for x in imported("gallery", "draw").pictures() if x.name == name]
    assert picture.is_as_drawn(picture.drawn()), "run: python docs/gallery/draw.py --write"


def test_pictures_that_differ_are_told_from_equal_ones(imported):
    is_near = imported("gallery", "draw").is_near
    drawn = '<circle cx="66.28" cy="316"/><text>mesh</text>'
    assert is_near(drawn, drawn.replace("66.28", "66.3"))
    assert not is_near(drawn, drawn.replace("66.28", "67"))
    assert not is_near(drawn, drawn.replace("mesh", "sp2"))


def test_a_site_that_loads_from_another_host_is_refused(imported, tmp_path):
    loaded_in = imported("_ext", "offline").loaded_in
    page = tmp_path / "page.html"
    page.write_text('<a href="https://x.org">x</a><script src="a.js"></script>', encoding="utf-8")
    assert list(loaded_in(tmp_path)) == []
    page.write_text('<script defer src="https://x.org/a.js"></script>', encoding="utf-8")
    (tmp_path / "a.css").write_text("@font-face {src: url('//x.org/f.woff')}", encoding="utf-8")
    assert len(list(loaded_in(tmp_path))) == 2


def test_code_is_scrolled_by_keyboard(imported):
    context = {"body": '<div class="highlight"><pre><span></span>x</pre></div>'}
    imported("_ext", "focus").with_focus(None, "", "", context, None)
    assert '<pre tabindex="0"><span>' in context["body"]


def test_the_page_for_assistants_can_be_read_whole():
    assert len((DOCS / "llms.txt").read_text(encoding="utf-8").split()) <= MOST_WORDS
