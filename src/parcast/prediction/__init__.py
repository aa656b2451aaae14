"""Times of a described program on a described machine: `parcast predict`.

`grid` spreads the question over arrays, `predict` asks the laws, `notes` says what limits;
pictures are `lines`, and over two axes those of `surface`.
"""
