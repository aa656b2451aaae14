"""Two versions of one program: the ratio of their times at each count, and what changed."""
