"""Demos are run once a module: `EXAMPLE` of the module is the folder."""

import io
import runpy
import sys
from contextlib import redirect_stdout

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def printed(request, folder):
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setattr(sys, "argv", ["demo.py", str(folder)])
        runpy.run_path(str(request.module.EXAMPLE / "demo.py"), run_name="__main__")
    return out.getvalue()
