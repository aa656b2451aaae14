"""`parcast testbed`: its options, its refusals, and a command that it runs."""

import subprocess

import pytest

from parcast.errors import Argument
from parcast.testbed.testbed import Testbed
from tests.conftest import COMMAND

OBSTACLE = Testbed(hosts=2, cpu=None).obstacle()


@pytest.fixture
def attended(monkeypatch):
    """Testbeds and commands that would have been run, each with the status 7."""
    seen = []

    def attend(testbed, command):
        seen.append((testbed, command))
        return 7

    monkeypatch.setattr(Testbed, "attend", attend)
    monkeypatch.setattr(Testbed, "require_means", lambda *_: None)
    return seen


def test_options_describe_the_testbed_and_the_rest_is_the_command(parcast, attended):
    said = parcast(
        *("testbed", "--hosts", 8, "--link", "10Mbit", "--bus", "--latency", "50us"),
        *("--cpu", "5%", "--disk", "10MB/s", "--", "mpiexec", "--hosts", "x", "-n", "8"),
    )
    assert (said.status, said.out) == (7, "")
    ((testbed, command),) = attended
    assert testbed == Testbed(hosts=8, link=1.25e6, bus=True, latency=50e-6, cpu=0.05, disk=1e7)
    assert command == ("mpiexec", "--hosts", "x", "-n", "8")
    assert said.err == (
        "parcast: testbed of 8 hosts on a bus, 10 Mbit/s together, 50 us more for each packet, "
        "5% of a core each, 10 MB/s of disk each.\n"
    )


@pytest.mark.parametrize("link", ["1.25MB/s", "10Mbit/s", "10 Mbit", "none"])
def test_a_link_is_given_in_bits_or_bytes(parcast, attended, link):
    parcast("testbed", "--link", link, "--cpu", "none", "true")
    assert attended[0][0].link == (None if link == "none" else 1.25e6)
    assert attended[0][0].cap is None


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--cpu", "200%", "true"], "cores, got 200%. Give a share of one core, or")],
)
def test_wrong_use_is_told(parcast, options, says):
    said = parcast("testbed", *options)
    assert said.status == 2
    assert says in said.err
    assert said.err.endswith("See: parcast testbed --help\n")


def test_where_it_cannot_be_made_the_status_is_4(parcast, monkeypatch):
    cpu, disk = Argument("cpu", "none"), Argument("disk", "none")
    told = ("no. Or with ", cpu, " and ", disk, ", which.")
    monkeypatch.setattr(Testbed, "obstacle", lambda _: told)
    said = parcast("testbed", "--hosts", "1", "--link", "none", "--cpu", "none", "true")
    assert said.status == 4
    assert said.err == (
        "parcast: A testbed cannot be created here: no. Or with --cpu none and --disk none, "
        "which.\n"
    )


@pytest.mark.skipif(OBSTACLE is not None, reason=f"no testbed can be made: {OBSTACLE}")
def test_the_command_runs_and_gives_its_status():
    script = "cat $HYDRA_HOST_FILE; exit 5"
    asked = [*COMMAND, "testbed", "--hosts", "2", "--cpu", "none", "--", "sh", "-c", script]
    said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    assert (said.returncode, said.stdout) == (5, "10.9.0.1:1\n10.9.0.2:1\n")
