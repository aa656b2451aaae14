"""Requests that ranks of this machine run, and what is observed of them."""
