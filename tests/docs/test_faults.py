"""The page of faults is made from the tests that show what it promises.

A test with the marker `fault` is a row of it. PARCAST_REWRITE=1 writes the page anew.
"""

import json
import os
import subprocess
import sys
from textwrap import fill

from tests.conftest import ROOT
from tests.fuzzing.test_readers import QUICK

PAGE = ROOT / "docs" / "reference" / "faults.md"
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))
WIDTH = 118
SUBJECTS = {
    "Files that are read": f"Each of {len(QUICK)} readers is given valid documents of its "
    "formats, and the same with mutations. `make fuzz` does so for as long as you like; each "
    "document that ever failed stays in `tests/fuzzing`.",
    "Arguments within their limits": "Calls with random arguments, within the "
    "[limits](limits.md) that each function states.",
    "Output files": "A file that `-o` names is written beside its place and then takes it.",
    "Signals": "Ctrl-C is SIGINT.",
    "Ranks and processes": "Programs on MPI ranks, and those in the cluster in a box. Ranks that "
    "parcast starts (`-np 4`, `ranks=4`) it also ends, and removes what they leave. Under your "
    "own `mpiexec` or `srun`, that launcher ends them; the shared memory of killed ranks "
    "(`/dev/shm/mpich_*`) is removed by the next start of ranks on the same host, or by `parcast "
    "arrays verify STORE --sweep`, if it is yours and no process has it open or mapped.",
    "Stores of arrays": "What may happen to a store is explained in [files of "
    "arrays](array-files.md).",
    "Pipelines": "`parcast run pipeline`, `parcast.run_pipeline` and what is built on them.",
    "The what-if page": "`parcast web`, which listens on 127.0.0.1.",
    "Measuring": "Benchmarks of `parcast calibrate`, and profiles of `parcast.region`.",
}
TOP = """# Faults

What was tried, and what is promised: the exit status, what is left on disk, and bounds of time and
memory. Each row is shown by tests that run with `make test`, from which this page is made. [What
input is trusted](../../SECURITY.md).
"""
COLLECTED = """
import json, pytest, sys

class Marks:
    def pytest_collection_finish(self, session):
        found = [(m.args, m.kwargs) for x in session.items for m in x.iter_markers("fault")]
        with open(sys.argv[1], "w") as stream:
            json.dump(found, stream)

sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[2:]], [Marks()]))
"""


def marked_files():
    marked = (
        x for x in (ROOT / "tests").rglob("test_*.py") if "@pytest.mark.fault(" in x.read_text()
    )
    return sorted(marked)


def marks(session, place):
    """Give the marks of all tests."""
    files = marked_files()
    if {*files} <= {item.path for item in session.items}:
        return [(m.args, m.kwargs) for x in session.items for m in x.iter_markers("fault")]
    run = [sys.executable, "-c", COLLECTED, place, *files]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return json.loads(place.read_text())


def page_of(found):
    """Lay the page out: a table for each subject, its rows in the order of their words."""
    rows = {subject: set() for subject in SUBJECTS}
    for (subject, what), keys in found:
        rows[subject].add((what, keys["promise"]))
    text = [TOP]
    for subject, remark in SUBJECTS.items():
        text += [f"\n## {subject}\n\n{fill(remark, WIDTH)}\n"]
        text += ["\n| what happens | what is promised |\n|---|---|\n"]
        text += [f"| {what} | {promise} |\n" for what, promise in sorted(rows[subject])]
    return "".join(text)


def test_the_page_has_what_the_tests_show(request, tmp_path):
    page = page_of(marks(request.session, tmp_path / "marks.json"))
    if REWRITE:
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
