"""Stores are written in memory, where that is a file system: each is flushed many times."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
LEAST = 1 << 29  # of free space [B]


@pytest.fixture
def tmp_path(tmp_path):
    """Give a folder of its own to a test."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < LEAST:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
