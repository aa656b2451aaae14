"""Rows of tables that a command is asked for, and options of other commands."""

import pytest


def test_rows_of_which_no_run_ended_are_called_so(parcast, tmp_path):
    rows = ["p,n,time_s,status", *(f"{p},2000,{9 / p},ok" for p in (1, 2)), "4,4000,60,timeout"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    said = parcast("forecast", tmp_path / "t.csv", "--select", "n=4000")
    assert said.status == 2
    assert "all runs with n = 4000 in" in said.err
    assert "were stopped before the end" in said.err


@pytest.mark.parametrize(
    ("command", "option", "meant"),
    [
        ("forecast", "--param", "--at AXIS"),
        ("predict", "--at", "--set NAME"),
    ],
)
def test_an_option_of_another_command_names_that_of_this_one(parcast, command, option, meant):
    assert f"Did you mean {meant}" in parcast(command, "x", option, "n=3").err
