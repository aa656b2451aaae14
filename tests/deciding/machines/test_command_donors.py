"""`parcast match --donors` and `--target`: who is ranked, who helps, and what is refused."""

import json

import pytest

from tests.deciding.machines.test_command import FILES, PROGRAM, TIMES


def lines(*machines, upto=64):
    """A table of the runs on some machines of the example."""
    rows = [row.split(",") for row in TIMES.read_text().splitlines() if row[:1] not in "#m"]
    kept = [row for row in rows if row[0] in machines and int(row[1]) <= upto]
    return "machine,p,time_s\n" + "".join(",".join(row) + "\n" for row in kept)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder to stand in, with good tables and bad ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.csv").write_text(lines("T3E", upto=4))
    (tmp_path / "two.csv").write_text(lines("T3E", "SP", upto=4))
    (tmp_path / "elsewhere.csv").write_text(lines("SP", "O2000"))
    (tmp_path / "whole.csv").write_text(lines("T3E", upto=4) + lines("SP", "O2000")[17:])
    (tmp_path / "unnamed.csv").write_text("p,time_s\n1,10\n2,6\n")
    (tmp_path / "sizes.csv").write_text("machine,p,n,time_s\nX,1,5,10\nX,2,5,6\n")
    (tmp_path / "two_sizes.csv").write_text(
        "machine,p,n,time_s\n" + "".join(f"{x},{p},5,{9 / p}\n" for x in "XY" for p in (1, 2))
    )
    paths = "".join(f"X,{path},{p},{9 / p}\n" for path in "ab" for p in (1, 2))
    (tmp_path / "paths.csv").write_text(f"machine,callpath,p,time_s\n{paths}")


def said_in(answer):
    assert (answer.status, answer.err) == (0, "")
    return json.loads(answer.out)


def test_a_file_of_donors_helps_and_is_not_ranked(parcast):
    asked = ("match", "here.csv", "-p", "16,64", "--beyond", "--json")
    alone, told = said_in(parcast(*asked)), said_in(parcast(*asked, "--donors", "elsewhere.csv"))
    assert [row["machine"] for row in told["ranking"]] == ["T3E"]
    assert told["rows"][1]["time_s"] > 2 * alone["rows"][1]["time_s"]
    assert told["law"] == "forecast of T3E from its runs and those on the donors O2000, SP"
    (source,) = told["inputs"]["donors"]
    assert (source["file"], source["measurements"]) == ("elsewhere.csv", 14)
    assert told["inputs"]["options"]["donors"] == ["elsewhere.csv"]
    assert "donors" not in alone["inputs"]


def test_a_target_is_forecast_as_the_command_forecast_does(parcast):
    asked = ("whole.csv", "--target", "T3E", "-p", "8,16", "--json")
    ranked, told = (said_in(parcast(command, *asked)) for command in ("match", "forecast"))
    assert [row["machine"] for row in ranked["ranking"]] == ["T3E"]
    times = [[row["time_s"] for row in document["rows"]] for document in (ranked, told)]
    assert times[0] == pytest.approx(times[1])
    donors = ("match", "here.csv", "--donors", "elsewhere.csv", "-p", "8,16", "--json")
    assert said_in(parcast(*donors))["rows"] == ranked["rows"]


def test_the_file_of_a_donor_is_left_out_and_told(parcast):
    said = parcast(*("match", "here.csv", *FILES), *("-p", "8", "--donors", "elsewhere.csv"))
    assert "SP is not ranked. Its runs are donors, which are not ranked." in said.out


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        (["here.csv", "--donors", "elsewhere.csv"], "elsewhere.csv"),
        (["whole.csv", "--target", "T3E"], "whole.csv"),
    ],
)
def test_donors_that_stand_in_another_table_too_count_once(parcast, tmp_path, asked, whole):
    (tmp_path / "part.csv").write_text(lines("O2000", upto=8))
    asked = ("match", *asked, "-p", "16,64")
    once, twice = parcast(*asked), parcast(*asked, "--donors", "part.csv")
    assert (twice.status, twice.out) == (0, once.out)
    said = f"all its runs are in {whole} as well. They are used once."
    assert twice.err == f"parcast: part.csv: {said}\n"


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("two.csv", "--donors", "nowhere.csv"), 3, "nowhere.csv"),
        (("two.csv", "--donors", "sizes.csv"), 2, "columns as all other tables, got no n in two"),
        (("here.csv", "--donors", "paths.csv"), 2, "where the measurements name none, got 2"),
        (("two.csv", "--donors", "here.csv", "-o", "here.csv"), 2, "here.csv"),
        (("two.csv", "--target", "T3D"), 2, "got 'T3D'. Did you mean T3E?"),
        (("unnamed.csv", "--target", "SP"), 2, "--target must be a machine of unnamed.csv, which"),
        (
            (PROGRAM, FILES[0], "-p", "4", "--donors", "here.csv"),
            2,
            "--donors requires TIMINGS, but ",
        ),
    ],
)
def test_what_cannot_be_asked_is_told(parcast, args, status, says):
    said = parcast("match", *args)
    assert (said.status, said.out) == (status, ""), said.err
    assert says in said.err


@pytest.mark.parametrize(
    ("other", "says"),
    [("elsewhere.csv", "given twice"), ("copy.csv", "the same as elsewhere.csv")],
)
def test_a_file_of_donors_given_twice_counts_once(parcast, tmp_path, other, says):
    (tmp_path / "copy.csv").write_bytes((tmp_path / "elsewhere.csv").read_bytes())
    asked = ("match", "two.csv", "-p", "16,64", "--donors", "elsewhere.csv")
    once, twice = parcast(*asked), parcast(*asked, "--donors", other)
    assert (twice.status, twice.out) == (0, once.out)
    assert twice.err == f"parcast: {other} is {says}. It is used once.\n"
