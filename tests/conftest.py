"""Hypothesis draws the same examples on every run, and a slow machine does not fail a test."""

from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")
