"""Explained from descriptions of a program and a machine."""
