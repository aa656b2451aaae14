"""Numbers of a table, rounded to what their interval supports, without a unit of their own."""

from math import floor, isfinite, log, log10

FEWEST, MOST = 2, 5  # significant digits of a number that has an interval


def supported_digits(lower: float, upper: float) -> int:
    """Significant digits that are told apart by an interval: half its width gets two.

    >>> supported_digits(35.0, 42.1), supported_digits(38.1, 38.3), supported_digits(0.1, 900)
    (3, 4, 2)
    """
    bounded = 0 < lower < upper and isfinite(upper)
    half = log(upper / lower) / 2 if bounded else (0.0 if lower == upper else 1.0)
    return min(max(1 - floor(log10(half)), FEWEST), MOST) if half else MOST


def rounded_interval(
    value: float, lower: float, upper: float, *, most: int = MOST
) -> tuple[str, str, str]:
    """Texts of a value above 0 and its interval, all rounded as the interval supports.

    Parameters
    ----------
    value, lower, upper : float
        In one unit, `lower` not above `value` and `upper` not below it.
    most : int, default 5
        Significant digits of the value, however narrow the interval is.

    Returns
    -------
    value, lower, upper : str
        With equal decimals, or each to two digits where the interval supports no more.

    Examples
    --------
    >>> rounded_interval(38.2413, 35.0172, 42.0987)
    ('38.2', '35.0', '42.1')
    >>> rounded_interval(4.579, 0.008715, 2405.8)
    ('4.6', '0.0087', '2400')
    """
    digits = min(supported_digits(lower, upper), most)
    exponent = floor(log10(value))
    if digits == FEWEST or not -4 <= exponent < 7:
        return rounded(value, digits), rounded(lower, digits), rounded(upper, digits)
    places = digits - 1 - exponent
    first, second, third = (
        f"{round(x, places):.{max(places, 0)}f}" for x in (value, lower, upper)
    )
    return first, second, third


def rounded(value: float, digits: int) -> str:
    """Text of a number to so many significant digits, with an exponent if it is huge or tiny.

    >>> rounded(0.0123, 2), rounded(2064827.0, 2), rounded(2.1e12, 2), rounded(7.0, 3)
    ('0.012', '2100000', '2.1e12', '7.00')
    """
    if not value or not isfinite(value):
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if not -5 <= power < 7:
        return f"{mantissa}e{power}"
    return f"{float(f'{mantissa}e{power}'):.{max(digits - 1 - power, 0)}f}"
