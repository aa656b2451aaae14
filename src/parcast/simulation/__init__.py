"""A described program simulated event by event, beside the law's times: `parcast simulate`.

`phase` plays one point of the grid with the engine of `parcast.queueing.simulation`.
"""
