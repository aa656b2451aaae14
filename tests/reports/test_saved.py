"""Commands of the gallery, one of each kind: a page of what they saved has its picture again."""

import shlex
import tomllib
from pathlib import PurePath

import pytest

from tests.conftest import ROOT


def kinds():
    """Give one command of the gallery for each question and kind of file that it is asked of."""
    gallery = tomllib.loads((ROOT / "docs/gallery/pictures.toml").read_text(encoding="utf-8"))
    found = {}
    for section in gallery["section"]:
        for picture in section["picture"]:
            _, *words = shlex.split(picture["command"])
            if "parcast" not in words:  # a single line
                question = [x for x in words[:2] if x.isalpha()]
                file = next((PurePath(x).suffix for x in words if x.startswith("examples")), "")
                memory = [x for x in words if x == "--memory"]
                found.setdefault(" ".join([*question, file, *memory]), words)
    return found


@pytest.mark.parametrize("words", [pytest.param(x, id=name) for name, x in kinds().items()])
def test_what_was_saved_has_its_picture(words, parcast, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    saved, page = tmp_path / "saved.json", tmp_path / "report.html"
    said = parcast(*words, "-o", saved)
    assert saved.exists(), said.err
    told = parcast("report", saved, "-o", page)
    assert told.status == 0, told.err
    assert "Its numbers are those that were written" not in told.err
    text = page.read_text(encoding="utf-8")
    assert "<figure>" in text
    assert ">Saved " not in text
    assert str(tmp_path) not in saved.read_text(encoding="utf-8")
