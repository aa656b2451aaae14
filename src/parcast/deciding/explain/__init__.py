"""`parcast explain`: why a program takes its time, and what would help."""
