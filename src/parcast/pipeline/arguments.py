"""Arguments of `run_pipeline`, checked."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from parcast.errors import (
    FAILURES,
    Argument,
    ParameterError,
    as_number,
    as_whole,
    cause_of,
    require,
    require_one_of,
    text_of,
)
from parcast.mpi.payload import EMPTY
from parcast.pipeline.engine.job import Job
from parcast.pipeline.engine.root import STATIC
from parcast.pipeline.merges import known_merge
from parcast.pipeline.serving import server_stage
from parcast.places import load
from parcast.units import shown


def job_of(given: Mapping[str, Any]) -> Job:
    """Make the job of the arguments of `run_pipeline`, by their names."""
    merge, batch = known_merge(given["merge"]), given["batch"]
    finish, server = _function(given, "finish"), server_stage(given["server"])
    every = _whole(given, "every")
    if every is not None and server is None and finish is None:
        hint = "It gets the reductions, of which none is kept. Name for example a .jsonl file."
        raise ParameterError("server", must=("be given with ", Argument("every")), hint=hint)
    if given["schedule"] == "source" and finish is not None and server is None:
        hint = "The ranks make several reductions. Finish what run_pipeline returns."
        must = "be left out with ", Argument("schedule", "source"), " and no server"
        raise ParameterError("finish", must=must, hint=hint)
    folders = {name: given[name] for name in ("directory", "checkpoint")}
    return Job(
        task=_function(given, "task", is_needed=True),
        merge=merge.merge,
        zero=merge.zero() if given["zero"] is EMPTY else _zero(given["zero"]),
        setup=_function(given, "setup"),
        finish=finish if merge.finish is None else partial(_finished, merge.finish, finish),
        split=_function(given, "split") or merge.split,
        server=server,
        server_rank=_whole(given, "server_rank", least=0),
        name=str(given["name"]),
        schedule=_one_of(given, "schedule", ("adaptive", "source")),
        fan_in=as_whole("fan_in", given["fan_in"], least=2, hint="2 makes a binary tree."),
        shards=as_whole("shards", given["shards"], least=1, hint="1 is one result."),
        pipelines=as_whole("pipelines", given["pipelines"], least=1, hint="1 is a single one."),
        every=every,
        batch=None if batch == "auto" else _whole(given, "batch"),
        window=_whole(given, "window"),
        skips=_one_of(given, "on_error", ("raise", "skip")) == "skip",
        retries=as_whole("retries", given["retries"], least=0, hint="0 is one attempt."),
        timeout=amount("timeout", given["timeout"], hint="Give it in seconds."),
        memory=amount("memory", given["memory"], hint="Give it in bytes."),
        time_limit=amount("time_limit", given["time_limit"], hint="Give it in seconds."),
        checkpoint_every=_seconds(given, "checkpoint_every"),
        resumes=bool(given["resume"]),
        signature=_signature(given["signature"]),
        check=bool(given["check"]),
        is_traced=_is_traced(given["trace"]),
        **{name: None if x is None else Path(x).absolute() for name, x in folders.items()},
    )


def require_ranks(job: Job, count: int) -> None:
    """Refuse what so many ranks cannot do."""
    if job.server_rank is not None:
        ok = count > 1 and 0 < job.server_rank < count
        must = f"lie in 1 to {count - 1}" if count > 1 else "be None on one rank"
        require("server_rank", job.server_rank, ok, must=must, hint="Rank 0 coordinates.")
        if job.server is None:
            raise ParameterError("server", must="be given with server_rank", hint="Name a file.")
    workers = count - (job.server_rank is not None)
    must, hint = f"be at most {workers}, the ranks that work", "Use fewer, or more ranks."
    require("pipelines", job.pipelines, job.pipelines <= workers, must=must, hint=hint)
    if job.shards > 1 and job.split is None:
        raise ParameterError(
            "split",
            must="be given where shards is above 1",
            hint="Give a function of a result and a number that returns as many parts.",
        )
    if job.schedule == "source":
        load(STATIC).require(job, count)


def _finished(first: Callable[..., Any], then: Callable[..., Any] | None, *args: Any) -> Any:
    """Finish a reduction as its merge does, and then as its user wants."""
    value = first(args[0])
    return value if then is None else then(value, *args[1:])


def _zero(given: Any) -> Any:
    """Refuse what cannot be copied, as every reduction without items has a zero of its own."""
    try:
        copy(given)
    except FAILURES as error:
        raise ParameterError(
            "zero",
            must="be possible to copy",
            got=f"{shown(text_of(given))}: {cause_of(error)}",
            hint="Leave it out for None.",
        ) from error
    return given


def _is_traced(trace: object) -> bool:
    """Tell whether the events are kept; refuse a file that is none of a trace."""
    if trace is not None and not str(trace).endswith((".jsonl", ".jsonl.gz")):
        hint = "The ending says whether it is compressed."
        got = shown(str(trace))
        raise ParameterError("trace", must="end in .jsonl or .jsonl.gz", got=got, hint=hint)
    return trace is not None


def _signature(given: str | Mapping[str, str]) -> dict[str, str]:
    """Give what identifies items and functions by its name."""
    if isinstance(given, Mapping):
        return {str(name): str(text) for name, text in given.items()}
    return {"signature": str(given)} if given else {}


def _function(given: Mapping[str, Any], name: str, *, is_needed: bool = False) -> Any:
    function = given[name]
    if iscoroutinefunction(function):
        hint = "Write def; it may call asyncio.run."
        raise ParameterError(name, must="be no coroutine function", got="async def", hint=hint)
    if callable(function) or (function is None and not is_needed):
        return function
    got = shown(text_of(function))
    raise ParameterError(name, must="be callable", got=got, hint="Give a function.")


def _whole(given: Mapping[str, Any], name: str, *, least: int = 1) -> int | None:
    value = given[name]
    return None if value is None else as_whole(name, value, least=least, hint="Or leave it out.")


def _seconds(given: Mapping[str, Any], name: str) -> float:
    """Check a time of at least 0. [s]."""
    number = as_number(name, given[name], hint="Give it in seconds.")
    require(name, number, number >= 0, must="be at least 0", hint="Give it in seconds.")
    return number


def amount(name: str, given: float | None, *, hint: str) -> float | None:
    """Check a number above 0 that may be left out."""
    if given is None:
        return None
    number = as_number(name, given, hint=hint)
    require(name, number, number > 0, must="be above 0", hint=hint)
    return number


def _one_of(given: Mapping[str, Any], name: str, known: tuple[str, ...]) -> Any:
    require_one_of(name, given[name], known)
    return given[name]
