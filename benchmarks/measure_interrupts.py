"""Does `parcast measure` lose or repeat runs, or leave processes? Interrupted at random moments.

Programs that start children, also in sessions of their own and such that ignore SIGTERM, are
measured; SIGINT, SIGTERM or SIGKILL ends the measurement at a random moment, and `--resume` goes
on. A run is finished when the program has said so in a log of its own. Afterwards the same on a
disk that is full, if a small one can be mounted (as root). Exit status 1 if anything was lost,
repeated or left:

    .venv/bin/python benchmarks/measure_interrupts.py [--moments 30] [--seed 0]
"""

import argparse
import csv
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

COUNTS, RUNS = (1, 2), 3
WORK = 'echo {p} >> "$LOG"'  # what a run does last
PROGRAMS = {  # each leaves processes behind, or has some while it runs
    "children": f"sleep 0.05 & sleep 0.04; wait; {WORK}",
    "own session": f"setsid sh -c 'sleep 60 & sleep 60' & setsid sleep 0.05; {WORK}",
    "ignores SIGTERM": f"trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & "
    f"sleep 0.05; {WORK}",
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MARK = "PARCAST_INTERRUPTED"  # environment of all that a measurement starts
WRONG, NO_FORECAST = 2, 4  # statuses of parcast
PATIENCE = 10.0  # with a measurement that was told to end, and with what it started [s]


def begun(
    folder: Path, text: str, *options: str, runs: int = RUNS, table: Path | None = None
) -> subprocess.Popen:
    """Begin to measure, in a session of its own as from a terminal."""
    command = [sys.executable, "-m", "parcast", "measure", "-p", ",".join(map(str, COUNTS))]
    command += ["--runs", str(runs), "-o", str(table or folder / "times.csv"), *options]
    environment = {**os.environ, MARK: str(folder), "LOG": str(folder / "log")}
    with open(folder / "said", "w") as said:
        return subprocess.Popen(
            [*command, "--", "sh", "-c", text],
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def left(folder: Path) -> list[int]:
    """Processes that a measurement in a folder has started, and that run."""
    mark, found = f"{MARK}={folder}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found


def rows(table: Path) -> list[tuple[str, str, str]]:
    """Count, repetition and time of the runs in the table."""
    with suppress(FileNotFoundError):
        lines = table.read_text().splitlines(keepends=True)
        whole = [x for x in lines if x.endswith("\n")][1:]
        return [(x["p"], x["repetition"], x["time_s"]) for x in csv.DictReader(whole)]
    return []


def finished(folder: Path) -> int:
    """Runs whose program has said that it has done its work."""
    with suppress(FileNotFoundError):
        return len((folder / "log").read_text().split())
    return 0


def interrupted(folder: Path, text: str, number: signal.Signals, wait, *, is_group: bool) -> dict:
    """Interrupt a measurement after `wait(folder)`, go on with it, and say what was wrong."""
    process = begun(folder, text)
    wait(folder)
    with suppress(ProcessLookupError):
        (os.killpg if is_group else os.kill)(process.pid, number)
    begin, faults = time.monotonic(), []
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        faults.append("does not end")
    while left(folder) and time.monotonic() < begin + PATIENCE:
        time.sleep(0.01)
    ended = time.monotonic() - begin
    if left(folder):
        faults.append("left running")
        for each in left(folder):
            os.kill(each, signal.SIGKILL)
    known, made = rows(folder / "times.csv"), finished(folder)
    told = [int(x) for x in re.findall(r"run (\d+) of", (folder / "said").read_text())]
    if max(told, default=0) > len(known):
        faults.append("lost")
    resumed = begun(folder, text, "--resume")
    if resumed.wait(60) not in (0, NO_FORECAST):
        faults.append(f"status {resumed.returncode}: {(folder / 'said').read_text()[-500:]}")
    whole = rows(folder / "times.csv")
    if not set(known) <= set(whole):
        faults.append("changed")
    if Counter(x[:2] for x in whole) != Counter(
        (str(p), str(i + 1)) for p in COUNTS for i in range(RUNS)
    ):
        faults.append(f"not complete: {whole}")
    twice = finished(folder) - len(whole)
    if twice > max(made - len(known), 0):
        faults.append("repeated")
    if left(folder) or {x.name for x in folder.iterdir()} - {"times.csv", "log", "said"}:
        faults.append(f"leaves {os.listdir(folder)}")
    return {"kept": len(known), "unkept": twice, "seconds": ended, "faults": faults}


@contextmanager
def small_disk(size: int):
    """Mount a file system in memory of so many bytes; None where that is not allowed."""
    with tempfile.TemporaryDirectory() as place:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            yield None
            return
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", place], check=True)


def full_disk(random_: random.Random) -> list[str]:
    """Fill the disk of the table at some moment, make room, and go on; say what was wrong."""
    faults, runs, fill = [], 25, random_.randint(2, 30)
    with small_disk(2**18) as disk, tempfile.TemporaryDirectory() as place:
        if disk is None:
            return ["not tried: mounting needs root"]
        folder, table, zeros = Path(place), disk / "times.csv", disk / "zeros"
        text = f'{WORK}; test $(wc -l < "$LOG") != {fill} || cat /dev/zero > {zeros}; true'
        status = begun(folder, text, table=table, runs=runs).wait(60)
        known, made, said = rows(table), finished(folder), (folder / "said").read_text()
        print(
            f"disk full after run {fill}: {len(known)} of {made} runs kept, status {status}, says"
        )
        print(" ", said.splitlines()[-1])
        if made > len(known) or f"{len(known)} runs are in it" not in said or status != WRONG:
            faults.append(f"{made - len(known)} lost")
        zeros.unlink()
        status = begun(folder, text, "--resume", table=table, runs=runs).wait(60)
        whole = rows(table)
        if not set(known) <= set(whole) or len(whole) != runs * len(COUNTS):
            faults.append(f"status {status}, {len(whole)} runs")
    return faults


def main() -> int:
    """Print a line for each moment, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    random_ = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as place:
        begin = time.monotonic()
        begun(Path(place), WORK).wait()
        usual = time.monotonic() - begin + 0.05 * RUNS * len(COUNTS)
    found = []
    for i in range(asked.moments):
        name = [*PROGRAMS][i % len(PROGRAMS)]
        number = SIGNALS[i // len(PROGRAMS) % len(SIGNALS)]
        seconds, is_group = random_.uniform(0.1, usual), random_.random() < 0.5
        with tempfile.TemporaryDirectory() as place:
            told = interrupted(
                Path(place),
                PROGRAMS[name],
                number,
                lambda _, seconds=seconds: time.sleep(seconds),
                is_group=is_group,
            )
        found.append(told)
        who = "the group" if is_group else "parcast"
        print(
            f"{number.name:7} to {who:9} after {seconds:4.2f} s, {name:15}: "
            f"kept {told['kept']:2}, ended but not kept {told['unkept']}, "
            f"all ended after {told['seconds']:4.2f} s"
            f"{'; ' + ', '.join(told['faults']) if told['faults'] else ''}",
            flush=True,
        )
    faults = [x for told in found for x in told["faults"]]
    print(
        f"{len(found)} moments: {sum(x['kept'] for x in found)} runs kept, "
        f"{sum(x['unkept'] for x in found)} that had ended not yet, {len(faults)} faults"
    )
    on_disk = full_disk(random_)
    print("full disk:", ", ".join(on_disk) or "no fault")
    return bool(faults or on_disk)


if __name__ == "__main__":
    sys.exit(main())
