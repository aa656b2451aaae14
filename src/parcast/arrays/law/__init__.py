"""The law of a collective request: messages, file system, costs, and the phase of a program."""
