"""Demos are run once a module, as a newcomer runs them: `EXAMPLE` of the module is the folder."""

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def printed(request, folder):
    command = [sys.executable, "-W", "error", request.module.EXAMPLE / "demo.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert not done.stderr
    return done.stdout
