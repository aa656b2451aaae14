"""What the reference page on array files shows is what happens."""

import re

import pytest

from tests.conftest import ROOT

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

PAGE = (ROOT / "docs" / "reference" / "array-files.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python$(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_runs_and_its_files_have_the_lengths_that_are_stated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = BLOCK.findall(PAGE)
    create, append = code.split("with Draft.append")
    names = {}
    exec(create, names)
    before = [(tmp_path / f"out.zarr/u/c.{x}.0").stat().st_size for x in "01"]
    exec(f"with Draft.append{append}", names)
    after = [(tmp_path / f"out.zarr/u/c.{x}.0").stat().st_size for x in "01"]
    assert (before, after) == ([300, 168], [300, 300])
    assert [x.name for x in tmp_path.iterdir()] == ["out.zarr"]
