"""`benchmarks/counted_programs.py` on a made-up folder: one table, with and without donors."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTS = (1, 2, 4, 16, 64)
PLATFORMS = {"links": lambda p: 1.0, "bus": lambda p: p * (p - 1.0)}  # noqa: ARG005 - one signature
STARTUP, BYTE = 1e-4, 1e-8


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def time(platform, p):
    """Time of the made-up program: 10 messages of 10 kB a rank."""
    shared = 10 * p * 1e4 * BYTE if platform == "bus" else 0.0
    return 8.0 / p + (max(10 * (STARTUP + 1e4 * BYTE), shared) if p > 1 else 0.0)


@pytest.fixture
def folder(tmp_path):
    """Three tables of a made-up program on two made-up platforms."""
    write(
        tmp_path / "workload.csv",
        [
            {
                "kernel": kernel,
                "class": "W",
                "p": p,
                "rep": 0,
                "sum_cpu_s": 8.0,
                "max_rank_cpu_s": 8.0 / p,
                "n_p2p_sends": 10 * p * (p > 1),
                "p2p_bytes": 10 * p * 10_000 * (p > 1),
                "collective_calls_all_ranks": calls,
            }
            for kernel, calls in (("made", ""), ("lu", ""), ("is", "bcast:0;alltoallv:0"))
            for p in COUNTS
        ],
    )
    write(
        tmp_path / "calibration.csv",
        [
            {
                "platform": name,
                "op": op,
                "p": p,
                "bytes": m,
                "time_s": STARTUP + BYTE * m * (per(p) if op == "comms3" else 1.0),
            }
            for name, per in PLATFORMS.items()
            for op, counts in (("comms1", (2,)), ("comms3", COUNTS[1:]), ("bcast", COUNTS[1:]))
            for p in counts
            for m in (8, 1024, 65536, 1048576)
        ],
    )
    write(
        tmp_path / "times.csv",
        [
            {
                "kernel": kernel,
                "class": "W",
                "p": p,
                "rep": 0,
                "platform": name,
                "simulated_total_s": time(name, p),
            }
            for kernel in ("made", "lu", "is")
            for name in PLATFORMS
            for p in COUNTS
        ],
    )
    return tmp_path


def score(*args):
    """Run it in a process of its own and give its lines by their titles."""
    program = [sys.executable, ROOT / "benchmarks" / "counted_programs.py", *args]
    said = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    return {line[:32].strip(): line[32:].split() for line in said.stdout.splitlines() if line}


def test_each_platform_is_scored_alone_and_with_each_donor(folder):
    lines = score(folder)
    for title in (
        "links",
        "bus",
        "all platforms",
        "all platforms, made",
        "links, donor bus",
        "bus, donor links",
        "nothing but counts, one donor",
    ):
        times, median, _, order, pairs, covered, _ = lines[title]
        assert int(times) >= 8
        assert float(median.rstrip("%")) < 1.0
        assert len(set(order.split("/"))) == 1, title
        assert len(set(pairs.split("/"))) == 1, title
        assert float(covered.rstrip("%")) > 70.0
    assert lines["all platforms, made"][0] == "8"


def test_one_platform_has_no_donors(folder):
    times = (folder / "times.csv").read_text().splitlines()
    (folder / "times.csv").write_text("\n".join(x for x in times if ",bus," not in x) + "\n")
    lines = score(folder)
    assert "bus" not in lines
    assert not any("donor" in title for title in lines)
