"""Tables of measurements in files: how rows stand in lines, and what columns and cells mean.

`layout` finds the rows, `titles` takes titles apart, `header` and `meanings` decide what each
column is, `cells` reads one cell, `values` and `rows` bring them to arrays, `files` reads and
writes whole files.
"""
