"""Results as text: what a terminal, a notebook and ``print`` show.

It lays out and rounds; it computes nothing. Widths and colours come from the `page` it is given.
"""
