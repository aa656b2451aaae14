"""Planning a parallel pipeline: ranks, pipelines, fan-in and batch of the least balanced time."""
