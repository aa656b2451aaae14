"""`parcast.importers.reader_process`: a process that crashes, hangs, eats memory or lies."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from parcast.importers.reader_process import ReaderEnded, ReaderProcess
from tests.conftest import ROOT, until

CHILD = """
import os, sys, time
from parcast.importers.reader_process import serve

def answers(json, request):
    yield ["first", os.getpid()]
    match request["what"]:
        case "raise": raise ValueError("no such record")
        case "abort": os.abort()
        case "leave": os._exit(7)
        case "hang":
            yield ["more than a buffer holds", "x" * 20_000]
            time.sleep(600)
        case "eat": kept = [bytearray(1 << 20) for _ in range(4096)]
    yield ["last", None]

if __name__ == "__main__":
    serve("json", answers, sys.argv[1:])
"""
LIAR = "import sys; print('[\"ready\"]'); print(%s); sys.stdin.read()"


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """Give a reader in a module that no file beside the tests has."""
    monkeypatch.syspath_prepend(tmp_path)

    def reading(source=CHILD):
        (tmp_path / "child_that.py").write_text(source)
        return ReaderProcess("child_that")

    return reading


def asked(reader, what, seconds=30.0):
    return list(reader.answers({"what": what}, seconds=seconds, memory=64 << 20))


def is_gone(number):
    """Tell whether a process has ended, be it reaped or not."""
    try:
        return "State:\tZ" in Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    except OSError:
        return True


def test_one_process_answers_every_request_until_the_block_ends(reader):
    with reader() as process:
        [[_, first], _, [end]] = asked(process, "answer")
        [[_, second], _, _] = asked(process, "answer")
        [[_, third], failed] = asked(process, "raise")
        assert (first, end, failed) == (second, "end", ["failed", "ValueError: no such record"])
        assert third == first, "what it raised has not ended it"
        assert not is_gone(first)
    assert is_gone(first)


@pytest.mark.fault(
    "Files that are read",
    "A library aborts, crashes or never returns when it reads a file in a process of its own.",
    promise="The file is refused, and others are read.",
)
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("abort", "was ended by a signal: Aborted"),
        ("leave", "ended with status 7"),
        ("hang", r"did not end within 0\.3 s"),
    ],
)
def test_a_process_that_ends_is_told_and_the_next_request_has_another(reader, what, says):
    with reader() as process:
        asked(process, "answer")
        with pytest.raises(ReaderEnded, match=f"^{says}$"):
            asked(process, what, seconds=0.3)
        assert asked(process, "answer")[-1] == ["end"]


@pytest.mark.fault(
    "Files that are read",
    "A library takes more memory than its process may have.",
    promise="The file is refused.",
)
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only on Linux is the memory of a reader limited"
)
def test_memory_beyond_the_limit_is_refused_to_it(reader):
    """A zlib stream of some MB takes gigabytes."""
    with reader() as process:
        assert asked(process, "eat")[-1] == ["failed", "MemoryError"]


@pytest.mark.parametrize(
    "rubbish", ["'hello'", "'{}'", "'[]'", "'[7]'", "'[' * 100000", "b'\\xff'"]
)
def test_rubbish_is_no_answer(reader, rubbish):
    with (
        reader(LIAR % rubbish) as process,
        pytest.raises(ReaderEnded, match=r"^said what is no answer$"),
    ):
        asked(process, "answer")


def test_a_reader_that_stops_early_ends_the_process(reader):
    with reader() as process:
        answers = process.answers({"what": "answer"}, seconds=30.0, memory=64 << 20)
        _, number = next(answers)
        answers.close()
        assert is_gone(number)


ASKING = """
import sys
from parcast.importers.reader_process import ReaderProcess

def ask(what):
    with ReaderProcess("child_that") as process:
        for answer in process.answers({"what": what}, seconds=60.0, memory=1 << 26):
            print(answer[-1], flush=True)
"""
DAEMON = """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=ask, args=("answer",), daemon=True)
process.start()
process.join()
"""


def asking(reader, folder, code):
    """Start a program without a guard of its main module that asks."""
    reader()
    return subprocess.Popen(
        [sys.executable, "-c", ASKING + code],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_daemon_process_and_a_thread_can_read(reader, tmp_path):
    """`multiprocessing` refuses children to a daemon, and needs a main module to import."""
    with asking(reader, tmp_path, DAEMON) as process:
        out, _ = process.communicate(timeout=60)
    assert out.split()[1:] == ["None", "end"]
    got = []
    with reader() as own:
        thread = threading.Thread(target=lambda: got.extend(asked(own, "answer")))
        thread.start()
        thread.join()
    assert got[-1] == ["end"]


@pytest.mark.fault(
    "Signals",
    "SIGTERM or SIGKILL while a library reads a file in a process of its own.",
    promise="That process ends.",
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_process_that_asks(reader, tmp_path, number):
    with asking(reader, tmp_path, "ask('hang')") as process:
        child = int(process.stdout.readline())
        process.send_signal(number)
        process.wait(30)
    until(lambda: is_gone(child), 10.0)
