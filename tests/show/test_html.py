"""`parcast.show.html`: sheets in a notebook."""

from parcast.show.html import html_of, worth_of
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.show.warning import Rank, RankedWarning


def test_everything_that_came_from_a_user_is_escaped():
    name = "<b>&"
    column = Column(title=name, unit=name, cells=[name])
    form = Form(columns=[column], titles=[name], caption=name, left_out=name)
    table = Table(title=name, forms=(form,), notes=(Fact(name, name),), legend=name)
    said = {"facts": (Fact(name, name),), "warnings": (name,), "conclusion": (Fact("", name),)}
    html = html_of(Sheet(title=name, tables=(table,), parts=(Sheet(title=name, **said),), **said))
    assert "<b>&amp;" not in html.replace("&lt;b&gt;&amp;", "")
    assert "<b>&" not in html.replace("<b>&lt;b&gt;&amp;", "")


def test_what_several_sheets_are_worth_is_one_list_below_their_verdicts():
    grave = RankedWarning("Wrong.", kind="wrong", rank=Rank.SERIOUS)
    verdict = RankedWarning("No forecast.", kind="none", rank=Rank.VERDICT)
    minor = RankedWarning("Far.", kind="far", rank=Rank.MINOR)
    html = worth_of(Sheet(warnings=("Noisy.", minor)), Sheet(warnings=(verdict, grave)))
    assert html == (
        '<p class="verdict"><b>No forecast.</b></p><p><b>Warnings</b></p>'
        "<ul><li>Wrong.</li><li>Noisy.</li></ul>"
        "<details><summary>1 more warning</summary><ul><li>Far.</li></ul></details>"
    )


def test_three_warnings_are_shown_and_the_others_folded():
    minor = RankedWarning("f", rank=Rank.MINOR)
    html = html_of(Sheet(warnings=("a", "b", "c", "d", minor)))
    shown, folded = html.split("<details>")
    assert shown == "<p><b>Warnings</b></p><ul><li>a</li><li>b</li><li>c</li></ul>"
    assert folded == ("<summary>2 more warnings</summary><ul><li>d</li><li>f</li></ul></details>")
    html = html_of(Sheet(warnings=(minor,)))
    assert html == "<details><summary>1 minor warning</summary><ul><li>f</li></ul></details>"
