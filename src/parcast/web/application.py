"""The application: the page, its panels one by one, files that are added, and what is saved."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from parcast.errors import ParcastError, RunFailed, one_line
from parcast.show.page import page as pages
from parcast.version import __version__
from parcast.web.amounts import amounts_of
from parcast.web.answers import (
    EXPORTS,
    LastAnswers,
    PanelAnswer,
    export,
    export_description,
    refused,
)
from parcast.web.folder import MOST_FILES, PageFolder
from parcast.web.guard import Guard
from parcast.web.panels import Panel, fields_of, panels_of
from parcast.web.processes import AnswerProcesses, count_of_processes
from parcast.web.state import FIELDS, PageState

if TYPE_CHECKING:
    from starlette.types import ASGIApp

Given = TypeVar("Given")
QUICK, SMALL = 4, 4  # answers that are computed at a time, and other small work
STATIC: Final = {"page.css": "text/css", "page.js": "text/javascript"}  # of every page
OWN: Final = {"web.css": "text/css", "web.js": "text/javascript"}


class WebPage:
    """Answers requests about the files of one folder."""

    def __init__(self, folder: PageFolder, processes: AnswerProcesses) -> None:
        self._folder = folder
        self._answers = LastAnswers()
        self._processes = processes
        self._quick = CapacityLimiter(QUICK)
        self._slow = CapacityLimiter(max(1, count_of_processes() - 1))  # so that one is left
        self._small = CapacityLimiter(SMALL)  # for what never waits for answers
        here = PackageLoader("parcast.web", "")
        self._pages = Environment(
            loader=here, autoescape=True, trim_blocks=True, lstrip_blocks=True
        )

    def app(self, *, token: str, port: int) -> "ASGIApp":
        """The application behind its guard."""
        routes = [
            Route("/", self.page),
            Route("/panel/{name}", self.panel),
            Route("/save/{name}.{ending}", self.save),
            Route("/files", self.add, methods=["POST"]),
            Route("/files/remove", self.remove, methods=["POST"]),
            Route("/{name}", self.static),
        ]
        return Guard(Starlette(routes=routes), token=token, port=port)

    def begin(self) -> None:
        """Answer what the page shows first, so that it is there at once."""
        state = PageState(files=self._folder.files)
        for panel in [*panels_of(state)][:1]:
            self._answers.answer(
                panel, state, self._folder, partial(self._processes.run, panel.name)
            )

    async def page(self, request: Request) -> Response:
        """Give the whole page, with the answer of one panel; scripts ask for the others."""
        problem, state = self._state(request, "view")
        chosen = [*panels_of(state)]
        view = request.query_params.get("view", "")
        first = next((x for x in chosen if x.name == view), chosen[0] if chosen else None)
        answer = await self._answered(first, state) if first and not problem else None
        amounts = await to_thread.run_sync(amounts_of, state, limiter=self._small)
        html = self._pages.get_template("page.html").render(
            parcast=__version__,
            problem=problem,
            state=state,
            query=state.query(),
            files=self._folder.files,
            panels=chosen,
            view=first.name if first else "",
            answer=self._shown(answer, state),
            fields=[FIELDS[name] for name in fields_of(chosen)],
            version=state.version,
            tables=[x for x in self._folder.files if x.kind == "timings"],
            amounts=amounts,
        )
        return HTMLResponse(html, 400 if problem else 200)

    async def panel(self, request: Request) -> Response:
        """Give the answer of one panel."""
        problem, state = self._state(request)
        found = self._panel(request, state)
        if problem or found is None:
            return PlainTextResponse(problem or "There is no such panel.\n", 400)
        return HTMLResponse(self._shown(await self._answered(found, state), state))

    async def save(self, request: Request) -> Response:
        """Give an answer, or a description, as a file to save."""
        problem, state = self._state(request)
        name, ending = request.path_params["name"], request.path_params["ending"]
        panel = self._panel(request, state)
        if problem:
            return PlainTextResponse(f"{problem}\n", 400)
        try:
            if panel is not None and ending in EXPORTS:
                text = await self._in_thread(
                    panel, self._processes.run, panel.name, export, panel, state, ending
                )
                return _file(f"{name}.{ending}", text, EXPORTS[ending])
            if name in ("program", "machine") and ending == "toml":
                ask = partial(export_description, state, name)
                own, text = await to_thread.run_sync(ask, limiter=self._small)
                return _file(own, text, "application/toml")
        except ParcastError as refusal:
            return PlainTextResponse(f"{refusal}\n", 400)
        return PlainTextResponse("There is no such file.\n", 404)

    async def add(self, request: Request) -> Response:
        """Take in files, and go on with all that there are."""
        from starlette.exceptions import HTTPException

        back, added = "", []
        try:
            async with request.form(max_files=MOST_FILES, max_fields=10) as form:
                back = str(form.get("back", ""))
                for upload in form.getlist("files"):
                    if isinstance(upload, UploadFile) and upload.filename:
                        content = await upload.read()
                        add = partial(self._folder.add, upload.filename, content)
                        added.append(await to_thread.run_sync(add, limiter=self._small))
        except (ParcastError, HTTPException, OSError) as refusal:
            text = refusal.detail if isinstance(refusal, HTTPException) else str(refusal)
            return self._refused(text, back)
        return self._back(back, [x.name for x in added])

    async def remove(self, request: Request) -> Response:
        """Forget a file."""
        async with request.form(max_files=0, max_fields=10) as form:
            self._folder.remove(str(form.get("name", "")))
            return self._back(str(form.get("back", "")))

    def _back(self, query: str, added: Sequence[str] = ()) -> Response:
        """Go back to the question with the files that there are now."""
        there = {x.name for x in self._folder.files}
        pairs = [(x, y) for x, y in parse_qsl(query) if x not in ("file", "donors") or y in there]
        if any(x == "file" for x, _ in pairs):
            pairs += [("file", name) for name in added]
        return RedirectResponse(f"/?{urlencode(pairs)}" if pairs else "/", 303)

    async def static(self, request: Request) -> Response:
        """Give a style sheet or a script."""
        name = request.path_params["name"]
        if name in STATIC:
            return Response(pages.part(name), media_type=STATIC[name])
        if name in OWN:
            return Response(_own(name), media_type=OWN[name])
        return PlainTextResponse("There is no such page.\n", 404)

    def _state(self, request: Request, *others: str) -> tuple[str, PageState]:
        """Read the address; where it is not valid, say why beside what it is without it."""
        pairs = [(x, y) for x, y in request.query_params.multi_items() if x not in others]
        try:
            return "", PageState.of(pairs, self._folder.files)
        except ParcastError as refusal:
            return one_line(str(refusal)), PageState(files=self._folder.files)

    def _panel(self, request: Request, state: PageState) -> Panel | None:
        name = request.path_params["name"]
        return next((x for x in panels_of(state) if x.name == name), None)

    def _refused(self, why: str, back: str) -> Response:
        html = self._pages.get_template("refused.html").render(why=one_line(why), back=back)
        return HTMLResponse(html, 400)

    async def _answered(self, panel: Panel, state: PageState) -> PanelAnswer:
        compute = partial(self._processes.run, panel.name)
        ask = self._answers.answer
        try:
            return await self._in_thread(panel, ask, panel, state, self._folder, compute)
        except RunFailed as failure:
            return refused(panel, failure)

    async def _in_thread(self, panel: Panel, ask: Callable[..., Given], *args: Any) -> Given:
        """Wait for an answer beside the server; quick ones do not wait for slow ones."""
        self._processes.begin()
        limiter = self._quick if panel.is_quick else self._slow
        return await to_thread.run_sync(ask, *args, limiter=limiter)

    def _shown(self, answer: PanelAnswer | None, state: PageState) -> Markup:
        """Write an answer as a part of the page."""
        if answer is None:
            return Markup("")
        template = self._pages.get_template("answer.html")
        html = Markup(answer.html)  # made by `show`, which escapes all names
        return Markup(  # a template that escapes
            template.render(
                answer=answer,
                html=html,
                query=state.query(),
                version=state.version,
                endings=[*EXPORTS],
            )
        )


@cache
def _own(name: str) -> str:
    """Text of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _file(name: str, text: str, kind: str) -> Response:
    """Give a text as a file that is saved, not shown."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(text, media_type=kind, headers=headers)
