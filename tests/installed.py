"""Packages with laws and importers of their own, as they are installed."""

import os
import subprocess
import sys
from pathlib import Path

PLUGINS = Path(__file__).parent / "plugins"


def installed(folder, monkeypatch, entry_points, name="broken", **modules):
    """Install the package parcast-`name` with these entry points and sources of modules."""
    info = folder / f"parcast_{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: parcast-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(folder)
    return folder


def parcast(*args, path):
    """Run the command line with packages of these folders."""
    paths = os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "parcast", *map(str, args)]
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
