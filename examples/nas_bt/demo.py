"""How will it scale? One program on three clusters: two typical forecasts and a hard one.

Larger runs are held out and shown beside what was forecast. Run it with ``python demo.py
[FOLDER]``; the picture goes into the folder, by default the one of this script. The data and
their source: `times.csv`.
"""

# ruff: noqa: T201 - printing is what this script is for
import sys
from os.path import relpath
from pathlib import Path

import matplotlib.pyplot as plt

import parcast
from parcast.units import format_quantity
from parcast.words import rounded_interval, signed_percent

HERE = Path(__file__).parent
TABLE = "   p  forecast     90 % interval    actual  error"


def main(folder: Path) -> None:
    """Print three forecasts beside the times that were held out, and draw them."""
    runs = parcast.read_measurements(HERE / "times.csv")
    crossbar, mesh, sp2 = (runs.select(machine=x) for x in ("crossbar", "mesh", "sp2"))
    print("NAS benchmark BT, class A, on three simulated clusters: how will it scale?")

    print("\n1. A new machine: one run on the crossbar cluster (13.1 s at p = 4), and the")
    print("   runs on the other two clusters\n")
    larger = [9, 16, 25, 36, 49, 64, 100, 144]
    moved = parcast.forecast(crossbar.select(p=[4, *larger]), hold_out=larger, donors=[mesh, sp2])
    show(moved)
    print_command("--target crossbar --hold-out 1,9,16,25,36,49,64,100,144")

    print("\n2. More processors: the runs at 1 to 36 on the mesh cluster, nothing else\n")
    grown = parcast.forecast(mesh, hold_out=[49, 64, 100, 144])
    show(grown)
    print_command("--select machine=mesh --hold-out 49,64,100,144")

    print("\n3. A hard case: on the SP-2 every run was faster than the one before, up to 25.")
    print("   Beyond that its network is saturated, which these runs do not show.\n")
    small = sp2.select(p=[1, 4, 9, 16, 25, 64])
    turned = parcast.forecast(small, hold_out=[64])
    show(turned)
    (run,) = parcast.plan_runs(sp2.select(p=[1, 4, 9, 16, 25]), p=64, runs=1, counts=[36, 49])
    print(f"\n   The next run that parcast recommends is p = {run.at['p']:g}. With it:\n")
    repaired = parcast.forecast(sp2.select(p=[1, 4, 9, 16, 25, run.at["p"], 64]), hold_out=[64])
    show(repaired)
    print_command("--select machine=sp2 --hold-out 36,49,64,100")

    print("\nPicture: " + draw(folder, [moved, grown, turned]))


def show(forecast: parcast.Forecast) -> None:
    """Print forecast times and those that were held out."""
    print(TABLE)
    for row in forecast.rows():
        time, lower, upper = rounded_interval(row["time_s"], row["lower_s"], row["upper_s"])
        actual = format_quantity(row["measured_s"], "time")
        error = signed_percent(row["time_s"] / row["measured_s"] - 1)
        is_inside = row["lower_s"] <= row["measured_s"] <= row["upper_s"]
        print(
            f"{row['p']:4} {time:>7} s {f'{lower} to {upper} s':>17} {actual:>9} {error:>4} %"
            + ("" if is_inside else "  outside the interval")
        )


def print_command(options: str) -> None:
    """Print the command line that answers the same question."""
    print(f"\n   $ parcast forecast {relpath(HERE / 'times.csv')} \\\n       {options}")


def draw(folder: Path, forecasts: list[parcast.Forecast]) -> str:
    """Draw the forecasts side by side, and say in which file."""
    titles = ("one run, and other machines", "one curve", "a hard case")
    figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for panel, forecast, title in zip(panels, forecasts, titles, strict=True):
        forecast.plot(ax=panel)
        panel.set_title(title)
    for panel in panels[1:]:
        panel.get_legend().remove()  # that of the first explains all
    path = folder / "forecast.png"
    figure.savefig(path, dpi=150)
    return str(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
