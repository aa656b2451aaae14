"""Programs as templates: a phase for each law, with the keys that the law declares."""

from collections.abc import Iterator, Mapping, Sequence

from parcast.calibration.benchmarks.machine_figures import SourcedFigure
from parcast.descriptions.program import Phase, Program, law_named
from parcast.templates.document import Template, TemplateKey, keys_of

PHASE: tuple[str, ...] = ("phase",)


def needed_keys(law: type[Phase]) -> Iterator[TemplateKey]:
    """Keys of a law that have placeholders, as its description hardly does without them."""
    return (key for key in keys_of(law, PHASE) if key.is_needed and key.amount)


def summary_of(law: type[Phase]) -> str:
    """What a law is for: the first line of its documentation."""
    return (law.__doc__ or "").strip().partition("\n")[0]


def program_template(
    laws: Sequence[str], values: Sequence[Mapping[str, str]] = (), name: str = ""
) -> Template:
    """The file of a program of one phase for each law.

    `values` are texts of the keys of each phase that are known: {"phase.t1": "80 s"}.
    """
    kinds = [law_named(law) for law in laws]
    made = Template()
    if name:
        made.figures = {"name": SourcedFigure(key="name", text=name, source="")}
    made.comment("A program for parcast. A value that ends in ? is a placeholder: replace it.")
    made.add(Program, leave_out=["phase"])
    for i, kind in enumerate(kinds):
        known = values[i] if i < len(values) else {}
        made.figures = {
            key: SourcedFigure(key=key, text=text, source="") for key, text in known.items()
        }
        made.lines += ["", "[[phase]]"]
        about = summary_of(kind)
        made.comment(f"{about} {kind.source}.".strip() if kind.source else about)
        made.said.discard(f"{Phase.model_fields['law'].description}")
        made.figures["phase.law"] = SourcedFigure(key="phase.law", text=laws[i], source="")
        made.add(kind, place=PHASE)
    return made
