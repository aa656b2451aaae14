"""Times of a described program on a described machine: `parcast predict`.

`grid` spreads the question over arrays, `predict` asks the laws, `surface` and `lines` draw it.
"""
