"""`parcast characterise`: the table, the files it writes, and the way it ends."""

import json

import pytest

from tests.conftest import ROOT

PROFILE = ROOT / "examples" / "stencil" / "runs.jsonl"


def test_the_regions_are_shown_and_the_program_is_written(parcast, tmp_path):
    program = tmp_path / "program.toml"
    said = parcast("characterise", PROFILE, "-o", program)
    assert (said.status, said.err) == (0, "")
    head = said.out.splitlines()[0].split()
    assert head[:4] == ["region", "kind", "share", "calls"]
    assert "(n - 2)^2" in said.out
    here = ROOT / "examples" / "stencil" / "machine.toml"
    told = parcast("predict", program, here, "-p", "1,2", "-n", "3000")
    assert told.status == 0


def test_json_and_csv_have_the_same_rows(parcast, tmp_path):
    table = tmp_path / "regions.csv"
    said = parcast("characterise", PROFILE, "--json", "-o", table)
    document = json.loads(said.out)
    assert document["schema"] == "parcast/characterisation/1"
    assert document["inputs"]["profiles"][0]["runs"] == document["runs"]
    header, *rows = table.read_text().splitlines()
    assert header.split(",") == list(document["rows"][0])
    assert len(rows) == len(document["rows"])
    printed = parcast("characterise", PROFILE, "-o", "-")
    assert printed.out == table.read_text()


@pytest.mark.parametrize("width", ["40", "60", "80", "200"])
def test_a_narrow_page_is_not_overrun(parcast, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    said = parcast("characterise", PROFILE)
    assert max(map(len, said.out.splitlines())) <= int(width)
    assert "sweep" in said.out


def test_columns_are_left_out_one_after_another_and_small_shares_are_short(
    parcast, monkeypatch, tmp_path
):
    place = tmp_path / "runs.jsonl"
    records = [json.loads(line) for line in PROFILE.read_text().splitlines()]
    for record in records:
        for region in record["regions"]:
            if region["name"] == "change":
                region["wall_s"] *= 1e-4
                region["processor_s"] *= 1e-4
    place.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    heads = {}
    for width in (80, 72, 64):
        monkeypatch.setenv("COLUMNS", str(width))
        head, *rows = parcast("characterise", place).out.splitlines()
        heads[width] = {"kind", "imbalance"} & set(head.split())
        assert "<1%" in next(row for row in rows if row.startswith("change"))
    assert heads == {80: {"kind", "imbalance"}, 72: {"kind"}, 64: set()}


def test_a_machine_and_times_without_regions_are_read(parcast, tmp_path):
    here = ROOT / "examples" / "stencil" / "machine.toml"
    plain = tmp_path / "plain.csv"
    plain.write_text("p,n,time_s\n1,400,1e-3\n")
    said = parcast("characterise", PROFILE, "--machine", here, "--plain", plain, "--json")
    document = json.loads(said.out)
    assert document["inputs"]["machine"]["file"] == str(here)
    assert any("Counters change the time" in x for x in document["warnings"])
    assert "flop" in document["toml"]


def test_columns_of_plain_times_may_have_other_names(parcast, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("p,n,time_s\n1,400,1e-3\n")
    same = parcast("characterise", PROFILE, "--plain", plain)
    plain.write_text("ranks,n,seconds\n1,400,1e-3\n")
    options = ("--column", "p=ranks", "--column", "time_s=seconds")
    said = parcast("characterise", PROFILE, "--plain", plain, *options)
    assert (said.status, said.out) == (0, same.out)


def test_small_regions_show_their_condition_number(parcast, tmp_path):
    place = tmp_path / "cells.jsonl"
    lines = []
    for i, (n, wet, dry) in enumerate([(10, 10, 90), (20, 80, 320), (30, 270, 630)]):
        record = json.loads(PROFILE.read_text().splitlines()[0])
        total = record["regions"][0] | {
            "name": "cells",
            "kind": "complex",
            "processor_s": wet * 3e-6 + dry * 1e-6,
            "counts": {"wet": wet, "dry": dry},
        }
        record |= {"begun": 1e9 + 1e3 * i, "p": 1, "parameters": {"n": n}, "regions": [total]}
        lines.append(json.dumps(record))
    place.write_text("\n".join(lines))
    said = parcast("characterise", place)
    assert "counts      condition number of cells" in said.out
    assert "cells wet" in said.out


def test_all_that_is_wrong_with_profiles_is_told(parcast, tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text("{}\n")
    other.write_text("")
    said = parcast("characterise", one, other)
    assert said.status == 3
    assert said.err.startswith("parcast: 2 profiles: 2 problems\n")
    assert said.out == ""


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ((), 2, "PROFILE must be given. Usage: parcast characterise [OPTIONS] PROFILE..."),
        (("-", "-"), 2, "Only one file may be -, standard input."),
        (("none.jsonl",), 3, "none.jsonl: 1 problem\n  file  must exist, but is not in"),
        ((PROFILE, "-o", "x.svg"), 2, "-o must be a path that ends in .toml, .json, .csv"),
        ((PROFILE, "--clock", "sun"), 2, "--clock must be processor or wall, got 'sun'."),
    ],
)
def test_wrong_use_is_told(parcast, args, status, says):
    said = parcast("characterise", *args)
    assert said.status == status
    assert says in said.err


def test_runs_that_tell_no_times_end_with_a_status_of_their_own(parcast, tmp_path):
    record = json.loads(PROFILE.read_text().splitlines()[0])
    record |= {"p": 1, "rank": 0}
    for region in record["regions"]:
        region |= {"processor_s": 0.0, "wall_s": 0.0}
    place = tmp_path / "zero.jsonl"
    place.write_text(json.dumps(record))
    said = parcast("characterise", place)
    assert said.status == 4
    assert "has no iterations that took time" in said.err


def test_the_help_has_two_examples_and_every_status(parcast):
    said = parcast("characterise", "--help")
    assert said.out.partition("Examples:")[2].count("  parcast ") == 2
    assert all(f" {status}  " in said.out.partition("Exit status:")[2] for status in (0, 2, 3, 4))
    assert max(map(len, said.out.splitlines())) <= 80
