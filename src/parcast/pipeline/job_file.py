"""A job as a Python file: functions by their names, such as ``task`` and ``merge``.

The file is imported as a module from its folder, on every rank. Only `task` must be there; `merge`
may be a function or the name of one, and `items` says what the arguments of the command mean.
"""

import ast
import importlib
import os
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from parcast.errors import Argument, FileProblems, ParameterError, Problem
from parcast.pipeline.engine.checkpoint import CODE, digest_of
from parcast.units import shown
from parcast.words import did_you_mean

NAMES: Final = ("task", "merge", "zero", "setup", "finish", "split", "server")


def job_module(path: str) -> ModuleType:
    """Import a job; what is wrong with it is refused with its line."""
    place = Path(path).resolve()
    _check(path, place)
    sys.path.insert(0, str(place.parent))
    with _own_errors(path, place):
        module = importlib.import_module(place.stem)
    if Path(module.__file__ or "").resolve() != place:
        hint = "Rename the file."
        got = f"{place.name}, which is that of {module.__file__ or 'a module of Python'}"
        raise ParameterError("JOB", must="have a name of its own", got=got, hint=hint)
    if not hasattr(module, "task"):
        public = [name for name in vars(module) if not name.startswith("_")]
        near = did_you_mean("task", public)
        message = f"defines no task. Write for example: def task(path): ...{near}"
        raise FileProblems(path, [Problem(message=message)])
    return module


def _check(path: str, place: Path) -> None:
    got = ""
    if place.is_dir():
        got = "a folder"
    elif not place.exists():
        got = f"{shown(path)}, which does not exist"
    elif place.suffix != ".py":
        got = f"{shown(path)}, which does not end in .py"
    if got:
        hint = "Write one that defines task(item), and name it."
        raise ParameterError("JOB", must="be a Python file", got=got, hint=hint)
    if not place.stem.isidentifier():
        hint = "Rename it, for example to count_words.py."
        raise ParameterError("JOB", must="have the name of a module", got=place.name, hint=hint)


@contextmanager
def _own_errors(path: str, place: Path) -> Iterator[None]:
    """Refuse the errors of a job's own code, with the line of the file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise FileProblems(path, [_problem(error, place)]) from error


def _problem(error: BaseException, place: Path) -> Problem:
    """Say where in a file an error is, or where what has it was called."""
    what, line = str(error), None
    if isinstance(error, SyntaxError) and error.filename == str(place):
        what, line = f"{error.msg} in {(error.text or '').strip()!r}", error.lineno
    if line is None:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((x.lineno for x in reversed(frames) if x.filename == str(place)), None)
    message = f"{type(error).__name__}: {what}".rstrip(": ")
    return Problem(message=f"{message.rstrip('.')}. Correct it.", line=line)


def functions_of(module: ModuleType) -> dict[str, Any]:
    """Arguments of `run_pipeline` that a job defines, but for its items."""
    return {name: getattr(module, name) for name in NAMES if hasattr(module, name)}


def in_job(path: str, refusal: ParameterError, own: Mapping[str, Any]) -> Exception:
    """Give a refusal as a fault of the job if it is of something that the job defines."""
    if refusal.name not in own:
        return refusal
    line = None
    for each in ast.parse(Path(path).read_bytes()).body:
        targets = each.targets if isinstance(each, ast.Assign) else [each]
        if refusal.name in (getattr(x, "id", getattr(x, "name", "")) for x in targets):
            line = each.lineno
    return FileProblems(path, [Problem(message=refusal.fault, field=refusal.name, line=line)])


def items_of(module: ModuleType, arguments: Sequence[str]) -> Iterable[Any]:
    """Items of a job: those of its own `items`, or files, or lines of standard input."""
    name = os.path.basename(module.__file__ or "")
    own = getattr(module, "items", None)
    if callable(own):
        return _own_items(module, arguments)
    if own is not None and arguments:
        hint = f"The items of {name} are not those of a function."
        raise ParameterError("ARGUMENT", must="be left out", got=shown(arguments[0]), hint=hint)
    if own is not None:
        items: Iterable[Any] = own
        return items
    if "-" in arguments:
        return _lines(arguments)
    return _all_files(arguments, name)


def check_for_script(path: str, arguments: Sequence[str]) -> None:
    """Refuse in a batch script what its run would refuse, but for what only importing shows.

    The job is not imported, as its libraries may be on the nodes of the cluster alone.
    """
    place = Path(path).resolve()
    _check(path, place)
    with _own_errors(path, place):
        names = _bound_names(ast.parse(place.read_bytes(), str(place)))
    if names & {"items", "*"}:
        return
    if "-" in arguments:
        hint = (
            f"Batch scripts have no standard input. Let items(path) in {place.name} read a file."
        )
        must = "not be - with ", Argument("slurm", True)
        raise ParameterError("ARGUMENT", must=must, hint=hint)
    _all_files(arguments, place.name)


def _bound_names(tree: ast.Module) -> set[str]:
    """Names that a module may define, not those within its functions; * for all of another."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {x.name for x in tree.body if isinstance(x, functions)}
    for statement in (x for x in tree.body if not isinstance(x, functions)):
        for node in ast.walk(statement):
            if isinstance(node, ast.alias):
                names.add(node.asname or node.name)
            elif isinstance(node, functions):
                names.add(node.name)
            elif isinstance(node, ast.Name):
                names.add(node.id)
    return names


def _lines(arguments: Sequence[str]) -> Iterator[str]:
    if len(arguments) > 1:
        got = " ".join(map(shown, arguments))
        hint = "- stands for the lines of standard input; a file of that name is ./-"
        raise ParameterError("ARGUMENT", must="be - alone, or files", got=got, hint=f"{hint}.")
    if sys.stdin is None:  # of a process that was started without one
        hint = "Redirect a file to it: ... < lines.txt"
        must = "not be - where standard input is closed"
        raise ParameterError("ARGUMENT", must=must, hint=hint)
    return (line.rstrip("\n") for line in sys.stdin)


def _all_files(arguments: Sequence[str], job: str) -> list[str]:
    """Files that arguments stand for; refuse none."""
    if not arguments:
        hint = f"Name files or folders, or define items() in {job}."
        raise ParameterError("ARGUMENT", must="be given", hint=hint)
    return [file for argument in arguments for file in _files(argument, job)]


def identity_of(path: str, arguments: Sequence[str], items: Iterable[Any]) -> dict[str, str]:
    """Give what identifies a job and its items: a checkpoint of another is not resumed."""
    known = {
        CODE: digest_of(Path(path).read_bytes()),
        "arguments": shlex.join(arguments),
    }
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        names = [os.path.abspath(item) for item in items] if arguments else items
        known["files"] = digest_of(repr(names).encode())
    return known


def _own_items(module: ModuleType, arguments: Sequence[str]) -> Iterable[Any]:
    """Call the function `items` of a job; an error in it is refused with its line."""
    try:
        signature(module.items).bind(*arguments)
    except TypeError as refusal:
        must = f"be those of items{signature(module.items)}"
        hint = "Give one ARGUMENT for each of its parameters."
        got = f"{len(arguments)}: {refusal}"
        raise ParameterError("ARGUMENT", must=must, got=got, hint=hint) from refusal
    place = Path(module.__file__ or "")
    with _own_errors(place.name, place):
        items: Iterable[Any] = module.items(*arguments)
    return items


def _files(argument: str, job: str) -> Iterator[str]:
    """Give a file, or the files of a folder or pattern; refuse what does not exist."""
    from parcast.pipeline.paths import files_of

    files = list(files_of(argument))
    if not os.path.isdir(argument) and not all(map(os.path.exists, files or [argument])):
        hint = f"For items that are not files, define items(*arguments) in {job}."
        must, got = "be a file or folder that exists", shown(argument)
        raise ParameterError("ARGUMENT", must=must, got=got, hint=hint)
    yield from files
