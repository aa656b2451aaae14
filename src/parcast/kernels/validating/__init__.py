"""Whether a law holds on this machine: predict, run, compare (`parcast validate`).

`plan` chooses sizes, `runs` launches them, `calibration` and `interval` predict, `verdict`
decides.
"""
