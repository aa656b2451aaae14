"""Whether a program is still as fast: one level of error for all counts and call paths."""
