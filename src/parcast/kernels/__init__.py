"""Reference programs that really run: each is the parallel form of a timing law."""
