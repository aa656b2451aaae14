"""Forecasts of times that lie on a law, four times further, and what a longer last time does.

    .venv/bin/python benchmarks/law_true.py

Seven laws at six counts from 1 to 32 with noise, asked for 128: the mean error of parcast, of the
law that made the times, fitted alone, and of the median of four simple laws. Then 10,000 random
series, the last time of each multiplied by 0.7 to 2.6: of how many the forecast one doubling on
falls by 2% or more where the last time rises.
"""

import warnings

import numpy as np
from accuracy import laws_alone
from scipy.optimize import least_squares

import parcast
from parcast.forecasting.own_runs.ensemble import extrapolate

P, AT, DRAWS = 2.0 ** np.arange(6), 128.0, 40
LAWS = {  # true parameters, at least 0, and the law
    "Amdahl": ((95.0, 5.0), lambda p, a, b: a / p + b),
    "USL": ((100.0, 0.02, 5e-4), lambda p, t, s, k: t * (1 + s * (p - 1) + k * p * (p - 1)) / p),
    "logarithmic": ((100.0, 2.0, 1.0), lambda p, a, b, c: a / p + b * np.log2(p) + c),
    "power 0.8": ((100.0, 0.8), lambda p, a, b: a * p**-b),
    "power 0.5": ((100.0, 0.5), lambda p, a, b: a * p**-b),
    "linear": ((100.0, 0.3), lambda p, a, b: a / p + b * p),
    "surface": (
        (100.0, 8.0, 0.05),
        lambda p, a, b, c: a / p + b * p ** (-2 / 3) + c * np.log2(p),
    ),
}
FACTORS = (0.7, 0.85, 1, 1.15, 1.3, 1.6, 2.0, 2.6)


def fitted_alone(law, true: tuple[float, ...], time: np.ndarray) -> float:
    """What the law that made the times says of the larger count, fitted to them."""

    def off(x):
        return np.log(np.maximum(law(P, *x), 1e-9)) - np.log(time)

    found = least_squares(off, true, x_scale=np.maximum(true, 0.01), bounds=(0, np.inf))
    return float(law(AT, *found.x))


def errors(noise: float, draw: np.random.Generator) -> dict[str, float]:
    """Mean error over the laws with so much noise, by who forecasts."""
    found: dict[str, list[float]] = {"right law": [], "median of four": [], "parcast": []}
    for true, law in LAWS.values():
        for _ in range(DRAWS if noise else 1):
            time = law(P, *true) * draw.lognormal(0, noise, len(P))
            runs = parcast.Measurements(p=P, time=time)
            told = parcast.forecast(runs, [AT], scaling="strong").time[0]
            four = laws_alone(P, time, np.array([AT]))["median of the four"][0]
            said = (fitted_alone(law, true, time), four, told)
            for errors_of, value in zip(found.values(), said, strict=True):
                errors_of.append(abs(value / law(AT, *true) - 1))
    return {name: float(np.mean(x)) for name, x in found.items()}


def falls(series: int, draw: np.random.Generator) -> int:
    """Number of random series whose forecast falls by 2% where the last time rises."""
    many = 0
    for counts in range(3, 8):
        p = 2.0 ** np.arange(counts)
        serial, share, growth = draw.uniform(0, [[0.1], [0.02], [1]], (3, series // 5))[..., None]
        time = 100 * (serial + 1 / p + share * p**growth)
        time = time * draw.lognormal(0, 0.03, time.shape)
        time = np.repeat(time, len(FACTORS), axis=0)
        time[:, -1] *= np.tile(FACTORS, series // 5)
        valid, at = np.ones(time.shape, dtype=bool), np.full((len(time), 1), 2 * p[-1])
        said = extrapolate(np.broadcast_to(p, time.shape), time, valid, at).log_time
        steps = np.diff(said.reshape(-1, len(FACTORS)), axis=1)
        many += int((steps.min(axis=1) < -0.02).sum())
    return many


def main() -> None:
    """Print both."""
    warnings.simplefilter("ignore")
    draw = np.random.default_rng(0)
    print("noise    right law   median of four   parcast")
    for noise in (0.0, 0.003, 0.01, 0.03):
        right, four, ours = errors(noise, draw).values()
        print(f"{noise:5.1%}{right:13.1%}{four:17.1%}{ours:10.1%}")
    print(f"{falls(10_000, draw)} of 10,000 random series fall where the last time rises")


if __name__ == "__main__":
    main()
