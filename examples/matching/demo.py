"""Which of three machines to use for a finite-difference program, and how many processors.

The times are measured, the prices are invented. Run it with ``python demo.py [FOLDER]``; the
picture goes into the folder, by default the one of this script.
"""

# ruff: noqa: T201 - printing is what this script is for
import signal
import sys
from pathlib import Path

import parcast
from parcast.projection.project import project

HERE = Path(__file__).parent
COUNTS = [2, 4, 8, 16, 32, 64]


def main(folder: Path) -> None:
    """Print the answers to three questions, a projection, and the name of the picture."""
    runs = parcast.read_measurements(HERE / "times.csv")
    machines = [parcast.read_machine(HERE / f"{name}.toml") for name in ("t3e", "sp", "o2000")]

    print("The fastest, at any cost")
    print(parcast.match(runs, machines))

    print("\nThe cheapest within 12 s")
    cheapest = parcast.match(runs, machines, goal="cost", within="12 s", budget=5)
    print(cheapest)

    print("\nLimits that no machine meets")
    print(parcast.match(runs, machines, within="1 s", budget=2))

    print("\nThe T3E projected from the SP and its time on 1 processor")
    t3e, sp, _ = machines
    there = runs.select(machine="T3E")
    known = there.select(p=1)
    base, others = runs.select(machine="SP"), runs.select(machine="O2000")
    result = project(base, COUNTS, base=sp, target=t3e, known=known, others=others)
    print(" p  projected  (90% interval)  measured")
    for row, measured in zip(result.rows(), there.time[1:].tolist(), strict=True):
        span = f"({row['lower_s']:.3g} to {row['upper_s']:.3g})"
        print(f"{row['p']:2}  {row['time_s']:7.3g} s  {span:15}  {measured:.3g} s")

    path = folder / "matching.png"
    cheapest.save(path)
    print(f"\nPicture: {path}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
