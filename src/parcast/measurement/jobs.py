"""Jobs of a batch system that make runs of a measurement, and their files beside its table.

Job 2 of app.csv has app.jobs/2.sh, which is submitted, 2.json, which says what it measures, 2.csv,
its own table, which may be read while it runs, and 2.now, which says how far it is.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Self

from parcast.cli.batch_script import BatchSystem
from parcast.errors import ParameterError
from parcast.files.document import write_document
from parcast.measurement.measure import MeasuredCommand
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.table import RunRow, read_rows
from parcast.units import shown

MARK: Final = "parcast measure"  # of files that say what a job measures
ALL: Final = "all runs were made"  # why a job ended
NO_TIME: Final = "its time was over"
INTERRUPTED: Final = "interrupted"  # by a signal, as Slurm sends at the end of the time


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchJob:
    """Runs that are made in one allocation."""

    number: int  # from 1
    command: MeasuredCommand
    points: tuple[MeasuredPoint, ...]
    runs: int  # of each point [1]
    warmup: int = 0
    seed: int = 0
    system: BatchSystem = "slurm"
    nodes: int = 1
    ranks_per_node: int = 1
    cpus_per_rank: int = 1
    seconds: float  # after which the batch system ends it [s]
    seconds_from: str  # where that is from
    id: str = ""  # that the batch system gave it; "" where parcast did not submit it
    folder: str = ""  # of its files

    def file(self, ending: str) -> Path:
        """One of its files."""
        return Path(self.folder, f"{self.number}.{ending}")

    @property
    def about(self) -> dict[str, Any]:
        """What tells its measurement from others, as the table has it."""
        return self.command.about() | {"parameters": [*self.points[0].columns]}

    @property
    def counts(self) -> list[int]:
        """Processor counts that it measures."""
        return sorted({x.columns["p"] for x in self.points})

    def save(self) -> None:
        """Write what it measures."""
        told = {x.name: getattr(self, x.name) for x in fields(self) if x.name != "folder"}
        told["command"] = asdict(self.command) | {"command": list(self.command.command)}
        told["points"] = [x.columns for x in self.points]
        text = json.dumps({"written_by": MARK, **told}, indent=1)
        write_document(self.file("json"), [text, "\n"])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what a job measures."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            assert told.pop("written_by") == MARK
            told["command"] = MeasuredCommand(**told["command"])
            told["points"] = tuple(MeasuredPoint(tuple(x.items())) for x in told["points"])
            return cls(**told, folder=str(path.parent))
        except FileNotFoundError:
            raise ParameterError(
                "FILE",
                must="be of a job",
                got=f"{shown(path)}, which is not there",
                hint="The job was replaced by later ones: end it.",
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError):
            raise ParameterError(
                "FILE",
                must="be what parcast wrote for a job",
                got=shown(path),
                hint="Write the jobs again.",
            ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobProgress:
    """How far a job that has begun is, as it told last."""

    id: str = ""  # that the batch system gave it
    host: str = ""
    begun: float = 0.0  # since the epoch [s]
    point: MeasuredPoint | None = None  # that is run
    point_begun: float = 0.0  # since the epoch [s]
    made: int = 0  # runs, among them those of earlier jobs [1]
    ended: str = ""  # why; "" while it runs
    findings: tuple[str, ...] = ()  # what only the job can see
    is_failed: bool = False

    def save(self, job: BatchJob) -> None:
        """Write it beside the table of the job."""
        told = asdict(self) | {"point": self.point.columns if self.point else None}
        write_document(job.file("now"), [json.dumps(told), "\n"])

    @classmethod
    def of(cls, job: BatchJob) -> Self | None:
        """Read how far a job is; None if it has not begun."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            told = json.loads(job.file("now").read_text(encoding="utf-8"))
            point = told["point"]
            told["point"] = MeasuredPoint(tuple(point.items())) if point else None
            told["findings"] = tuple(told["findings"])
            return cls(**told)
        return None

    def running(self, point: MeasuredPoint | None, made: int) -> Self:
        """Note what is run now."""
        return replace(self, point=point, point_begun=time.time(), made=made)


def rows_of(job: BatchJob) -> list[RunRow]:
    """Runs in the table of a job, those of earlier jobs among them."""
    path = job.file("csv")
    return read_rows(str(path), job.about) if path.exists() else []


def folder_of(table: str) -> Path:
    """Folder of the jobs of a table."""
    path = Path(table)
    return path.with_name(f"{path.stem}.jobs")


def step_name(job: BatchJob) -> str:
    """Name of the steps of a job, with a place for each value: by it the account tells runs."""
    return "_".join(f"{name}{{{name}}}" for name in job.points[0].columns)


def jobs_of(table: str) -> list[BatchJob]:
    """Jobs of a table, which all have to be of one measurement."""
    jobs = [BatchJob.read(x) for x in sorted(folder_of(table).glob("*.json"), key=_number)]
    if not jobs:
        raise ParameterError(
            "TABLE",
            must="have jobs",
            got=f"none in {shown(folder_of(table))}",
            hint="Write them first.",
        )
    require_one(jobs[0].about, jobs)
    return jobs


def require_one(about: Mapping[str, Any], jobs: list[BatchJob]) -> None:
    """Refuse jobs of another measurement."""
    for job in jobs:
        for name, value in about.items():
            if job.about[name] != value:
                raise ParameterError(
                    "TABLE",
                    must=f"have jobs of one {name}, {shown(json.dumps(value))}",
                    got=f"{shown(job.file('json'))} of {shown(json.dumps(job.about[name]))}",
                    hint="Choose another table, or move the folder of the other jobs away.",
                )


def _number(path: Path) -> tuple[int, str]:
    return (int(path.stem) if path.stem.isdigit() else 0, path.stem)


def new_numbers(table: str) -> Iterator[int]:
    """Numbers of jobs that are not taken."""
    taken = [_number(x)[0] for x in folder_of(table).glob("*.*")]
    number = max(taken, default=0)
    while True:
        number += 1
        yield number
