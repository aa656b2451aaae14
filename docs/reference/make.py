"""Write the pages that repeat the code: command-line.md, json.md, ../llms.txt and parcast.1.

    python docs/reference/make.py       (or: make reference)

Options are those of click. Keys of documents are those of the outlines of results, and what they
hold are the comments and docstrings of their fields. What is written by hand stands before and
after the marks in each page and is kept. A test compares the pages.
"""

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path

import click

import parcast
from parcast.applications.text.search.tasks import HIT
from parcast.cli import cli
from parcast.places import load
from parcast.show.outline import keys_of

HERE = Path(__file__).parent
BEGIN, END = "<!-- made by make.py: edit the code -->\n", "<!-- end of what is made -->\n"

COMMON = 2  # commands that have an option before it is explained once for all of them
# Paragraphs of help that are left out: said once in the page, or shown in how-tos.
LEFT_OUT = re.compile(
    r"^(?:\x08|Exit status:|Examples?:|(?:LIST|SIZES) is |Prints |A grammar is )"
)
SAID = re.compile(  # the same of sentences
    r'; the files may have any order, and "-" is standard input(?=\.)'
    r'| *(?:The files may have any order; )?"-" is standard input(?:, for one of them)?\.'
    r"| *PROGRAM and MACHINE are TOML files[^.;]*\.| *The files may have any order\."
    r"| *LIST, SIZES and RANGE are as in [^.]*\."
    r"| *LIST is a list of [a-z ]*counts: .*?\(doubling\)\.| *SIZES is a list of [a-z ]+: \S+\."
)
BOUNDS = re.compile(r" *\[(?:at least [01]|1 to \d+)\]|; (?:at least [01]|1 to \d+)(?=\])")
IN_EVERY = {"--json", "-v", "--debug", "--help", "-h"}  # or nearly: no section names them

DOCUMENTS = {  # heading, and the answers below it
    "The document of `parcast forecast`": ["parcast.forecasting.result:Forecast"],
    "`knee` and `plan_runs` of a forecast": [
        "parcast.forecasting.knee:Knee",
        "parcast.forecasting.next_runs.result:PlannedRun",
    ],
    "The document of `parcast forecast --memory`": [
        "parcast.forecasting.memory.result:MemoryForecast"
    ],
    "The document of `parcast predict`": ["parcast.prediction.result:Prediction"],
    "The document of `parcast fit`": ["parcast.fitting.result:Fit"],
    "The document of `parcast simulate`": ["parcast.simulation.result:Simulation"],
    "The document of `parcast match`": ["parcast.deciding.machines.result:Match"],
    "The document of `parcast compare`": ["parcast.deciding.compare.result:VersionComparison"],
    "The document of `parcast check`": ["parcast.deciding.check.result:RegressionCheck"],
    "The documents of `parcast project`": [
        "parcast.projection.result:Projection",
        "parcast.projection.result:CountedProjection",
    ],
    "The document of `parcast calibrate`": ["parcast.calibration.result:Calibration"],
    "The document of `parcast calibrate array-io`": [
        "parcast.arrays.calibration.result:MeasuredCosts"
    ],
    "The document of a pipeline": ["parcast.pipeline.result:PipelineResult"],
    "The documents of sorting and searching": [
        "parcast.applications.sorting.result:SortedFile",
        "parcast.applications.text.search.result:SearchResult",
        "parcast.applications.text.search.tasks:Hit",
    ],
    "The documents of `parcast explain`": [
        "parcast.deciding.explain.descriptions.result:DescriptionsExplained",
        "parcast.deciding.explain.timings.result:TimingsExplained",
        "parcast.deciding.explain.profiles.result:ProfilesExplained",
    ],
    "The documents of `parcast explain pipeline`": [
        "parcast.pipeline.explaining.result:PipelineSchedule",
        "parcast.pipeline.explaining.timeline:Timeline",
    ],
    "The document of `parcast explain traffic`": [
        "parcast.pipeline.traces.traffic.result:TrafficCheck"
    ],
    "The document of `parcast plan`": ["parcast.deciding.goals.result:ResourcePlan"],
    "The document of `parcast plan pipeline`": ["parcast.pipeline.planning.result:PipelinePlan"],
    "The document of `parcast plan proposal`": ["parcast.deciding.proposal.result:Proposal"],
    "The document of `parcast plan io`": ["parcast.arrays.planning.result:RequestPlan"],
    "The document of `parcast arrays verify`": [
        "parcast.arrays.store.verification:Verifications",
    ],
    "The document of `parcast characterise`": ["parcast.characterisation.result:Characterisation"],
}
# Keys that hold the same in every document: the page says it once, above what is made.
EVERYWHERE = {
    *("rows", "interval", "warnings", "law", "sources", "inputs", "program", "machine", "verdict"),
    *("scaling", "scaling_reason", "seed", "seconds", "p", "ranks", "time_s", "measured_s"),
    *("compute_s", "communication_s", "io_s", "synchronisation_s", "speedup", "efficiency"),
    *("utilisation", "schedule", "pipelines", "fan_in", "cores", "folder", "testbed", "load"),
    *("name", "rank", "host", "method", "launches", "repetitions"),
    *("limited_by", "reasons", "mpi", "date"),
    *("series", "refused", "measured", "reach", "measured_p", "rests_on"),
    *("backtest_error", "no_forecast_p"),
    *("call", "out_of_memory", "time_limit", "time_limit_s", "time_limit_certainty"),
    *("within_s", "certainty", "currency", "contention_free_s", "single_bus_s"),
}
SERIES = "keys of `key`"  # the same
END_OF_INTERVAL = re.compile(r"^(?:lower|upper) end of ")
ENDING = re.compile(r"_(?:s|B|bytes|B_per_s|per_s)`$")
UNIT = re.compile(r"\s*\[([^\]]+)\]\.?$")


def with_made(page: Path, made: str) -> str:
    """Put what is made between the marks of a page; all of a manual page is made."""
    if page.suffix == ".1":
        return made
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{made.strip()}\n\n{END}{after}"


# The command line


def commands(
    group: click.Group, ctx: click.Context, name: str = ""
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Give every command with its name, those of groups after them."""
    for part in group.list_commands(ctx):
        command = group.get_command(ctx, part)
        whole = f"{name}{part}"
        inner = click.Context(command, parent=ctx, info_name=part)
        yield whole, command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner, f"{whole} ")


def options_of(command: click.Command) -> list[tuple[str, str]]:
    """Give the options of a command: how each is written, and its help."""
    ctx = click.Context(command)
    records = [x.get_help_record(ctx) for x in command.params if isinstance(x, click.Option)]
    return [x for x in records if x and not {"--help", "-h"} & set(re.split(r", | ", x[0]))]


def paragraphs_of(command: click.Command) -> list[str]:
    """Give the help in paragraphs, without statuses and examples."""
    text = inspect.cleandoc(command.help or "").split("\f")[0]
    every = [x.strip() for x in text.split("\n\n")]
    joined = [" ".join(x.split()) for x in every if not LEFT_OUT.match(x)]
    return [escaped(said) for x in joined if (said := SAID.sub("", x).strip())]


def escaped(text: str) -> str:
    """Write a text as Markdown shows it."""
    return re.sub(r"([*<|])", r"\\\1", text)


def line_of(record: tuple[str, str]) -> str:
    """Write an option as a line of a list."""
    names, help = record
    return f"- `{names}`: {escaped(' '.join(BOUNDS.sub('', help).split()))}"


def command_line() -> str:
    """Give what the page of commands repeats of click."""
    every = list(commands(cli, click.Context(cli, info_name="parcast", **cli.context_settings)))
    counted = Counter(record for _, command, _ in every for record in options_of(command))
    common: dict[str, tuple[str, str]] = {}  # of options of one name the one with most commands
    for record, count in counted.most_common():
        if count >= COMMON and ("(" in record[1] or not is_output(record)):
            common.setdefault(name_of(record), record)
    said = Counter(x for _, command, _ in every for x in dict.fromkeys(paragraphs_of(command)))
    repeated = [x for x, count in said.items() if count >= COMMON]
    text = ["## Options of several commands", *repeated]
    order = [x for x in counted if x in common.values()]
    text.append("\n".join(map(line_of, order)))
    for name, command, ctx in every:
        if not command.params:  # only commands below it
            continue
        text.append(f"## parcast {name}")
        arguments = [x for x in command.collect_usage_pieces(ctx) if x != "[OPTIONS]"]
        if arguments:
            text.append(f"`parcast {name} {' '.join(arguments)}`")
        text += [x for x in paragraphs_of(command) if x not in repeated]
        options = options_of(command)
        here = [i for i, x in enumerate(order) if x in options and name_of(x) not in IN_EVERY]
        outputs = [x for x in options if is_output(x) and x not in order]
        rest = [x for x in options if x not in order and x not in outputs]
        text.append("\n".join(map(line_of, rest)))
        shared = [*spans(here, order), *(formats_of(x) for x in outputs)]
        if shared:
            text.append(f"Also {', '.join(shared)}.")
    return "\n\n".join(x for x in text if x)


def spans(here: list[int], order: list[tuple[str, str]]) -> Iterator[str]:
    """Name options by their places in the list of shared ones, a row of them by its ends."""
    for _, run in groupby(enumerate(here), key=lambda pair: pair[1] - pair[0]):
        names = [f"`{name_of(order[i])}`" for _, i in run]
        yield f"{names[0]} to {names[-1]}" if len(names) > 2 else ", ".join(names)


def is_output(record: tuple[str, str]) -> bool:
    """Whether it is -o with nothing to say but its formats."""
    return record[1].startswith("Write PATH too: ")


def formats_of(record: tuple[str, str]) -> str:
    """Write -o with its formats, and what is in them."""
    notes = re.findall(r"([.][a-z]+) \(([^)]+)\)", record[1])
    formats = re.findall(r"[.][a-z]+", re.sub(r"\([^)]*\)", "", record[1]))
    said = "; ".join(f"{format}: {note}" for format, note in notes)
    return f"`-o {','.join(formats)}`" + (f" ({said})" if said else "")


def name_of(record: tuple[str, str]) -> str:
    """Give the shortest spelling of an option."""
    return record[0].split(",")[0].split(" ")[0]


# Documents


def facts_of(kind: type) -> dict[str, tuple[str, str, str]]:
    """Read what each field and property of a class is: its unit, a phrase, its annotation."""
    facts = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("parcast."):
            facts |= own_facts(each)
    return facts


@cache
def source_of(module: str) -> tuple[list[str], dict[str, ast.ClassDef]]:
    """Read the lines and the classes of a module."""
    text = inspect.getsource(import_module(module))
    classes = {x.name: x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.ClassDef)}
    return text.splitlines(), classes


@cache
def own_facts(kind: type) -> dict[str, tuple[str, str, str]]:
    """Read the source of one class."""
    lines, classes = source_of(kind.__module__)
    facts = {}
    for node in classes[kind.__name__].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comment = lines[node.end_lineno - 1].partition("  # ")[2]
            above = lines[node.lineno - 2].strip()
            comment = comment or (above[2:] if above.startswith("# ") else "")
            facts[node.target.id] = (*unit_and_phrase(comment), ast.unparse(node.annotation))
        elif isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)):
            phrase = unit_and_phrase(" ".join(said.split("\n\n")[0].split()))
            returned = "" if node.returns is None else ast.unparse(node.returns)
            facts[node.name] = (*phrase, returned)
    return facts


def unit_and_phrase(text: str) -> tuple[str, str]:
    """Divide a comment into the unit at its end and what it says."""
    unit = UNIT.search(text)
    phrase = UNIT.sub("", text).strip().rstrip(".")
    phrase = re.sub(r"\bNone\b|\bNaN\b", "`null`", phrase).replace('""', "empty")
    if phrase[:1].isupper() and phrase[1:2].islower():
        phrase = phrase[0].lower() + phrase[1:]
    return ("" if unit is None or unit[1] == "1" else unit[1]), phrase


def kinds_in(annotation: str, kind: type) -> list[type]:
    """Give the classes that an annotation names, as the module of a class knows them."""
    known = vars(import_module(kind.__module__))
    found = [known.get(name) for name in re.findall(r"\b[A-Z]\w+", annotation)]
    return [x for x in found if isinstance(x, type) and x.__module__.startswith("parcast.")]


def document(kind: type, title: str, outline: str, seen: dict[type, str]) -> list[str]:
    """Give a list of keys, and the lists of what they hold."""
    lines: dict[tuple[str, str], list[str]] = {}
    below = []
    for key in keys_of(kind, outline):
        facts, owner = facts_of(kind), kind
        unit, phrase, annotation = facts.get(key.path[0], ("", "", ""))
        for name in key.path[1:]:
            inner = next(iter(kinds_in(annotation, owner)), None)
            if inner is None:
                break
            owner = inner
            unit, phrase, annotation = facts_of(inner).get(name, ("", "", ""))
        nested = [x for x in kinds_in(annotation, owner) if hasattr(x, "_outline")]
        name = f"keys of `{key.path[-1].lstrip('_')}`" if key.is_spread else f"`{key.name}`"
        if nested and seen.get(nested[0], key.name) != key.name:
            phrase = f"{phrase}, with the keys of `{seen[nested[0]]}`"
        below += [(f"`{key.name}`", x, x._outline) for x in nested if x not in seen]
        for x in nested:
            seen.setdefault(x, key.name)
        said = key.name in EVERYWHERE or name == SERIES
        if said or END_OF_INTERVAL.match(phrase):
            continue

        if not phrase:
            MISSING.append(f"{kind.__module__}:{kind.__name__}.{'.'.join(key.path)} ({key.name})")
        lines.setdefault((unit, phrase), []).append(name)
    text = [title] if title else []
    text.append("\n".join(item(names, *said) for said, names in lines.items()))
    for name, inner, its in below:
        text += document(inner, f"Each of {name}:", its, seen)
    return text


def item(names: list[str], unit: str, phrase: str) -> str:
    """Write some keys of one meaning as a line of a list."""
    is_said = all(ENDING.search(name) for name in names)  # by the ends of the keys
    in_unit = f" [{unit}]" if unit and not is_said else ""
    return f"- {', '.join(names)}{in_unit}: {phrase}"


MISSING: list[str] = []


def documents() -> str:
    """Give what the page of documents repeats of the fields of results."""
    text: list[str] = []
    seen: dict[type, str] = {}  # what is nested, by the key that it is described at
    for heading, places in DOCUMENTS.items():
        text.append(f"## {heading}")
        for place in places:
            kind = load(place)
            schema = getattr(kind, "_schema", "")
            said = inspect.getdoc(kind).split("\n\n")[0].replace("\n", " ")
            text.append(f"`{schema}`:" if schema else said)
            text += document(kind, "", getattr(kind, "_outline", "") or HIT, seen)
            if hasattr(kind, "_row"):
                text += document(kind, "A row:", kind._row, seen)
            seen.setdefault(kind, [heading, *re.findall(r"`(.*?)`", heading)][-1])
    return "\n\n".join(x for x in text if x)


# The page for assistants: everything to act on, and no more


NOT_CALLED = ("measure job", "demo")  # by scripts of parcast, and to see what it is
INPUT = re.compile(r"^(?:[A-Z]{2}[A-Z.a-z]*(?: and )?)+ (?:is|are|holds|says)\b")
STATUS = re.compile(r"^ *(?:Exit status:)? *([14567])  +(.*(?:\n {14,}.*)*)", re.MULTILINE)
NO = re.compile(r"^answered(?:, and the answer is no)?(?:: |$)")


def assistant_page() -> str:
    """Give the commands with their inputs and statuses, and the functions of Python."""
    every = commands(cli, click.Context(cli, info_name="parcast", **cli.context_settings))
    acted = {
        name: acted_on(*each) for name, *each in every if each[0].params and name not in NOT_CALLED
    }
    same, others = [], []
    for name in parcast.__all__:
        function = getattr(parcast, name)
        if not inspect.isroutine(function):
            continue
        call = f"`{name}({', '.join(required(function))})`"
        if name.replace("_", " ") in acted:
            same.append(call)
        else:
            others.append(f"- {call}: {inspect.getdoc(function).splitlines()[0]}")
    as_commands = f"As the commands, with their options as keywords: {', '.join(same)}."
    return "\n\n".join(
        ["## Commands", *acted.values(), "## Python", as_commands, "\n".join(others)]
    )


def acted_on(command: click.Command, ctx: click.Context) -> str:
    """Write a command in a few lines: its use, inputs, statuses, and an example."""
    first, *paragraphs = paragraphs_of(command)
    arguments = [x.make_metavar(ctx) for x in command.params if isinstance(x, click.Argument)]
    must = [x for x in command.params if isinstance(x, click.Option) and x.required]
    options = [f"{x.opts[0]} {x.make_metavar(ctx)}" for x in must]
    usage = " ".join([ctx.command_path, *arguments, *options])
    lines = [f"### {usage}", first]
    lines += [f"{re.split('[.;] ', x)[0].rstrip('.')}." for x in paragraphs if is_input(x, usage)]
    help = inspect.cleandoc(command.help or "").split("\f")[0]
    statuses = STATUS.findall(help.partition("Exit status:")[2])
    meant = [(x, NO.sub("", " ".join(said.split()))) for x, said in statuses]
    lines += [f"{x}: {said}" for x, said in meant if said]
    example = re.search(r"Examples?:\n +(.*?)(?: \\)?$", help, re.MULTILINE)
    return "\n".join([*lines, *([f"    {example[1]}"] if example else [])])


def is_input(paragraph: str, usage: str) -> bool:
    """Whether a paragraph says what a file is that the usage names."""
    return bool(INPUT.match(paragraph)) and paragraph.split(maxsplit=1)[0] in usage


def required(function: object) -> list[str]:
    """Name the arguments of a function that must be given."""
    every = inspect.signature(function).parameters.values()
    return [
        x.name
        for x in every
        if x.default is x.empty and x.kind in (x.POSITIONAL_OR_KEYWORD, x.POSITIONAL_ONLY)
    ]


# The manual page


def manual() -> str:
    """Give the manual page, in roff: all commands with their options."""
    first, *rest = in_roff(cli.help or "")
    text = ['.TH PARCAST 1 "" parcast', ".SH NAME", f"parcast \\- {first.lower().rstrip('.')}"]
    text += [".SH SYNOPSIS", ".B parcast", r"COMMAND [OPTIONS] [FILES]", ".SH DESCRIPTION", *rest]
    text.append(".SH COMMANDS")
    for name, command, ctx in commands(
        cli, click.Context(cli, info_name="parcast", **cli.context_settings)
    ):
        usage = " ".join(command.collect_usage_pieces(ctx))
        text += [f".SS {in_line(f'parcast {name} {usage}')}", *in_roff(command.help or "")]
        for names, help in options_of(command):
            text += [".TP", f".B {in_line(names)}", in_line(" ".join(help.split()))]
    site = "docs/README.md, in the sources: tutorials, how-tos, all answers and their accuracy."
    return "\n".join([*text, ".SH SEE ALSO", site, ""])


def in_roff(help: str) -> Iterator[str]:
    r"""Write the help of a command, in which a paragraph that begins with \b keeps its lines."""
    for count, paragraph in enumerate(inspect.cleandoc(help).split("\f")[0].split("\n\n")):
        lines = paragraph.strip("\n").splitlines()
        if count:
            yield ".PP"
        if lines and lines[0] == "\b":
            yield from [".nf", *map(in_line, lines[1:]), ".fi"]
        elif lines:
            yield in_line(" ".join(x.strip() for x in lines))


def in_line(text: str) -> str:
    """Write a line of text so that roff takes nothing in it for a command of its own."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


PAGES = {
    "parcast.1": manual,
    "command-line.md": command_line,
    "json.md": documents,
    "../llms.txt": assistant_page,
}

if __name__ == "__main__":
    for name, made in PAGES.items():
        page = HERE / name
        page.write_text(with_made(page, made()), encoding="utf-8")
    sys.exit("\n".join(MISSING) or None)
