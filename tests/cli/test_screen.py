"""What a person sees: widths, colours and progress, on terminals of every kind."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from types import SimpleNamespace

import pytest

from parcast.cli import FIRST, first, screen
from parcast.cli.screen import Progress
from tests.conftest import COMMAND, ROOT, shown_on

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(*args, width=80, env=None):
    """Run `parcast` on a terminal and return what appears on it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    surroundings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    running = subprocess.Popen(
        [*COMMAND, *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=surroundings | {"TERM": "xterm"} | (env or {}),
    )
    os.close(theirs)
    seen = shown_on(ours)
    assert running.wait() == 0
    return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_terminal_is_never_too_narrow(machines, width):
    seen = on_terminal("forecast", machines, "-p", "16,32", "--hold-out", "8", width=width)
    assert max(len(ESCAPE.sub("", line)) for line in seen.splitlines()) <= width
    for fact in ("T3E", "32", "interval", "measured", "error", "warning:"):
        assert fact in seen


def test_a_terminal_has_colours_that_add_nothing(machines):
    seen = on_terminal("forecast", machines, "-p", "64")
    assert ESCAPE.search(seen)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = on_terminal("forecast", machines, "-p", "64", env=env)
        assert "\x1b" not in plain
        assert plain == ESCAPE.sub("", seen)


def test_parcast_alone_says_on_a_terminal_what_to_try_first():
    seen = on_terminal()
    assert seen == f"{first()}\n"
    assert seen.startswith(FIRST)
    assert max(map(len, seen.splitlines())) <= 80


def test_a_name_cannot_command_the_terminal(parcast):
    table = "callpath,p,time_s\n\x1b[31mred,1,2\n\x1b[31mred,2,1\n\x1b[32mx,4,1\n"
    said = parcast("forecast", "-", "-p", "4,100000", "--knee", stdin=table)
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[31mred" in said.out


@pytest.mark.parametrize(
    "command",
    [
        ("forecast", "{machines}", "-p", "64,128", "--hold-out", "8"),
        ("forecast", "{machines}", "-p", "64", "-v", "--knee"),
        ("predict", "{btio}/program.toml", "{btio}/sp2.toml", "-p", "1,16,64", "-d", "1,4"),
        ("simulate", "{btio}/program.toml", "{btio}/sp2.toml", "-p", "4", "--precision", "50%"),
        ("match", "{machines}", "-p", "8"),
        ("run",),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("width", [1, 20, 30])
def test_a_narrow_terminal_is_kept_to_where_words_allow(
    parcast, machines, monkeypatch, command, width
):
    monkeypatch.setenv("COLUMNS", str(width))
    files = {"machines": machines, "btio": ROOT / "examples" / "btio"}
    said = parcast(*(x.format(**files) for x in command))
    assert said.status in {0, 1}
    for line in said.out.splitlines():
        words = line.split()
        assert len(line) <= width or len(words) <= 6, line  # "p = 1 to 16.9 s" is whole


class Terminal:
    """A stream that says it is a terminal and keeps what it is given."""

    closed = False

    def __init__(self):
        self.written = ""

    def isatty(self):
        return True

    def write(self, text):
        self.written += text

    def flush(self):
        pass


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(screen, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(screen, "PATIENCE", -1.0)
    return stream


def test_progress_is_shown_and_taken_back(terminal):
    with Progress("reading") as progress:
        progress(1, 4)
        progress(1, 4)
        progress(4, 4)
    lines = terminal.written.split("\r")
    assert lines[1] == f"reading [{'#' * 5:20}]  25%"
    assert lines[2] == f"reading [{'#' * 20}] 100%"
    assert set(lines[3]) == {" "}
    assert lines[4] == ""


def test_a_failure_takes_progress_back(terminal):
    with pytest.raises(ZeroDivisionError), Progress("reading") as progress:  # noqa: PT012 - the exit is tested
        progress(1, 4)
        raise ZeroDivisionError
    assert terminal.written.endswith(" \r")


def test_a_terminal_that_was_closed_ends_the_progress_and_not_the_task(monkeypatch):
    def closed(_):
        raise OSError("input/output error")

    stream = SimpleNamespace(closed=False, isatty=lambda: True, write=closed, flush=print)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(screen, "PATIENCE", -1.0)
    with Progress("measuring") as progress:
        progress(1.0, 4.0)
        progress(2.0, 4.0)


def test_a_simulation_of_one_point_says_how_far_it_is(parcast, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(screen, "PATIENCE", -1.0)
    monkeypatch.setattr(sys, "stderr", stream)
    files = (ROOT / "examples" / "btio" / name for name in ("program.toml", "sp2.toml"))
    assert parcast("simulate", *files, "-p", "16", "--precision", "0.3%").status == 0
    shares = [int(x) for x in re.findall(r"simulating \[#* *\] +(\d+)%", stream.written)]
    assert len(set(shares)) > 2
    assert shares[-1] == 100
