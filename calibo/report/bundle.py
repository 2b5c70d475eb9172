"""Plotly's script without what a page does not need, so that a report stays below 1 MB.

Plotly's bundle is a list of modules, each a function that runs when it is first required:

    var a=W((exports,module)=>{...});var b=W(exports=>{...a()...});...return z()

and ``z`` registers one module per type of trace. Modules that nothing requires any more once ``z`` registers only the types
that a page has are left out. What stands between modules are parts of other packages, whose functions run in the same way.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass

#: Versions whose reduced script was looked at in a browser; of others the whole script is used.
_KNOWN = re.compile(r"\s*/\*\*\s*\* plotly\.js v4\.")
_START = re.compile(r"\bvar ([A-Za-z_$][\w$]*)=([A-Za-z_$][\w$]*)\((?:\([\w$,]*\)|[\w$]+)=>\{")
_REGISTERED = re.compile(r"\.register\(\[([\w$(),]*)\]\)")
_REQUIRED = re.compile(r"(?<![\w$.])([A-Za-z_$][\w$]*)\(\)")
_RUN_LATER = re.compile(r"(?<![\w$.])([A-Za-z_$][\w$]*)=[A-Za-z_$][\w$]*\(\(\)=>\{")
_TRACE = re.compile(r'moduleType:"trace",name:"(\w+)"')
#: Strings, templates, comments and regular expressions, in which braces mean nothing; and braces.
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}`]*\}|`[^`]*`)*\})*`"
    r"|/\*.*?\*/"
    r"|(?:(?<=[(,=:\[!&|?{};+\-*%~^<>\n])|(?<=return)|(?<=typeof)|(?<=case))"
    r"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[dgimsuvy]*"
    r"|[{}]",
    re.DOTALL,
)


@functools.lru_cache(maxsize=8)
def reduced(script: str, types: frozenset[str]) -> str:
    """Return Plotly's script with only some types of traces; the whole script if it is built in another way.

    Args:
        script: Plotly's script.
        types: Types of the traces that are drawn, such as "bar"; "scatter" is always there.
    """
    if not _KNOWN.match(script):
        return script
    bundle = _Bundle.of(script)
    return script if bundle is None else bundle.reduced(types - {"scatter"}) or script


@dataclass(frozen=True)
class _Bundle:
    """A script in parts.

    Attributes:
        before: What comes before the first module.
        modules: Text of each module by its name, in order; the last one registers the others.
        between: What follows each module before the next one, mostly nothing.
        after: What comes after the last.
    """

    before: str
    modules: dict[str, str]
    between: dict[str, str]
    after: str

    @classmethod
    def of(cls, script: str) -> _Bundle | None:
        """Divide a script; ``None`` if it is built in another way."""
        found = list(_START.finditer(script))
        helpers = Counter(one[2] for one in found).most_common(1)
        starts = [one for one in found if one[2] == helpers[0][0]]
        last = script.find(f"return {starts[-1][1]}()") if starts else -1
        if last < 0:
            return None
        modules, between = dict[str, str](), dict[str, str]()
        for one, end in zip(starts, [*(one.start() for one in starts[1:]), last], strict=True):
            close = _end(script, one.start(), end)
            if close is None:
                return None
            modules[one[1]], between[one[1]] = script[one.start() : close], script[close:end]
        return cls(script[: starts[0].start()], modules, between, script[last:])

    def reduced(self, types: frozenset[str]) -> str | None:
        """Return the script with some types of traces; ``None`` if not all of them are found."""
        entry = next(reversed(self.modules))
        registered = _REGISTERED.search(self.modules[entry])
        if registered is None:
            return None
        known = {self._type(name): name for name in _REQUIRED.findall(registered[1])}
        if not types <= set(known):
            return None
        wanted = ",".join(f"{known[one]}()" for one in sorted(types))
        first = self.modules[entry].replace(registered[0], f".register([{wanted}])")
        modules, between = self._needed(first)
        parts = [
            (first if name == entry else text if name in modules else "")
            + (self.between[name] if name in between else "")
            for name, text in self.modules.items()
        ]
        return "".join([self.before, *parts, self.after])

    def _type(self, name: str) -> str:
        """Return the type of trace that a module registers, itself or by the ones that it requires; else its name."""
        for one in (name, *_REQUIRED.findall(self.modules.get(name, ""))):
            if one in self.modules and (found := _TRACE.search(self.modules[one])):
                return found[1]
        return name

    def _needed(self, first: str) -> tuple[set[str], set[str]]:
        """Return which modules are required by the first one, directly or not, and what between modules is."""
        later = {name: place for place, text in self.between.items() for name in _RUN_LATER.findall(text)}
        modules, between = set[str](), set(self.between) - set(later.values())
        todo = [first, *(self.between[place] for place in between)]
        while todo:
            for name in _REQUIRED.findall(todo.pop()):
                if name in self.modules and name not in modules:
                    modules.add(name)
                    todo.append(self.modules[name])
                place = later.get(name)
                if place is not None and place not in between:
                    between.add(place)
                    todo.append(self.between[place])
        return modules, between


def _end(script: str, start: int, end: int) -> int | None:
    """Return where a module ends, ``);`` included; ``None`` if that is not found."""
    depth = 0
    for one in _TOKEN.finditer(script, start, end):
        depth += {"{": 1, "}": -1}.get(one[0], 0)
        if one[0] == "}" and depth == 0:
            return one.end() + 2 if script.startswith(");", one.end()) else None
    return None
