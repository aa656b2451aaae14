"""`python -m parcast`: the command line, where its script is not on the path."""

from parcast.cli import main

main()
