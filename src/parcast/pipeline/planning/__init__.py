"""Planning a parallel pipeline: ranks, pipelines, fan-in and batch for the least balanced time."""
