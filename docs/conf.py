"""Settings of the documentation site: `make docs` builds it into docs/_build/html.

With the tag `quick` (``sphinx -t quick``) the API reference is left empty: reading all docstrings takes most of the time.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

import calibo

project = "calibo"
author = copyright = "The calibo developers"
release = version = calibo.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]

myst_heading_anchors = 3
# A language that Pygments does not know, such as CSV, is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = "calibo"
html_static_path: list[str] = []
# Nothing is loaded from elsewhere: the site works without a network.
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def setup(app: Sphinx) -> None:
    """Leave the docstrings out of quick builds."""

    def without_docstrings(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = re.sub(r"```\{eval-rst\}\n.*?```", "", source[0], flags=re.DOTALL)

    if app.tags.has("quick"):
        app.connect("source-read", without_docstrings)
