"""What parcast answers, frozen: commands and Python calls, and all that they print and write.

A change that only moves, renames or shortens code must not change an answer. This keeps several
hundred of them: standard output, standard error, exit status and every file, in
`expected/GROUP/CASE.txt` (pictures packed, beside it). `test_frozen.py` runs the cases again and
shows what differs.

When may one record anew? When an answer was meant to change, and the differences are listed in a
decision record (docs/decisions) or the change log. Then run

    python tests/frozen/record.py [GROUP | GROUP/CASE ...]

and read the diff of `expected/` line by line: it is the list. Without names all cases are
recorded, and answers of cases that are no more are taken away.

A case stands in `cases/GROUP.toml`: a command line, several of them, or a table with

    run        a command line, or several, run in one folder one after the other
    python     statements instead; the value of each expression is printed, and each exception
    columns    widths of the screen, each run of its own; 0 is a pipe (by default only that)
    stdin      what stands there, from the table `files` or the examples
    terminal   true where standard output is a terminal with colours
    process    true to run it in a process of its own; all others run in this one
    needs      a package without which the case is left out

`files` of a group are written beside copies of the examples and of files of other tools
(`formats`), in a folder that is new for each case. A command line may also run a script: `python
SCRIPT`. Cases use what stays where it is: `python -m parcast`, the names of `parcast.__all__`, the
examples.

Numbers are compared to the last bit where the packages and the processor are those of
`expected/made_with.json`. Elsewhere logarithms and matrix products may end otherwise: there
numbers of many digits are compared to six, and of pictures the text.
PARCAST_FROZEN=exact or PARCAST_FROZEN=near chooses one of the two.
"""

import argparse
import ast
import atexit
import contextlib
import difflib
import gzip
import hashlib
import html
import importlib.metadata
import io
import itertools
import json
import math
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

import parcast

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FORMATS = next(HERE.parent.rglob("thicket.json")).parent  # files of other tools
EXPECTED = HERE / "expected"
MADE_WITH = EXPECTED / "made_with.json"
PACKAGES = ("click", "matplotlib", "numpy", "pandas", "pydantic", "scipy", "tomlkit")
# What may stand in the surroundings of whoever runs the cases, and would change answers.
SURROUNDINGS = re.compile("^(COLUMNS|LINES|NO_COLOR|TERM|_?PARCAST_.*|SLURM_.*|MPLBACKEND)$")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Case:
    """One question, and the surroundings in which it is asked."""

    name: str
    run: tuple[str, ...] = ()
    python: str = ""
    columns: tuple[int, ...] = (0,)
    stdin: str = ""
    terminal: bool = False
    process: bool = False
    needs: str = ""
    files: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Answer:
    """What a case left: a transcript, and pictures by their names."""

    transcript: str
    pictures: dict[str, str]


@cache
def cases() -> dict[str, Case]:
    read = {}
    for path in sorted((HERE / "cases").glob("*.toml")):
        group = tomllib.loads(path.read_text(encoding="utf-8"))
        for short, given in group["cases"].items():
            keys = dict(given) if isinstance(given, dict) else {"run": given}
            if isinstance(keys.get("run"), str):
                keys["run"] = [keys["run"]]
            lists = {key: tuple(keys[key]) for key in ("run", "columns") if key in keys}
            name = f"{path.stem}/{short}"
            read[name] = Case(name, **keys | lists, files=group.get("files", {}))
    return read


def answer(case: Case) -> Answer:
    """Run a case in a new folder, and tell what it printed and wrote."""
    with tempfile.TemporaryDirectory(prefix="frozen") as made:
        place = Path(made).resolve()
        template = _template()
        shutil.copytree(template.place, place, copy_function=os.link, dirs_exist_ok=True)
        before = template.files | {name: text.encode() for name, text in case.files.items()}
        for name in case.files:
            (place / name).write_bytes(before[name])
        written = _stamps(place)
        lines: list[str] = []
        with _surroundings(place):
            if case.python:
                lines += _python(case.python)
            for columns, line in itertools.product(case.columns, case.run):
                with mock.patch.dict(os.environ, {"COLUMNS": str(columns)} if columns else {}):
                    screen = f"COLUMNS={columns} " if columns else ""
                    lines += [f"$ {screen}{line}\n", *_command(case, line)]
        stamps = _stamps(place)
        after = {
            name: before[name] if written.get(name) == stamp else (place / name).read_bytes()
            for name, stamp in stamps.items()
        }
        assert _stamps(template.place) == template.stamps, f"{case.name} changed what others find"
        pictures = {}
        for name in sorted(after):
            if after[name] == before.get(name):
                continue
            content = after[name]
            if name.endswith(".svg"):
                pictures[name] = content.decode("utf-8")
            if name.endswith((".svg", ".png", ".pdf")):
                digest = hashlib.sha256(content).hexdigest()
                lines.append(f"-- file {name}: sha256 {digest}\n")
            else:
                lines += [f"-- file {name}\n", _whole(content)]
        lines += [f"-- file {name} is gone\n" for name in sorted(set(before) - set(after))]
        return Answer(_the_same_anywhere("".join(lines), place), pictures)


class Template(NamedTuple):
    """What every case finds, as links to files that none may write into."""

    place: Path
    files: dict[str, bytes]
    stamps: dict[str, tuple[int, int]]


@cache
def _template() -> Template:
    """Make it, once in a process."""
    place = Path(tempfile.mkdtemp(prefix="frozen"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    shutil.copytree(EXAMPLES, place / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(FORMATS, place / "formats")
    stamps = _stamps(place)
    return Template(place, {name: (place / name).read_bytes() for name in stamps}, stamps)


def _stamps(place: Path) -> dict[str, tuple[int, int]]:
    """Give which file stands where below a folder, and when it was last written."""
    found = {
        str(path.relative_to(place)): path.stat() for path in place.rglob("*") if path.is_file()
    }
    return {name: (status.st_ino, status.st_mtime_ns) for name, status in found.items()}


@contextlib.contextmanager
def _surroundings(place: Path) -> Iterator[None]:
    """Work in a folder, with nothing of the terminal and the settings of whoever runs this."""
    plain = {name: text for name, text in os.environ.items() if not SURROUNDINGS.match(name)}
    plain |= {"SOURCE_DATE_EPOCH": "0", "MPLBACKEND": "agg"}
    with (
        mock.patch.dict(os.environ, plain, clear=True),
        contextlib.chdir(place),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        yield


class _Terminal(io.TextIOWrapper):
    """Standard output as a person sees it."""

    def isatty(self) -> bool:
        return True


def _command(case: Case, line: str) -> Iterator[str]:
    program, *words = shlex.split(line)
    assert program in ("parcast", "python"), f"{case.name} must run parcast, got {program}"
    stdin = Path(case.stdin).read_bytes() if case.stdin else b""
    run = _in_a_process if case.process else _in_this_process
    script = words.pop(0) if program == "python" else ""
    status, out, err = run(words, stdin, script=script, is_terminal=case.terminal)
    yield _whole(out)
    if err:
        yield f"-- standard error\n{_whole(err)}"
    yield f"-- status {status}\n"


def _in_this_process(
    words: list[str], stdin: bytes, *, script: str, is_terminal: bool
) -> tuple[object, bytes, bytes]:
    """Do as `python -m parcast` does, or a script: the status and what is printed where."""
    out, err = io.BytesIO(), io.BytesIO()
    stream = _Terminal if is_terminal else io.TextIOWrapper
    status: object = 0
    with (
        mock.patch.object(sys, "argv", [script or "parcast", *words]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        mock.patch.object(sys, "stdout", stream(out, "utf-8", newline="")) as text,
        mock.patch.object(sys, "stderr", io.TextIOWrapper(err, "utf-8", newline="")) as told,
    ):
        try:
            if script:
                runpy.run_path(script, run_name="__main__")
            else:
                runpy.run_module("parcast", run_name="__main__")
        except SystemExit as end:
            status = end.code or 0
        text.flush()
        told.flush()
    return status, out.getvalue(), err.getvalue()


def _in_a_process(
    words: list[str], stdin: bytes, *, script: str, is_terminal: bool
) -> tuple[object, bytes, bytes]:
    """Run `python -m parcast`, the same one as is loaded here."""
    assert not script, "a process of its own runs parcast"
    assert not is_terminal, "a process of its own has no terminal"
    source = str(Path(parcast.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-m", "parcast", *words],
        input=stdin,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
    )
    return ended.returncode, ended.stdout, ended.stderr


def document(result: object) -> None:
    sys.stdout.write(json.dumps(result.to_document(), indent=1) + "\n")  # type: ignore[attr-defined]


def rows(result: object) -> None:
    for row in result.rows():  # type: ignore[attr-defined]
        sys.stdout.write(json.dumps(row) + "\n")


def in_notebook(result: object) -> None:
    shown = result._repr_html_()  # type: ignore[attr-defined]
    sys.stdout.write(re.sub("<svg .*</svg>", "<svg/>", shown) + "\n")  # pictures have own tests


def _python(snippet: str) -> Iterator[str]:
    """Run statements as a person types them: each with the value or the exception it gives."""
    names = {"parcast": parcast, "np": np, "json": json, "document": document, "rows": rows}
    names["in_notebook"] = in_notebook
    for statement in ast.parse(snippet).body:
        yield f">>> {ast.get_source_segment(snippet, statement)}\n"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                if isinstance(statement, ast.Expr):
                    code = compile(ast.Expression(statement.value), "a case", "eval")
                    value = eval(code, names)
                    if value is not None:
                        sys.stdout.write(f"{value!r}\n")
                else:
                    exec(compile(ast.Module([statement], []), "a case", "exec"), names)
            except Exception as error:  # whatever it is, it is the answer
                kind, text = type(error).__name__, str(error)
                sys.stdout.write(f"{kind}: {text}\n")
                if os.environ.get("PARCAST_FROZEN_DEBUG"):
                    traceback.print_exc()
        yield _whole(out.getvalue().encode("utf-8"))


def _whole(content: bytes) -> str:
    """Give text that ends its last line, and says so where that was missing."""
    text = content.decode("utf-8", "backslashreplace")
    return text if not text or text.endswith("\n") else f"{text}\n-- no end of line\n"


def _the_same_anywhere(text: str, place: Path) -> str:
    """Take out what differs between folders, processes and versions of parcast."""
    text = text.replace(str(place), "/home/me")
    text = text.replace(parcast.__version__, "VERSION")
    text = re.sub(r"\S*/bin/parcast\b", "parcast", text)  # where the script is, a demo says
    text = re.sub(r"<parcast\.[a-z_.]+\.(\w+)", r"<\1", text)  # modules of classes may move
    return re.sub(r"\b0x[0-9a-f]{6,}", "0xADDRESS", text)


# ------------------------------------------------------------------- expected and compared


def made_with() -> dict[str, object]:
    """Name what decides on the last bits of a number."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "libc": " ".join(platform.libc_ver()),
        "simd": simd,
        **{name: importlib.metadata.version(name) for name in PACKAGES if find_spec(name)},
    }


def _processor() -> str:
    """Name the kind of processor, by which libraries choose how they sum."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return " ".join(facts.get(name, "") for name in ("vendor_id", "cpu family", "model")).strip()


@cache
def is_exact() -> bool:
    """Tell whether numbers must be equal to the last bit."""
    chosen = os.environ.get("PARCAST_FROZEN", "")
    if chosen:
        return {"exact": True, "near": False}[chosen]
    return bool(json.loads(MADE_WITH.read_text(encoding="utf-8")) == made_with())


def _place(name: str) -> Path:
    return EXPECTED / f"{name}.txt"


def _picture(name: str, file: str) -> Path:
    return EXPECTED / f"{name}.{file}.gz"


def keep(case: Case) -> None:
    told = answer(case)
    _forget(case.name)
    place = _place(case.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(told.transcript.encode("utf-8"))
    for file, drawn in told.pictures.items():
        _picture(case.name, file).write_bytes(gzip.compress(drawn.encode("utf-8"), 9, mtime=0))


def _forget(name: str) -> None:
    """Take away what was kept of a case."""
    place = _place(name)
    for old in [place, *place.parent.glob(f"{place.stem}.*.gz")]:
        old.unlink(missing_ok=True)


def differences(case: Case) -> str:
    """Compare the answer to a case with what was kept: what differs, or nothing."""
    place = _place(case.name)
    if not place.exists():
        return f"{case.name} was never recorded.\n"
    told = answer(case)
    expected = place.read_bytes().decode("utf-8")
    differ = _difference(case.name, expected, told.transcript)
    for file, drawn in told.pictures.items():
        kept = _picture(case.name, file)
        before = gzip.decompress(kept.read_bytes()).decode("utf-8") if kept.exists() else ""
        texts = (before, drawn) if is_exact() else (_words(before), _words(drawn))
        differ += _difference(f"{case.name}: {file}", *texts)
    return differ


def _difference(name: str, expected: str, told: str) -> str:
    """Give a unified diff of two texts, or nothing where they are equal."""
    if expected == told or (not is_exact() and near(expected, told)):
        return ""
    lines = difflib.unified_diff(
        expected.splitlines(),
        told.splitlines(),
        f"{name}, as kept",
        f"{name}, now",
        n=2,
        lineterm="",
    )
    shown = list(itertools.islice(lines, 201))
    more = ["(and more)"] if len(shown) > 200 else []
    return "\n".join([*shown[:200], *more]) + "\n"


def near(expected: str, told: str) -> bool:
    """Tell whether two texts are the same but for the last digits of long numbers.

    >>> near("time 1.23456789 at p = 4", "time 1.23456788 at p = 4")
    True
    >>> near("time 1.23 at p = 4", "time 1.24 at p = 4")
    False
    """
    digest = re.compile("sha256 [0-9a-f]{64}")
    expected, told = digest.sub("sha256", expected), digest.sub("sha256", told)
    if NUMBER.split(expected) != NUMBER.split(told):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(told), strict=True)
    return all(a == b or _is_near(a, b) for a, b in pairs)


def _is_near(one: str, other: str) -> bool:
    """Compare two numbers, of which one at least has many digits."""
    digits = max(len(re.sub(r"[eE].*|\D", "", text)) for text in (one, other))
    return digits > 6 and math.isclose(float(one), float(other), rel_tol=1e-5, abs_tol=1e-12)


def _words(drawn: str) -> str:
    """Give the texts of a picture, a line each."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", drawn, re.DOTALL)
    return "".join(html.unescape(re.sub("<[^>]*>", "", text)) + "\n" for text in found)


def main() -> None:
    """Record cases anew: those that are named, or all."""
    parser = argparse.ArgumentParser(description="Record answers of parcast anew.")
    parser.add_argument("names", nargs="*", metavar="GROUP[/CASE]")
    names = parser.parse_args().names
    chosen = [
        case
        for case in cases().values()
        if not names or case.name in names or case.name.split("/")[0] in names
    ]
    if not chosen:
        parser.error(f"no case is called so: {', '.join(names)}")
    if names and not is_exact():
        parser.error("some cases only, with other packages than the rest: record all.")
    missing = sorted({case.needs for case in chosen if case.needs and not find_spec(case.needs)})
    if missing:
        parser.error(f"the cases need {', '.join(missing)}")
    for case in chosen:
        keep(case)
    if not names:
        kept = {str(path.relative_to(EXPECTED))[:-4] for path in EXPECTED.rglob("*.txt")}
        for name in kept - set(cases()):
            _forget(name)
        MADE_WITH.write_text(json.dumps(made_with(), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(chosen)} cases recorded. Read the diff: git diff {EXPECTED}\n")


if __name__ == "__main__":
    main()
