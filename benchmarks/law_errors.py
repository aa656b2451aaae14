"""Do intervals from fitted files hold? With the error that a fit saw, and with that of the law.

    .venv/bin/python benchmarks/law_errors.py FILE.csv [FILE.csv ...]

Protocol: a file is a set. Of every series with six counts or more, the largest and then the
largest two are held out, and a program of the law spmd is fitted to the others: computing that is
shared and computing that is not, and the same with a transfer that grows as log2(p). Each held
count is predicted from the fitted program with its own [[law_error]], and without it, with what is
known of the law on one node. Covered is the share of held counts inside the 90% interval,
averaged over the sets; width the median of upper / lower; apart where the runs scatter by up to
15% about the law, and where they scatter more, so that the law is the wrong one.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import parcast

FEWEST = 6  # counts of a series
FITS = 0.15  # scatter up to which a law fits


def programs(time: float) -> dict[str, parcast.Program]:
    """Programs to fit, of about so much work [s]."""
    work = {"law": "spmd", "compute": {"parallel": f"{time} s", "serial": f"{0.03 * time} s"}}
    sends = {**work, "communication": {"transfer": f"{0.01 * time} s * log2(p)"}}
    return {
        "shared + constant": parcast.Program(phase=[work]),
        "shared + constant + log2(p)": parcast.Program(phase=[sends]),
    }


def answers(path: Path) -> Iterator[tuple[str, bool, str, np.ndarray, np.ndarray]]:
    """Give program, whether it fits, which allowance, whether runs are inside, and the widths."""
    series = parcast.read_measurements(path).series()
    for row in range(len(series.keys)):
        count = int(series.count[row])
        p, time = series.p[row, :count], series.time[row, :count]
        for held in (1, 2):
            if count < FEWEST:
                continue
            known = parcast.Measurements(p=p[:-held], time=time[:-held])
            for name, program in programs(float(time[0] * p[0])).items():
                fit = parcast.fit(program, known, interval=False, starts=3)
                plain = fit.program.model_copy(update={"law_error": ()})
                for allowed, described in (("own", fit.program), ("of the law", plain)):
                    asked = p[-held:].astype(int)
                    told = parcast.predict(described, parcast.Machine(), p=asked, bounds=False)
                    inside = (told.lower <= time[-held:]) & (time[-held:] <= told.upper)
                    yield name, fit.noise <= FITS, allowed, inside, told.upper / told.lower


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    inside: dict = defaultdict(lambda: defaultdict(list))
    widths: dict = defaultdict(list)
    for path in parser.parse_args().files:
        for name, fits, allowed, held, width in answers(path):
            inside[name, fits, allowed][path.name] += held.tolist()
            widths[name, fits, allowed] += width.tolist()
    print("program                      scatter   allowance   sets  counts  covered  width")
    for key in sorted(inside, key=lambda x: (x[0], not x[1], x[2])):
        name, fits, allowed = key
        by_set = [np.mean(x) for x in inside[key].values()]
        scatter = f"{'<=' if fits else '>'} 15%"
        print(
            f"{name:28} {scatter:9} {allowed:11} {len(by_set):4} {len(widths[key]):7} "
            f"{100 * np.mean(by_set):6.0f}% {np.median(widths[key]):6.2f}"
        )


if __name__ == "__main__":
    main()
