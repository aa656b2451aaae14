"""Pages of reference say what the code says: options are those of click, keys those of results.

PARCAST_REWRITE=1, or `make reference`, writes them anew.
"""

import importlib.util
import os

import pytest

from tests.conftest import ROOT

PLACE = ROOT / "docs" / "reference" / "make.py"
SPEC = importlib.util.spec_from_file_location("reference", PLACE)
reference = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reference)
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_repeats_what_the_code_says(name):
    page = PLACE.parent / name
    reference.MISSING.clear()
    made = reference.with_made(page, reference.PAGES[name]())
    if REWRITE:
        page.write_text(made, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == made, "run: make reference"
    assert reference.MISSING == []  # keys of documents that do not say what they hold
