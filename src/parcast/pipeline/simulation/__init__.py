"""The parallel pipeline event by event: the schedules as they run, in simulated time.

`adaptive` and `source` execute a schedule, `scenario` says what is simulated, `clock` what time
and messages are, and `replications` repeats runs until their mean is known.
"""
