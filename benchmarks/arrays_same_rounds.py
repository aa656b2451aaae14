"""How far the law of array I/O is from runs in the same rounds as its reference requests.

    python benchmarks/arrays_same_rounds.py [--clients 4] [--servers 2] [--dedicated] [--rounds 6]

`parcast validate array-io` predicts requests before they are run: on a machine that changes its
speed, its errors contain that change. Here the requests of its list with these ranks and the
reference requests are run in the same rounds, in random order, in the current folder. Costs are
those of the references alone. These are no predictions, but they show what the law is worth where
the machine is the same.
"""

import argparse
from pathlib import Path
from statistics import median

from parcast.arrays.calibration.fitting import fitted
from parcast.arrays.calibration.measure import SLOW, Measuring
from parcast.arrays.calibration.references import largest_size, references
from parcast.arrays.calibration.regimes import costs_of
from parcast.arrays.trials.launcher import shares
from parcast.arrays.trials.request import FAST, Layout, read_requests

DISK = 10 * SLOW  # rate from which the fit starts, and by which references are sized [B/s]


def main():
    """Print the error of each request."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--dedicated", action="store_true", help="servers are ranks of their own")
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    layout = Layout(given.clients, given.servers, given.dedicated)
    known = references(layout, largest_size(layout, DISK))
    listed = [x for x in read_requests(FAST) if x.layout == layout]
    if not listed:
        parser.error("no request of parcast validate array-io has these ranks")
    asked = known | {f"request {i}": x for i, x in enumerate(listed)}
    measuring = Measuring(folder=Path.cwd())
    runs = measuring.run(asked, shares(given.rounds))
    seen = measuring.references(asked, runs)
    value = {figure.key: figure.value for figure in fitted(seen[: len(known)], DISK)}
    errors = []
    for request, each in zip(listed, seen[len(known) :], strict=True):
        time = each.law.time(costs_of(each.law.asked, each.dry, value)).time
        errors.append(abs(time / each.time - 1))
        print(f"{request!s:60} {each.time:8.4f} s  law {time:8.4f} s  {time / each.time - 1:+.0%}")
    within = sum(error <= 0.2 for error in errors)
    print(f"within 20%: {within} of {len(errors)}, median error {median(errors):.1%}")


if __name__ == "__main__":
    main()
