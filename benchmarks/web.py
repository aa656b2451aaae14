"""The what-if page under load: the first page, a moved slider, and 50 browsers at a time.

Run it on an idle machine: `python benchmarks/web.py`. Figures are of this machine, in one run; the
same answer by `parcast predict`, which a user would run instead, stands beside them.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.web.server import serving

ROOT = Path(__file__).parent.parent
BTIO = [ROOT / "examples" / "btio" / x for x in ("program.toml", "sp2.toml")]
SURFACE = "p=1..64&d=1..64"  # 4,096 points
PANELS = ["/panel/predict", "/panel/explain", "/panel/plan"]


def timed(ask):
    """Seconds of a call, and what it gave."""
    begun = time.perf_counter()
    given = ask()
    return time.perf_counter() - begun, given


def moved(rng):
    """A place of a slider."""
    return f"x.network.latency={rng.uniform(-6, 6):.3f}"


def client(page, seed, seconds, pause):
    """Move a slider, look for a while, and move it again, as a person does."""
    rng = random.Random(seed)
    took, failed = [], 0
    time.sleep(rng.uniform(0, 2 * pause))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        spent, (status, _, text) = timed(lambda: page.ask(f"/panel/predict?{moved(rng)}"))
        took.append(spent)
        failed += status != 200 or "<svg" not in text
        time.sleep(rng.uniform(0, 2 * pause))
    return took, failed


def by_command():
    """Seconds of the command that answers the same surface."""
    words = ["predict", *map(str, BTIO), "-p", "1..64", "-d", "1..64", "-o"]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "parcast",
            *words,
            f"{folder}/x.svg",
            "--picture",
            "lines",
        ]
        run = lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: E731
        return min(timed(run)[0] for _ in range(3))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pause", type=float, default=1.0, help="mean time to look [s]")
    given = parser.parse_args()
    rng = random.Random(0)
    with serving(*BTIO, folder=ROOT) as page:
        first, _ = timed(lambda: page.ask("/"))
        sliders = [
            timed(lambda: page.ask(f"/panel/predict?{SURFACE}&{moved(rng)}"))[0] for _ in range(20)
        ]
        with ThreadPoolExecutor(given.clients) as pool:
            [*pool.map(page.ask, PANELS)]  # as a browser does with the first page
            results = [
                pool.submit(client, page, i, given.seconds, given.pause)
                for i in range(given.clients)
            ]
            done = [x.result() for x in results]
    took = sorted(x for each, _ in done for x in each)
    command = by_command()
    slider = statistics.median(sliders)
    print(f"first page                       {1e3 * first:6.0f} ms")
    print(f"slider, 4,096 points, median     {1e3 * slider:6.0f} ms")
    print(f"slider, 4,096 points, largest    {1e3 * max(sliders):6.0f} ms")
    print(f"the same by `parcast predict`    {1e3 * command:6.0f} ms")
    print(
        f"{given.clients} clients, {len(took)} answers in {given.seconds:g} s: "
        f"median {1e3 * took[len(took) // 2]:.0f} ms, "
        f"p95 {1e3 * took[int(0.95 * len(took))]:.0f} ms, errors {sum(x for _, x in done)}"
    )


if __name__ == "__main__":
    main()
