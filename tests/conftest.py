"""Commands are run as a person does; Hypothesis draws the same examples on every run."""

import gc
import io
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from parcast.cli import cli
from parcast.cli.failures import run as run_command
from parcast.mpi.find import find_mpi
from parcast.mpi.leftovers import TOKEN, kill_processes_of, processes_of, remove_shared_memory
from tests.browser import chromium  # noqa: F401 - a fixture
from tests.installed import PLUGINS
from tests.measurement import PROGRAMS, Measurement
from tests.slurm import Slurm, what_is_missing

# The same examples in each run, so that more of them take longer and find nothing new. `make
# coverage` has more, with `--hypothesis-profile thorough`.
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=20)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("reproducible")

ROOT = Path(__file__).parents[1]
LIMIT = 60.0  # of a program on ranks [s]
TIMES = "p,time_s\n1,100\n2,52\n4,28\n8,16\n"
TWO_MACHINES = "machine,p,time_s\n" + "".join(
    f"{machine},{row}\n"
    for machine, scale in (("T3E", 1), ("SP", 3))
    for row in (f"{p},{scale * (5 + 95 / p)}" for p in (1, 2, 4, 8))
)


def unmeasured():
    """Give the environment of a program that repeats what others cover, many times or on ranks."""
    return {name: value for name, value in os.environ.items() if "COVERAGE" not in name}


@pytest.fixture
def uncovered():
    """Do not measure what a test covers, as it repeats many times what others cover."""


def pytest_configure(config):
    """Measure coverage where it tells something, if it is measured at all."""
    if PROGRAMS not in os.environ:
        return
    if config.getoption("dist", "no") == "no":
        config.pluginmanager.register(Measurement())
    else:  # this process hands out the tests, and runs none
        sys.settrace(None)


def pytest_collection():
    """Collect thousands of tests, all of which stay, without a search for garbage among them."""
    gc.disable()


def pytest_collection_finish():
    """Search for garbage in what the tests make, not in tests and modules, and not as often."""
    gc.freeze()
    gc.set_threshold(10_000, *gc.get_threshold()[1:])
    gc.enable()


def shown_on(terminal):
    """Read all that programs print on a terminal, until the last of them ends, and close it."""
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(terminal)
    return seen


@dataclass
class Said:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch):
    """Nothing of the terminal that the tests are started from."""
    for name in ("COLUMNS", "NO_COLOR", "TERM", "_PARCAST_COMPLETE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_figures_left():
    """Let go of the figures that `plot` left with pyplot."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def parcast(capsys, monkeypatch):
    """Run `parcast` in this process."""

    def ask(*args, stdin=b""):
        text = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        capsys.readouterr()
        status = run_command(cli, [str(arg) for arg in args])
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return ask


@pytest.fixture
def file(tmp_path):
    """Write a file."""

    def write(content, name="file"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def plugin(monkeypatch):
    """Let the plugin of the tests be found as an installed one is."""
    monkeypatch.syspath_prepend(PLUGINS)


@pytest.fixture
def times(file):
    """Write a small table of timings."""
    return file(TIMES, "times.csv")


@pytest.fixture
def machines(file):
    """Write a table of timings on two machines."""
    return file(TWO_MACHINES, "machines.csv")


@pytest.fixture(scope="module")
def slurm():
    """Start a Slurm where one can be started."""
    if why := what_is_missing():
        pytest.skip(why)
    with Slurm() as found:
        yield found


@pytest.fixture
def refusal():
    """Give what a call is refused with, in an error of this class."""

    def said(error, call, *arguments, **keys):
        with pytest.raises(error) as caught:
            call(*arguments, **keys)
        return str(caught.value)

    return said


COMMAND = [sys.executable, "-c", "from parcast.cli import main; main()"]
# Ctrl-C ends what runs in the foreground, also where the tests run in the background.
FOREGROUND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def until(holds, seconds=60.0):
    """Wait until something holds, which it must before the seconds are over."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def process():
    """Start `parcast` as a process of its own."""

    def start(*args, **options):
        said = subprocess.run(
            [*COMMAND, *map(str, args)],
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            env=os.environ | options.pop("env", {}),
            check=False,
            **options,
        )
        return Said(said.returncode, (said.stdout or b"").decode(), said.stderr.decode())

    return start


@pytest.fixture
def started(tmp_path):
    """Start a program, on ranks if they are counted; nothing of it is left at the end."""
    token, began = f"test-{os.urandom(8).hex()}", time.time()
    processes = []

    def start(program, *arguments, ranks=None, **variables):
        mpi = find_mpi()
        mpiexec = [] if ranks is None else [mpi.mpiexec, "-n", str(ranks)]
        if isinstance(program, str):
            path = tmp_path / "program.py"
            path.write_text(program)
            program = path
        process = subprocess.Popen(
            [*mpiexec, sys.executable, str(program), *map(str, arguments)],
            env=(os.environ if ranks is None else unmeasured())
            | mpi.environment(crowded=True)
            | {"PYTHONPATH": str(ROOT / "src"), TOKEN: token}
            | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            start_new_session=True,
        )
        process.token = token
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
    kill_processes_of(token)  # before its output ends, which they may hold open
    for process in processes:
        process.communicate()
    remove_shared_memory(began)


@pytest.fixture
def ran(started):
    """Run a program to its end; give its status, output and messages."""

    def run(program, *arguments, limit=LIMIT, **keys):
        process = started(program, *arguments, **keys)
        out, err = process.communicate(timeout=limit)
        return process.returncode, out, err

    return run


@pytest.fixture
def gone():
    """Tell whether all processes of a program have ended, after a while."""

    def wait(process, seconds=10.0):
        end = time.monotonic() + seconds
        while (left := processes_of(process.token)) and time.monotonic() < end:
            time.sleep(0.05)
        return not left

    return wait
