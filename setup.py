"""What pyproject.toml cannot say: the description on PyPI, which is the README without what works in the repository only.

PyPI shows no pictures and follows no links that are relative to a repository. Once the project has an address,
``Repository`` under ``[project.urls]``, they lead there; until then they are named by their path.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def long_description(readme: str, repository: str | None) -> str:
    """Return a README as PyPI can show it: no comments, and no relative links and pictures.

    Args:
        readme: The text of the README.
        repository: Address of the repository, without a slash at its end; ``None`` if it has none.
    """
    text = re.sub(r"<!--.*?-->\n?", "", readme, flags=re.DOTALL)
    if repository is None:
        text = re.sub(r"!\[([^]]*)\]\((?!https?:)([^)]+)\)", r"*Picture (\2): \1.*", text)
        return re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:)([^)]+)\)", r"\1 (\2)", text)
    text = re.sub(r"(!\[[^]]*\])\((?!https?:)([^)]+)\)", rf"\1({repository}/raw/main/\2)", text)
    return re.sub(r"(?<!!)(\[[^]]*\])\((?!https?:)([^)]+)\)", rf"\1({repository}/blob/main/\2)", text)


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=long_description(readme, project.get("urls", {}).get("Repository")),
        long_description_content_type="text/markdown",
    )
