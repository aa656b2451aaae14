"""`parcast.cli.outputs`: what is printed is printed whole."""

from types import SimpleNamespace

from parcast.cli import outputs


class Slow:
    """A stream that takes a few bytes at a time, as an unbuffered one may."""

    def __init__(self):
        self.taken = b""

    def write(self, some):
        self.taken += bytes(some[:7])
        return min(len(some), 7)

    def flush(self):
        """Nothing is kept back."""


def test_a_stream_that_takes_only_a_part_gets_the_rest_as_well(monkeypatch):
    stream = Slow()
    stdout = SimpleNamespace(buffer=stream, flush=lambda: None)
    monkeypatch.setattr(outputs, "sys", SimpleNamespace(stdout=stdout))
    outputs.print_pieces(iter(["p,time_s\n", "64,1.5\n", "größer\n"]))
    assert stream.taken.decode() == "p,time_s\n64,1.5\ngrößer\n"
