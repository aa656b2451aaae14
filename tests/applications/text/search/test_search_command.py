"""`parcast run search`: hits for a person, as JSON and CSV, and its exit statuses."""

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three texts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Latency is the time of an empty message.")
    (tmp_path / "docs" / "b.txt").write_text("Bandwidth and latency; latency again.")
    (tmp_path / "docs" / "c.txt").write_text("Nothing of the kind.")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_hits_are_shown_with_the_words_marked(parcast):
    said = parcast("run", "search", "docs", "-q", "latency message", "-q", "absent")
    assert (said.status, said.err) == (0, "")
    assert "3 documents searched" in said.out
    assert "docs/a.txt  *Latency* is the time of an empty *message*." in said.out
    assert "docs/b.txt  Bandwidth and *latency*; *latency* again." in said.out
    assert "absent: no document has any of its words" in said.out
    assert "BM25, k1 = 1.2, b = 0.75" in said.out


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["docs", "-q", "absent"], 1, ""),
        (["docs"], 2, "-q or --queries must be given."),
        (["docs", "-q", "!"], 2, "-q must hold a word, got '!'."),
        (["docs", "-q", "a", "--b", "2"], 2, "--b must lie in [0, 1], got 2."),
        (["docs", "-q", "a", "--k1", "x"], 2, "--k1"),
        (["docs", "-q", "a", "-n", "0"], 2, "-n must be a whole number of at least 1"),
        (["docs", "-q", "a", "--encoding", "nine"], 2, "--encoding must be an encoding"),
        (["docs", "-q", "a", "-o", "hits.txt"], 2, "-o must be a path that ends in .csv, .json"),
        (
            ["docs", "-q", "a", "-o", "docs/old.csv"],
            2,
            "-o must be another file than the one that",
        ),
        (["none", "-q", "a"], 3, "must exist"),
        (["docs", "--queries", "none.txt"], 3, "none.txt: 1 problem"),
        (["docs", "--queries", "docs/empty"], 3, "must hold a query on a line, got none."),
        (["docs", "-q", "a", "--format", "jsonl"], 3, "must be a JSON object"),
    ],
)
def test_what_cannot_be_answered_has_its_status(parcast, folder, arguments, status, says):
    if "docs/old.csv" in arguments:
        (folder / "docs" / "old.csv").write_text("rank,score\n")
    if "docs/empty" in arguments:
        (folder / "docs" / "empty").write_text("\n \n")
    said = parcast("run", "search", *arguments)
    assert said.status == status, said.err
    assert says in said.err
    assert "Traceback" not in said.err
    if status > 1:
        assert said.out == ""
