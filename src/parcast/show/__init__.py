"""Answers as sheets of tables and facts, and their way to a terminal, a notebook and a file.

It lays out and rounds; it computes nothing. Widths and colours come from the `page` it is given.
"""
