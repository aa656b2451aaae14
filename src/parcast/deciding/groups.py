"""`parcast explain` and `parcast plan`: groups of commands, whose parts are found by place."""

from typing import Final

from parcast.cli.parts import CommandParts
from parcast.deciding.plans import with_plugins

EXPLAIN: Final = {
    "pipeline": "parcast.pipeline.explaining.command:command",
    "traffic": "parcast.pipeline.traces.traffic.command:command",
}

PLAN: Final = {
    "io": "parcast.arrays.planning.command:command",
    "pipeline": "parcast.pipeline.planning.command:command",
}

EXPLAIN_HELP: Final = """Explain how a parallel program works, or what a traced run did.

`parcast explain COMMAND --help` explains a command.

\b
Exit status: 0  answered
             1  answered, and the answer is no
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  nothing can be decided

\b
Examples:
  parcast explain pipeline -np 8
  parcast explain pipeline run.jsonl -o timeline.png
"""

explain = CommandParts(
    "explain",
    EXPLAIN,
    help=EXPLAIN_HELP,
    short_help="Explain how a parallel program works, or a traced run.",
)

PLAN_HELP: Final = """Choose how to run a parallel program, before it runs.

`parcast plan COMMAND --help` explains a command.

\b
Exit status: 0  answered
             1  answered, and the answer is no: nothing meets the limits
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible

\b
Examples:
  parcast plan pipeline --items 100000 --task 5ms --merge 0.2ms --ranks 16
  parcast plan pipeline --trace run.jsonl --items 1000000 --within 1h
  parcast plan io --shape 512x512x512 --clients 3x4x2 --servers 1..8
"""

plan = CommandParts(
    "plan",
    with_plugins(PLAN),
    help=PLAN_HELP,
    short_help="Choose how to run a parallel program.",
)
