"""Ten million rows of CSV: read, and forecast from, beside what else reads them.

Each route runs in a process of its own; its time is that of processors, its memory the largest
that it had in use. The routes are `csv` with lists and NumPy, `numpy.loadtxt`, and pandas where it
is installed; none of them says which of the rows is wrong.

    .venv/bin/python benchmarks/csv_rows.py [--rows 10000000] [--columns p,time_s]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COUNTS = 2 ** np.arange(11)
PLAIN, NAMED = "p,time_s", "machine,callpath,p,time_s"
AT_ONCE = 100_000  # rows
ROUTES = {
    "parcast read_measurements": "import parcast; parcast.read_measurements(path)",
    "parcast forecast": (
        "import parcast; parcast.forecast(parcast.read_measurements(path), p=[4096])"
    ),
    "csv, lists, numpy.array": (
        "import csv, numpy\n"
        "with open(path, newline='') as file:\n"
        "    _, *rows = csv.reader(file)\n"
        "columns = list(zip(*rows))\n"
        "p, seconds = (numpy.array(x, dtype=float) for x in columns[-2:])"
    ),
    "numpy.loadtxt": (
        "import numpy\n"
        "names = open(path).readline().strip().split(',')\n"
        "kinds = [(x, object if x in ('machine', 'callpath') else float) for x in names]\n"
        "numpy.loadtxt(path, delimiter=',', skiprows=1, dtype=kinds)"
    ),
    "pandas.read_csv": "import pandas; pandas.read_csv(path)",
}


def write(path: Path, header: str, rows: int) -> None:
    """Write a table of so many rows: strong scaling with noise, of a few call paths."""
    random = np.random.default_rng(7)
    with path.open("w") as file:
        file.write(f"{header}\n")
        for start in range(0, rows, AT_ONCE):
            count = min(AT_ONCE, rows - start)
            p = COUNTS[random.integers(len(COUNTS), size=count)]
            times = (1 + 99 / p) * random.lognormal(0.0, 0.05, count)
            text = [f"{a},{b:.6g}\n" for a, b in zip(p.tolist(), times.tolist(), strict=True)]
            if header == NAMED:
                path_of = random.integers(100, size=count).tolist()
                text = [f"T3E,main->f{i},{x}" for i, x in zip(path_of, text, strict=True)]
            file.writelines(text)


def spent(code: str, path: Path) -> tuple[float, float]:
    """CPU time [s] and largest memory [GB] of a process that runs some code."""
    process = subprocess.Popen([sys.executable, "-c", f"path = {str(path)!r}\n{code}"])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, code
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def main() -> None:
    """Measure and print a table for each kind of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", choices=(PLAIN, NAMED), help="of one table; default: both")
    asked = parser.parse_args()
    rows = asked.rows
    with tempfile.TemporaryDirectory() as folder:
        for header in [asked.columns] if asked.columns else (PLAIN, NAMED):
            path = Path(folder, "times.csv")
            write(path, header, rows)
            print(f"{rows:,} rows of {header}, {path.stat().st_size / 1e6:.0f} MB")
            print(f"{'route':30}{'CPU [s]':>10}{'memory [GB]':>13}{'ratio':>8}")
            base = None
            for name, code in ROUTES.items():
                if name.startswith("pandas") and not has_pandas():
                    continue
                seconds, memory = spent(code, path)
                base = base or seconds
                print(f"{name:30}{seconds:10.1f}{memory:13.2f}{seconds / base:8.2f}")


def has_pandas() -> bool:
    """Tell whether pandas is installed."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pandas') is None)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


if __name__ == "__main__":
    main()
