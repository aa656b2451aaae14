"""Answers as sheets of tables and facts, and their way onto a terminal and into a notebook."""
