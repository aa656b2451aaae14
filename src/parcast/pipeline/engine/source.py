"""The published static schedule, executed."""

from parcast.pipeline.engine.job import Job


def require_source(job: Job, count: int) -> None:
    """Refuse what the static schedule cannot do."""
