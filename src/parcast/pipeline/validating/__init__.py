"""Measured against predicted: the law of the pipeline, tested by runs on this machine."""
