"""Result of `sort_file`: where the sorted array is, and what sorting it took."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parcast.pipeline.result import PipelineResult
from parcast.show.result import Result


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SortedFile(Result):
    """A sorted array in a file; on ranks other than 0 it has `run` alone."""

    _schema = "parcast/sort/1"
    _outline = """
        rows source output elements size_B dtype by chunks shards longest_shard=longest seconds
        memory_B warnings inputs
    """

    source: str = ""  # file that was sorted, and the sorted one
    output: str = ""  # file that was sorted, and the sorted one
    elements: int = 0  # elements of the array [1]
    size: int = 0  # bytes of the elements [B]
    dtype: str = ""  # type of the elements; `records` of those
    by: tuple[str, ...] = ()  # fields that were compared; empty: all
    chunks: int = 0  # parts that were sorted, and merged, in memory [1]
    shards: int = 0  # parts that were sorted, and merged, in memory [1]
    longest: int = 0  # elements of the longest shard [1]
    seconds: float = 0.0  # wall time, with the start of ranks [s]
    memory: float = 0.0  # limit of the resident memory of a rank [B]
    peaks: tuple[
        float | None, ...
    ] = ()  # resident memory of each rank, None: it ended no shard [B]
    run: PipelineResult = field(default_factory=PipelineResult)
    inputs: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"SortedFile({self.output}: {self.elements} x {self.dtype}, {self.seconds:.3g} s)"

    @property
    def is_root(self) -> bool:
        """Whether this process is rank 0 of the run, which has the result."""
        return self.run.is_root

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was not as it should be."""
        over = [(i, peak) for i, peak in enumerate(self.peaks) if peak and peak > self.memory]
        return tuple(
            f"rank {rank} held {peak / 1e6:.0f} MB at most, more than the limit of "
            f"{self.memory / 1e6:.0f} MB"
            for rank, peak in over
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each rank."""
        peaks = [*self.peaks, *[None] * len(self.run.ranks)]
        for row, peak in zip(self.run.rows(), peaks, strict=False):
            yield {**row, "peak_B": peak}
