"""Documents read with offsets: every character of clean text has its place in the original file.

A *file* is decoded (`encodings`), cut into documents (`boundaries`) and each document into fields
of clean text (`markup`, `jsonlines`, `offsets`). `items` shares files out between ranks.
"""
