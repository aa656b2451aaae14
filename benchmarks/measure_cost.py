"""What does `parcast measure` cost a run? Compared with hyperfine, in the same minutes.

Whole sessions of few and of many runs alternate; from their difference follow what a run takes
in all, and the processor time that watching it takes. `true` shows the cost of a run, `sleep 0.2`
that of a usual one, eight processes what it costs to look at more of them. Each is the least of
all sessions, which others disturb least. hyperfine starts programs without a shell (-N), as
`parcast measure` does:

    .venv/bin/python benchmarks/measure_cost.py [--sessions 5] [--runs 50]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = {  # and the time that each takes by itself [s]
    "true": (["true"], 0.0),
    "sleep 0.2": (["sleep", "0.2"], 0.2),
    "8 processes": (["sh", "-c", "for i in 1 2 3 4 5 6 7; do sleep 0.5 & done; sleep 0.5"], 0.5),
}
FEW = 5  # runs of the short sessions


def parcast(words: list[str], runs: int, place: Path) -> list[str]:
    """Measure with parcast."""
    table = place / "times.csv"
    table.unlink(missing_ok=True)
    command = [sys.executable, "-m", "parcast", "measure", "-p", "1", "--runs", str(runs)]
    return [*command, "-o", str(table), "-o", str(place / "told.json"), "--", *words]


def hyperfine(words: list[str], runs: int, place: Path) -> list[str]:
    """Measure with hyperfine."""
    text = " ".join(f"'{x}'" if " " in x else x for x in words)
    command = ["hyperfine", "-N", "--runs", str(runs), "--style", "none"]
    return [*command, "--export-json", str(place / "told.json"), text]


def session(command: list[str], place: Path) -> tuple[float, float, float]:
    """Wall and processor time of a session, and the median time that it tells [s]."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    told = json.loads((place / "told.json").read_text())["results"][0]
    return wall, used.ru_utime + used.ru_stime, told["median"]


def main() -> None:
    """Print a line for each program and tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50)
    asked = parser.parse_args()
    tools = {"parcast": parcast, "hyperfine": hyperfine}
    if shutil.which("hyperfine") is None:
        sys.exit("hyperfine is missing: apt install hyperfine, or cargo install hyperfine")
    print(f"load average {os.getloadavg()[0]:.1f}; the least of {asked.sessions} sessions")
    print("program      tool       session  a run takes  is told  beside the program  processor")
    for name, (words, own) in PROGRAMS.items():
        many = asked.runs if own < 0.4 else max(asked.runs // 4, FEW + 1)
        rows: dict[str, list[tuple[float, ...]]] = {tool: [] for tool in tools}
        for _ in range(asked.sessions):
            for tool, command in tools.items():
                with tempfile.TemporaryDirectory() as folder:
                    few, cpu_few, _ = session(command(words, FEW, Path(folder)), Path(folder))
                    wall, cpu, told = session(command(words, many, Path(folder)), Path(folder))
                rows[tool].append((few, wall, told, cpu_few, cpu))
        each = {}
        for tool, found in rows.items():
            few, wall, told, cpu_few, cpu = (min(column) for column in zip(*found, strict=True))
            a_run, cpu = (wall - few) / (many - FEW), (cpu - cpu_few) / (many - FEW)
            each[tool] = a_run, cpu
            print(
                f"{name:12} {tool:9} {wall:7.2f} s {1e3 * a_run:9.1f} ms {1e3 * told:5.1f} ms "
                f"{1e3 * (a_run - own):16.1f} ms {1e3 * cpu:7.1f} ms"
            )
        (ours, cpu), (theirs, others) = each["parcast"], each["hyperfine"]
        print(
            f"{name:12} difference {1e3 * (ours - theirs):19.1f} ms a run, processor "
            f"{1e3 * (cpu - others):.1f} ms, {(cpu - others) / ours:.1%} of a core"
        )


if __name__ == "__main__":
    main()
