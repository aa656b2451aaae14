"""Answers of the panels of the page: computed by the commands, shown as in a report."""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final

from parcast.cli.called import CalledCommand, called
from parcast.cli.outputs import GivenAnswer
from parcast.errors import ParameterError
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

    def answer(self, panel: Panel, state: PageState, folder: PageFolder) -> PanelAnswer:
        """Answer a panel, or say what is wrong."""
        files = tuple(folder.files)  # also of those that are not chosen, which others may name
        key = (panel.name, state.query(), files)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        given = _answered(panel, state)
        with self._lock:
            if files == tuple(folder.files):
                self._kept[key] = given
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return given


def _answered(panel: Panel, state: PageState) -> PanelAnswer:
    amounts = set_amounts(state) if panel.takes_amounts else {}
    try:
        if panel.takes_amounts:
            require_size(state)
        options = panel.options(state, amounts)
    except ParameterError as refusal:
        return PanelAnswer(
            panel=panel, line="", amounts=amounts, html="", said=(), refusal=[f"{refusal}"]
        )
    done = called(panel.words(options))
    pieces = [
        piece
        for i, given in enumerate(done.answers)
        for piece in section_of(_answer(panel, given, i), f"{panel.name}-{i}")
    ]
    return PanelAnswer(
        panel=panel,
        line=panel.line(options, state),
        amounts=amounts,
        html="".join(pieces),
        said=[_PREFIX.sub("", text) for text in done.said],
        refusal=_why(done),
    )


def _answer(panel: Panel, given: GivenAnswer, number: int, *, is_whole: bool = False) -> Answer:
    """Take what a command gave for an answer of a page."""
    shown = partial(
        answer_for,
        given.result,
        f"{panel.name}-{number}",
        sheets=given.sheets(is_whole),
        drawn=given.drawn,
    )
    if panel.picture:
        with suppress(ParameterError):  # too few values for this kind of picture
            return shown(picture=panel.picture)
    return shown(**given.picture)


def export(panel: Panel, state: PageState, ending: str) -> str:
    """Text of a file with the answer of a panel: `csv`, `json` or `html`."""
    from parcast.files.document import csv_pieces, json_pieces

    amounts = set_amounts(state) if panel.takes_amounts else {}
    options = panel.options(state, amounts)
    done = called(panel.words(options))
    first = _first(done)
    if ending == "csv":
        return "".join(csv_pieces(first.result.rows()))
    if ending == "json":
        return "".join(json_pieces(first.result.to_document()))
    return "".join(
        page_of(
            [_answer(panel, first, 1, is_whole=first.result._fits_a_page())],
            command=panel.line(options, state),
        )
    )


def export_description(state: PageState, kind: str) -> tuple[str, str]:
    """Name and text of the program or the machine, with the amounts that are set."""
    files = state.of_kind(kind)
    if not files:
        raise ParameterError("the page", must=f"have a {kind} to save", hint="Add its file.")
    panel = next(panels_of(state))  # the prediction, which refuses what cannot be set
    _first(called(panel.words(panel.options(state, set_amounts(state)))))
    return files[0].name, changed_description(files[0].name, set_amounts(state))


def _first(done: CalledCommand) -> GivenAnswer:
    """The answer that a command gave, or its refusal."""
    if not done.answers:
        raise ParameterError("; ".join(_why(done)) or "there is no answer to save")
    return done.answers[0]


def _why(done: CalledCommand) -> list[str]:
    """Why there is no answer, as a page says it."""
    return [_PREFIX.sub("", x) for x in done.refusal if not x.startswith("See: ")]
