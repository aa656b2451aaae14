"""The same programs on Open MPI, where an environment with it is named or first on the path."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from parcast.mpi.find import Mpi
from parcast.mpi.leftovers import TOKEN, kill_processes_of
from tests.arrays.library.test_misusing import BUSY, OF_ONE
from tests.conftest import LIMIT, ROOT

EXCHANGING = Path(__file__).parent / "exchanging.py"
VARIABLE = "PARCAST_OPEN_MPI"  # Python of an environment with Open MPI, mpi4py and NumPy


def python_of_open_mpi():
    """Python beside an mpiexec of Open MPI; nothing where there is none."""
    named = os.environ.get(VARIABLE)
    found = shutil.which("mpiexec", path=str(Path(named).parent) if named else None)
    python = named or (str(Path(found).with_name("python")) if found else "")
    if not found or not Path(python).exists():
        return ""
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    uses = "from mpi4py import MPI; print(MPI.Get_library_version())"
    library = subprocess.run([python, "-c", uses], capture_output=True, text=True, check=False)
    is_it = "Open MPI" in said and "Open MPI" in library.stdout
    return python if is_it else ""


PYTHON = python_of_open_mpi()
pytestmark = pytest.mark.skipif(
    not PYTHON, reason=f"no Open MPI: name the Python of an environment with it in {VARIABLE}"
)


@pytest.fixture
def ended(tmp_path):
    """Run a program on ranks of Open MPI; give its status and messages."""
    token = f"test-{os.urandom(8).hex()}"

    def run(program, *arguments, ranks):
        if isinstance(program, str):
            (tmp_path / "program.py").write_text(program)
            program = tmp_path / "program.py"
        mpiexec = str(Path(PYTHON).with_name("mpiexec"))
        mpi = Mpi(vendor="Open MPI", version="", mpiexec=mpiexec)
        done = subprocess.run(
            [mpiexec, "-n", str(ranks), PYTHON, str(program), *map(str, arguments)],
            env=os.environ
            | mpi.environment(crowded=True)
            | {"PYTHONPATH": str(ROOT / "src"), TOKEN: token},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=LIMIT,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    yield run
    assert kill_processes_of(token) == 0


@pytest.mark.parametrize(
    ("ranks", "servers", "kind"),
    [(2, 1, "dedicated"), (3, 2, "shared"), (4, 2, "dedicated"), (4, 4, "shared")],
)
def test_clients_and_servers_do_not_wait_for_each_other(ended, tmp_path, ranks, servers, kind):
    status, out, err = ended(EXCHANGING, servers, kind, tmp_path, ranks=ranks)
    assert (status, err) == (0, "")
    clients = ranks - servers * (kind == "dedicated")
    assert sorted(out.split()) == sorted(
        ["ended"] * ranks + ["True"] * clients + ["False"] * (ranks - clients)
    )


@pytest.mark.parametrize("kind", ["raise", "exit", "write on a server"])
def test_a_rank_that_fails_ends_all(ended, tmp_path, kind):
    status, _, err = ended(OF_ONE, kind, ranks=3)
    assert status != 0
    assert " has ended with " in err
    left = {x.name for x in tmp_path.iterdir()} - {"program.py", "first.zarr"}
    assert left == set()


def test_ranks_that_do_not_come_are_ended(ended):
    status, _, err = ended(BUSY, 0, ranks=3)
    assert status != 0
    assert "ValueError: of client 1" in err
