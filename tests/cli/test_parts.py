"""Commands with parts: what is named, what the default takes, how parts are listed."""

import click
import pytest
from click.shell_completion import ShellComplete

from parcast.cli import cli
from parcast.cli.answering import cli_command
from parcast.kernels.command import PARTS
from parcast.kernels.trials.command import PARTS as PARTS_OF_VALIDATE


@cli_command(name="features", help="Find features.", short_help="Find the features of documents.")
@click.argument("documents")
@click.option("-np", "ranks", type=int, default=1)
def features(ctx, /, *, documents, ranks):
    """Answer with a status of its own."""
    click.echo(f"{ctx.command_path} {documents} {ranks}")
    return 1


@pytest.fixture(params=["run", "validate"])
def parted(request, monkeypatch):
    """Give a command that has a default this part alone."""
    parts = {"run": PARTS, "validate": PARTS_OF_VALIDATE}[request.param]
    before = dict(parts)
    parts.clear()
    parts["features"] = f"{__name__}:features"
    monkeypatch.setattr(
        "parcast.cli.parts.load", lambda place: {f"{__name__}:features": features}[place]
    )
    yield request.param
    parts.clear()
    parts.update(before)  # in its order


def completed(*words, incomplete=""):
    """Give what a shell would offer."""
    complete = ShellComplete(cli, {}, "parcast", "_PARCAST_COMPLETE")
    return [item.value for item in complete.get_completions([*words], incomplete)]


def test_a_part_is_called_and_ends_with_its_status(parcast, parted):
    said = parcast(parted, "features", "docs", "-np", "4")
    assert (said.status, said.out, said.err) == (1, f"parcast {parted} features docs 4\n", "")


def test_a_part_has_the_options_of_all_commands(parcast, parted):
    said = parcast(parted, "features", "docs", "-np2", "--debug")
    assert said.out == f"parcast {parted} features docs 2\n"
    refused = parcast(parted, "features")
    assert refused.status == 2
    assert refused.err.startswith("parcast: DOCUMENTS must be given. Usage: parcast ")
    assert refused.err.endswith(f"See: parcast {parted} features --help\n")


def test_the_default_takes_over_where_no_part_is_named(parcast, parted):
    said = parcast(parted, "sort", "--nodes", "4")
    assert said.status == 2
    assert said.err == (
        f"parcast: --nodes is not an option of parcast {parted}. Did you mean -np LIST?\n"
        f"See: parcast {parted} --help\n"
    )


def test_help_and_list_show_both(parcast, parted):
    told = parcast(parted, "--help").out
    assert "\nOptions:\n" in told
    assert told.endswith("\nCommands:\n  features  Find the features of documents.\n")
    listed = parcast(parted)
    assert listed.status == 0
    first = [line.split()[0] for line in listed.out.splitlines() if line[0] != " "]
    assert first[0] == "sort"
    assert first[-1] == "features"
    assert "ind the features of documents" in listed.out


def test_a_misspelt_part_is_suggested(parcast, parted):
    said = parcast(parted, "featurs", "docs")
    assert said.status == 2
    assert said.err == (
        f"parcast: 'featurs' is not a command of parcast {parted}. Did you mean features?\n"
        f"See: parcast {parted} --help\n"
    )


def test_what_is_near_no_part_is_for_the_default(parcast, parted):
    said = parcast(parted, "srt")
    assert said.status == 2
    assert "Did you mean sort?" in said.err
    assert "must be a program" in said.err


def test_tab_completes_parts_programs_and_options(parted):
    offered = completed(parted)
    assert {"features", "sort", "stencil"} <= set(offered)
    assert completed(parted, incomplete="feat") == ["features"]
    assert completed(parted, incomplete="sq") == ["square_sort"]
    assert "--seed" in completed(parted, incomplete="--se")
    assert "--seed" in completed(parted, "sort", incomplete="--se")
    assert completed(parted, "features", incomplete="-n") == ["-np"]


def test_a_group_without_a_default_refuses_what_is_no_part(parcast):
    said = parcast("arrays", "verfy", "x")
    assert (said.status, said.out) == (2, "")
    assert said.err == (
        "parcast: 'verfy' is not a command of parcast arrays. Did you mean verify?\n"
        "See: parcast arrays --help\n"
    )
    far = parcast("arrays", "everything")
    assert "'everything' is not a command of parcast arrays. There is verify" in far.err
    option = parcast("arrays", "--jsn")
    assert option.status == 2
    assert option.err.startswith("parcast: --jsn is not an option of parcast arrays.")
