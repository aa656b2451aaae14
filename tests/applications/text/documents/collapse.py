"""Clean text of a stretch of an original, made independently of how fields are read."""

import html
import json
import re

from parcast.applications.text.documents import markup
from parcast.applications.text.documents.offsets import plain


def collapse(raw: str, format: str = "html") -> str:
    r"""Clean a stretch of an original: what `Field.text` gives for it, on one line.

    The inverse check of the offsets, made independently of how fields are read.

    >>> collapse("caf&eacute; <b>au</b>\n  lait<!-- no milk -->"), collapse("<p>a<p>b")
    ('café au lait', 'a b')
    """
    if format in ("html", "xml", "sgml"):
        script = r"|<(script|style)\b.*?</\1\b[^>]*>" if format == "html" else ""
        unread = rf"<!--(?:-?>|.*?--!?>){script}"
        raw = re.sub(unread, "\0", raw, flags=re.DOTALL | re.IGNORECASE)
        start = markup._NAME[format]
        raw = re.sub(rf"<!\[CDATA\[|\]\]>|<[?!][^>]*>|</(?!{start})[^>]*>", "\0", raw)
        tag = rf"</?({start}[^\s/>]*){markup._ATTRIBUTES}"
        raw = re.sub(tag, lambda tag: " " if _parts(tag[1], format) else "\0", raw)
        raw = html.unescape(raw).replace("\0", "")  # which keeps apart what tags did
    elif format == "jsonl":
        raw = re.sub("[\ud800-\udfff]", "\ufffd", json.loads(f'"{raw}"', strict=False))
    return " ".join(plain(raw).split())


def _parts(written: str, format: str) -> bool:
    """Tell whether a tag separates words."""
    name = written.rpartition(":")[2].lower()
    return name == "br" or (
        name in markup._BLOCKS if format == "html" else name not in markup._INLINE
    )
