"""Measured times: tables of runs, series of counts, profiles of regions, and their files."""
