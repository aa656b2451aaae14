"""`parcast.cli.failures`: arguments of functions in the words of the command line."""

import pytest

from parcast.cli.failures import AXES, OPTIONS, in_options, spelled_with
from parcast.deciding.goals.options import spellings
from parcast.errors import Argument, ParameterError, selection

IGNORE = Argument("ignore", ["date", "jobid"], python="parcast.read_measurements(path, ...)")
MATCH = spellings("times.csv", ["a.csv", "b.csv"])


def hint_of(*text, options=OPTIONS):
    """A hint as the command line says it."""
    said = in_options(ParameterError("the grid", must="be small", hint=text), options)
    return said.removeprefix("the grid must be small. ")


@pytest.mark.parametrize(
    ("name", "option"),
    [("hold_out", "--hold-out"), ("min_efficiency", "--knee"), ("fixed", "--fix"), ("n", "n")],
)
def test_what_is_refused_is_called_by_its_option(name, option):
    error = ParameterError(name, must="be at least 1", got="0")
    assert in_options(error) == f"{option} must be at least 1, got 0."


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (Argument("by"), "--by"),
        (Argument("axis", "p", python="Call it with p=..."), "Give it with -p."),
        (Argument("axis", "theta", python="Call it with theta=..."), "Call it with theta=..."),
        (Argument("named columns", [], python="[]"), "none"),
        (Argument("named columns", ["n"], python="['n']"), "['n']"),
        (Argument("donors.select", "main"), "keep only main in their files"),
        (IGNORE, "--ignore date,jobid"),
        (Argument("interval"), "leave the interval out with --no-interval"),
        (Argument("picture", "lines"), "--picture lines"),
        (Argument("vary", "network.bandwidth=..."), "--vary network.bandwidth=..."),
        (selection("machine", "T3E"), "--select machine=T3E"),
        (selection("n", 1000.0), "--select n=1000"),
        (Argument("depth", 3), "depth=3"),
    ],
)
def test_arguments_in_a_hint_are_called_by_their_options(argument, says):
    assert hint_of("Do ", argument) == f"Do {says}"


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (Argument("p", [1, 2, 4, 8]), "-p 1..8x2"),
        (Argument("d", [1, 2]), "-d 1,2"),
        (Argument("p", [64, 96, 128]), "-p 64,96,128"),
    ],
)
def test_counts_are_written_as_an_option_takes_them(argument, says):
    assert hint_of(argument, options=OPTIONS | AXES) == says


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (Argument("prices", {"my SP": 0.05}), "--price 'my SP=0.05'"),
        (Argument("prices"), "--price"),
        (Argument("runs"), "the table"),
        (Argument("table the runs", python="the runs"), "times.csv"),
        (Argument("table donors", python="donors"), "a.csv, b.csv"),
    ],
)
def test_match_names_files_and_prices(argument, says):
    assert hint_of(argument, options=MATCH) == says


def test_what_a_command_refuses_is_said_in_its_own_options():
    @spelled_with({"upto": "-p"})
    def command():
        raise ParameterError("upto", must="be at least 1", got="0")

    with pytest.raises(Exception, match=r"^-p must be at least 1, got 0\.$"):
        command()
