"""A program for the tests: items without an end, until Ctrl-C; reductions go to a server stage.

``python endless.py [KEY=VALUE ...]`` with arguments of `run_pipeline` as Python.
"""

import ast
import itertools
import sys
import time
from pathlib import Path

import parcast


def items(pause):
    for i in itertools.count():
        time.sleep(pause)
        yield i


def serve(reduction):
    with Path("served").open("a") as stream:
        stream.write(f"{reduction.first} {reduction.stop} {reduction.value}\n")


def task(i):
    time.sleep(0.002)
    return i


def main(arguments):
    keys = {name: ast.literal_eval(value) for name, value in (x.split("=", 1) for x in arguments)}
    pause = keys.pop("pause", 0.0)
    is_counted = keys.pop("counted", False)
    source = range(10**9) if is_counted else items(pause)
    result = parcast.run_pipeline(source, task, server=serve, **keys)
    if result.is_root:
        facts = [result.items, result.reductions, result.was_stopped, result.value]
        Path("result.txt").write_text(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1:])
