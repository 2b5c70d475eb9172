"""Settings of the documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import calibo

project = "calibo"
author = "The calibo developers"
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

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
