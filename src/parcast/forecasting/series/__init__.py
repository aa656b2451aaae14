"""Series as they are asked for: a curve from all runs there are, with its notes and verdicts."""
