"""Files that once hung, exhausted, killed or misled parcast: made here, as some are large.

Each names what it guards. The findings of `make fuzz` are beside them, in `corpus/`.
"""

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzzing.tool_documents import SAMPLES, members_of


@dataclass(frozen=True)
class Known:
    """A document that a reader did not read or refuse as it should."""

    reader: str
    guards: str  # what happened
    make: Callable[[], bytes]


def _of(text: str) -> Callable[[], bytes]:
    return text.encode


def _profile(**others: object) -> Callable[[], bytes]:
    """A profile of one rank, with other values of some keys."""

    def make() -> bytes:
        region = {"name": "a", "kind": "compute", "entries": 1, "wall_s": 1.0, "counts": {}}
        region |= {"processor_s": 1.0, "squares_s2": 1.0, "iterations": 1.0, "calls": 1.0}
        record = {"schema": "parcast/profile/1", "program": "x", "host": "h", "rank": 0, "p": 1}
        record |= {"begun": 1.0, "span_s": 2.0, "entry_s": 1e-6, "other_threads": 0}
        record |= {"parameters": {"n": 1.0}, "regions": [region | {"volume_B": 0.0}]}
        return (json.dumps(record | others) + "\n").encode()

    return make


def _profile_of_digits() -> bytes:
    whole = _profile(span_s="@")().decode()
    return whole.replace('"@"', "1" + "0" * 399).encode()


def _caliper(unit: object = "sec", time: str = "1.0") -> Callable[[], bytes]:
    document = {
        "data": [["@", 0]],
        "columns": ["time", "path"],
        "column_metadata": [{"attribute.unit": unit}, {}],
        "nodes": [{"label": "main", "column": "path"}],
        "mpi.world.size": "2",
    }
    return _of(json.dumps(document).replace('"@"', time))


def _darshan_header() -> bytes:
    text = (SAMPLES / "darshan_parser.txt").read_bytes()
    return text.replace(b"# nprocs: 4", b"# nprocs: " + b"4" * 5000)


def _ior_column() -> bytes:
    return (SAMPLES / "ior.csv").read_bytes().replace(b"access,", b"acces,")


def _cubex_bomb() -> bytes:
    """A profile whose values are some MB that unpack to gigabytes."""
    import zlib

    from tests.fuzzing.readers import READERS

    members = members_of(READERS["cubex"].drawn(1, start=0)[0])
    packer = zlib.compressobj(9)
    first, again = (
        packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    row = first + 2999 * again  # of a stream that is complete but for its end
    places = (0, 0, len(row)) * 2
    members["1.data"] = b"ZCUBEX.DATA" + struct.pack("<7q", 2, *places) + 2 * row
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def _metadata(attributes: object) -> Callable[[], bytes]:
    group = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    return _of(json.dumps(group))


def _shape(first: str) -> Callable[[], bytes]:
    """Metadata of an array of a store, with another number of rows."""

    def make() -> bytes:
        from tests.fuzzing.readers import READERS

        [document] = READERS["zarr-array"].drawn(1, start=0)
        changed = json.loads(document) | {"shape": ["@", 4]}
        return json.dumps(changed).replace('"@"', first).encode()

    return make


def _gzip_bomb() -> bytes:
    header = {"schema": "parcast/pipeline-trace/1"}
    return gzip.compress(json.dumps(header).encode() + bytes(50_000_000), mtime=0)


NINES = "9" * 60_000
KEYS = "\n".join(f"key_{i} = 1" for i in range(20_000))
PHASES = '[[phase]]\nlaw = "amdahl"\nt1 = "1 s"\nserial = 0.1\n' * 40_000

COUNTED = "".join(f"ranks: {1 + i % 2}\nelapsed: 1\nelapsed: 2\n" for i in range(20_000))

KNOWN = {
    "a log of 20,000 counts": Known(
        "log", "all of them were searched for each time", _of(COUNTED)
    ),
    "a time of 60,000 digits": Known(
        "csv", "a number with a unit was looked for by backtracking", _of(f"p,time_s\n1,{NINES}\n")
    ),
    "a time of 60,000 digits and a letter": Known(
        "csv", "the same with what is no unit", _of(f"p,time_s\n1,{NINES}x\n2,1\n")
    ),
    "a header of 60,000 digits": Known(
        "csv", "the same among the titles", _of(f"p,{NINES}!\n1,1\n")
    ),
    "a parameter of 60,000 digits in hyperfine": Known(
        "hyperfine",
        "the same in a parameter",
        _of(
            json.dumps(
                {"results": [{"command": "x", "times": [1.0], "parameters": {"p": f"{NINES}!"}}]}
            )
        ),
    ),
    "a name of 60,000 digits in Google Benchmark": Known(
        "google-benchmark",
        "the same in the name of a benchmark",
        _of(
            json.dumps(
                {
                    "context": {"date": "", "executable": "x"},
                    "benchmarks": [
                        {"name": f"a/p:{NINES}!", "run_name": f"a/p:{NINES}!", "real_time": 1.0}
                        | {"time_unit": "s", "run_type": "iteration", "cpu_time": 1.0}
                    ],
                }
            )
        ),
    ),
    "a profile of a billion ranks": Known(
        "profile", "the missing ranks were listed, in 4.5 GB", _profile(p=10**9)
    ),
    "a profile of a number of 400 digits": Known(
        "profile", "a number beyond all floats was no refusal", _profile_of_digits
    ),
    "a machine with a number of 5,000 digits": Known(
        "machine", "Python refuses to read it", _of(f"processors = {'9' * 5000}\n")
    ),
    "a machine with servers of 400 digits": Known(
        "machine",
        "a number beyond all floats was no refusal",
        _of(f"[compute]\nrate = '1 Mflop/s'\n[storage]\nservers = {'9' * 400}\n"),
    ),
    "a machine with processors of 400 digits": Known(
        "machine", "the same", _of(f"processors = {'9' * 400}\n[compute]\nrate = '1 Mflop/s'\n")
    ),
    "a machine of 20,000 unknown keys": Known(
        "machine", "the time grew with the square of their number", _of(f"{KEYS}\n")
    ),
    "a program of 40,000 phases": Known(
        "program", "every phase was predicted, in minutes", _of(PHASES)
    ),
    "a dotted key of 400,000 parts": Known(
        "program", "the time grew with the square of the parts", _of("a." * 400_000 + "b = 1\n")
    ),
    "a key with an escape in TOML": Known(
        "machine", "it reached the terminal", _of('"\\u001b[31mred" = 1\n')
    ),
    "a key with a newline in TOML": Known(
        "machine", "it forged a line of ours", _of('"a\\nparcast: 3 problems" = 1\n')
    ),
    "a list as a unit in Caliper": Known(
        "caliper", "a list was looked up as a key", _caliper(unit=["sec"])
    ),
    "a time of 400 digits in Caliper": Known(
        "caliper", "a number beyond all floats was no refusal", _caliper(time="9" * 400)
    ),
    "a node below itself in Caliper": Known(
        "cali",
        "the library went up from it without end",
        lambda: (SAMPLES / "caliper_ranks.cali").read_bytes().replace(b"parent=33", b"parent=39"),
    ),
    "an IOR table with a renamed column": Known(
        "ior", "a column was taken for granted", _ior_column
    ),
    "a Darshan header of 5,000 digits": Known(
        "darshan", "a number beyond all floats was no refusal", _darshan_header
    ),
    "a cubex profile that unpacks to 3 GB": Known("cubex", "it was unpacked whole", _cubex_bomb),
    "a first line of 70,000 letters": Known(
        "forecast",
        "its kind was looked for by backtracking",
        _of("A" * 70_000 + ",metric,value\n1,time_s,2\n"),
    ),
    "an entity of 5,000 digits": Known(
        "documents",
        "Python refuses to read the number",
        _of(f"<html><body>&#{'9' * 5000};</body></html>"),
    ),
    "a store with a list as attributes": Known(
        "zarr-group", "they were taken for an object", _metadata([1])
    ),
    "a store whose arrays have lists as names": Known(
        "zarr-group",
        "they were taken for text",
        _metadata({"parcast": {"schema": "parcast/array-store/1", "arrays": [[]]}}),
    ),
    "metadata of a store, nested 100,000 deep": Known(
        "zarr-array", "too deep for Python was no refusal", _of("[" * 100_000)
    ),
    "an array of a store with 10^15 rows": Known(
        "zarr-array", "each of its chunks was looked for", _shape(str(10**15))
    ),
    "an array of a store with 10^999 rows": Known(
        "zarr-array", "a number beyond all floats was no refusal", _shape("1e999")
    ),
    "a .npy file with a header of 4 GB": Known(
        "npy", "memory was allocated for it", lambda: b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    ),
    "a .npy file whose header has no end": Known(
        "npy",
        "an error of Python's tokenizer came out",
        lambda: b"\x93NUMPY\x01\x00\x20\x00{'shape': (" + b" " * 30,
    ),
    "a checkpoint that is only a schema": Known(
        "checkpoint",
        "what is missing was a KeyError",
        _of('{"schema": "parcast/pipeline-checkpoint/1"}'),
    ),
    "a packed trace of one endless line": Known(
        "trace", "what it unpacks to has a bound", _gzip_bomb
    ),
}
