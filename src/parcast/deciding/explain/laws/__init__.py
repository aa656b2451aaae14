"""Explained from a law alone: grain, compactness, and speedups of fixed and of growing size."""
