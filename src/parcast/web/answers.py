"""Answers of the panels of the page: computed by the commands, shown as in a report."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final

from parcast.cli.called import CalledCommand, called
from parcast.cli.outputs import GivenAnswer
from parcast.errors import ParameterError, ParcastError
from parcast.show.page.page import Answer, answer_for, page_of, section_of
from parcast.web.amounts import changed_description, require_size, set_amounts
from parcast.web.folder import PageFolder
from parcast.web.panels import Panel, panels_of
from parcast.web.state import PageState

KEPT: Final = 128  # answers
EXPORTS: Final = {"csv": "text/csv", "json": "application/json", "html": "text/html"}
_PREFIX: Final = re.compile(r"^parcast: ")


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelAnswer:
    """What a panel shows."""

    panel: Panel
    line: str  # the command line that answers the same
    amounts: Mapping[str, str]  # that are set
    html: str  # of the answer; "" where there is none
    said: Sequence[str]
    refusal: Sequence[str]


@dataclass(slots=True)
class LastAnswers:
    """Answers that were given last: who goes back in the page has them at once."""

    _kept: OrderedDict[Any, PanelAnswer] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def answer(
        self,
        panel: Panel,
        state: PageState,
        folder: PageFolder,
        compute: Callable[..., PanelAnswer],
    ) -> PanelAnswer:
        """Answer a panel, or say what is wrong; `compute` calls what does."""
        files = tuple(folder.files)  # also of those that are not chosen, which others may name
        key = (panel.name, state.query(), files)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        given = compute(answered, panel, state)
        with self._lock:
            if files == tuple(folder.files):
                self._kept[key] = given
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return given


def _asked(panel: Panel, state: PageState) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Amounts that are set, and options of the command; what has no answer is refused."""
    if not panel.takes_amounts:
        return {}, panel.options(state, {})
    require_size(state)
    amounts = set_amounts(state)
    return amounts, panel.options(state, amounts)


def answered(panel: Panel, state: PageState) -> PanelAnswer:
    """Compute the answer of a panel."""
    try:
        amounts, options = _asked(panel, state)
    except ParameterError as refusal:
        return refused(panel, refusal)
    done = called(panel.words(options))
    pieces = [
        piece
        for i, given in enumerate(done.answers)
        for piece in section_of(
            _answer(panel, given, i, is_linear=state.is_linear), f"{panel.name}-{i}"
        )
    ]
    return PanelAnswer(
        panel=panel,
        line=panel.line(options, state),
        amounts=amounts,
        html="".join(pieces),
        said=[_PREFIX.sub("", text) for text in done.said],
        refusal=_why(done),
    )


def refused(panel: Panel, why: ParcastError) -> PanelAnswer:
    """Say why a panel has no answer."""
    return PanelAnswer(panel=panel, line="", amounts={}, html="", said=(), refusal=[f"{why}"])


def _answer(
    panel: Panel,
    given: GivenAnswer,
    number: int,
    *,
    is_whole: bool = False,
    is_linear: bool | None = None,
) -> Answer:
    """Take what a command gave for an answer of a page."""
    shown = partial(
        answer_for,
        given.result,
        f"{panel.name}-{number}",
        sheets=given.sheets(is_whole),
        drawn=given.drawn,
        is_linear=is_linear,
    )
    if panel.picture:
        with suppress(ParameterError):  # too few values for this kind of picture
            return shown(picture=panel.picture)
    return shown(**given.picture)


def export(panel: Panel, state: PageState, ending: str) -> str:
    """Text of a file with the answer of a panel: `csv`, `json` or `html`."""
    from parcast.files.document import csv_pieces, json_pieces

    _, options = _asked(panel, state)
    first = _first(called(panel.words(options)))
    if ending == "csv":
        return "".join(csv_pieces(first.rows()))
    if ending == "json":
        return "".join(json_pieces(first.document()))
    return "".join(
        page_of(
            [_answer(panel, first, 1, is_whole=first.result._fits_a_page())],
            command=panel.line(options, state),
        )
    )


def export_description(state: PageState, kind: str) -> tuple[str, str]:
    """Name and text of the program or the machine, with the amounts that are set."""
    panel = next((x for x in panels_of(state) if x.takes_amounts), None)
    if panel is None:
        raise ParameterError(
            "the page", must="have a program and a machine to save one", hint="Choose both."
        )
    amounts, options = _asked(panel, state)
    _first(called(panel.words(options)))  # refuses what cannot be set
    file = state.of_kind(kind)[0]
    return file.name, changed_description(file, amounts)


def _first(done: CalledCommand) -> GivenAnswer:
    """The answer that a command gave, or its refusal."""
    if not done.answers:
        raise ParameterError("; ".join(_why(done)) or "there is no answer to save")
    return done.answers[0]


def _why(done: CalledCommand) -> list[str]:
    """Why there is no answer, as a page says it."""
    return [_PREFIX.sub("", x) for x in done.refusal if not x.startswith("See: ")]
