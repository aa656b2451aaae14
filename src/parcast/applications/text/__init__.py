"""Texts: documents and where their parts are, features of phrases, and search."""
