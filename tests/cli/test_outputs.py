"""`parcast.cli.outputs`: what is printed is printed whole."""

import errno
import os
import resource
import signal
import subprocess
import sys

import pytest

from parcast.cli import outputs
from parcast.files import document
from tests.conftest import ROOT


@pytest.fixture
def full_disk(times):  # noqa: ARG001 - it is written before
    """Let no file of this process grow beyond some bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "csv", "json"])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_told_with_the_file(parcast, times, tmp_path, ending):
    place = tmp_path / f"answer.{ending}"
    place.write_text("old")
    said = parcast("forecast", times, "-p", "16", "-o", place)
    assert said.status == 2
    assert said.err == (
        f"parcast: {place}: cannot be written: file too large. Choose another place.\n"
    )
    assert place.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [place, times]  # no draft is left


def test_each_output_is_tried_and_all_that_fail_are_told(parcast, times, tmp_path, monkeypatch):
    def write(path, pieces):
        if "full" in path:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        write_document(path, pieces)

    write_document = document.write_document
    monkeypatch.setattr(document, "write_document", write)
    places = [tmp_path / name for name in ("a.csv", "full.csv", "b.json", "full.json", "c.csv")]
    said = parcast("forecast", times, "-p", "16", *(x for y in places for x in ("-o", y)))
    assert said.status == 2
    written = "".join(f"parcast: wrote {x}.\n" for x in places if "full" not in x.name)
    assert said.err == written + "".join(
        f"parcast: {tmp_path}/full.{ending}: cannot be written: no space left on device. "
        "Choose another place.\n"
        for ending in ("csv", "json")
    )
    assert [place.exists() for place in places] == [True, False, True, False, True]
    assert "time" in said.out  # what was computed is not lost


def test_an_interrupt_ends_all_tasks():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outputs.do_each([interrupted, pytest.fail])


@pytest.mark.fault(
    "Output files",
    "The output is a loop of links.",
    promise="Refused with status 2; the link stays.",
)
@pytest.mark.parametrize("ending", ["csv", "svg"])
def test_a_loop_of_links_is_refused_and_kept(parcast, times, tmp_path, ending):
    one, other = tmp_path / f"one.{ending}", tmp_path / f"other.{ending}"
    one.symlink_to(other)
    other.symlink_to(one)
    said = parcast("forecast", times, "-p", "16", "-o", one)
    assert said.status == 2
    assert said.err == (
        f"parcast: -o {one} must lead to a file, got a loop of links. Choose another name.\n"
    )
    assert one.readlink() == other
    assert other.readlink() == one


QUIET = {
    "an answer": ["forecast", "{times}", "-p", "16"],
    "many rows": ["forecast", "{times}", "-p", "1..4000", "--all"],
    "CSV": ["forecast", "{times}", "-p", "16", "-o", "-"],
    "the help of a command": ["match", "--help"],
    "programs": ["validate"],
}


@pytest.mark.parametrize("case", QUIET)
def test_a_pipe_that_is_closed_ends_every_command_quietly(process, times, case):
    read, write = os.pipe()
    os.close(read)
    said = process(*(x.format(times=times) for x in QUIET[case]), stdout=write)
    os.close(write)
    assert (said.status, said.err) == (141, "")


def test_a_demo_ends_as_quietly(tmp_path):
    read, write = os.pipe()
    os.close(read)
    said = subprocess.run(
        [sys.executable, ROOT / "examples" / "nas_bt" / "demo.py", tmp_path],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (said.returncode, said.stderr) == (-signal.SIGPIPE, b"")


def test_a_name_that_is_too_long_is_not_called_a_loop(parcast, times):
    said = parcast("forecast", times, "-p", "16", "-o", "a" * 300 + ".csv")
    assert said.status == 2
    assert "got file name too long. Choose another name." in said.err
