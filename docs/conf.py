"""The documentation site: `make docs`, into build/docs.

It starts from the root of the repository, so that a link between its Markdown files, or to an
example, is the same on the site. The front page is README.md. Nothing here is written twice: the
menu is made from the links of docs/README.md (_ext/menu.py), the reference of Python from
docstrings (_ext/docstrings.py), the gallery from docs/gallery/pictures.toml (gallery/make.py).
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "gallery"), str(HERE / "reference")]

import parcast  # noqa: E402

project = "parcast"
author = "The parcast authors"
version = release = parcast.__version__
project_copyright = author

root_doc = "README"
include_patterns = ["*.md", "benchmarks/README.md", "docs/**.md", "docs/**.rst"]
exclude_patterns = [".*", "build", "docs/_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx_design",
    "menu",
    "front_page",
    "focus",
    "docstrings",
    "pictures",
    "offline",
]

nitpicky = True  # a link to nothing is a warning, and a warning fails the build
default_role = "code"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
autosummary_generate = ["docs/reference/python.md"]
autosummary_filename_map = {  # `Fit` and `fit` are one name on some systems
    f"parcast.{name}": f"parcast.{name}-class" for name in parcast.__all__ if name[0].isupper()
}
autodoc_typehints = "none"  # docstrings say the types
autodoc_member_order = "bysource"
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

html_theme = "pydata_sphinx_theme"
html_title = "parcast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_additional_pages = {"index": "to_front_page.html"}
templates_path = [str(HERE / "_templates")]  # autosummary looks elsewhere for a relative one
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"README": [], "docs/gallery/README": []}
html_theme_options = {
    "logo": {"text": "parcast"},
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "README": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
