"""Several answers about a program together, as a page that can be handed on."""
