"""`parcast forecast --donors` and `--target`: files of other machines on the command line."""

import json

import pytest


def csv(machines, *, more=""):
    """A table of machines that all follow one law."""
    rows = (
        f"{machine},{p},{scale * (5 + 95 / p)}{more}\n"
        for machine, scale in machines.items()
        for p in (1, 2, 4, 8, 16)
    )
    return "".join(rows)


@pytest.fixture
def elsewhere(file):
    return file("machine,p,time_s\n" + csv({"SP": 3, "T3E": 1}), "elsewhere.csv")


@pytest.fixture
def here(file):
    return file("p,time_s\n2,105\n", "here.csv")


def said_in(answer):
    assert (answer.status, answer.err) == (0, "")
    return json.loads(answer.out)


def test_a_target_leaves_the_other_machines_as_donors(parcast, elsewhere, file):
    more = file("machine,p,time_s\n" + csv({"X": 4}), "more.csv")
    asked = ("forecast", elsewhere, "--target", "SP", "-p", "64", "--json")
    donors = said_in(parcast(*asked))["series"][0]["donors"]
    assert [x["machine"] for x in donors] == ["T3E"]
    donors = said_in(parcast(*asked, "--donors", more))["series"][0]["donors"]
    assert {x["machine"] for x in donors} == {"T3E", "X"}


def test_a_target_that_stands_alone_has_a_plain_forecast(parcast, file):
    alone = file("machine,p,time_s\n" + csv({"SP": 3}), "alone.csv")
    asked = ("forecast", alone, "-p", "64", "--json")
    plain, told = said_in(parcast(*asked)), said_in(parcast(*asked, "--target", "SP"))
    assert told["rows"] == plain["rows"]
    assert told["inputs"]["donors"] == []


def test_a_column_that_only_donors_have_is_passed_over(parcast, here, file):
    more = file("machine,p,time_s,date\n" + csv({"X": 4, "Y": 3}, more=",Monday"), "more.csv")
    asked = ("forecast", here, "--donors", more, "-p", "16", "--json", "--ignore")
    assert len(said_in(parcast(*asked, "date"))["series"][0]["donors"]) == 2
    refused = parcast(*asked, "dat")
    assert refused.status == 2
    assert "--ignore must name columns of " in refused.err
    assert refused.err.endswith("here.csv, got 'dat'. There are p, time_s.\n")


def test_columns_have_other_names_in_the_files_that_have_them(parcast, here, file):
    more = file("machine,p,time_s\n" + csv({"X": 4, "Y": 3}), "more.csv")
    asked = ("forecast", here, "--donors", more, "-p", "16", "--json")
    same = said_in(parcast(*asked))
    here.write_text(here.read_text().replace("p,time_s", "ranks,seconds"))
    more.write_text(more.read_text().replace("machine,p", "site,ranks"))
    called = ("ranks", "p"), ("seconds", "time_s"), ("site", "machine")
    options = [part for old, new in called for part in ("--column", f"{new}={old}")]
    said = said_in(parcast(*asked, *options))
    assert said["rows"] == same["rows"]


def test_a_column_is_passed_over_in_the_files_that_have_it(parcast, tmp_path):
    here, donors = tmp_path / "mine.csv", tmp_path / "theirs.csv"
    here.write_text("p,job,time_s\n4,17,25\n")
    donors.write_text("p,machine,jobs,time_s\n4,X,1,20\n16,X,1,6\n4,Y,1,30\n16,Y,1,9\n")
    said = parcast("forecast", here, "-p", "16", "--donors", donors, "--ignore", "job")
    assert (said.status, said.err) == (0, "")


def test_a_file_given_twice_counts_once(parcast, here, elsewhere, file):
    once = parcast("forecast", here, "-p", "16", "--donors", elsewhere)
    copy = file(elsewhere.read_bytes(), "copy.csv")
    for other, says in ((elsewhere, "given twice"), (copy, f"the same as {elsewhere}")):
        twice = parcast("forecast", here, "-p", "16", "--donors", elsewhere, "--donors", other)
        assert (twice.status, twice.out) == (0, once.out)
        assert twice.err == f"parcast: {other} is {says}. It is used once.\n"


def test_runs_that_stand_in_two_files_count_once(parcast, here, elsewhere, file):
    once = parcast("forecast", here, "-p", "16", "--donors", elsewhere)
    part = file("p,time_s,machine\n1,300,SP\n2,157.5,SP\n", "part.csv")
    twice = parcast("forecast", here, "-p", "16", "--donors", part, "--donors", elsewhere)
    assert (twice.status, twice.out) == (0, once.out)
    assert (
        twice.err
        == f"parcast: {part}: all its runs are in {elsewhere} as well. They are used once.\n"
    )
