"""`parcast` itself: its help, its version, and the way it ends."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import termios

import click
import pytest

from parcast.cli import COMMANDS, cli
from parcast.cli.failures import run
from parcast.errors import FileProblems, RunFailed
from tests.conftest import COMMAND, FOREGROUND, until

HELPS = [(), ("-h",), ("--help",)]


@pytest.mark.parametrize("options", HELPS)
def test_parcast_alone_prints_its_help(parcast, options):
    said = parcast(*options)
    assert said.status == 0
    assert said.err == ""
    assert "forecast" in said.out


@pytest.mark.parametrize("command", [(), ("forecast",)])
def test_help_has_examples_and_every_status(parcast, command):
    said = parcast(*command, "--help")
    assert said.status == 0
    assert said.out.partition("Examples:")[2].count("  parcast ") >= 2
    described = said.out.partition("Exit status:")[2]
    assert all(f" {status}  " in described for status in range(5))
    assert max(map(len, said.out.splitlines())) <= 80


def commands_with(option):
    """Name the commands that have an option."""
    context = click.Context(cli)
    return [
        name
        for name in COMMANDS
        if any(option in parameter.opts for parameter in cli.get_command(context, name).params)
    ]


@pytest.mark.parametrize(
    ("option", "commands"),
    [
        (
            "-n",
            "forecast match plan explain predict simulate project report run validate "
            "characterise",
        ),
        ("-np", "calibrate run validate"),
        ("-p", "forecast match plan explain compare measure predict simulate project report"),
        ("--column", "forecast match plan explain compare check fit project characterise import"),
        ("--select", "forecast match plan explain compare check fit report"),
    ],
)
def test_an_option_has_one_name_everywhere(option, commands):
    assert sorted(commands_with(option)) == sorted(commands.split())


def test_what_follows_two_dashes_is_left_as_it_is(parcast):
    said = parcast("run", "--", "--n")
    assert said.err.startswith("parcast: NAME must be a program, got --n. Programs: sort, ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("predict", "a", "b", "-p"), "-p must have a value, got none. Write -p LIST."),
        (("match", "--goal", "tme"), "--goal must be time, cost or efficiency, got 'tme'. Did"),
        (("simulate", "a", "b", "c", "-p", "4"), "simulate reads PROGRAM MACHINE; c is one file"),
        (("forecast", "--json=1"), "--json takes no value. Write --json alone."),
        (("simulate", "--jbos", "2"), "--jbos is not an option of parcast simulate. Did you mean"),
        (("match", "--deadline", "3"), "--deadline is not an option of parcast match. Did you"),
        (("run", "sort", "--nodes", "4"), "--nodes is not an option of parcast run. Did you mean"),
        (("run", "sort", "-p", "4"), "-p is not an option of parcast run. Did you mean -np LIST?"),
        (("calibrate", "-p", "4"), "-p is not an option of parcast calibrate. Did you mean -np"),
        (("predict", "-np4"), "-np is not an option of parcast predict. Did you mean -p LIST?"),
        (("match", "--certainty", "90"), "--certainty must lie between 50% and 100%, got '90'."),
        (("run", "foo"), "NAME must be a program, got foo. Programs: sort, square_sort, "),
    ],
)
def test_wrong_use_is_told_in_one_style(parcast, words, says):
    said = parcast(*words)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"parcast: {says}")
    assert said.err.endswith(f"See: parcast {words[0]} --help\n")


def test_help_loads_nothing_heavy():
    ask = (
        "import sys; from parcast.cli import cli; from parcast.cli.failures import run; "
        "run(cli, ['--help']); run(cli, ['forecast', '--help']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "matplotlib", "pandas"} & set(said.stderr.split())


def test_the_list_of_commands_loads_none_of_them():
    ask = "import sys; from parcast.cli import cli; cli(['--help'], standalone_mode=False); "
    ask += "print(*sys.modules, file=sys.stderr)"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not {place.partition(":")[0] for place in COMMANDS.values()} & {*said.stderr.split()}


# what is said of failures of every kind


INTERRUPTED = "parcast: interrupted.\n"


def caused_by(failure, cause):
    """Give a failure as Python raises it from its cause."""
    failure.__cause__ = cause
    return failure


def failing(error):
    """Make a command that fails in some way."""

    @click.command("fail")
    @click.option("--debug", is_flag=True)
    def fail(debug):  # noqa: ARG001 - `run` looks for it
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "parcast: interrupted.\n"),
        (caused_by(RuntimeError("__set_name__"), KeyboardInterrupt()), 130, INTERRUPTED),
        (caused_by(FileProblems("job.py", []), KeyboardInterrupt()), 130, INTERRUPTED),
        (caused_by(RunFailed("It failed."), KeyboardInterrupt()), 4, "parcast: It failed.\n"),
        (click.Abort(), 130, "parcast: interrupted.\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 4, "parcast: out of memory. Ask for fewer counts or series.\n"),
        (
            OSError(28, "No space left on device", "out.csv"),
            2,
            "parcast: out.csv: cannot be written: no space left on device. "
            "Choose another place.\n",
        ),
        (OSError("odd"), 2, "parcast: the output cannot be written: odd. Choose another place.\n"),
        (
            ZeroDivisionError("division by zero"),
            70,
            "parcast: this is a fault of parcast itself: ZeroDivisionError: division by zero\n"
            "Run it again with --debug and report what it prints.\n",
        ),
    ],
    ids=lambda x: type(x).__name__,
)
def test_every_failure_ends_in_one_message(capsys, error, status, says):
    assert run(failing(error), []) == status
    assert capsys.readouterr().err == says


def test_debug_shows_the_traceback_as_well(capsys):
    assert run(failing(ZeroDivisionError("oh")), ["--debug"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert "fault of parcast itself: ZeroDivisionError: oh" in said


def test_debug_is_an_option_before_and_after_the_command(parcast, times):
    said = parcast("--debug", "forecast", "-", "-p", "64")
    assert said.status == 3
    assert "Traceback" in said.err
    said = parcast("forecast", times, "-p", "64", "--debug")
    assert (said.status, said.err) == (0, "")
    said = parcast("forecast", "-", "-p", "64", "--debug")
    assert said.status == 3
    assert "Traceback" in said.err


def test_nobody_listening_to_the_message_is_no_failure(monkeypatch):
    class Deaf:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stderr", Deaf())
    assert run(failing(ZeroDivisionError("oh")), []) == 70


# real processes


def test_a_process_ends_with_the_status(process, times):
    assert process("forecast", times, "-p", "16").status == 0
    assert process("forecast", times, "-p", "100000", "--knee").status == 0
    assert process("forecast", times, "-p", "none").status == 2


def test_a_process_reads_standard_input(process):
    said = process("forecast", "-", "-p", "4", "-o", "-", input=b"p,time_s\n1,2\n2,1\n")
    assert said.status == 0
    assert said.out.startswith("p,time_s,")


def test_output_that_is_cut_off_makes_no_noise(times):
    command = f"{shlex.join(COMMAND)} forecast {shlex.quote(str(times))} -p 1..5000 | head -1"
    said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert said.stderr == ""
    assert said.stdout.startswith("No forecast at p = ")
    assert said.stdout.count("\n") == 1


@pytest.mark.fault(
    "Output files",
    "Standard output is closed by its reader.",
    promise="Status 141, nothing on standard error.",
)
@pytest.mark.parametrize("options", [("forecast", "-", "-p", "1..500"), ("--help",)])
def test_output_that_nobody_reads_ends_quietly(process, options):
    read, write = os.pipe()
    os.close(read)
    said = process(*options, input=b"p,time_s\n1,2\n2,1\n", stdout=write)
    os.close(write)
    assert (said.status, said.err) == (141, "")


@pytest.mark.fault(
    "Output files",
    "Standard output goes to a disk that is full.",
    promise="Status 2, with the reason.",
)
@pytest.mark.skipif(
    not os.path.exists("/dev/full"),
    reason="only Linux has /dev/full, a disk without space that needs no root to set up",
)
def test_a_full_disk_is_told(process, times):
    with open("/dev/full", "w") as full:
        said = process("forecast", times, "-p", "16", stdout=full)
    assert said.status == 2
    assert said.err == (
        "parcast: the output cannot be written: no space left on device. Choose another place.\n"
    )


@pytest.mark.fault(
    "Output files",
    "A standard stream is closed from the beginning.",
    promise="Status 2 where the answer cannot be printed; otherwise the usual one; no traceback.",
)
def test_closed_standard_streams_are_survived(times):
    parcast = shlex.join(COMMAND)
    file = shlex.quote(str(times))
    for command, status in (
        (f"{parcast} forecast {file} -p 16 >&-", 2),
        (f"{parcast} forecast {file} -p 16 --json >&-", 2),
        (f"{parcast} forecast {file} -p banana 2>&-", 2),
        (f"{parcast} forecast - -p 16 <&-", 2),
    ):
        said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert said.returncode == status, command
        assert "Traceback" not in said.stderr


@pytest.mark.fault(
    "Signals", "Ctrl-C while input is read.", promise='Status 130 and "interrupted.".'
)
def test_an_interrupted_process_ends_with_130():
    python, option, main = COMMAND
    waiting = subprocess.Popen(
        [python, option, FOREGROUND + main, "forecast", "-", "-p", "16"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.write(waiting.stdin.fileno(), b"p,time_s\n")
    until(lambda: not any(fcntl.ioctl(waiting.stdin, termios.FIONREAD, bytes(4))))  # it is read
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert err.decode().strip().endswith("parcast: interrupted.")


@pytest.mark.parametrize(
    ("words", "follow"),
    [
        ("fo", "plain,forecast\n"),
        ("forecast --sc", "plain,--scaling\n"),
        ("forecast --scaling s", "plain,strong\n"),
        ("forecast tim", "file,tim\n"),
        ("predict a.toml ma", "file,ma\n"),
    ],
)
def test_a_shell_learns_what_may_follow(process, words, follow):
    said = process(
        env={
            "_PARCAST_COMPLETE": "bash_complete",
            "COMP_WORDS": f"parcast {words}",
            "COMP_CWORD": str(len(words.split())),
        }
    )
    assert said.out == follow


def test_the_line_of_the_help_makes_a_shell_complete(parcast, process):
    assert 'eval "$(_PARCAST_COMPLETE=bash_source parcast)"' in parcast("--help").out
    said = process(env={"_PARCAST_COMPLETE": "bash_source"})
    assert "complete -o nosort -F _parcast_completion parcast" in said.out


def test_the_package_can_be_run_as_a_module():
    told = subprocess.run(
        [sys.executable, "-m", "parcast", "--version"], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("parcast")


# several files


def test_files_of_one_count_each_are_one_table_with_the_counts_of_their_names(parcast, tmp_path):
    for p in (1, 2, 4, 8):
        (tmp_path / f"run_p{p}.csv").write_text(f"elapsed_ms;x\n{8000 / p + 300:.0f};1\n")
    files = [str(tmp_path / f"run_p{p}.csv") for p in (1, 2, 4, 8)]
    said = parcast("forecast", *files, "-p", "16", "--ignore", "x", "--json")
    assert said.status == 0
    assert "p is taken from the names of the files: 1 of run_p1.csv" in said.err
    document = json.loads(said.out)
    assert [x["file"] for x in document["inputs"]["files"]] == files
    assert document["rows"][0]["time_s"] == pytest.approx(0.8, rel=0.1)
    again = parcast("forecast", *files, "-p", "16", "--ignore", "y")
    assert again.status == 2
    assert "'y'" in again.err
