"""A job as a Python file: functions by their names, such as ``task`` and ``merge``.

The file is imported as a module from its folder, on every rank. Only `task` must be there; `merge`
may be a function or the name of one, and `items` says what the arguments of the command mean.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from parcast.errors import FileProblems, ParameterError, Problem
from parcast.units import shown
from parcast.words import did_you_mean

NAMES: Final = ("task", "merge", "zero", "setup", "finish", "split", "items", "server")


def job_module(path: str) -> ModuleType:
    """Import a job; what is wrong with it is refused with its line."""
    place = Path(path).resolve()
    if not place.is_file() or place.suffix != ".py":
        hint = "Write a Python file that defines task(item), and name it."
        raise ParameterError("JOB", must="be a Python file", got=shown(path), hint=hint)
    if not place.stem.isidentifier():
        hint = "Rename it, for example to count_words.py."
        raise ParameterError("JOB", must="have the name of a module", got=place.name, hint=hint)
    sys.path.insert(0, str(place.parent))
    try:
        module = importlib.import_module(place.stem)
    except Exception as error:
        raise FileProblems(path, [_problem(error, place)]) from error
    if Path(module.__file__ or "").resolve() != place:
        hint = "Rename the file."
        got = f"{place.name}, which is that of {module.__file__ or 'a module of Python'}"
        raise ParameterError("JOB", must="have a name of its own", got=got, hint=hint)
    if not callable(getattr(module, "task", None)):
        message = "must be a function of an item. Define for example: def task(path): ..."
        public = [name for name in vars(module) if not name.startswith("_")]
        near = did_you_mean("task", public)
        raise FileProblems(path, [Problem(message=message + near, field="task")])
    return module


def _problem(error: Exception, place: Path) -> Problem:
    """Say where in a file an import failed."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame.lineno for frame in frames if frame.filename == str(place)]
    line = getattr(error, "lineno", None) or (inside[-1] if inside else None)
    message = f"{type(error).__name__}: {error}. Correct it."
    return Problem(message=message, line=line)


def functions_of(module: ModuleType) -> dict[str, Any]:
    """Arguments of `run_pipeline` that a job defines, but for its items."""
    there = {name: getattr(module, name) for name in NAMES if hasattr(module, name)}
    there.pop("items", None)
    return there


def items_of(module: ModuleType, arguments: Sequence[str]) -> Iterable[Any]:
    """Items of a job: of its own function `items`, or files, lines of standard input and words."""
    if hasattr(module, "items"):
        own: Iterable[Any] = module.items
        return _own_items(module, arguments) if callable(own) else own
    if list(arguments) == ["-"]:
        return (line.rstrip("\n") for line in sys.stdin)
    return list(_files(arguments))


def _own_items(module: ModuleType, arguments: Sequence[str]) -> Iterable[Any]:
    """Call the function `items` of a job; an error in it is refused with its line."""
    try:
        signature(module.items).bind(*arguments)
    except TypeError as refusal:
        must = f"be those of items{signature(module.items)}"
        hint = "Give one ARGUMENT for each of its parameters."
        got = f"{len(arguments)}: {refusal}"
        raise ParameterError("ARGUMENT", must=must, got=got, hint=hint) from refusal
    try:
        items: Iterable[Any] = module.items(*arguments)
    except Exception as error:
        place = Path(module.__file__ or "")
        raise FileProblems(place.name, [_problem(error, place)]) from error
    return items


def _files(arguments: Sequence[str]) -> Iterator[str]:
    """Give each argument; of a folder the files in it, sorted, without hidden ones."""
    for argument in arguments:
        if not os.path.isdir(argument):
            yield argument
            continue
        for folder, folders, files in os.walk(argument):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (
                os.path.join(folder, name) for name in sorted(files) if not name.startswith(".")
            )
