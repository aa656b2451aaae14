"""What the title of a column says: words, a statistic such as the median, and a unit.

Titles are taken apart in the usual forms: `wall [ms]`, `Wall time (min)`, `time/s`, `elapsed_ms`,
`t_sec`, `Time in s`, `avg_time_ms`, `images/s`. No values are looked at here.
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from parcast.units import TIME_UNITS

TIME_SPELLINGS: Final[Mapping[str, str]] = {  # in small letters, and the unit as parcast writes it
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisec", "millisecs"), "ms"),
    **dict.fromkeys(("millisecond", "milliseconds", "milli seconds"), "ms"),
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
CLOCKS: Final = {  # units of cells such as 1:40, which alone could be either
    **dict.fromkeys(("mm:ss", "m:ss", "m:s", "min:s", "min:sec", "mm:ss.s"), "min:s"),
    **dict.fromkeys(("h:m", "hh:mm", "h:mm", "h:min"), "h:min"),
    **dict.fromkeys(("hh:mm:ss", "h:m:s", "h:mm:ss", "h:min:s", "d-hh:mm:ss"), "h:min:s"),
}
STATISTICS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mean", "avg", "average"), "mean"),
    **dict.fromkeys(("median", "med", "p50"), "median"),
    **dict.fromkeys(("min", "minimum", "best", "fastest", "lowest"), "min"),
    **dict.fromkeys(("max", "maximum", "worst", "slowest", "highest"), "max"),
    **dict.fromkeys(("std", "stddev", "stdev", "sd", "deviation"), "deviation"),
    **dict.fromkeys(("sigma", "sem", "stderr", "uncertainty"), "deviation"),
    **dict.fromkeys(("err", "error"), "error"),  # a deviation only beside what it is of
    **dict.fromkeys(("cv", "var", "variance", "mad", "iqr", "ci", "q1", "q3"), "other"),
    **dict.fromkeys(("p5", "p10", "p25", "p75", "p90", "p95", "p99"), "other"),
}
_UNIT_ONLY = {"seconds", "secs", "sec", "milliseconds", "millis", "msec", "ms", "minutes", "hours"}
_UNIT_ONLY |= {"microseconds", "usec", "us", "nanoseconds", "nsec", "ns", "s", "hrs", "mins"}
_TIME_CORE = {
    *("time", "times", "timing", "timings", "wall", "walltime", "wallclock", "elapsed"),
    *("runtime", "duration", "real", "realtime", "tts", "makespan", "wtime", "ttime"),
}
_TIME_MORE = {
    *("total", "overall", "run", "running", "clock", "exec", "execution", "to", "solution"),
    *("measured", "program", "taken", "used", "full", "whole", "w", "app", "application"),
}
_P_CORE = {
    *("p", "np", "pe", "pes", "cpu", "cpus", "proc", "procs", "processor", "processors"),
    *("process", "processes", "rank", "ranks", "task", "tasks", "node", "nodes"),
    *("core", "cores", "thread", "threads", "gpu", "gpus", "worker", "workers"),
    *("executor", "executors"),
}
_P_MORE = {"n", "num", "number", "of", "no", "nr", "nb", "count", "counts", "used", "mpi", "total"}
_P_MORE |= {"omp", "openmp", "alloc", "parallel", "cuda", "compute", "hardware"}
_OF_EACH = {"node", "rank", "task", "process", "proc", "socket", "host"}
_COST = {"core", "cores", "cpu", "cpus", "node", "nodes", "gpu", "gpus", "sbu", "su"}
_FILLERS = {"the", "a", "is", "in"}
_BETTER = {"lower", "higher", "better", "less", "more"}  # of "(lower is better)"
_SOME_TIME = {"time", "times", "runtime", "walltime", "wallclock", "elapsed", "duration"}
_NO_WALL_TIME = {
    *("start", "end", "begin", "stop", "finish", "submit", "stamp", "timestamp", "date"),
    *("wait", "waiting", "queue", "queued", "limit", "timelimit", "requested", "remaining"),
    *("simulated", "saved", "overhead", "eta"),
}
_DERIVED = {
    *("efficiency", "eff", "ratio", "pct", "percent", "percentage", "relative", "rel"),
    *("ideal", "linear", "theoretical", "expected", "predicted", "modelled", "modeled"),
    *("log", "log2", "log10", "ln", "inverse", "reciprocal", "reduction", "improvement", "gain"),
    *("normalized", "normalised", "scaled", "slowdown"),
}
_NO_UNIT = {  # of time, but none that is known here
    *("ks", "ksec", "cs", "ds", "ps", "fs", "week", "weeks", "month", "months", "year", "years"),
    *("cycle", "cycles", "tick", "ticks", "jiffies", "m"),
}
_EACH = "gpu|core|cpu|node|rank|proc|process|processor|task|thread|socket|device|chip"
_OF_ONE = rf"(?i)(?:/|[ _]per[ _]|\bper[ _])({_EACH})(?:e?s)?[\])]?$"
_SIMULATED = {"ns", "ps", "us", "fs", "day", "days", "month", "months", "year", "years"}
_DATA = r"(?i)(?:[kmgtp]i?)?(?:b|bytes?|bits?|flops?|op|ops|iops)"
_WORD = r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u0370-\u03ff]+"
_RATE_WORDS = {"throughput", "bandwidth", "rate", "perf", "performance", "speed", "fps", "qps"}
_NO_RATE_ALONE = {"rate"}  # hit rate, sampling rate: only with a unit
LONGEST: Final = 200  # characters of a title that are looked at
SYPD: Final = {"sypd": "simulated year", "sdpd": "simulated day"}


@dataclass(frozen=True, slots=True)
class Title:
    """A title of a column, taken apart."""

    text: str  # as the file has it
    words: tuple[str, ...]  # in small letters, without unit and statistic
    unit: str = ""  # of time: "ms"; or how a clock is written: "min:s"
    statistic: str = ""  # "mean", "median", "min", "max", "deviation", "error" or "other"
    rate: str = ""  # unit of a rate: "ns/day"; "1" where it is a rate and none is given
    each: str = ""  # what a rate is for one of: "gpu"

    @property
    def base(self) -> str:
        """What it is a statistic of."""
        return "_".join(self.words)

    @property
    def is_time(self) -> bool:
        """Whether it is a usual name of the wall time."""
        words = set(self.words)
        if self.is_derived:
            return False
        if self.unit:  # which makes one of `total [s]`, `T(s)` and `seconds` as well
            return words <= _TIME_CORE | _TIME_MORE | {"t"}
        return not self.rate and words <= _TIME_CORE | _TIME_MORE and bool(words & _TIME_CORE)

    @property
    def names_time(self) -> bool:
        """Whether it is a time of any kind, or a moment."""
        words = set(self.words)
        if self.rate or self._counts_steps:
            return False
        return bool(self.unit or _SOME_TIME & words or (words and words <= _NO_WALL_TIME))

    @property
    def may_be_time(self) -> bool:
        """Whether it could be a time that is measured."""
        is_other = self.is_derived or bool(_NO_WALL_TIME & set(self.words))
        return self.names_time and not is_other

    @property
    def _counts_steps(self) -> bool:
        """Whether it is about steps in time, and not the time of a step."""
        named = "_".join(self.words)
        return "per" not in self.words and bool(re.search("time_?steps?(?:_|$)", named))

    @property
    def unknown_unit(self) -> str:
        """What stands where a unit does, and is none of time that is known: "ks", "10^3 s"."""
        for group in re.findall(r"[\[(]([^\[\]()]{1,20})[\])]", self.text[:LONGEST]):
            factor, _, unit = group.rpartition(" ")
            has_factor = factor[:1].isdigit() and time_unit_of(unit)
            if group.strip(" .").lower() in _NO_UNIT or has_factor or group[:3] == "10^":
                return str(group)
        if self.unit or self.rate or "per" in self.words or len(self.words) < 2:
            return ""
        return self.words[-1] if self.words[-1] in _NO_UNIT else ""

    @property
    def is_cost(self) -> bool:
        """Whether it is processors times time, such as `core_hours`."""
        return bool(self.unit) and bool(self.words) and set(self.words) <= _COST | {"used"}

    @property
    def is_of_processors(self) -> bool:
        """Whether it is time that processors spent, which is no wall time: `user`, `cpu_time`."""
        of_processors = {"user", "sys", "system", "cpu", "idle", "core", "cores", "node", "nodes"}
        return bool(set(self.words) & of_processors) and not self.is_p

    @property
    def is_p(self) -> bool:
        """Whether it is a usual name of processors."""
        core = [word for word in self.words if word in _P_CORE]
        return len(core) == 1 and set(self.words) <= _P_CORE | _P_MORE and not self.unit

    @property
    def kind_of_p(self) -> str:
        """Which processors it counts, in the singular: "rank", "thread", "node"."""
        word = next((word for word in self.words if word in _P_CORE), "")
        same = {
            "process": "rank",
            "processe": "rank",
            "proc": "rank",
            "task": "rank",
            "np": "rank",
        }
        word = word.removesuffix("s") if word != "process" else word
        return same.get(word, word)

    @property
    def is_one_rank(self) -> bool:
        """Whether it may number the ranks of one run: it is in the singular."""
        return self.words in {
            (x,) for x in ("rank", "process", "pe", "proc", "thread", "task")
        } or (
            len(self.words) == 2
            and self.words[0] in {"mpi", "rank", "process", "task", "thread"}
            and self.words[1] in {"rank", "id", "number", "process", "index"}
        )

    @property
    def of_each(self) -> str:
        """What it counts the processors of: "node" of `tasks_per_node`; "" otherwise."""
        match self.words:
            case (*few, "per", each) if each in _OF_EACH and set(few) & _P_CORE:
                return "rank" if each in {"task", "process", "proc"} else each
            case ("ppn",):
                return "node"
        return ""

    @property
    def is_speedup(self) -> bool:
        """Whether it is a speedup that was measured."""
        is_other = set(self.words) & _DERIVED - {"relative"} or self._is_computed
        return "speedup" in "".join(self.words) and not is_other

    @property
    def is_derived(self) -> bool:
        """Whether it is computed from the times: an efficiency, a ratio, a share."""
        is_speedup = "speedup" in "".join(self.words)
        return is_speedup or bool(_DERIVED & set(self.words)) or self._is_computed

    @property
    def _is_computed(self) -> bool:
        """Whether it is a share in per cent, or one over something."""
        return "%" in self.text or bool(re.match(r"\s*1\s*/", self.text))

    @property
    def counts_repetitions(self) -> bool:
        """Whether it says how many runs a mean is of."""
        words = self.words[1:] if self.words[:1] in {("n",), ("num",), ("number",)} else self.words
        return words in {(x,) for x in ("samples", "repetitions", "repeats", "runs", "reps")}

    @property
    def numbered(self) -> tuple[str, int] | None:
        """What repetition in columns it is: ("run", 1) of `run_1_s`; None where it is none."""
        match self.words:
            case (word, number) if number.isdigit() and word in _REPEATS:
                return word, int(number)
        return None


_REPEATS = {"run", "rep", "repeat", "repetition", "trial", "sample", "measurement", "attempt"}
_REPEATS |= {"try", "iteration", "iter", "r", "t", "time", "test"}
CERTAIN_REPEATS: Final = _REPEATS - {"r", "t", "time", "test", "iteration", "iter"}


@lru_cache(maxsize=4096)
def title_of(text: str) -> Title:
    """Take a title apart.

    >>> title_of("Wall time (min)").words, title_of("images/s/GPU").each
    (('wall', 'time'), 'gpu')
    >>> [title_of(x).unit for x in ("t_sec", "time/s", "elapsedMs", "wall [h]", "p")]
    ['s', 's', 'ms', 'h', '']
    >>> title_of("avg_time_ms").statistic, title_of("images/s").rate, title_of("SYPD").rate
    ('mean', 'images/s', 'sypd')
    """
    plain = (
        text[:LONGEST].strip().strip("*`\"'").strip().replace("\u00b5", "u").replace("\u03bc", "u")
    )
    if plain.lower() in SYPD:
        return Title(text, (), rate=plain.lower())
    if plain in {"\u00b1", "+/-", "+-"}:
        return Title(text, (), statistic="deviation")
    if (of_one := re.search(_OF_ONE, plain)) and of_one.start():
        whole = title_of(plain[: of_one.start()].rstrip(" [("))
        if whole.rate:
            return replace(whole, text=text, each=of_one[1].lower())
    rest, unit, rate = _without_unit(plain)
    words = re.findall(_WORD, rest.replace("/", " per "))
    fillers = _FILLERS | (_BETTER if "better" in plain.lower() else set())
    words = [x for x in words if x.lower() not in fillers] or words
    words, statistic = _without_statistic(words, kept={"min"})  # it may be minutes
    if not unit and not rate:
        words, unit, rate = _unit_of_words(words)
    if not statistic:
        words, statistic = _without_statistic(words)
    lowered = tuple(_spelt(word.lower()) for word in words)
    is_rate = (_RATE_WORDS - _NO_RATE_ALONE) & {*lowered} and "up" not in lowered
    if not rate and not unit and is_rate:
        rate = "1"
    return Title(text, lowered, unit, statistic, rate)


def _without_statistic(words: list[str], kept: Set[str] = frozenset()) -> tuple[list[str], str]:
    known = [word for word in words if word.lower() in STATISTICS.keys() - kept]
    if not known and len(words) > 1 and words[-1].lower() == "dev":
        return words[:-1], "deviation"
    if not known:
        return words, ""
    return [word for word in words if word not in known], STATISTICS[known[0].lower()]


def _spelt(word: str) -> str:
    """Take the n off a word for a number of processors: `nranks`, `nproc`."""
    return word[1:] if word[:1] == "n" and word[1:] in _P_CORE - {"p"} else word


def time_unit_of(text: str) -> str:
    """Read a unit of time in any usual spelling, or of a clock; "" where it is none.

    >>> time_unit_of("secs"), time_unit_of("Hours"), time_unit_of("mm:ss"), time_unit_of("m")
    ('s', 'h', 'min:s', '')
    """
    plain = " ".join(text.replace("\u00b5", "u").replace("\u03bc", "u").split()).lower()
    plain = plain.rstrip(".")
    return TIME_SPELLINGS.get(plain) or CLOCKS.get(plain, "")


def rate_unit_of(text: str) -> str:
    """Read a unit of a rate: an amount in a time; "" where it is none.

    >>> rate_unit_of("ns/day"), rate_unit_of("samples per second"), rate_unit_of("Mflop/s")
    ('ns/day', 'samples/s', 'Mflop/s')
    >>> rate_unit_of("MFLOPS"), rate_unit_of("s/step"), rate_unit_of("it/s"), rate_unit_of("ms")
    ('Mflop/s', '', 'it/s', '')
    """
    plain = text.strip()
    if plain.lower() in SYPD:
        return plain.lower()
    if match := re.fullmatch(r"([kKMGTPE]?)(?:FLOPS|flops|Flops|FLOP/S)", plain):
        return f"{match[1]}flop/s"
    if match := re.fullmatch(r"([kKMGT]?)LUPS", plain, re.IGNORECASE):
        return f"{match[1]}LUP/s"
    amount, mark, per = plain.replace(" per ", "/").partition("/")
    words = amount.split()
    while len(words) > 1 and (words[0].lower() in _RATE_WORDS or words[0][-1] in ":="):
        words.pop(0)  # of "perf ns/day"
    amount, unit = " ".join(words), TIME_SPELLINGS.get(per.strip().lower(), "")
    if not (mark and amount and unit):
        return ""
    is_simulated = unit in {"d", "h"} and amount.lower() in _SIMULATED
    if is_simulated or not (time_unit_of(amount) or title_of(amount).is_time):
        return f"{amount}/{ {'d': 'day', 'h': 'hour'}.get(unit, unit) }"
    return ""


def rate_in_seconds(unit: str) -> tuple[str, float]:
    """Split the unit of a rate: what is done, and the seconds it is counted in.

    >>> rate_in_seconds("ns/day"), rate_in_seconds("samples/s"), rate_in_seconds("sypd")
    (('ns', 86400.0), ('sample', 1.0), ('simulated year', 86400.0))
    """
    if unit in SYPD:
        return SYPD[unit], 86400.0
    amount, _, per = unit.rpartition("/")
    if len(amount) > 3 and not re.fullmatch(_DATA, amount):
        amount = amount.removesuffix("s")
    spelled = TIME_SPELLINGS.get(per, "s")
    return {"it": "iteration"}.get(amount, amount) or "unit of work", TIME_UNITS[spelled]


def _without_unit(text: str) -> tuple[str, str, str]:
    """Take a unit in brackets, behind a slash, "in" or a comma off a title."""
    if rate := rate_unit_of(text):
        return "", "", rate
    for group in re.finditer(r"[\[({]([^\[\](){}]*)[\])}]", text):
        rest = f"{text[: group.start()]} {text[group.end() :]}"
        unit, rate = time_unit_of(group[1]), rate_unit_of(group[1])
        if unit or rate:
            return rest, unit, "" if unit else rate
        each, _, per = group[1].replace(" per ", "/").partition("/")
        if per and (unit := time_unit_of(each)):  # [s/step]
            return f"{rest} time per {per}", unit, ""
    for mark in ("/", ",", " in "):
        rest, _, last = (part.strip() for part in text.rpartition(mark))
        if not rest:
            continue
        if each := time_unit_of(rest):  # s/step: a time for each
            return f"time per {last}", each, ""
        unit, rate = time_unit_of(last), rate_unit_of(last)
        if unit or rate:
            return rest, unit, "" if unit else rate
    return text, "", ""


def _unit_of_words(words: list[str]) -> tuple[list[str], str, str]:
    """Take a unit that stands as the last words off a title: `elapsed_ms`, `images_per_sec`."""
    last = words[-1] if words else ""
    first, unit = words[:-1], TIME_SPELLINGS.get(last.lower(), "")
    if not unit or not (first or last.lower() in _UNIT_ONLY):
        return words, "", ""
    if len(first) > 1 and first[-1] == "per":
        return [], "", f"{' '.join(first[:-1])}/{ {'d': 'day', 'h': 'hour'}.get(unit, unit) }"
    if unit == "s" and first and len(first[-1]) > 1 and re.fullmatch(_DATA, first[-1]):
        return first[:-1], "", f"{first[-1]}/s"
    named = {word.lower() for word in first}
    if named & _RATE_WORDS and "per" not in named:  # rate_images_s
        return [], "", f"{first[-1]}/{unit}" if len(first) > 1 else "1"
    is_time = bool(named & (_TIME_CORE | {"total", "t"})) or named <= _COST
    if unit in {"min", "h", "d"} and first and not is_time:
        return words, "", ""
    return first, unit, ""
