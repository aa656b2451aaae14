"""`parcast run pipeline`: jobs, items, outputs, and what is refused."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.pipeline.options import command_of

COUNT = """
from collections import Counter
from pathlib import Path

merge = "counts"


def task(path):
    return Counter(Path(path).read_text().split())
"""
NUMBERS = """
import numpy as np

def items(end):
    return range(int(end))

def task(n):
    return np.array([n, 1])
"""
WORDS = """
def items(*words):
    return words
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two jobs and three texts, one of them deeper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("count_words_of_test", "numbers_of_test", "job_of_test", "words_of_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "count_words_of_test.py").write_text(COUNT)
    (tmp_path / "numbers_of_test.py").write_text(NUMBERS)
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    (tmp_path / "texts" / ".hidden").write_text("never read")
    (tmp_path / "texts" / "b.txt").write_text("to be")
    (tmp_path / "texts" / "a.txt").write_text("or not")
    (tmp_path / "texts" / "deep" / "c.txt").write_text("to be")
    return tmp_path


def job(folder, text):
    """Write a job, whose items are by default the words that it is given."""
    (folder / "job_of_test.py").write_text(text if "items" in text else WORDS + text)
    return "job_of_test.py"


def load(path):
    if path.suffix.startswith(".json"):
        return json.loads(path.read_text(), parse_constant=int)  # int refuses NaN
    return pickle.loads(path.read_bytes()) if path.suffix == ".pickle" else np.load(path).tolist()


BAD_ITEM = """
import time
from pathlib import Path

items = range(40)
kept = Path("kept").absolute()

def task(item):
    end = time.monotonic() + 30
    while item == 30 and kept.exists() and time.monotonic() < end:
        if (kept / "checkpoint.json").exists():  # one was written
            break
        time.sleep(0.01)
    return 1 // (30 - item)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_failure_is_mended_with_options(parcast, folder, ranks):
    """Its advice is what can be written in a command line, not an argument of Python."""
    kept = (
        () if ranks == 1 else ("--checkpoint", "kept", "--checkpoint-every", "1ms", "--batch", "1")
    )
    said = parcast("run", "pipeline", job(folder, BAD_ITEM), "-np", ranks, *kept)
    assert said.status == 4
    assert said.err.startswith("parcast: Item 30 failed")
    assert "Correct it, or skip such items with --skip-errors.\nTraceback" in said.err
    assert said.err.endswith("go on with --resume.\n") == (ranks == 2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ranks", [1, 2])
def test_words_of_a_folder_are_counted(parcast, ranks):
    said = parcast(
        "run", "pipeline", "count_words_of_test.py", "texts", "-np", ranks, "-o", "counts.json"
    )
    assert (said.status, said.err) == (0, "")
    assert json.loads(Path("counts.json").read_text()) == {"or": 1, "not": 1, "to": 2, "be": 2}
    assert f"count_words_of_test: 3 items on {ranks} rank" in said.out


@pytest.mark.parametrize(
    ("task", "output", "other"),
    [
        ("1j", "value.json", "value.json.pickle"),
        ("3", "value.csv", "value.csv.json"),
        ("'abc'", "value.csv", "value.csv.json"),
        ("{1j: 2}", "value.npy", "value.npy.pickle"),
    ],
)
def test_a_value_that_does_not_fit_is_written_beside_the_output(
    parcast, folder, task, output, other
):
    name = job(folder, f"def task(item):\n    return {task}\n")
    said = parcast("run", "pipeline", name, "x", "-o", output, "-o", "whole.pickle")
    assert said.status == 2
    value = pickle.loads(Path("whole.pickle").read_bytes())
    assert f"parcast: {output} cannot hold a value of type {type(value).__name__}: " in said.err
    assert f"The value was written to {other}." in said.err
    assert f"value       {value!r}" in said.out
    assert not Path(output).exists()
    assert load(Path(other)) == value


@pytest.mark.fault(
    "Pipelines",
    "The disk is full where the value of a run is written.",
    promise="Status 2; the value is written elsewhere, and the message says where.",
)
@pytest.mark.parametrize("output", ["full.json", "full.npy", "full.pickle"])
@pytest.mark.usefixtures("folder")
def test_a_value_is_not_lost_if_the_disk_is_full(parcast, monkeypatch, tmp_path, output):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Path(output).symlink_to("/dev/full")
    said = parcast("run", "pipeline", "numbers_of_test.py", "5", "-o", output, "-o", "well.json")
    assert said.status == 2
    [other] = tmp_path.glob(f"parcast-*/{output}")
    why = "no space left on device"
    assert (
        said.err
        == f"parcast: {output} cannot be written: {why}. The value was written to {other}.\n"
    )
    assert np.array_equal(load(other), [10, 5])
    assert json.loads(Path("well.json").read_text()) == [10, 5]


def test_a_value_that_cannot_be_written_at_all_is_shown(parcast, folder):
    name = job(folder, "def task(item):\n    return (x for x in item)\n")
    said = parcast("run", "pipeline", name, "abc", "-o", "value.json")
    assert said.status == 2
    assert "No other file could be written either." in said.err
    assert "value       <generator object" in said.out
    assert [x.name for x in folder.glob("value*")] == []


@pytest.mark.parametrize("option", ["--json", "-o-"])
def test_a_value_that_cannot_be_printed_is_kept(parcast, folder, monkeypatch, option):
    """In the temporary folder, not in a file of the current one that nobody named."""
    name = job(folder, "def task(item):\n    return 1j\n")
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    before = {*folder.iterdir()}
    said = parcast("run", "pipeline", name, "x", option)
    assert said.status == 2
    [other] = folder.glob("tmp/parcast-*/job_of_test.pickle")
    assert said.err.endswith(
        f"cannot be printed: JSON has no complex. The value was written to {other}.\n"
    )
    assert load(other) == 1j
    assert said.out == "" or json.loads(said.out)["items"] == 1
    assert {x for x in folder.iterdir() if x.name != "__pycache__"} == before


@pytest.mark.parametrize(
    ("value", "output", "why"),
    [
        ("{0: 1, '0': 2, None: 3}", "a.json", "its keys 0 and '0' are written as the same text"),
        ("{'null': 1, None: 3}", "a.json", "its keys 'null' and None are written as the same"),
        ("{'a': {1: 2, '1': 3}}", "a.json", "its keys 1 and '1' are written as the same text"),
        ("{('a', 'b'): 3}", "a.json", "JSON has no keys of type tuple"),
        ("[{0: 1, '0': 2}]", "a.csv", "its keys 0 and '0' are written as the same text"),
        ("{'a': b'b'}", "a.csv", "JSON has no bytes"),
        ("[(0, 'ü')]", "a.npy", "as one array it would have other elements than these"),
        ("[2**63 + 1, -1]", "a.npy", "as one array it would have other elements than these"),
        ("['a\\0']", "a.npy", "as one array it would have other elements than these"),
    ],
)
def test_no_part_of_a_value_is_lost_in_a_file(parcast, folder, value, output, why):
    name = job(folder, f"def task(item):\n    return {value}\n")
    said = parcast("run", "pipeline", name, "x", "-o", output, "--merge", "sum")
    assert said.status == 2
    assert why in said.err
    assert said.err.endswith(f"The value was written to {output}.pickle.\n")
    assert not Path(output).exists()
    assert load(Path(f"{output}.pickle")) == eval(value)


def test_an_array_without_its_mask_is_not_written(parcast, folder):
    text = "import numpy as np\ndef task(item):\n    return np.ma.array([1, 2], mask=[0, 1])\n"
    outputs = [x for end in ("npy", "json", "csv") for x in ("-o", f"a.{end}")]
    said = parcast("run", "pipeline", job(folder, text), "x", *outputs)
    assert said.status == 2
    assert "a.npy cannot hold a value of type MaskedArray: the format has no masks." in said.err
    assert pickle.loads(Path("a.npy.pickle").read_bytes()).tolist() == [1, None]
    assert load(Path("a.json")) == [1, None]
    assert Path("a.csv").read_text() == 'value\n1\n""\n'


def test_numbers_that_are_not_finite_are_null_with_a_warning(parcast, folder):
    """JSON has none, and readers of it would refuse the whole file."""
    text = "from math import inf, nan\ndef task(item):\n    return {'a': [nan, 1.5], 'b': inf}\n"
    name, outputs = job(folder, text), ["-o", "a.json", "-o", "a.csv"]
    said = parcast("run", "pipeline", name, "x", *outputs, "--json", "--merge", "counts")
    assert said.status == 0
    value = {"a": [None, 1.5], "b": None}
    assert load(Path("a.json")) == json.loads(said.out)["value"] == value
    assert Path("a.csv").read_text() == 'key,value\na,"[null, 1.5]"\nb,\n'
    for place, written in (("a.json", "null"), ("a.csv", "empty cells"), ("--json", "null")):
        says = f"parcast: {place}: 2 numbers are not finite, written as {written}."
        assert f"{says} .npy and .pickle keep them.\n" in said.err
    assert parcast("run", "pipeline", name, "x", "--every", "1", "-o", "a.jsonl").status == 0
    assert load(Path("a.jsonl"))["value"] == value


def test_names_of_files_that_are_not_utf8_are_kept(parcast, folder):
    """Escaped in JSON, which reads them back; a table cannot have them."""
    name = job(folder, "def task(item):\n    return {'b\\udce4r.txt': 1}\n")
    outputs = ["-o", "a.json", "-o", "a.csv"]
    said = parcast("run", "pipeline", name, "x", "--merge", "counts", "--json", *outputs)
    assert said.status == 2
    assert json.loads(said.out)["value"] == {"b\udce4r.txt": 1}
    assert Path("a.json").read_bytes() == b'{"b\\udce4r.txt": 1}\n'
    assert load(Path("a.csv.json")) == {"b\udce4r.txt": 1}
    assert "its text 'b\\udce4r.txt' is not Unicode, such as a file name that is" in said.err
    said = parcast("run", "pipeline", name, "x", "--merge", "counts", "-o-")
    assert (said.status, said.out) == (0, '{"b\\udce4r.txt": 1}\n')


@pytest.mark.usefixtures("folder")
def test_reductions_are_added_to_a_file(parcast):
    options = ["--every", "2", "-o", "sums.jsonl"]
    assert parcast("run", "pipeline", "numbers_of_test.py", "5", *options).status == 0
    rows = [json.loads(line) for line in Path("sums.jsonl").read_text().splitlines()]
    assert [(row["first"], row["stop"], row["value"]) for row in rows] == [
        (0, 2, [1, 2]),
        (2, 4, [5, 2]),
        (4, 5, [4, 1]),
    ]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", [], "-o must be given with --every."),
        ("", ["-o", "a.json"], "-o must be one path that ends in .jsonl or .pickle with --every"),
        ("", ["-o", "a.jsonl", "-o", "b.jsonl"], "-o must be one path that ends in .jsonl"),
        ("server = print\n", ["-o", "a.jsonl"], "JOB must define no server() for -o with --every"),
    ],
)
def test_reductions_are_not_lost(parcast, folder, text, options, says):
    name = job(folder, f"def task(item):\n    return int(item)\n{text}")
    said = parcast("run", "pipeline", name, "1", "2", "--every", "1", *options)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"parcast: {says}")


def test_items_that_fail_are_named_or_skipped(parcast, folder):
    name = job(folder, "def task(item):\n    return float(item)\n")
    said = parcast("run", "pipeline", name, "1", "two", "3")
    assert said.status == 4
    assert "Item 1 failed: 'two': ValueError" in said.err
    assert "return float(item)" in said.err
    said = parcast("run", "pipeline", name, "1", "two", "3", "--skip-errors")
    assert said.status == 0
    assert "skipped 1" in said.out
    assert "value       4.0" in said.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def task(:\n    pass\n", "line 1  SyntaxError: invalid syntax in 'def task(:'. Correct"),
        ("x = 1\nimport no_such_module\n", "line 2  ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit('no data')\n", "line 2  SystemExit: no data. Correct it."),
        ("def tusk(item):\n    pass\n", "file  defines no task. Write for example: def"),
        ("x = 1\ntask = 3\n", "line 2  task  must be callable, got 3."),
        ("def task(x):\n    pass\n\nmerge = 'summ'\n", "line 4  merge  must be a function of two"),
    ],
)
def test_what_is_wrong_in_a_job_is_told_with_its_line(parcast, folder, text, says):
    (folder / "job_of_test.py").write_text(text)
    said = parcast("run", "pipeline", "job_of_test.py", "texts")
    assert said.status == 3
    assert said.err.startswith(f"parcast: job_of_test.py: 1 problem\n  {says}")
    assert "Traceback" not in said.err


def test_an_error_in_another_file_is_told_where_the_job_imports_it(parcast, folder):
    (folder / "words_of_test.py").write_text("\n\ndef task(:\n")
    (folder / "job_of_test.py").write_text("x = 1\nfrom words_of_test import task\n")
    said = parcast("run", "pipeline", "job_of_test.py", "texts")
    assert "line 2  SyntaxError: invalid syntax (words_of_test.py, line 3). Correct" in said.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.py", "be a Python file, got missing.py, which does not exist."),
        ("texts", "be a Python file, got a folder."),
        ("texts/a.txt", "be a Python file, got texts/a.txt, which does not end in .py."),
        ("json.py", "have a name of its own, got json.py, which is that of "),
        ("no-name.py", "have the name of a module, got no-name.py. Rename it"),
    ],
)
def test_what_is_no_job_is_refused(parcast, folder, name, says):
    for other in ("json.py", "no-name.py"):
        (folder / other).write_text(COUNT)
    said = parcast("run", "pipeline", name, "texts")
    assert said.status == 2
    assert said.err.startswith(f"parcast: JOB must {says}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "be given. Name files or folders, or define items() in count_words_of_test.py."),
        (["texts", "missing"], "be a file or folder that exists, got missing. For items that are"),
        (["texts/*.md"], "be a file or folder that exists, got texts/*.md."),
    ],
)
def test_files_that_do_not_exist_are_refused(parcast, arguments, says):
    said = parcast("run", "pipeline", "count_words_of_test.py", *arguments)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"parcast: ARGUMENT must {says}")


def test_arguments_that_mean_nothing_are_refused(parcast, folder):
    name = job(folder, "items = [1, 2]\ndef task(item):\n    return item\n")
    assert "value       3" in parcast("run", "pipeline", name).out
    said = parcast("run", "pipeline", name, "texts")
    assert said.status == 2
    assert said.err.startswith("parcast: ARGUMENT must be left out, got texts.")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, ["ARGUMENT must be those of items(end)", "missing"]),
        (["1", "2"], 2, ["ARGUMENT must be those of items(end)", "too many"]),
        (["ten"], 3, ["numbers_of_test.py", "line 5", "invalid literal"]),
    ],
)
def test_arguments_that_items_refuses_are_told(parcast, arguments, status, words):
    said = parcast("run", "pipeline", "numbers_of_test.py", *arguments)
    assert said.status == status
    assert all(word in said.err for word in words), said.err


@pytest.mark.usefixtures("folder")
def test_shards_of_what_has_no_parts_are_refused_by_their_option(parcast, folder):
    name = job(folder, "def task(item):\n    return 1\n")
    said = parcast("run", "pipeline", name, "a", "b", "--shards", "2")
    assert said.status == 4
    assert said.err.startswith("parcast: Sums of type int have no parts for --shards 2. Return")
    assert "Traceback" not in said.err


def test_a_batch_script_runs_with_a_stand_in_for_srun(parcast, folder):
    parcast(
        *("run", "pipeline", "numbers_of_test.py", "9", "-np2", "--slurm", "job.sh"),
        *("-o", "sum.json"),
    )
    tools = folder / "tools"
    tools.mkdir()
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("the stand-in for srun starts ranks with the mpiexec of the extra mpi")
    (tools / "srun").write_text(f'#!/bin/sh\nshift\nexec {mpiexec} -n 2 "$@"\n')
    code = "import sys; from parcast.cli import main; main()"
    (tools / "parcast").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    paths = {"PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path))}
    ended = subprocess.run(
        ["sh", "job.sh"], env=paths, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(Path("sum.json").read_text()) == [36, 9]
    assert ended.stdout.count("9 items on 2 ranks") == 1


def test_words_of_a_command_are_those_that_were_written():
    written = [
        "a b.py",
        "-np",
        "4",
        "--slurm",
        "x.sh",
        "-o",
        "y.csv",
        "--slurm=z",
        "-np=3",
        "-np2",
    ]
    left = ["parcast", "run", "pipeline", "a b.py", "-o", "y.csv"]
    assert command_of("parcast run pipeline", written) == left


SLOWLY = """
import time

def items(end, step="1"):
    return range(0, int(end), int(step))

def task(item):
    time.sleep(0.005)
    return 1 // (30 - item) and [item]
"""


def test_a_checkpoint_of_another_job_or_of_other_arguments_is_not_resumed(parcast, folder):
    path = job(folder, SLOWLY)
    kept = ("--checkpoint", "kept", "--checkpoint-every", "1ms", "--batch", "1", "--resume")
    assert parcast("run", "pipeline", path, "40", "-np", 2, *kept).status == 4
    assert parcast("run", "pipeline", path, "40", *kept).status == 4  # on another number of ranks
    for arguments, told in (
        (("80", "2"), "(arguments: '40' before, '80 2' now)"),
        (("40", "--merge", "sum"), "(merge: 'that of JOB' before, 'sum' now)"),
    ):
        said = parcast("run", "pipeline", path, *arguments, *kept)
        assert said.status == 2
        assert "--checkpoint must be that of the same items and functions, got " in said.err
        assert f"another run {told}. Give the same, or start without --resume in" in said.err


def test_a_corrected_job_goes_on_from_its_checkpoint_and_the_result_says_so(
    parcast, folder, monkeypatch
):
    path = job(folder, BAD_ITEM + "    # corrected below\n")
    kept = ("--checkpoint", "kept", "--checkpoint-every", "1ms", "--batch", "1")
    assert parcast("run", "pipeline", path, *kept).status == 4
    Path(path).write_text(BAD_ITEM.replace("30 - item", "30 - item or 1"))
    monkeypatch.delitem(sys.modules, Path(path).stem, raising=False)  # as in another process
    said = parcast("run", "pipeline", path, *kept, "--resume")
    assert said.status == 0, said.err
    assert "The job file has changed since the interrupted run: the results of" in said.out
    assert "items are those of the earlier file." in " ".join(said.out.split())


def test_a_checkpoint_of_other_files_is_not_resumed(parcast, folder):
    path = job(folder, "import os  # of items\ntask = lambda path: 1 // os.path.getsize(path)\n")
    (folder / "some").mkdir()
    for name in "abcdefghijk":
        (folder / "some" / name).write_text("" if name == "j" else "good")
    kept = ("--checkpoint", "kept", "--checkpoint-every", "0.001ms", "--batch", "1", "--resume")
    assert parcast("run", "pipeline", path, "some", *kept).status == 4
    (folder / "some" / "a").rename(folder / "some" / "z")
    said = parcast("run", "pipeline", path, "some", *kept)
    assert said.status == 2
    assert "another run (files: changed)" in said.err


@pytest.mark.parametrize(
    ("items", "says"), [(["x"], "The only item was"), (["x", "y"], "All 2 items were")]
)
def test_a_value_in_which_no_item_is_comes_with_a_warning(parcast, folder, items, says):
    name = job(folder, "def task(item):\n    return float(item)\n")
    said = parcast("run", "pipeline", name, *items, "--skip-errors")
    assert said.status == 0
    assert f"{says} skipped: the value is that of an empty input (zero)." in said.out
    assert (
        "the value is that of"
        not in parcast("run", "pipeline", name, "1", *items, "--skip-errors").out
    )
    assert f"{len(items)} item{'s' * (len(items) > 1)} on 1 rank" in said.out


def test_standard_input_that_is_closed_is_refused_in_words(folder):
    job(folder, "task = float  # no items\n")
    words = [sys.executable, "-m", "parcast", "run", "pipeline", "job_of_test.py", "-"]
    shell = ["sh", "-c", '"$@" <&-', "sh", *words]
    said = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 2
    says = "parcast: ARGUMENT must not be - where standard input is closed."
    assert said.stderr.startswith(says)


@pytest.mark.usefixtures("folder")
def test_standard_input_stands_alone(parcast):
    said = parcast("run", "pipeline", "count_words_of_test.py", "-", "texts", stdin="a")
    assert said.status == 2
    assert said.err.startswith("parcast: ARGUMENT must be - alone, or files, got - texts.")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "items", "status", "says"),
    [
        ("count_words_of_test.py", ["-"], 2, "ARGUMENT must not be - with --slurm."),
        ("count_words_of_test.py", ["gone"], 2, "ARGUMENT must be a file or folder that exists"),
        ("gone.py", ["texts"], 2, "JOB must be a Python file, got gone.py, which does not exist"),
        ("wrong.py", ["texts"], 3, "wrong.py: 1 problem\n  line 1  SyntaxError"),
    ],
)
def test_a_script_that_would_fail_is_not_written(parcast, name, items, status, says):
    Path("wrong.py").write_text("def task(:\n")
    said = parcast("run", "pipeline", name, *items, "--slurm", "job.sh")
    assert (said.status, said.out) == (status, "")
    assert said.err.startswith(f"parcast: {says}")
    assert not Path("job.sh").exists()


def test_results_that_cannot_be_added_get_the_advice_of_counts(parcast, folder):
    name = job(folder, "def task(item):\n    return {item: 1}\n")
    said = parcast("run", "pipeline", name, "a", "b")
    assert said.status == 4
    assert 'The merge "sum", the default, cannot add results of type dict: unsupported' in said.err
    assert "for mappings of numbers --merge counts." in said.err
    assert "Traceback" not in said.err


def test_a_coroutine_function_is_refused(parcast, folder):
    name = job(folder, "async def task(item):\n    return 1\n")
    said = parcast("run", "pipeline", name, "a")
    assert said.status == 3
    assert "task  must be no coroutine function, got async def." in said.err


@pytest.mark.usefixtures("folder")
def test_a_directory_without_a_limit_of_memory_is_refused(parcast):
    said = parcast("run", "pipeline", "numbers_of_test.py", "5", "--directory", ".")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("parcast: --directory requires --memory SIZE.")


@pytest.mark.fault(
    "Pipelines",
    "Standard output of `parcast run pipeline` goes to a full disk.",
    promise="The reason is given.",
)
@pytest.mark.usefixtures("folder")
def test_a_full_disk_that_standard_output_leads_to_is_named():
    words = [sys.executable, "-m", "parcast", "run", "pipeline", "numbers_of_test.py", "5", "-o-"]
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert said.stderr.startswith(
        "parcast: the output cannot be written: no space left on device."
    )


def test_a_job_is_the_same_module_on_ranks_though_another_has_its_name(folder):
    (folder / "exp").mkdir()
    for place, value in ((folder, 1), (folder / "exp", 2)):
        text = f"items = [1, 2]\n\n\ndef task(i):\n    return {value}\n"
        (place / "same_job_of_test.py").write_text(text)
    command = ["pipeline", "exp/same_job_of_test.py", "-np", "2", "-o", "out.json"]
    code = "from parcast.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, "run", *command], timeout=60, check=True)
    assert json.loads((folder / "out.json").read_text()) == 4
