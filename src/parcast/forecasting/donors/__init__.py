"""Runs of the same program on other machines, and what they add to a forecast (`--donors`)."""
