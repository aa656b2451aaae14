"""The recorder of MPI programs, built by the compiler of the MPI that they use.

It is one C file, `recorder.c`, and is kept in the user's cache for each compiler it was built by.
"""

import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from parcast.advice import ours
from parcast.errors import Argument, RunFailed
from parcast.mpi.find import INSTALL
from parcast.needs import require_unix
from parcast.version import __version__

SOURCE: Final = Path(__file__).with_name("recorder.c")
FLAGS: Final = ("-O2", "-std=gnu11", "-fPIC", "-shared")
PATIENCE: Final = 120.0  # of a compiler [s]
MOST_LINES: Final = 3  # of what it says


def compiler_of_mpi(named: str | None = None) -> str:
    """Path of the compiler of an MPI: the named one, that on the path, or that beside Python."""
    require_unix("Recording a program needs", is_linux=True)  # LD_PRELOAD
    own = os.path.join(sysconfig.get_path("scripts"), "mpicc")
    found = shutil.which(named or "mpicc") or (None if named else shutil.which(own))
    if found is None:
        raise RunFailed(
            f"There is no {named or 'mpicc'}, which builds the recorder. Load the MPI of the "
            f"program, or name its compiler: {Argument('mpicc')}. {INSTALL}"
        )
    return os.path.abspath(found)  # what it does may depend on its name


def recorder_for(mpicc: str) -> Path:
    """Library that records programs of the MPI of a compiler: built now, or kept from before."""
    source = SOURCE.read_bytes()
    told = _said([mpicc, "-show"]) or _said([mpicc, "--version"])
    key = hashlib.sha256(b"\0".join([source, mpicc.encode(), told.encode(), *_flags()]))
    kept = _cache() / f"recorder-{key.hexdigest()[:16]}.so"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent) as folder:
        built = Path(folder, "recorder.so")
        version = f'-DPARCAST_VERSION="{__version__}"'
        command = [mpicc, *FLAGS, version, "-o", str(built), str(SOURCE), "-ldl"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise RunFailed(f"{mpicc} does not run: {failure}. Name another one.") from failure
        if done.returncode:
            lines = " ".join(done.stderr.split("\n")[:MOST_LINES]).strip()
            raise RunFailed(
                f"{mpicc} cannot build the recorder: {lines or 'it does not say why'}. It needs a "
                f"C compiler and the headers of the MPI. Name another one: {Argument('mpicc')}."
            )
        built.replace(kept)
    return kept


def _flags() -> list[bytes]:
    return [x.encode() for x in (*FLAGS, __version__)]


def _said(command: list[str]) -> str:
    """What a compiler says of itself; "" where it does not."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _cache() -> Path:
    """Folder of the user for what can be made again; the loader divides paths at some letters."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "parcast")
    if set(str(folder)) & set(" :;"):
        raise RunFailed(
            f"The folder of the recorder must have no blank and no colon in its path, got "
            f"{str(folder)!r:.200}. Set XDG_CACHE_HOME to another folder."
        )
    return folder


def how_to_continue(profile: str) -> str:
    """Say what is done with a profile."""
    return str(ours("characterise", profile, "-o", "program.toml"))
