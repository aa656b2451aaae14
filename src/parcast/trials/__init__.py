"""Runs that are really made: what is run, what runs it, how often, and what disturbed it."""
