"""`parcast.files.document`: strict JSON, plain CSV, and files that are whole or not there."""

import csv
import io
import json
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError, RunFailed
from parcast.files.document import (
    FORMULA,
    NUMBER,
    check_place,
    csv_pieces,
    guarded,
    json_pieces,
    replacing,
    unguarded,
    write_document,
)
from parcast.mpi.folders import folder_for
from parcast.timings.columns import is_label
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.1 + 0.2, "0.3"),
        (18.999999999999996, "19.0"),
        (-103.12500000000014, "-103.125"),
        (3 * 1.1e-5, "3.3e-05"),
        (1.1e300 * 3, "3.3e+300"),
        (1 / 3, "0.3333333333333333"),
        (0.1234567890123456, "0.1234567890123456"),
        (12345678901.000002, "12345678901.000002"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
        (-0.0, "-0.0"),
        (1000000000000000, "1000000000000000"),
    ],
)
def test_numbers_are_written_without_what_rounding_left(number, written):
    assert "".join(json_pieces({"x": [{"y": [number]}], "z": number})).count(written) == 2
    assert "".join(csv_pieces([{"x": number}])) == f"x\n{written}\n"


@given(st.decimals(-(10**6), 10**6, places=4).map(float), st.floats(1e-3, 1e3))
def test_what_was_given_stays(given, measured):
    """Numbers as people write them, and measured ones of all digits."""
    document = {"given": given, "measured": measured}
    assert json.loads("".join(json_pieces(document)))["given"] == given


names = st.text().filter(is_label)


@given(st.lists(st.fixed_dictionaries({"name": names, "p": st.integers()}), min_size=1))
def test_csv_is_read_back_equal(rows):
    text = "".join(csv_pieces(rows, exact=True))
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [{**row, "name": unguarded(row["name"])} for row in read] == [
        {"name": row["name"], "p": str(row["p"])} for row in rows
    ]


def test_text_for_people_holds_no_character_that_a_terminal_obeys():
    text = "".join(csv_pieces([{"name": "a\x1b[31m" + "x" * 20_000, "p": 1}]))
    assert text == "name,p\na\\x1b[31m" + "x" * 20_000 + ",1\n"


@pytest.mark.parametrize("text", ["=1+1", "@x", "+x", "-x", "=\n1", "-1+1", "-5 %%", "'=x", "+1e"])
def test_what_a_spreadsheet_takes_for_a_formula_has_an_apostrophe(text):
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-", "-5", "+.5e-3", "-5%", "+1,234.5", "5%", "x=1", "", "'x"])
def test_numbers_and_names_have_none(text):
    assert guarded(text) == text


def test_a_page_saves_cells_by_the_same_rule():
    script = (ROOT / "src/parcast/show/page/page.js").read_text(encoding="utf-8")
    assert f"const FORMULA = /^(?:{FORMULA.pattern})/;" in script
    assert f"const NUMBER = /^(?:{NUMBER.pattern})$/;" in script


def test_a_document_takes_the_place_of_a_file_and_keeps_who_may_read_it(tmp_path, file):
    path = file("old", "result.json")
    path.chmod(0o640)
    write_document(path, ["new ", "\u00b5"])
    assert path.read_bytes() == "new \u00b5".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.fault(
    "Output files",
    "The umask leaves nobody the rights to new files.",
    promise="Refused before anything is computed, with status 4; no file is made.",
)
@pytest.mark.parametrize("mask", [0o777, 0o200])
def test_a_umask_that_leaves_no_rights_is_told(tmp_path, mask):
    before = os.umask(mask)
    try:
        for use in (check_place, lambda path: write_document(path, ["p\n"])):
            with pytest.raises(RunFailed, match=f"the umask {mask:03o} leaves .*umask 022$"):
                use(tmp_path / "result.csv")
        with (
            pytest.raises(RunFailed, match=f"the umask {mask:03o} leaves you no rights"),
            folder_for("parcast-x-", tmp_path),
        ):
            pass
    finally:
        assert os.umask(before) == mask
    assert not os.listdir(tmp_path)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "folder" / "result.csv")
    write_document(tmp_path / "link.csv", ["p\n"])
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "folder" / "result.csv").read_text() == "p\n"


@pytest.mark.fault(
    "Output files",
    "The disk is full.",
    promise="The file is named; what was there before stays; no draft is left.",
)
def test_failing_half_way_leaves_the_old_file_and_no_draft(tmp_path, file):
    path = file("old", "result.json")

    def breaks_off():
        yield "half"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space") as caught:
        write_document(path, breaks_off())
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.fault(
    "Output files",
    "Ctrl-C while a file is written.",
    promise="What was there before stays; no draft is left.",
)
def test_interrupting_leaves_no_draft(tmp_path):
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "figure.svg") as draft:  # noqa: PT012 - what is tested is the exit in mid-write
        draft.write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.fault(
    "Output files", "The output is a pipe.", promise="It is written to, not replaced."
)
@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="Windows has no named pipes in the file system to write to"
)
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "result.csv"
    os.mkfifo(pipe)
    check_place(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_document(pipe, ["p\n", "1\n"])
    reader.join(timeout=10)
    assert read == ["p\n1\n"]
    assert pipe.is_fifo()


@pytest.mark.fault(
    "Output files",
    "The folder cannot be written to, or does not exist.",
    promise="Refused before anything is computed, with status 2.",
)
def test_a_place_without_a_folder_is_refused(tmp_path):
    path = tmp_path / "no folder" / "result.csv"
    with pytest.raises(ParameterError) as caught:
        check_place(path)
    make = f"mkdir -p '{os.path.realpath(path.parent)}'"
    assert str(caught.value) == f"{path} must be in a folder that exists. Make it: {make}"


@pytest.mark.fault(
    "Output files",
    "The folder cannot be written to, or does not exist.",
    promise="Refused before anything is computed, with status 2.",
)
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch, refusal):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("parcast.files.document._new_draft", refuse)
    assert refusal(ParameterError, check_place, tmp_path / "result.csv") == (
        f"{tmp_path / 'result.csv'} must be in a folder that can be written to, got: permission "
        "denied. Choose another place."
    )


def test_drafts_that_a_killed_process_left_are_removed_before_the_next_output(tmp_path):
    code = (
        "import os, sys; from parcast.files.document import replacing\n"
        "with replacing(sys.argv[1]) as draft: draft.write_text('half'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.csv")], check=False)
    [left] = tmp_path.iterdir()
    with replacing(tmp_path / "b.csv") as used:
        check_place(tmp_path / "c.csv")
        assert list(tmp_path.iterdir()) == [used]
    assert not left.exists()


@pytest.mark.fault(
    "Output files",
    "The file is read-only.",
    promise="Refused before anything is computed, with status 2; the file stays as it is.",
)
def test_a_file_that_may_only_be_read_is_refused_and_kept(tmp_path, file, refusal):
    path = file("old", "my result.csv")
    path.chmod(0o444)
    assert refusal(ParameterError, check_place, path) == (
        f"{path} must be a file that may be written, got a read-only one. "
        f"Choose another name, or allow it: chmod u+w '{path}'"
    )
    with pytest.raises(PermissionError, match="it is read-only"):
        write_document(path, ["new"])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["my result.csv"]
