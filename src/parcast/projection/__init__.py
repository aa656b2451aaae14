"""Times of a machine on which nothing was run, from runs elsewhere: `parcast project`.

By a ratio of speeds (`ratio`), or from counts of what the program does (`counted`).
"""
