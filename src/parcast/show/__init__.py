"""Answers as sheets of tables and facts, their way onto a terminal, a page and a file, and pictures.

It lays out and rounds; it computes nothing. Widths and colours come from the `page` it is given.
"""
