"""Objects named by where they stand, "parcast.cli:main", loaded when asked for.

Other packages add to a registry through entry points of the same form: "name = module:object".
"""

import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias

LONGEST: Final = 200  # characters of what a failing import says
NamesOfModule: TypeAlias = tuple[Callable[[str], Any], Callable[[], list[str]]]
_LOADED: dict[str, str] = {}  # modules of plugins in use, and what each is called


class PluginWarning(UserWarning):
    """A plugin of another package is ignored."""


class PluginFaultError(TypeError):
    """A plugin of another package returned something else than it must.

    >>> print(PluginFaultError("times must be above 0, got 0", of="demo.cache", name="cache"))
    the plugin "cache" of demo.cache: times must be above 0, got 0. Tell its authors.
    """

    def __init__(self, fault: str, *, of: str, name: str) -> None:
        self.plugin = _LOADED.get(of, f'the plugin "{name}" of {of}')
        super().__init__(f"{self.plugin}: {fault}. Tell its authors.")


def load(place: str) -> Any:
    """Give the object of a module that `place` names, or the module where it names no object.

    >>> load("math:sqrt")(9.0)
    3.0
    """
    module, _, name = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, name) if name else loaded


def public_names(names: dict[str, Any], home: Mapping[str, str]) -> NamesOfModule:
    """Make `__getattr__` and `__dir__` of a module whose public names are loaded when asked for.

    `names` are its globals, and `home` the module that each public name lies in.
    """

    def load_name(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        names[name] = value = load(f"{home[name]}:{name}")
        return value

    def list_names() -> list[str]:
        """Public names, loaded or not, and what every module has."""
        return sorted({*(name for name in names if name.startswith("__")), *home})

    return load_name, list_names


def plugins(
    group: str, *, taken: Collection[str], is_one: Callable[[str, Any], bool], what: str
) -> dict[str, Any]:
    """Load what the installed packages add to a group of entry points, by name.

    What cannot be loaded, is not `what` is wanted ("a class derived from Phase"), or has a name
    that is `taken` is ignored, with a `PluginWarning` that names it and its package: one
    broken plugin stops nobody.
    """
    from importlib.metadata import entry_points  # late: it takes longer than what uses no plugin

    loaded: dict[str, Any] = {}
    for point in entry_points(group=group):
        fault = ""
        if point.name in taken:
            fault = "parcast has one of this name. Rename it"
        elif point.name in loaded:
            fault = "another package has one of this name. Remove one of them"
        else:
            try:
                one = point.load()
            except (Exception, SystemExit) as error:  # whatever its module does
                why = f"{type(error).__name__}: {error}".partition("\n")[0][:LONGEST]
                fault = f"{point.value} cannot be loaded, {why.rstrip('.')}"
            else:
                if not is_one(point.name, one):
                    fault = f"{point.value} must be {what}"
        package = f" of {point.dist.name}" if point.dist else ""
        plugin = f'the plugin "{point.name}"{package}'
        if fault:
            remark = f"{plugin} in {group} is ignored: {fault}."
            warnings.warn(remark, PluginWarning, stacklevel=2)
        else:
            loaded[point.name] = one
            _LOADED[point.value.partition(":")[0]] = plugin
    return loaded


def plugin_at_fault(error: BaseException) -> str:
    """Name the plugin that an error is a fault of; "" where it is none's.

    >>> plugin_at_fault(ValueError("raised nowhere"))
    ''
    """
    plugin, trace = "", error.__traceback__
    while trace is not None:
        plugin = _LOADED.get(trace.tb_frame.f_globals.get("__name__", ""), plugin)
        trace = trace.tb_next
    return plugin
