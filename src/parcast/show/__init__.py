"""Answers as a terminal, a notebook and a file show them; what is shared by all pictures.

It lays out and rounds; it computes nothing. Widths and colours come from the `page` it is given.
"""
