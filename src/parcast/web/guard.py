"""Who may ask the page: a browser on this machine that has the token of this run.

A page of another site reaches a server on the loopback through the browser of its user. It is kept
out by the token, in a cookie that it cannot send, and by the names of host and origin.
"""

import secrets
from asyncio import CancelledError
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.requests import ClientDisconnect, cookie_parser

from parcast.cli.screen import tell

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS: Final = ("127.0.0.1", "localhost")
MOST_SENT: Final = 64_000_000  # with one request [B]
LONGEST: Final = 16_000  # of an address, in characters
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; "
    "script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests from elsewhere before they reach the application."""

    def __init__(self, app: "ASGIApp", *, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._cookie = f"parcast-{port}"  # cookies of one host are shared by its ports

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            return
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }

        async def sent(message: "Message") -> None:
            if message["type"] == "http.response.start":
                own = [(x.encode(), y.encode()) for x, y in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        answer = _foreign(scope, headers) or _oversized(scope, headers)
        answer = answer or self._entry(scope, headers)
        try:
            await (answer or self._app)(scope, receive, sent)
        except (ClientDisconnect, CancelledError):
            return  # who asked is gone, or the page ends
        except Exception as failure:
            text = f"{type(failure).__name__}: {failure}"
            tell(f"this is a fault of parcast itself, in answering {scope['path']}: {text}")

    def _entry(self, scope: "Scope", headers: Mapping[str, str]) -> Any:
        """Turn the token of an address into a cookie; refuse who has neither."""
        from starlette.responses import RedirectResponse

        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = [value for key, value in pairs if key == "token"]
        if given and scope["method"] == "GET" and self._is_token(given[0]):
            rest = urlencode([(key, value) for key, value in pairs if key != "token"])
            answer = RedirectResponse(f"{scope['path']}{'?' if rest else ''}{rest}", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return answer
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie)
        if cookie is not None and self._is_token(cookie):
            return None
        return _text(403, "This page needs its token: open the address that the server printed.")

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())


def _foreign(scope: "Scope", headers: Mapping[str, str]) -> Any:
    """Refuse what a page of another site makes a browser ask."""
    host, origin = headers.get("host", ""), headers.get("origin")
    name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
    if name not in HOSTS:
        return _text(421, f"This server is called {HOSTS[0]}. Use the address that it printed.")
    is_other = headers.get("sec-fetch-site") == "cross-site" and scope["method"] != "GET"
    if is_other or origin not in (None, f"http://{host}"):
        return _text(403, "Requests from other sites are refused.")
    return None


def _oversized(scope: "Scope", headers: Mapping[str, str]) -> Any:
    """Refuse what is too large, or does not say how large it is."""
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return _text(405, "Only GET, HEAD and POST are known here.")
    if len(scope.get("query_string", b"")) > LONGEST:
        return _text(414, f"The address must have at most {LONGEST:,} characters.")
    if scope["method"] != "POST":
        return None
    size = headers.get("content-length", "")
    if not size.isdigit():
        return _text(411, "What is sent must say how long it is.")
    if int(size) > MOST_SENT:
        most = f"{MOST_SENT / 1e6:.0f} MB"
        return _text(413, f"What is sent must have at most {most}. Send fewer files.")
    return None


def _text(status: int, text: str) -> Any:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(f"{text}\n", status)
