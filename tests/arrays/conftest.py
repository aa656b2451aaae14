"""Stores are written in memory, where that is a file system: each is flushed many times."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
LEAST = 1 << 29  # of free space [B]
KINDS = (  # of reference requests: one of every writer, of reads, and of many files
    *("tiny", "tiny, double-buffer", "large, double-buffer", "units, sync", "columns"),
    *("many arrays", "medium, read", "columns, read"),
)


@pytest.fixture
def tmp_path(tmp_path):
    """Give a folder of its own to a test."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < LEAST:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def left(gone):
    """End a program that was stopped while it replaced a store; give the number it left there."""
    from parcast.arrays.store.reading import open_store

    def of(process, path):
        process.communicate(timeout=20)
        assert process.returncode != 0
        assert gone(process)
        with open_store(path) as store:
            values = store["u"].read()
        assert values.shape == (64, 4096)
        assert values.min() == values.max()  # all of one write
        return values[0, 0]

    return of


@pytest.fixture
def few_references(monkeypatch):
    """Measure with some small reference requests, and end fits early: costs are not asked for."""
    from parcast.arrays.calibration.references import SMALLEST, references

    def some(*arguments):
        found = references(*arguments)
        return {kind: found[kind] for kind in KINDS}

    monkeypatch.setattr("parcast.arrays.calibration.measure.references", some)
    monkeypatch.setattr("parcast.arrays.calibration.references.LARGEST", SMALLEST)
    monkeypatch.setattr("parcast.arrays.calibration.fitting.STEPS", 2)
