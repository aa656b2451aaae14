"""A page of a report where the disk is full, and where two reports are written to one path."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from parcast.show.page.page import Answer, save_page
from parcast.show.sheet import Sheet
from tests.conftest import TIMES

# A disk that is really full: a tmpfs of 12 kB, mounted in a name space of its own.
MOUNTED = """
mount -t tmpfs -o size=12k none small && echo old > small/report.html && "$@"
status=$?; ls -A small >&2; cat small/report.html >&2; exit $status
"""


@pytest.mark.fault(
    "Output files",
    "The disk is full while `parcast report` writes a page.",
    promise="Status 2; the file is named; an old page stays; no draft is left.",
)
def test_a_page_on_a_full_disk_leaves_the_old_one(tmp_path):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare -rm is not permitted here, so no file system can be mounted")
    (tmp_path / "small").mkdir()
    (tmp_path / "times.csv").write_text(TIMES)
    report = ["-m", "parcast", "report", "times.csv", "-o", "small/report.html"]
    command = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", sys.executable, *report]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2, done.stderr
    *said, files, page = done.stderr.splitlines()
    assert "small/report.html" in said[-1]
    assert "no space left on device" in said[-1]
    assert (files, page) == ("report.html", "old")


@pytest.mark.fault(
    "Output files",
    "Two reports are written to one path at once.",
    promise="Whoever opens it sees a whole page of one of them; no draft is left.",
)
def test_two_pages_to_one_path_are_each_whole(tmp_path):
    place = tmp_path / "report.html"
    answers = [[Answer(sheets=[Sheet(title=x * 2000)])] for x in "ab"]
    save_page(place, answers[0])
    seen = set()
    with ThreadPoolExecutor(2) as both:
        writing = [both.submit(save_page, place, answers[i % 2]) for i in range(40)]
        while not all(x.done() for x in writing):
            text = place.read_text(encoding="utf-8")
            assert text.endswith("</html>\n")
            seen.add("".join(sorted({x for x in "ab" if x * 2000 in text})))
    assert [x.result() for x in writing] == [None] * 40
    assert seen <= {"a", "b"}
    assert [x.name for x in tmp_path.iterdir()] == ["report.html"]
