"""Reference requests: some of every kind, whose times determine the costs of the law.

The library itself runs them, on the ranks whose costs are asked for. None is a request that
`parcast validate array-io` predicts.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from parcast.arrays.trials.request import ArrayRequest, Layout

KIB, MIB = 1 << 10, 1 << 20
TINY: Final = 16 * KIB  # of a server [B]
MEDIUM: Final = 4 * MIB  # not written out before the flush; of one server, where several [B]
LONG: Final = 7 * MIB  # as well, and nearly as long as a small file may be [B]
SMALLEST: Final = 18 * MIB  # of a server: half of it, the large array, is no small file [B]
LARGEST: Final = 128 * MIB  # of one server [B]
LARGEST_OF_ALL: Final = 192 * MIB  # of all servers [B]
LONGEST: Final = 1.5  # for the largest array, where that is possible [s]
LIMIT: Final = f"{TINY} B"  # subchunk of requests that are bound by messages

# Rows of an array of float64: 0.375, 1.5, 7.5 and 30 KiB, and 3 and 120 KiB in dimensions that can
# be divided; no request of the lists that are validated has such extents.
THIN, NARROW, WIDE, WIDEST = (2, 24), (8, 24), (24, 40), (48, 80)
COLUMN, PLANE = (32, 12), (96, 160)


def trials(layout: Layout) -> dict[str, ArrayRequest]:
    """Requests that tell how fast the disk is."""
    return {
        "tiny": _request(layout, TINY, NARROW, writer="write-behind"),
        "medium": _request(layout, MEDIUM, WIDE, writer="write-behind"),
    }


def largest_size(layout: Layout, rate: float) -> int:
    """Bytes of a server's part of the largest array, of which it writes so many a second. [B]."""
    most = min(LARGEST, LARGEST_OF_ALL // layout.servers)
    return int(min(max(rate * LONGEST, SMALLEST), max(most, SMALLEST)))


def references(layout: Layout, largest: int) -> dict[str, ArrayRequest]:
    """Give the requests of a layout, `largest` being `largest_size` [B].

    Of the many arrays each server has more files than it flushes one by one. A request has 1 MiB
    or more of a server, or so little that its bytes hardly matter: a limited disk of 10 MB/s takes
    less than that at once.
    """
    columns: dict[str, Any] = {"mesh": _columns(layout.clients)}
    large, wide, plane = largest // 2, WIDE, PLANE
    many, long, most = 96 * layout.servers, 80 * layout.servers, 320 + 160 * layout.servers
    of_all = large * layout.servers
    behind, sync = {"writer": "write-behind"}, {"writer": "sync"}
    read: Mapping[str, Any] = {"operation": "read"}
    sizes: dict[str, tuple[int, tuple[int, int], dict[str, Any]]] = {
        "tiny": (TINY, NARROW, behind),
        "tiny, double-buffer": (TINY, NARROW, {}),
        "tiny, sync": (TINY, NARROW, sync),
        "medium": (MEDIUM, wide, behind),
        "medium, double-buffer": (LONG, wide, {}),
        "small": (MIB, NARROW, behind),
        "small, double-buffer": (MIB, NARROW, {}),
        "large": (large, WIDEST, behind),
        "largest": (largest, WIDEST, behind),
        "large, double-buffer": (large, WIDEST, {}),
        "largest, double-buffer": (largest, WIDEST, {}),
        "medium, sync": (MEDIUM, wide, sync),
        "large, sync": (large, WIDEST, sync),
        "units, sync": (64 * TINY, NARROW, sync | {"subchunk": LIMIT}),
        "units": (64 * TINY, NARROW, behind | {"subchunk": LIMIT}),
        "units, columns": (64 * TINY, NARROW, behind | columns | {"subchunk": LIMIT}),
        "columns": (large, plane, behind | columns),
        "columns, double-buffer": (large, plane, columns),
        "few arrays": (TINY // 4, THIN, {"arrays": 32}),
        "many arrays": (TINY, NARROW, {"arrays": many}),
        "most arrays": (TINY // 4, THIN, behind | {"arrays": most}),
        "many arrays, sync": (TINY // 4, THIN, sync | {"arrays": many}),
        "many arrays, columns": (4 * TINY, COLUMN, behind | columns | {"arrays": many}),
        "few long arrays": (of_all // 32, wide, behind | {"arrays": 32}),
        "many long arrays": (of_all // long, NARROW, behind | {"arrays": long}),
        "long arrays, columns": (of_all // 32, wide, columns | {"arrays": 32}),
        "tiny, read": (TINY, NARROW, {**read}),
        "medium, read": (MEDIUM // 2, wide, {**read}),
        "large, read": (large, WIDEST, {**read}),
        "largest, read": (largest, WIDEST, {**read}),
        "columns, read": (large, plane, {**read, **columns}),
        "many arrays, read": (TINY, NARROW, {**read, "arrays": many}),
        "long arrays, columns, read": (of_all // 32, wide, {**read, **columns, "arrays": 32}),
    }
    return {name: _request(layout, *each, **keys) for name, (*each, keys) in sizes.items()}  # type: ignore[arg-type]  # a size and a row


def _request(
    layout: Layout, size: int, row: tuple[int, int], *, mesh: tuple[int, ...] = (), **keys: Any
) -> ArrayRequest:
    """Make a request of about so many bytes of each server, or of each of many arrays. [B].

    Clients have equal numbers of rows by default, and servers as well, where they share an array.
    """
    is_one = keys.get("arrays", 1) == 1
    size *= layout.servers if is_one else 1
    each = layout.clients * (layout.servers if is_one or size > MEDIUM else 1)
    rows = each * max(round(size / (8 * prod(row) * each)), 1)
    return ArrayRequest(
        shape=(rows, *row),
        client_mesh=mesh or (layout.clients, 1, 1),
        servers=layout.servers,
        dedicated=layout.dedicated,
        **keys,
    )


def _columns(clients: int) -> tuple[int, int, int]:
    """Mesh in which no client holds whole rows."""
    return (1, clients // 2, 2) if clients % 2 == 0 else (1, clients, 1)
