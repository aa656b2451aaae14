"""A user's own program: `parcast measure` runs a command at several points and makes its table.

`points` are what is run, `table` keeps each run at once, `measure` has a campaign of `trials` make
them, `findings` says what spoils a measurement.
"""
