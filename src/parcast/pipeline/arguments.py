"""Arguments of `run_pipeline`, checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import ParameterError, as_number, as_whole, require
from parcast.pipeline.engine.job import Job
from parcast.pipeline.engine.static import require_static
from parcast.pipeline.merges import SPLITS, merge_named
from parcast.pipeline.serving import server_stage
from parcast.units import shown


def job_of(given: Mapping[str, Any]) -> Job:
    """Make the job of the arguments of `run_pipeline`, by their names."""
    merge, batch = given["merge"], given["batch"]
    folders = {name: given[name] for name in ("directory", "checkpoint")}
    return Job(
        task=_function(given, "task", is_needed=True),
        merge=merge_named(merge),
        zero=given["zero"],
        setup=_function(given, "setup"),
        finish=_function(given, "finish"),
        split=_function(given, "split") or SPLITS.get(str(merge)),
        server=server_stage(given["server"]),
        server_rank=_whole(given, "server_rank", least=0),
        name=str(given["name"]),
        schedule=_one_of(given, "schedule", ("adaptive", "source")),
        fan_in=as_whole("fan_in", given["fan_in"], least=2, hint="2 makes a binary tree."),
        shards=as_whole("shards", given["shards"], least=1, hint="1 is one result."),
        pipelines=as_whole("pipelines", given["pipelines"], least=1, hint="1 is a single one."),
        every=_whole(given, "every"),
        batch=None if batch == "auto" else _whole(given, "batch"),
        window=_whole(given, "window"),
        skips=_one_of(given, "on_error", ("raise", "skip")) == "skip",
        retries=as_whole("retries", given["retries"], least=0, hint="0 is one attempt."),
        timeout=amount("timeout", given["timeout"], hint="Give it in seconds."),
        memory=amount("memory", given["memory"], hint="Give it in bytes."),
        time_limit=amount("time_limit", given["time_limit"], hint="Give it in seconds."),
        checkpoint_every=_seconds(given, "checkpoint_every"),
        resumes=bool(given["resume"]),
        signature=str(given["signature"]),
        check=bool(given["check"]),
        is_traced=given["trace"] is not None,
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
        require_static(job, count)


def _function(given: Mapping[str, Any], name: str, *, is_needed: bool = False) -> Any:
    """Refuse what cannot be called."""
    function = given[name]
    if callable(function) or (function is None and not is_needed):
        return function
    got = shown(repr(function))
    raise ParameterError(name, must="be callable", got=got, hint="Give a function.")


def _whole(given: Mapping[str, Any], name: str, *, least: int = 1) -> int | None:
    """Check a whole number that may be left out."""
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
    """Refuse a word that is not known."""
    if given[name] not in known:
        words = " or ".join(f'"{word}"' for word in known)
        got = shown(repr(given[name]))
        raise ParameterError(name, must=f"be {words}", got=got, hint="Choose one of these.")
    return given[name]
