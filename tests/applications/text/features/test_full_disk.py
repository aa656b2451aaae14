"""A disk that is really full: a tmpfs of 8 kB, mounted in a name space of its own."""

import subprocess
import sys
from random import Random

import pytest

MOUNTED = 'mount -t tmpfs -o size=8k none "$1" && shift && "$@"; s=$?; ls -A small >&2; exit $s'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Documents with some 40 kB of phrases, and where the small disk will be."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare -rm is not permitted here, so no file system can be mounted")
    folder = tmp_path_factory.mktemp("full")
    (folder / "small").mkdir()
    (folder / "docs").mkdir()
    random_ = Random(1)
    for i in range(20):  # nodes of which no two are alike cannot be compressed
        nodes = (f"The Node{random_.getrandbits(64)} waits. The rain falls." for _ in range(60))
        (folder / "docs" / f"{i}.txt").write_text(" ".join(nodes))
    return folder


@pytest.mark.fault(
    "Pipelines",
    "The disk is full where features or hits are written.",
    promise="The file is named; nothing is left in its folder.",
)
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["features", "-o", "small/f.parquet"], 4, "small/f.parquet cannot be written: "),
        (
            ["features", "-np", "2", "--shards", "2", "-o", "small/f.jsonl"],
            4,
            "-of-2.jsonl cannot be written: ",
        ),
        (
            ["search", "-q", "rain", "-n", "40", "--snippet", "4000", "-o", "small/h.json"],
            2,
            "small/h.json: cannot be written: ",
        ),
    ],
)
def test_a_full_disk_is_named_with_its_path_and_nothing_is_left(folder, arguments, status, says):
    command = [sys.executable, "-m", "parcast", "run", arguments[0], "docs", *arguments[1:]]
    ended = subprocess.run(
        ["unshare", "-rm", "bash", "-c", MOUNTED, "bash", "small", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    [message] = ended.stderr.splitlines()  # `ls` found nothing
    assert says in message
    assert "no space left on device" in message
    has_answer = arguments[0] == "search"  # which is shown though it could not be written
    assert ("documents searched" in ended.stdout) == has_answer
