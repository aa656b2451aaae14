"""Discrete-event simulation of the queueing networks: the second route to every solver's figure.

`engine` plays events, `cycle` and `rounds` say what happens, `simulate` is what others call.
"""
