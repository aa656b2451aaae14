"""One colour, one meaning: each meaning has a colour of its own, and pictures use no others."""

import ast
from pathlib import Path

import pytest

import parcast
from parcast.show.pictures import colours

ROOT = Path(parcast.__file__).parent
ROLES = ("MEASURED", "COMPUTED", "RECOMMENDED", "ELSEWHERE", "REFERENCE", "NOT_ALLOWED")
SPENT = ("COMPUTING", "MERGING", "COMMUNICATION", "RECEIVING", "INPUT_OUTPUT", "WAITING")
PALETTE = {"BLUE", "VERMILLION", "GREEN", "PURPLE", "ORANGE", "SKY", "OLIVE", "BLACK", "GREY"}
# Pictures of several methods or kinds of requests, each with a marker of its own, as series are.
SERIES = {"validation/picture.py"}
PLAIN = {
    "show/pictures/elements.py",
    "show/pictures/axes.py",
    "show/pictures/figure.py",
    "show/pictures/matplotlib_writer.py",
}  # text and grid
PICTURES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if "parcast.show.pictures.colours import" in path.read_text(encoding="utf-8")
)


def test_each_meaning_has_a_colour_of_its_own():
    every = [getattr(colours, name) for name in (*ROLES, *SPENT)]
    assert len(set(every)) == len(every)
    assert colours.PALE not in every


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_picture_takes_colours_by_what_they_mean(path):
    if str(path.relative_to(ROOT)) in SERIES | PLAIN:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    assert not names & PALETTE
    texts = {x.value for x in ast.walk(tree) if isinstance(x, ast.Constant)}
    own = {x for x in texts if isinstance(x, str) and x.startswith("#") and len(x) == 7}
    assert not own - {"#9A9A9A"}  # of hatching
