"""Measured times in, times at other processors out, each with its interval: `parcast forecast`.

`own_runs` has the laws, their ensemble and the interval, `donors` what runs on other machines add;
`series` puts both together for what is asked, `surface` forecasts over several parameters, and
`next_runs` says what to run next. `forecast` and `knee` answer by the `evidence` there is.
"""
