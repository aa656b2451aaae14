"""Predict NAS BT with I/O on the IBM SP-2, on 1 to 256 processors and with 1 to 16 disks.

Program and machine are described in the two files beside this script; nothing was run. Call it
with ``python demo.py [FOLDER]``; the pictures go into the folder, by default the one of this
script.
"""

# ruff: noqa: T201 - printing is what this script is for
import signal
import sys
from pathlib import Path

import parcast
from parcast.units import format_quantity

HERE = Path(__file__).parent
SQUARES = [k * k for k in range(1, 17)]  # BT runs on square numbers of processors
DISKS = range(1, 17)


def main(folder: Path) -> None:
    """Print times, speedups, what limits them, and the names of the pictures."""
    program = parcast.read_program(HERE / "program.toml")
    machine = parcast.read_machine(HERE / "sp2.toml")
    result = parcast.predict(program, machine, p=SQUARES, d=DISKS)

    print(f"{result.program} on {result.machine}, predicted\n")
    print("  p   d  time     speedup  efficiency  limited by")
    for row in result.rows():
        if row["p"] in (1, 16, 64, 256) and row["d"] in (1, 4, 16):
            time = format_quantity(row["time_s"], "time")
            print(
                f"{row['p']:3} {row['d']:3}  {time:8} {row['speedup']:6.2f}"
                f"{row['efficiency']:11.0%}   {row['limited_by']}"
            )

    print("\nWhat limits it:")
    for line in result.limits:
        print(f"- {line}")
    print("\nWarnings:")
    for warning in result.warnings:
        print(f"- {warning}")

    print("\nPictures:")
    several = parcast.predict(program, machine, p=SQUARES, d=[1, 2, 4, 8, 16])
    for picture in ("lines", "surface", "contours", "map"):
        path = folder / f"btio-{picture}.png"
        (several if picture == "lines" else result).save(path, picture=picture)
        print(f"  {path}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
