"""Profiles as runs of regions: those of parcast, of Caliper, of Score-P and of TALP."""
