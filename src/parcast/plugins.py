"""What other packages add to a registry through entry points: "name = module:object"."""

import warnings
from collections.abc import Callable, Collection
from typing import Any, Final

LONGEST: Final = 200  # characters of what a failing import says


class PluginWarning(UserWarning):
    """A plugin of another package is passed over."""


def plugins(
    group: str, *, taken: Collection[str], is_one: Callable[[str, Any], bool], what: str
) -> dict[str, Any]:
    """Load what the installed packages add to a group, by name.

    What cannot be loaded, is not `what` is wanted, or has a name that is taken is passed over,
    with a `PluginWarning` that names it and its package: one broken plugin stops nobody.

    Parameters
    ----------
    group : str
        Of entry points, such as "parcast.laws".
    taken : collection of str
        Names that come with parcast, which no plugin replaces.
    is_one : callable
        Whether an object of a name is one of the registry.
    what : str
        What such an object is, for the warning: "a class derived from Phase".
    """
    from importlib.metadata import entry_points  # late: it takes longer than what uses no plugin

    found: dict[str, Any] = {}
    for point in entry_points(group=group):
        fault = ""
        if point.name in taken:
            fault = "parcast has one of this name. Rename it"
        elif point.name in found:
            fault = "another package has one of this name. Remove one of them"
        else:
            try:
                loaded = point.load()
            except (Exception, SystemExit) as error:  # whatever its module does
                why = f"{type(error).__name__}: {error}".partition("\n")[0][:LONGEST]
                fault = f"{point.value} cannot be loaded, {why.rstrip('.')}"
            else:
                if is_one(point.name, loaded):
                    found[point.name] = loaded
                    continue
                fault = f"{point.value} must be {what}"
        package = f" of {point.dist.name}" if point.dist else ""
        remark = f'the plugin "{point.name}"{package} in {group} is passed over: {fault}.'
        warnings.warn(remark, PluginWarning, stacklevel=2)
    return found
