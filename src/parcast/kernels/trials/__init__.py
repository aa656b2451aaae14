"""Programs as what is validated: launched, calibrated with small sizes, predicted and compared.

`subject` takes a program through its steps, `launcher` makes its runs, `sizes` chooses them,
`calibration` fits its law and `interval` says how far a prediction may be off.
"""
