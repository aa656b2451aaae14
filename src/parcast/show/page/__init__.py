"""Answers as one page for a browser: a file that needs no network and no other file."""
