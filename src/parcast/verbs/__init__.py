"""What a person asks, one module each: `forecast`, `knee`.

A verb takes measurements, calls the models, and returns a result with its reasons in words.
It reads no files and prints nothing.
"""
