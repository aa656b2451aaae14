"""`parcast.importers.content`: what is no text or no JSON is refused, however long it is."""

import pytest

from parcast.errors import FileProblems
from parcast.files.faults import Faults
from parcast.importers import content
from parcast.importers.content import first_line, json_document, text_lines


@pytest.fixture
def file(tmp_path):
    def write(some):
        path = tmp_path / "file"
        path.write_bytes(some)
        return path

    return write


def refusal(read, path):
    """What is said about a file, without its name and the number of faults."""
    with pytest.raises(FileProblems) as caught:
        list(read(path, Faults("file")))
    return str(caught.value).splitlines()[1].strip()


def test_lines_are_numbered_as_an_editor_does_and_a_byte_order_mark_is_dropped(file):
    path = file(b"\xef\xbb\xbfone\r\n\r\n  two\nthree")
    assert list(text_lines(path, Faults("file"))) == [(1, "one"), (3, "two"), (4, "three")]
    assert first_line(path, Faults("file")) == "one"
    assert json_document(file(b'\xef\xbb\xbf{"a": [1]}'), Faults("file")) == {"a": [1]}


@pytest.mark.parametrize("read", [text_lines, first_line, json_document])
@pytest.mark.parametrize(
    ("some", "says"),
    [
        (b"", "file  must contain measurements, got an empty file."),
        (b"\n \n", "file  must contain measurements, got an empty file."),
        (b"PK\x03\x04", "file  must be unpacked, got a zip archive. Unpack it: unzip file"),
        (b"\x1f\x8b", "file  must be unpacked, got a gzip archive. Unpack it: gzip -dc <"),
        ("a".encode("utf-16"), "file  must be UTF-8, got UTF-16. Convert it: iconv -f UTF-16"),
    ],
)
def test_what_is_no_text_is_refused(read, file, some, says):
    assert refusal(read, file(some)).startswith(says)


def test_a_byte_that_is_not_utf8_is_named_with_its_line(file):
    path = file(b'{"a":\n\n"J\xfclich"}')
    says = "line 3  must be UTF-8, got the byte 0xfc. Save it as UTF-8."
    assert refusal(json_document, path) == says
    assert refusal(text_lines, path) == says


def test_what_is_too_long_is_refused(file, monkeypatch):
    monkeypatch.setattr(content, "LONGEST_LINE", 2**20)
    assert refusal(text_lines, file(b"a" * (2**20 + 1))) == (
        "line 1  must be lines of up to 1 MiB, got a longer one. Name the format if it is another."
    )
    monkeypatch.setattr(content, "LARGEST_DOCUMENT", 1_000_000)
    assert refusal(json_document, file(b" " * 1_000_001)) == (
        "file  must have at most 1 MB, got more. Split it, or write the runs line by line."
    )


@pytest.mark.parametrize(
    ("some", "says"),
    [
        (b"[" * 100_000, "line 1  must be JSON that can be read, got objects nested too"),
        (b'{\n"a": ', "line 2  must be complete JSON, got an early end. The file may have"),
        (b'{\n"a": "b', "line 2  must be complete JSON, got an early end."),
        (b'{\n"a" 1}', "line 2  must be JSON, got '1}' at column 5. Correct it there"),
        (b"{} {}", "line 1  must be JSON, got '{}' at column 4."),
    ],
)
def test_json_that_cannot_be_read_is_refused_with_its_place(file, some, says):
    assert refusal(json_document, file(some)).startswith(says)


@pytest.mark.parametrize("part", ["[],", '{"a":0},', '"ab",', "0.5,"])
def test_json_whose_objects_would_fill_the_memory_is_refused_before_it_is_parsed(
    part, file, monkeypatch
):
    """500 MB of empty lists would take 10 GB."""
    monkeypatch.setattr(content, "LARGEST_OBJECTS", 10_000_000)
    path = file(f"[{part * 400_000}0]".encode())
    monkeypatch.setattr(content.json, "loads", lambda *_, **__: pytest.fail("parsed"))
    assert refusal(json_document, path).startswith(
        "line 1  must be JSON whose objects take at most 10 MB of memory, got up to "
    )
