"""What a server holds in memory does not depend on how large an array is."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "memory.py"
SUBCHUNK = 1 << 22
SMALL = 0.25  # subchunks: for messages and the index


def test_a_server_holds_four_subchunks_at_most(ran, tmp_path, monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")  # nothing is kept from before
    status, out, err = ran(PROGRAM, tmp_path, ranks=3)
    assert (status, err) == (0, "")
    lines = [line.split(maxsplit=2) for line in out.splitlines()]
    peaks = {int(number): int(peak) for kind, number, peak in lines if kind == "peak"}
    names = {int(number): name for kind, number, name in lines if kind == "done"}
    assert len(names) == len(peaks) == 32
    for number in range(0, len(names), 2):
        assert names[number] == names[number + 1]
        # The first of each kind loads what the second has as well.
        more = peaks[number + 1] / SUBCHUNK
        assert more <= 4 + SMALL, (names[number], more)
