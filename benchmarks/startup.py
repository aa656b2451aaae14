"""CPU time until the command line answers, beside what is loaded anyway and beside Extra-P.

Each command runs `RUNS` times in turn with the others; the median of user plus system time counts.

    .venv/bin/python benchmarks/startup.py [--extrap .venv-benchmark/bin/extrap]
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 11
HERE = Path(__file__).resolve().parent
TIMES = HERE.parent / "examples" / "finite_difference" / "times.csv"


def cpu_seconds(command: list[str]) -> float:
    """User plus system time of one run of a command and its children. [s]."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user - before.children_user
    return used + after.children_system - before.children_system


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extrap", type=Path, help="Extra-P's command, if it is installed")
    extrap = parser.parse_args().extrap
    parcast = str(Path(sys.executable).with_name("parcast"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "parcast --help": [parcast, "--help"],
        "parcast forecast times.csv -p 128": [parcast, "forecast", str(TIMES), "-p", "128"],
    }
    if extrap:
        commands["extrap --help"] = [str(extrap), "--help"]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS + 1):  # the first run of each warms the file cache
        for name, command in commands.items():
            times[name].append(cpu_seconds(command))
    base = statistics.median(times["python -c pass"][1:])
    print(f"{'command':36}{'CPU [s]':>9}{'min':>8}{'max':>8}{'ratio to python':>17}")
    for name, seconds in times.items():
        counted = seconds[1:]
        median = statistics.median(counted)
        print(f"{name:36}{median:9.3f}{min(counted):8.3f}{max(counted):8.3f}{median / base:17.1f}")


if __name__ == "__main__":
    main()
