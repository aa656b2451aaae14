"""`parcast run pipeline`: jobs, items, outputs, and what is refused."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.pipeline.slurm_script import command_of

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two jobs and three texts, two of them deeper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("count_words_of_test", "numbers_of_test", "job_of_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "count_words_of_test.py").write_text(COUNT)
    (tmp_path / "numbers_of_test.py").write_text(NUMBERS)
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    (tmp_path / "texts" / ".hidden").write_text("never read")
    (tmp_path / "texts" / "b.txt").write_text("to be")
    (tmp_path / "texts" / "a.txt").write_text("or not")
    (tmp_path / "texts" / "deep" / "c.txt").write_text("to be")
    return tmp_path


BAD_ITEM = """
import time

items = range(40)

def task(item):
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


def test_a_run_without_a_checkpoint_is_not_resumed(parcast, folder):
    said = parcast("run", "pipeline", job(folder, BAD_ITEM), "--resume")
    assert said.status == 2
    assert "--resume must be given with --checkpoint. Name the folder with the" in said.err


def job(folder, text):
    """Write a job."""
    (folder / "job_of_test.py").write_text(text)
    return "job_of_test.py"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ranks", [1, 2])
def test_words_of_a_folder_are_counted(parcast, ranks):
    said = parcast(
        "run", "pipeline", "count_words_of_test.py", "texts", "-np", ranks, "-o", "counts.json"
    )
    assert (said.status, said.err) == (0, "")
    assert json.loads(Path("counts.json").read_text()) == {"or": 1, "not": 1, "to": 2, "be": 2}
    assert f"count_words_of_test: 3 items on {ranks} rank" in said.out


@pytest.mark.usefixtures("folder")
def test_a_value_is_written_in_every_format(parcast):
    outputs = [x for end in ("json", "npy", "pickle") for x in ("-o", f"sum.{end}")]
    assert parcast("run", "pipeline", "numbers_of_test.py", "5", *outputs).status == 0
    assert json.loads(Path("sum.json").read_text()) == [10, 5]
    assert np.load("sum.npy").tolist() == [10, 5]
    assert pickle.loads(Path("sum.pickle").read_bytes()).tolist() == [10, 5]


@pytest.mark.usefixtures("folder")
def test_counts_are_written_as_a_table(parcast):
    parcast("run", "pipeline", "count_words_of_test.py", "texts/a.txt", "-o", "counts.csv")
    assert Path("counts.csv").read_text() == "key,value\nor,1\nnot,1\n"


def test_a_value_without_a_place_in_a_format_is_refused_and_leaves_no_file(parcast, folder):
    name = job(folder, "merge = 'sum'\ndef task(item):\n    return 1j\n")
    said = parcast("run", "pipeline", name, "x", "-o", "value.json")
    assert said.status == 2
    assert "a complex" in said.err
    assert ".pickle" in said.err
    assert not Path("value.json").exists()


@pytest.mark.usefixtures("folder")
def test_the_value_is_shown_and_printed_as_json(parcast):
    said = parcast("run", "pipeline", "numbers_of_test.py", "4")
    assert "value       array([6, 4])" in said.out
    said = parcast("run", "pipeline", "numbers_of_test.py", "4", "--json")
    document = json.loads(said.out)
    assert document["schema"] == "parcast/pipeline/1"
    assert (document["value"], document["items"]) == ([6, 4], 4)


def test_lines_of_standard_input_are_items(parcast, folder):
    name = job(folder, "def task(line):\n    return line + ';'\n")
    said = parcast("run", "pipeline", name, "-", "--json", stdin="a\nb c\n")
    assert json.loads(said.out)["value"] == "a;b c;"


@pytest.mark.usefixtures("folder")
def test_reductions_are_added_to_a_file(parcast):
    options = ["--every", "2", "--server", "sums.jsonl"]
    assert parcast("run", "pipeline", "numbers_of_test.py", "5", *options).status == 0
    rows = [json.loads(line) for line in Path("sums.jsonl").read_text().splitlines()]
    assert [(row["first"], row["stop"], row["value"]) for row in rows] == [
        (0, 2, [1, 2]),
        (2, 4, [5, 2]),
        (4, 5, [4, 1]),
    ]


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
    ("text", "words"),
    [
        ("def task(:\n    pass\n", ["line 1", "SyntaxError"]),
        ("x = 1\nimport no_such_module\n", ["line 2", "no_such_module"]),
        ("def tusk(item):\n    pass\n", ["task", "must be a function", "tusk"]),
    ],
)
def test_a_job_that_cannot_be_imported_is_refused_with_its_line(parcast, folder, text, words):
    said = parcast("run", "pipeline", job(folder, text), "x")
    assert said.status == 3
    assert all(word in said.err for word in words), said.err


@pytest.mark.usefixtures("folder")
def test_what_is_no_job_is_refused(parcast):
    for name, words in (
        ("missing.py", "must be a Python file"),
        ("texts/a.txt", "must be a Python file"),
        ("json.py", "name of its own"),
        ("no-name.py", "name of a module"),
    ):
        Path(name).write_text(COUNT) if name.endswith("e.py") or name == "json.py" else None
        said = parcast("run", "pipeline", name, "x")
        assert said.status == 2
        assert words in said.err, said.err


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
def test_a_merge_that_does_not_exist_is_refused_by_its_option(parcast):
    said = parcast("run", "pipeline", "numbers_of_test.py", "3", "--merge", "count")
    assert said.status == 2
    assert "--merge must be" in said.err
    assert "counts" in said.err


@pytest.mark.usefixtures("folder")
def test_a_batch_script_runs_the_command_on_ranks_of_slurm(parcast):
    said = parcast(
        *("run", "pipeline", "numbers_of_test.py", "9", "-np", "12", "--slurm", "job.sh"),
        *("--time-limit", "2h", "-o", "sum.json"),
    )
    assert said.out == "Check the lines marked EDIT, then submit it: sbatch job.sh\n"
    script = Path("job.sh").read_text()
    assert "#SBATCH --ntasks=12\n" in script
    assert "#SBATCH --time=02:01:00\n" in script
    assert "srun --mpi=pmix parcast run pipeline numbers_of_test.py 9" in script
    assert subprocess.run(["sh", "-n", "job.sh"], check=False).returncode == 0
    assert not Path("sum.json").exists()


def test_a_batch_script_runs_with_a_stand_in_for_srun(parcast, folder):
    parcast(
        *("run", "pipeline", "numbers_of_test.py", "9", "-np", "2", "--slurm", "job.sh"),
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
    written = ["a b.py", "-np", "4", "--slurm", "x.sh", "-o", "y.csv", "--slurm=z", "-np=3"]
    assert command_of("parcast run pipeline", written) == [
        *("parcast", "run", "pipeline", "a b.py", "-o", "y.csv"),
    ]
