"""How will it scale? One program on three clusters: two typical forecasts and a hard one.

Larger runs are held out and shown beside what was forecast. Run it with ``python demo.py
[FOLDER]``; the picture goes into the folder, by default the one of this script. The data and
their source: `times.csv`.
"""

# ruff: noqa: T201 - printing is what this script is for
import signal
import sys
from os.path import relpath
from pathlib import Path

import matplotlib.pyplot as plt

import parcast
from parcast.units import format_quantity
from parcast.words import rounded_interval, signed_percent

HERE = Path(__file__).parent
FILE = relpath(HERE / "times.csv")
TABLE = "   p  forecast     90% interval    actual  error"


def main(folder: Path) -> None:
    """Print three forecasts beside the times that were held out, and draw them."""
    runs = parcast.read_measurements(HERE / "times.csv")
    crossbar, mesh, sp2 = (runs.select(machine=x) for x in ("crossbar", "mesh", "sp2"))
    print("NAS benchmark BT, class A, on three simulated clusters: how will it scale?")

    print("\n1. A new machine: one run on the cluster 'crossbar' (13.1 s at p = 4), and the")
    print("   runs on the other two, of which 'mesh' is similar (with 'sp2' as the new one,")
    print("   which is not, the forecast is up to 67% too low)\n")
    others = [int(p) for p in crossbar.p if p != 4]
    moved = parcast.forecast(crossbar, hold_out=others, donors=[mesh, sp2])
    show(moved, f"--target crossbar --hold-out {','.join(map(str, others))}")

    print("\n2. More processors: the runs at p = 1 to 36 on the cluster 'mesh', nothing else\n")
    grown = parcast.forecast(mesh, hold_out=[49, 64, 100, 144])
    show(grown, "--select machine=mesh --hold-out 49,64,100,144")

    print("\n3. A hard case: on the cluster 'sp2' each run up to p = 25 was faster than the")
    print("   one before. Beyond that it becomes slower, which these runs do not show.\n")
    turned = parcast.forecast(sp2, hold_out=[36, 49, 64, 100])
    show(turned, "--select machine=sp2 --hold-out 36,49,64,100")
    (run,) = parcast.plan_runs(sp2.select(p=[1, 4, 9, 16, 25]), p=64, runs=1)
    next_p = f"p = {run.at['p']:g}"
    print(f"\n   For p = 64, --plan-runs recommends to run {next_p} next. BT needs a square")
    print("   number of processors, so this is the forecast with the run at p = 49:\n")
    repaired = parcast.forecast(sp2, hold_out=[36, 64, 100])
    show(repaired, "--select machine=sp2 --hold-out 36,64,100")

    print("\nPicture: " + draw(folder, [moved, grown, turned, repaired]))


def show(forecast: parcast.Forecast, options: str) -> None:
    """Print forecast times and those that were held out, and the command that gives the same."""
    print(TABLE)
    for row in forecast.rows():
        time, lower, upper = rounded_interval(row["time_s"], row["lower_s"], row["upper_s"])
        actual = format_quantity(row["measured_s"], "time")
        error = signed_percent(row["time_s"] / row["measured_s"] - 1)
        is_inside = row["lower_s"] <= row["measured_s"] <= row["upper_s"]
        print(
            f"{row['p']:4} {time:>7} s {f'{lower} to {upper} s':>17} {actual:>9} {error:>4}%"
            + ("" if is_inside else "  outside the interval")
        )
    print(f"   $ parcast forecast {FILE} \\\n       {options}")


def draw(folder: Path, forecasts: list[parcast.Forecast]) -> str:
    """Draw the forecasts side by side, and say in which file."""
    titles = (
        "crossbar: 1 run, and other machines",
        "mesh: 6 runs",
        "sp2: 5 runs, a hard case",
        "sp2: with one run more",
    )
    figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for panel, forecast, title in zip(panels.flat, forecasts, titles, strict=True):
        forecast.plot(ax=panel)
        panel.set_title(title)
    for panel in panels.flat[1:]:
        panel.get_legend().remove()  # that of the first explains all
    path = folder / "forecast.png"
    figure.savefig(path, dpi=150)
    return str(path)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
