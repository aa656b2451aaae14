"""Mutations of a document: bytes, numbers, words, lines, structure and nesting.

A mutation takes a document and a generator of random numbers, and gives another document, which
the reader that reads the first must read or refuse.
"""

import json
import re
from random import Random

LARGEST = 300_000  # bytes, from which a document is not mutated any further
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_][\w.#-]*")
PLACE = "@place@"  # of raw text in a document of JSON

NUMBERS = (
    *(b"0", b"-1", b"-0.0", b"nan", b"NaN", b"inf", b"-Infinity", b"true", b"null", b'""'),
    *(b"1e308", b"1e309", b"-1e400", b"1e-320", b"1e-400", b"1e999999999", b"1e-999999999"),
    *(b"1000000000", b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1e18"),
    *(b"9" * 30, b"9" * 400, b"9" * 5000, b"0." + b"9" * 5000, b"9" * 20_000),
    *(b"1_000", b"0x10", b"+5", b".5", b"5.", b"1e", b"--1", b"1,5", b"1.2.3", b"5%", b"1e5 s"),
    *("١٢".encode(), "²".encode(), b"1/0", b"[]", b"{}", b"[1]", b"1" + b"0" * 30, b"0.1e-30"),
)
WORDS = (
    *(b"", b" ", b"\x1b[31mred\x1b[0m", b"\x07", b"\r", b"\x0b", b"\x7f", b"\x9b31m", b"\x00"),
    *(b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", "\u202e".encode(), "\u2028".encode(), b"\\ud800"),
    *(
        "\ufeff".encode(),
        "\U0001d518".encode(),
        b"\\u001b[31m",
        b"\\n",
        b'"',
        b"'",
        b"\\",
        b"<!--",
        b"]]>",
    ),
    *(b"A" * 300, b"A" * 70_000, b"../../etc/passwd", b"%s%n", b"{0}", b"=1+1", b"#", b"->" * 500),
    *(b"p", b"time_s", b"nan", b"none", b"time", b"speedup", b"__class__", b"/" * 5000),
)
DEEP = (1_000, 100_000)  # levels of nesting


def _place(content: bytes, random: Random) -> int:
    return random.randint(0, len(content))


def _chunk(content: bytes, random: Random) -> tuple[int, int]:
    """Where a part of a document begins and ends, mostly a short one."""
    start = _place(content, random)
    longest = random.choice((1, 4, 16, 64, 1024))
    return start, min(len(content), start + random.randint(1, longest))


def bytes_changed(content, random):
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8)) if content else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def bytes_inserted(content, random):
    at = _place(content, random)
    return content[:at] + random.randbytes(random.choice((1, 2, 8))) + content[at:]


def chunk_left_out(content, random):
    start, stop = _chunk(content, random)
    return content[:start] + content[stop:]


def chunk_repeated(content, random):
    """A part is there several times."""
    start, stop = _chunk(content, random)
    times = random.choice((1, 1, 2, 100))
    return content[:stop] + content[start:stop] * times + content[stop:]


def chunk_moved(content, random):
    """A part stands somewhere else."""
    start, stop = _chunk(content, random)
    rest = content[:start] + content[stop:]
    at = _place(rest, random)
    return rest[:at] + content[start:stop] + rest[at:]


def cut_off(content, random):
    """The document ends early."""
    return content[: _place(content, random)]


def _replaced(pattern, content, random, instead):
    found = list(pattern.finditer(content))
    if not found:
        return content
    match = random.choice(found)
    return content[: match.start()] + instead + content[match.end() :]


def number_replaced(content, random):
    """A number is another: huge, tiny, negative, none, or of thousands of digits."""
    return _replaced(NUMBER, content, random, random.choice(NUMBERS))


def all_numbers_replaced(content, random):
    found = NUMBER.findall(content)
    if not found:
        return content
    return content.replace(random.choice(found), random.choice(NUMBERS[:20]))[:LARGEST]


def word_replaced(content, random):
    """A word is another: empty, long, of control characters, of other words of the document."""
    others = WORD.findall(content)
    instead = random.choice(others) if others and random.random() < 0.4 else random.choice(WORDS)
    return _replaced(WORD, content, random, instead)


def line_left_out(content, random):
    lines = content.split(b"\n")
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def line_repeated(content, random):
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    most = 1 + LARGEST // (1 + len(lines[at]))
    lines[at:at] = [lines[at]] * min(most, random.choice((1, 1, 3, 1000)))
    return b"\n".join(lines)


def lines_swapped(content, random):
    """Two lines have changed places."""
    lines = content.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def lines_numbered(content, random):
    """A line is there many times, each with another name."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    most = 1 + LARGEST // (1 + len(lines[at]))
    many = (
        WORD.sub(lambda match, i=i: match[0] + str(i).encode(), lines[at], count=1)
        for i in range(min(most, random.choice((20, 200, 5000))))
    )
    lines[at:at] = many
    return b"\n".join(lines)


def ends_of_lines_changed(content, random):
    return content.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x85", b" ")))


def nested(content, random):
    """A value is in many brackets, which may all be closed."""
    left, right = random.choice((b"[]", b"{}", b"()", b"<>")).decode()
    if left == "{":
        left, right = '{"a":', "}"
    times = random.choice(DEEP if random.random() < 0.2 else (2, 100))
    inside = left * times + "1" + (right * times if random.random() < 0.7 else "")
    pattern = random.choice((NUMBER, WORD))
    return _replaced(pattern, content, random, inside.encode())


def _places(document):
    """Every container of a document of JSON with each of its keys or indices."""
    waiting, places = [document], []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            keys = value if isinstance(value, dict) else range(len(value))
            places += [(value, key) for key in keys]
            waiting += value.values() if isinstance(value, dict) else value
    return places


def _restructured(document, random):
    """Change one value of a document of JSON in place; give the raw text of the place, if any."""
    places = _places(document)
    if not places:
        return b"{}"
    holder, key = random.choice(places)
    action = random.randrange(6)
    if action == 0:
        del holder[key]
    elif action == 1:
        other, its = random.choice(places)
        if isinstance(other, dict) and its in other:
            holder[key] = json.loads(json.dumps(other[its]))
    elif action == 2:
        holder[key] = [holder[key]] * random.choice((0, 1, 3))
    elif action == 3:
        holder[key] = {"a": holder[key]}
    elif action == 4 and isinstance(holder, dict):
        holder[random.choice(("p", "", "time", "\x1b[31m", "x" * 300))] = holder.pop(key)
    else:
        holder[key] = PLACE
    return random.choice((*NUMBERS, *(b'"' + word + b'"' for word in WORDS), b'"9"', b"-1.5"))


def restructured(content, random):
    """A document of JSON, or one of its lines, has another structure."""
    lines = [content]
    try:
        document, at = json.loads(content), 0
    except (ValueError, RecursionError):
        lines = content.split(b"\n")
        at = random.randrange(len(lines))
        try:
            document = json.loads(lines[at])
        except (ValueError, RecursionError):
            return word_replaced(content, random)
    if not isinstance(document, dict | list):
        return content
    try:
        raw = _restructured(document, random)
        written = json.dumps(document).encode()
    except (ValueError, RecursionError):  # numbers or levels that a mutation before has made
        return content
    lines[at] = written.replace(f'"{PLACE}"'.encode(), raw)
    return b"\n".join(lines)


MUTATIONS = (
    *(bytes_changed, bytes_inserted, chunk_left_out, chunk_repeated, chunk_moved, cut_off),
    *(number_replaced, number_replaced, number_replaced, all_numbers_replaced, word_replaced),
    *(word_replaced, line_left_out, line_repeated, lines_swapped, lines_numbered),
    *(ends_of_lines_changed, nested, restructured, restructured, restructured, restructured),
)


def mutated(content: bytes, random: Random, *, largest: int = 3 * LARGEST) -> bytes:
    """Give a document with one to five mutations, cut off after so many bytes."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        if len(content) <= LARGEST:
            content = random.choice(MUTATIONS)(content, random)
    return content[:largest]
