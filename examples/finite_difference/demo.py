"""Forecast a program on 64 processors from its times on 1 to 32, on three machines.

The times on 64 were measured too. They are held out, and serve to check the forecast. Run it with
``python demo.py [FOLDER]``; the figures go into the folder, by default the one of this script.
"""

# ruff: noqa: T201 - printing is what this script is for
import sys
from os.path import relpath
from pathlib import Path

import parcast
from parcast.forecasting.picture import figure_of
from parcast.show.canvas import save_figure
from parcast.units import format_quantity
from parcast.words import rounded_interval

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Print the forecast, what to doubt about it, and where its figures are."""
    runs = parcast.read_measurements(HERE / "times.csv")
    result = parcast.forecast(runs, hold_out=[64])

    print("Time on 64 processors, forecast from runs on 1 to 32\n")
    print("machine  forecast  (90 % interval)   measured  error  in the interval")
    for row in result.rows():
        ends = (row["time_s"], row["lower_s"], row["upper_s"])
        forecast = "{} s  ({} to {} s)".format(*rounded_interval(*ends))
        measured = format_quantity(row["measured_s"], "time")
        error = row["time_s"] / row["measured_s"] - 1
        held = "yes" if row["lower_s"] <= row["measured_s"] <= row["upper_s"] else "no"
        print(f"{row['machine']:8} {forecast:26} {measured:>8}  {error:+5.0%}  {held}")

    print("\nWhat the forecast says of itself:")
    for warning in result.warnings:
        print(f"- {warning}")

    print("\nFigures:")
    figure = figure_of(result)
    for name in ("forecast.svg", "forecast.png"):
        save_figure(figure, folder / name)
        print(f"  {folder / name}")
    print("\nThe command that does the same:")
    command = relpath(Path(sys.executable).with_name("parcast"))
    print(f"  {command} forecast {relpath(HERE / 'times.csv')} --hold-out 64 -o forecast.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
