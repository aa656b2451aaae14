"""What it costs to watch the memory of a program, in processor time of what watches it.

    .venv/bin/python benchmarks/watch_cost.py

Programs of 1, 4 and 32 processes compute for two seconds, in a control group where one may be
made, and looked at in /proc. The processor time of the watching process, less that of one that
watches a program of no length, is compared with that of the program and with the time it takes.
"""

import resource
import sys

from parcast.trials.command import Ran, runner

RUNS = 3
SECONDS = 2.0  # of each process
PROGRAM = """
import os, sys, time
count, seconds = int(sys.argv[1]), float(sys.argv[2])
for _ in range(count - 1):
    if os.fork() == 0:
        break
held = bytearray(20_000_000)
while time.process_time() < seconds:
    sum(range(10_000))
"""


def watched(count: int, seconds: float, *, is_grouped: bool) -> tuple[float, Ran]:
    """Processor time of what watches a program [s], and the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with runner() as run:
        words = [sys.executable, "-S", "-c", PROGRAM, str(count), str(seconds)]
        ran = run(words, is_grouped=is_grouped)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    every = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return every - ran.user - ran.system, ran


def main() -> None:
    """Print the shares."""
    print("processes  by      seconds  watching  of processor time  of time")
    for count in (1, 4, 32):
        for is_grouped in (True, False):
            start = min(watched(1, 0.0, is_grouped=is_grouped)[0] for _ in range(2 * RUNS))
            own, ran = min(
                (watched(count, SECONDS, is_grouped=is_grouped) for _ in range(RUNS)),
                key=lambda x: x[0],
            )
            own = max(own - start, 0.0)
            print(
                f"{count:9}  {ran.memory_from:8}{ran.seconds:7.2f}{1000 * own:7.1f} ms"
                f"{100 * own / (ran.user + ran.system):17.2f} %{100 * own / ran.seconds:7.2f}%",
                flush=True,
            )


if __name__ == "__main__":
    main()
