"""Results read again from the documents that `save` wrote.

A document holds the call that made it (`parcast.saved.call`), or that of its class with its fields
where nothing can compute it again (`parcast.saved.fields`). The call is made again, and its
numbers are compared with those that were written: where they agree, the result is the same as
that which was saved; where another version of parcast computes others, the written ones stand.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import isclose
from typing import Any, Final

from parcast.errors import FileProblems, ParameterError, ParcastError, Problem
from parcast.files.decoding import opened
from parcast.files.faults import AnyPath
from parcast.places import load as loaded
from parcast.saved.call import RUNS, decoded, runs_of_document
from parcast.saved.fields import FIELDS, object_of
from parcast.saved.result import SavedResult, rows_in
from parcast.show.result import Result
from parcast.timings.measurements import Measurements
from parcast.timings.notes import warn_reader
from parcast.units import shown

VERBS: Final = {
    "plan": "parcast.deciding.goals.plan:plan",
    "match": "parcast.deciding.machines.match:match",
    "forecast": "parcast.forecasting.forecast:forecast",
    "predict": "parcast.prediction.predict:predict",
    "check": "parcast.deciding.check.check:check",
    "compare": "parcast.deciding.compare.compare:compare",
    "explain-descriptions": ("parcast.deciding.explain.descriptions.explain:explain_descriptions"),
    "explain-timings": "parcast.deciding.explain.timings.explain:explain_timings",
    "explain-pipeline": "parcast.pipeline.explaining.explain:explain_pipeline",
    "forecast-memory": "parcast.forecasting.memory.forecast_memory:forecast_memory",
    "plan-proposal": "parcast.deciding.proposal.propose:plan_proposal",
    "validate-program": "parcast.prediction.trials.validate:validate_program",
}
CLASSES: Final = {  # of results whose documents hold their fields, by the kind of these
    "array-io-plan": "parcast.arrays.planning.result:RequestPlan",
    "explain-profiles": "parcast.deciding.explain.profiles.result:ProfilesExplained",
    "plan": "parcast.deciding.decision:OwnDecision",
    "fit": "parcast.fitting.result:Fit",
    "pipeline-plan": "parcast.pipeline.planning.result:PipelinePlan",
    "pipeline-timeline": "parcast.pipeline.explaining.timeline:Timeline",
    "traffic": "parcast.pipeline.traces.traffic.result:TrafficCheck",
}
VALIDATION: Final = "parcast.validation.result:Validation"  # of documents of any subject
SCHEMA: Final = re.compile(r"parcast/([a-z-]+)/(\d+)")
VERSIONS: Final[Mapping[str, int]] = {}  # of documents that are not at version 1
CLOSE: Final = 1e-6  # relative difference of numbers that are the same [1] [D]
ROUNDED: Final = 1e-14  # what rounding leaves of a difference that is 0, such as an error [D]
UNUSABLE: Final = (  # as a call
    *(ParcastError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(AssertionError, RuntimeError, StopIteration),
)
LARGEST: Final = 200_000_000  # bytes of a document


def load(path: AnyPath) -> Result:
    """Read a result again that was saved as JSON.

    Parameters
    ----------
    path : str or path
        What ``result.save("x.json")`` or ``-o x.json`` wrote.

    Returns
    -------
    Result
        Every result that has a picture is whole again, with its picture and its page. It is made
        from the runs, descriptions or fields that its document holds, and checked against the
        rows that were written, to 1e-6 of each number. Any other result, such as a simulation,
        and one of which this version computes other numbers, comes with its rows and its document
        as they were written: a `SavedResult`.

    Raises
    ------
    FileProblems
        If the file cannot be read, is no document of parcast, or one of another version.

    Examples
    --------
    >>> import parcast, tempfile
    >>> told = parcast.forecast({"p": [1, 2, 4], "time": [8.0, 4.5, 2.8]}, 16)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told.save(f"{folder}/told.json")
    ...     parcast.load(f"{folder}/told.json")
    Forecast(p = 16)
    """
    name = os.fspath(path)
    document = document_in(path)
    kind = document["schema"].split("/")[1]
    saved = SavedResult(document=document)
    call = document.get("call")
    call = call if isinstance(call, dict) else {}
    is_of_fields = call.get("verb") == FIELDS
    place = _class_of(kind) if is_of_fields else VERBS.get(str(call.get("verb")))
    if place is None:
        return saved
    try:
        make = _of_fields if is_of_fields else _called
        made = make(place, call["arguments"], document)
        rows = made.rows() if "rows" in document else rows_in(made.to_document())
        difference = first_difference(list(rows), list(saved.rows()))
    except UNUSABLE as error:
        why = "it has not the fields that this version knows" if is_of_fields else str(error)
        _note(name, f"it cannot be made again: {why.rstrip('.')}")
        return saved
    if difference:
        _note(name, f"this version computes other numbers: {difference}")
        return saved
    return made


def _class_of(kind: str) -> str | None:
    """Say which class of results a kind of documents is of, where it is known."""
    return CLASSES.get(kind, VALIDATION if kind.endswith("validation") else None)


def _called(place: str, arguments: Any, document: Mapping[str, Any]) -> Result:
    """Make the call of a function again."""
    made: Result = loaded(place)(**decoded(arguments))
    return with_inputs_of(made._as_saved(document), document)


def _of_fields(place: str, arguments: Any, document: Mapping[str, Any]) -> Result:
    """Make a result of its fields, and show it: they may be of their types, and no more."""
    from parcast.show.pictures.canvas import svg_of

    of_fields: Result = object_of(loaded(place), arguments)
    made = with_inputs_of(of_fields._as_saved(document), document)
    for sheet in (made.to_sheet, made._whole_sheet):
        sheet()
    with suppress(ParameterError):  # it may have too few values for a picture, as it had
        svg_of(made._drawn)
    return made


def with_inputs_of(made: Result, document: Mapping[str, Any]) -> Result:
    """Note in a result what its document says that it was made from."""
    inputs = document.get("inputs")
    data: Any = made
    noted: Result = replace(data, inputs=inputs) if isinstance(inputs, dict) else made
    return noted


def document_in(path: AnyPath) -> dict[str, Any]:
    """Read the document of a result, and refuse what is none, or of another version."""
    with opened(path, largest=LARGEST) as (name, stream):
        text = stream.read(LARGEST + 1)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        is_damaged = text.lstrip()[:1] in ("{", b"{")
        got = f"damaged JSON: {shown(str(error))}" if is_damaged else "a file that is not JSON"
        raise _refused(name, f"must be a saved result, got {got}") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    found = SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if found is None:
        got = "no schema" if schema is None else shown(str(schema))
        raise _refused(name, f"must be the document of a result of parcast, got {got}")
    kind, version = found.groups()
    known = VERSIONS.get(kind, 1)
    if int(version) != known:
        inputs = document.get("inputs")
        by = inputs.get("parcast") if isinstance(inputs, dict) else None
        writer = f", written by parcast {shown(str(by))}" if by else ""
        raise _refused(
            name,
            f"must have the schema parcast/{kind}/{known}, got {schema}{writer}",
            "Make it again with this version.",
        )
    rows = rows_in(document)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _refused(name, "must have rows, got something else")
    assert isinstance(document, dict)
    return document


def runs_in(document: Mapping[str, Any]) -> Measurements | None:
    """Runs that a result was made from, as its document holds them; None where it has none."""
    try:
        given = document["call"]["arguments"]
        return runs_of_document(given["measurements" if "measurements" in given else "what"][RUNS])
    except UNUSABLE:
        return None


def first_difference(made: list[Any], written: list[Any]) -> str:
    """Say where rows first differ; "" where they agree."""
    if len(made) != len(written):
        return f"{len(made)} rows, and {len(written)} were written"
    for i, (one, other) in enumerate(zip(made, written, strict=True), start=1):
        for name in other:
            ours, theirs = one.get(name), other[name]
            is_number = all(isinstance(x, int | float) for x in (ours, theirs))
            is_same = ours == theirs or (
                is_number and isclose(ours, theirs, rel_tol=CLOSE, abs_tol=ROUNDED)
            )
            if not is_same:
                return (
                    f"{shown(name)} of row {i} is {shown(ours)}, and {shown(theirs)} was written"
                )
    return ""


def _note(name: str, text: str) -> None:
    """Say what a reader must know of the file that was read."""
    warn_reader(shown(name), [f"{text}. Its numbers are those that were written."])


def _refused(
    name: str, message: str, hint: str = "Give what parcast wrote as JSON."
) -> FileProblems:
    """Say what is wrong with a file."""
    return FileProblems(name, [Problem(message=f"{message}.", hint=hint)])
