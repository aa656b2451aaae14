"""Answers as sheets of tables and facts, and their way to a terminal, a notebook and a file.

`sheet` is what an answer says, `terminal` and `html` render it, `result` is the base of all
answers; `canvas`, `colours` and `scales` are what pictures share. It lays out and rounds; it
computes nothing.
"""
