"""Explained from timings: what a time consists of, by the laws that forecast it."""
