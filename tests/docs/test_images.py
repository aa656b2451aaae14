"""The pictures in `docs/images` show what their commands draw today.

PARCAST_REWRITE=1 draws them anew.

Each is made by the command of the page that shows it, or by the demo. What it shows is kept in the
file itself, as text that PNG allows beside the picture, and that is compared: lines, bands,
fields, texts and colours, numbers to three digits. Pixels would differ between versions of
matplotlib.
"""

import json
import os
import re
import runpy
import shlex
import shutil
import sys

import numpy as np
import pytest
from PIL import Image

from parcast.cli import cli
from parcast.cli.failures import run as run_command
from tests.conftest import ROOT

IMAGES = ROOT / "docs" / "images"
SHOWS = "Shows"  # key of the text in the PNG
SOURCES = {  # where each is shown, and the script that draws it, or the command of the page
    "forecast.png": ("README.md", "examples/nas_bt/demo.py"),
    "match.png": ("docs/howto/match-machines.md", "-o match.svg"),
}
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))
MOST_SAMPLES = 400  # of the values of a field


def test_every_image_has_its_source():
    assert {path.name for path in IMAGES.iterdir()} == SOURCES.keys()
    for name, (page, _) in SOURCES.items():
        assert f"images/{name})" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SOURCES)
def test_an_image_shows_what_is_drawn_today(name, tmp_path, monkeypatch):
    figure, save = drawn(*SOURCES[name], tmp_path, monkeypatch)
    shows = contents(figure)
    if REWRITE:
        title = figure.get_suptitle()
        about = {"Title": title, "Software": "parcast", SHOWS: json.dumps(shows)}
        save(figure, IMAGES / name, dpi=150, metadata=about)
    with Image.open(IMAGES / name) as image:
        kept = json.loads(image.text[SHOWS])
    differ = differences(kept, shows)
    again = "PARCAST_REWRITE=1 python -m pytest tests/docs/test_images.py"
    assert not differ, f"{name} shows something else: {differ[:5]}. Draw it anew: {again}"


def drawn(page, source, folder, monkeypatch):
    """Draw in a copy of the examples; give the figure, and how figures are saved."""
    from matplotlib.figure import Figure

    saved, save = [], Figure.savefig

    def seen(figure, *args, **options):
        saved.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", seen)
    shutil.copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    if source.endswith(".py"):
        monkeypatch.setattr(sys, "argv", [source, str(folder)])
        runpy.run_path(source, run_name="__main__")
    else:
        text = (ROOT / page).read_text(encoding="utf-8")
        [line] = [x for x in re.findall(r"^\$ (parcast [^|\n]*)", text, re.M) if source in x]
        drawn_by_it = line.replace(".svg", ".png")  # an SVG file is drawn without it
        assert run_command(cli, shlex.split(drawn_by_it)[1:]) == 0
    return saved[-1], save


def contents(figure):
    """Tell what a figure shows, axes by axes."""
    return [
        {
            "labels": [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()],
            "limits": [*ax.get_xlim(), *ax.get_ylim()],
            "texts": [text.get_text() for text in ax.texts],
            "legend": [text.get_text() for text in ax.get_legend().get_texts()]
            if ax.get_legend()
            else [],
            "lines": [
                [coloured(line.get_color()), numbers(line.get_xydata())]
                for line in ax.lines
            ],
            "areas": [
                [
                    [coloured(x) for x in drawn.get_facecolor()],
                    [numbers(path.vertices) for path in drawn.get_paths()],
                ]
                for drawn in ax.collections
                if drawn.get_array() is None
            ],
            "fields": [samples(drawn.get_array()) for drawn in (*ax.collections, *ax.images)
                       if drawn.get_array() is not None],
        }
        for ax in figure.axes
    ]  # fmt: skip


def coloured(colour):
    from matplotlib.colors import to_hex

    return to_hex(colour, keep_alpha=True)


def samples(array):
    """Take some of many values."""
    values = np.ravel(array)
    return numbers(values[:: max(1, len(values) // MOST_SAMPLES)])


def numbers(array):
    """Write numbers to the digits that are compared, and two more."""
    return [float(f"{x:.5g}") for x in np.ravel(array)]


def differences(kept, shown, where=""):
    """Name the places at which two contents differ."""
    if isinstance(kept, dict) and isinstance(shown, dict):
        names = sorted(kept.keys() | shown.keys())
        each = [(f"{where}.{x}", kept.get(x), shown.get(x)) for x in names]
    elif isinstance(kept, list) and isinstance(shown, list) and len(kept) == len(shown):
        pairs = enumerate(zip(kept, shown, strict=True))
        each = [(f"{where}[{i}]", one, other) for i, (one, other) in pairs]
    elif isinstance(kept, int | float) and isinstance(shown, int | float):
        return [] if kept == pytest.approx(shown, rel=1e-3, nan_ok=True) else [where]
    else:
        return [] if kept == shown else [where]
    return [place for x, one, other in each for place in differences(one, other, x)]


def test_what_differs_is_found():
    one = [{"lines": [["#000000", [1.0, 2.0]]], "texts": ["a"]}]
    assert differences(one, [{"lines": [["#000000", [1.0, 2.0001]]], "texts": ["a"]}]) == []
    assert differences(one, [{"lines": [["#000000", [1.0, 2.1]]], "texts": ["a"]}])
    assert differences(one, [{"lines": [["#111111", [1.0, 2.0]]], "texts": ["a"]}])
    assert differences(one, [{"lines": [], "texts": ["a"]}])
    assert differences(one, [{"texts": ["a"]}])
