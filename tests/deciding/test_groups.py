"""The groups of commands over all laws: each part is there, and has what every command has."""

import pytest

from parcast.deciding.explain.command import EXPLAIN


@pytest.mark.parametrize("part", EXPLAIN)
def test_the_help_of_a_part_says_what_it_does_and_how_it_ends(parcast, part):
    told = parcast("explain", part, "--help").out
    assert told.startswith(f"Usage: parcast explain {part} [OPTIONS]")
    assert told.splitlines()[2].strip()[0].isupper()
    assert max(map(len, told.splitlines())) <= 80
    assert told.partition("Examples:")[2].count("  parcast explain ") >= 2
    assert "Exit status: " in told


def test_the_group_lists_its_parts_with_a_summary_each(parcast):
    section = parcast("explain", "--help").out.partition("\nCommands:\n")[2]
    assert [line.split()[0] for line in section.splitlines()] == list(EXPLAIN)
    assert all(len(line.split()) > 3 for line in section.splitlines())
    assert "..." not in section
