"""`parcast.files.bounds` and `copies`: what is read of devices, pipes and large files."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from io import BytesIO
from pathlib import Path

import pytest

import parcast as package
from parcast.errors import FileProblems
from parcast.files import bounds
from parcast.files.copies import copied
from parcast.files.decoding import name_of, numbered_lines, opened
from parcast.files.faults import Faults
from tests.conftest import COMMAND, FOREGROUND, until

PROFILE = "PARAMETER p\nPOINTS 1 2 4\nREGION main\nMETRIC time\nDATA 8\nDATA 4.5\nDATA 2.5\n"
TABLE = "p,time_s\n1,8\n2,4.5\n4,2.5\n"


def refusal(ask):
    """What is said about a file, without its name and the number of faults."""
    with pytest.raises(FileProblems) as caught:
        ask()
    return str(caught.value).splitlines()[1].strip()


def fed(path, text):
    """Write to a named pipe, which waits for its reader."""
    feeder = threading.Thread(target=lambda: Path(path).write_text(text))
    feeder.start()
    return feeder


# kinds of files


@pytest.mark.fault(
    "Files that are read", "A device without end.", promise="Refused before anything is read."
)
@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("/dev/zero", "file  must be a file, got a device, which may have no end."),
        ("/dev/urandom", "file  must be a file, got a device, which may have no end."),
    ],
)
def test_an_endless_device_is_refused_by_every_reader(device, says):
    """Without a bound, `import caliper /dev/zero` took 6 GB."""
    for read in (
        package.read_measurements,
        package.read_machine,
        package.read_profiles,
        lambda path: package.import_timings(path, "caliper"),
        lambda path: package.import_timings(path, "slurm"),
    ):
        assert refusal(lambda read=read: read(device)).startswith(says)


def test_a_terminal_is_read():
    ours, theirs = os.openpty()
    try:
        bounds.refuse_kind(os.ttyname(theirs), Faults("terminal"))
        bounds.refuse_kind(theirs, Faults("terminal"))
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.fault(
    "Files that are read", "Standard input is a device without end.", promise="Status 3."
)
def test_standard_input_that_is_an_endless_device_is_refused(process):
    with open("/dev/zero", "rb") as zeros:
        said = process("import", "caliper", "-", stdin=zeros)
    assert said.status == 3
    assert "standard input: 1 problem\n  file  must be a file, got a device" in said.err


# sizes


@pytest.mark.fault(
    "Files that are read",
    "A file larger than its format may be.",
    promise="Refused before it is read.",
)
def test_a_file_beyond_its_bound_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(bounds.LARGEST + 1)  # without any of its blocks
    for read in (package.read_measurements, lambda x: package.import_timings(x, "extrap")):
        says = refusal(lambda read=read: read(path))
        assert says == "file  must have at most 2 GB, got more. Split it into several files."
    with opened(path, largest=float("inf")) as (_, stream):
        assert stream.read(1) == b"\0"


def test_a_stream_beyond_its_bound_is_refused_as_soon_as_it_is():
    class Endless(BytesIO):
        given = 0

        def read(self, count=-1):
            self.given += count
            return (b"1,8\n" * count)[:count] if self.given > count else b"p,time_s\n"

    stream = Endless()
    says = refusal(lambda: list(numbered_lines(stream, Faults("pipe"), largest=10**6)))
    assert says == "file  must have at most 1 MB, got more. Split it into several files."
    assert stream.given < 2 * 10**6


def test_memory_of_json_is_bounded_by_its_characters_before_it_is_parsed():
    """A document of `[],` takes twenty times its size, one of text little more than its size."""
    for text in ("[[],[],[]]", '[{"a":0},{"b":0}]', '{"a1":"b2","c3":"d4"}', "[0.5,1.5,2.5]"):
        takes = sum(map(size_of, walk(json.loads(text))))
        assert bounds.json_takes(text) >= takes - 200  # what is outermost is there once
    assert bounds.json_takes('"' + "x" * 1000 + '"') < 200


def walk(value):
    """Give every object of a document."""
    yield value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def size_of(value):
    return sys.getsizeof(value)


# pipes and copies


@pytest.mark.parametrize("read", ["import_timings", "read_measurements"])
def test_a_named_pipe_is_read(read, tmp_path):
    """An import reads a file more than once; of a pipe it would miss the beginning."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = fed(pipe, PROFILE if read == "import_timings" else TABLE)
    answer = package.import_timings(pipe, "extrap") if read == "import_timings" else None
    runs = answer.measurements if answer else package.read_measurements(pipe)
    feeder.join()
    assert runs.time.tolist() == [8.0, 4.5, 2.5]


def test_a_pipe_is_imported_and_recognised_on_the_command_line(parcast, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = fed(pipe, PROFILE)
    said = parcast("import", pipe)
    feeder.join()
    assert (said.status, said.out.splitlines()[0]) == (0, "p,callpath,time_s")
    assert "recognised as extrap" in said.err


@pytest.mark.fault(
    "Files that are read",
    "A pipe without end.",
    promise="Refused as soon as it goes on beyond the limit of a file.",
)
def test_what_is_longer_than_its_bound_is_not_copied_further():
    """`parcast import FORMAT -` filled the disk for everyone."""
    with pytest.raises(FileProblems) as caught, copied(BytesIO(b"x" * 100), "pipe", largest=99):
        pytest.fail("copied")
    assert str(caught.value) == (
        "pipe: 1 problem\n  file  must have at most 99 B, got more (its copy in "
        f"{tempfile.gettempdir()} was removed). Split it into several files."
    )


def test_a_copy_has_no_name_and_messages_call_it_by_what_it_is_of(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with copied(BytesIO(b"text"), "standard input") as path:
        assert list(tmp_path.iterdir()) == []
        assert name_of(path) == "standard input"
        for _ in range(2):
            assert Path(path).read_bytes() == b"text"
    assert not os.path.exists(path)


@pytest.mark.fault(
    "Files that are read",
    "The disk is full while standard input is copied.",
    promise="Refused; the folder and `TMPDIR` are named.",
)
def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")

    class Full(BytesIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

        def fileno(self):
            return 0

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    says = refusal(lambda: copied(BytesIO(b"x"), "pipe").__enter__())
    assert says == (
        "file  must be copied to /tmp while it is read, got: no space left on device. Set TMPDIR "
        "to a folder on another disk."
    )


def test_without_a_place_for_a_copy_it_is_refused(monkeypatch):
    def nowhere(**_):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", nowhere)
    says = refusal(lambda: copied(BytesIO(b"x"), "pipe").__enter__())
    assert says.startswith("file  must be copied while it is read, got: No usable temp")


def test_where_a_file_without_a_name_has_no_path_it_has_a_name_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("parcast.files.copies.os.getpid", lambda: 0)  # as without /proc
    with copied(BytesIO(b"text"), "pipe") as path:
        assert [str(x) for x in tmp_path.iterdir()] == [path]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(
    "Signals",
    "SIGTERM, SIGHUP, SIGINT or SIGKILL while standard input is copied.",
    promise="No copy is left.",
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT])
def test_no_copy_is_left_whatever_ends_the_process(number, tmp_path):
    """SIGKILL cannot be answered: the copy never had a name."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*COMMAND[:2], FOREGROUND + COMMAND[2], "import", "extrap", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    with process, process.stdin:
        process.stdin.write(PROFILE.encode() + b"# more\n" * 400_000)  # more than a pipe holds
        process.stdin.flush()
        until(lambda: has_copy(process.pid, tmp_path))
        assert list(tmp_path.iterdir()) == []
        process.send_signal(number)
        assert process.wait(timeout=30) != 0
    assert list(tmp_path.iterdir()) == []


def has_copy(pid, folder):
    """Whether a process has a file open that is, or was, in a folder."""
    links = (os.readlink(x) for x in Path(f"/proc/{pid}/fd").iterdir() if x.is_symlink())
    return any(link.startswith(str(folder)) for link in links)


def test_a_loop_of_links_beside_a_missing_file_is_no_fault_of_it(tmp_path):
    """Guards: the search for similar names ended in an error about the link."""
    (tmp_path / "l").symlink_to(tmp_path / "l")
    with pytest.raises(FileProblems, match="must exist, but is not in"):
        package.read_measurements(tmp_path / "none.csv")


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        says = refusal(lambda: package.read_measurements("socket"))
    assert says == "file  must be a file, got a socket. Save what it sends to a file."


def test_a_disk_is_refused(monkeypatch):
    found = os.stat_result((stat.S_IFBLK | 0o600, *range(1, 10)))
    monkeypatch.setattr("parcast.files.bounds.os.stat", lambda _: found)
    says = refusal(lambda: bounds.refuse_kind("/dev/sda", Faults("/dev/sda")))
    assert says == "file  must be a file, got a disk. Name a file on it."
