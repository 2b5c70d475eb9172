"""HTML of a report: the document, its style sheet and script, and the elements of a page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calibo.diagnostics import CalibrationTable, PlaceTable, Verdict
from calibo.digits import shared_digits
from calibo.errors import DataError
from calibo.report.bundle import reduced
from calibo.report.summary import percent, sentence

#: The browser itself refuses every request the page might make, and every script and style sheet but those that were written
#: into it, which are known by their hashes. Plotly fills a style sheet that is empty when it is made.
_POLICY = "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data: blob:"

#: Digits of packed text: those of Python's base85, without the one that could begin a tag.
_DIGITS_85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~"

BADGES = {
    Verdict.COMPATIBLE: "as expected",
    Verdict.TOO_NARROW: "too narrow",
    Verdict.TOO_WIDE: "too wide",
    Verdict.NOT_YET: "not yet",
}

#: Colours of figures, as they stand in their JSON, and what they are on a dark page.
_DARK = {
    '"white"': '"#1b1d21"',
    '"rgba(255,255,255,0.9)"': '"rgba(27,29,33,0.9)"',
    '"#2b2b2b"': '"#e3e5e8"',
    '"#222222"': '"#f0f1f2"',
    '"#ececec"': '"#303338"',
    '"#c8c8c8"': '"#55595f"',
    '"#7a7a7a"': '"#9da2a9"',
    '"#b5b5b5"': '"#70757b"',
    '"#0072B2"': '"#56B4E9"',
    '"#9c4f80"': '"#CC79A7"',
    "rgba(0,114,178,": "rgba(86,180,233,",
    "rgba(156,79,128,": "rgba(204,121,167,",
}

#: Significant digits kept of numbers in a list: finer than a screen.
_DIGITS = 5
#: A float64 has no more.
_ALL_DIGITS = 17

#: Light or dark as the reader's system is, with system fonts, readable on a phone.
STYLE = """
:root { color-scheme: light dark; --page: #f4f5f7; --panel: #fff; --ink: #2b2b2b; --soft: #44484d; --faint: #5c6066;
  --edge: #e3e5e8; --line: #eceef0; --strong: #c9ccd1; --link: #0060a0; --blue: #0072B2; --blue-back: #e5f1f8;
  --orange: #D55E00; --orange-back: #fcefe6; --grey: #9aa0a6; --grey-back: #f1f3f4; }
@media (prefers-color-scheme: dark) {
  :root { --page: #121316; --panel: #1b1d21; --ink: #e3e5e8; --soft: #c3c7cc; --faint: #9da2a9; --edge: #2e3136;
    --line: #2a2d32; --strong: #4a4e55; --link: #7cc0f0; --blue: #56B4E9; --blue-back: #16303f; --orange: #f08a3c;
    --orange-back: #3b2413; --grey: #6f757c; --grey-back: #26292e; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 4px; }
h3 { font-size: 1.05rem; margin: 0 0 4px; }
header { margin: 0 0 20px; }
.facts { color: var(--faint); margin: 2px 0 12px; overflow-wrap: anywhere; }
.headline { font-size: 1.15rem; margin: 0; padding: 12px 16px; background: var(--panel);
  border-left: 4px solid var(--blue); border-radius: 4px; overflow-wrap: anywhere; }
.live { color: var(--faint); margin: 0 0 8px; }
.columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 16px; align-items: start; }
.panel { background: var(--panel); border: 1px solid var(--edge); border-radius: 8px; padding: 16px 18px; margin: 0 0 16px; }
.panel > p { margin: 0 0 8px; color: var(--soft); overflow-wrap: anywhere; }
.panel > table + p, .panel > .scroll + p, .inner > table + p { margin-top: 10px; }
.figure { width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: 6px 10px 6px 0; border-top: 1px solid var(--line); }
tr:first-child > * { border-top: 0; }
th { font-weight: 600; white-space: nowrap; }
.scroll { max-height: 480px; overflow: auto; }
.wide { width: auto; min-width: 60%; }
.wide td { white-space: nowrap; font-variant-numeric: tabular-nums; padding-right: 22px; }
.wide th { padding-right: 22px; }
.wide tr:first-child th { position: sticky; top: 0; background: var(--panel); }
.wide small { font-weight: 400; color: var(--faint); }
.wide .text { white-space: normal; min-width: 16em; overflow-wrap: anywhere; }
.told th { width: 1%; padding-right: 18px; }
.told td { overflow-wrap: anywhere; }
.best th { white-space: normal; }
.best th, .best td { overflow-wrap: anywhere; }
.best td { font-variant-numeric: tabular-nums; }
.total > * { border-top: 2px solid var(--strong); }
.badge { display: inline-block; white-space: nowrap; padding: 1px 8px; border-radius: 10px; font-size: .85rem;
  border: 1px solid var(--grey); background: var(--grey-back); }
.badge.compatible { border-color: var(--blue); background: var(--blue-back); }
.badge.too_narrow, .badge.too_wide { border-color: var(--orange); background: var(--orange-back); }
details { margin-top: 8px; }
.outcome { margin-top: 0; }
.outcome > summary { color: var(--ink); }
.outcome > summary h2 { display: inline; overflow-wrap: anywhere; }
.outcome > summary span { display: block; color: var(--soft); }
.inner { border-top: 1px solid var(--line); margin-top: 14px; padding-top: 12px; }
.inner > p { max-width: none; margin: 0 0 8px; color: var(--soft); overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--link); }
details p { margin: 6px 0 0; max-width: 75ch; }
@media (max-width: 760px) { .columns { grid-template-columns: minmax(0, 1fr); } .panel { padding: 12px; }
  .wide th, .wide td { padding-right: 10px; } }
"""

#: Unpacks Plotly and the figures, and draws each figure when it is first shown.
SCRIPT = """
const digits = "DIGITS";
const worth = new Uint8Array(128);
for (let i = 0; i < digits.length; i++) worth[digits.charCodeAt(i)] = i;
async function unpacked(id) {
  const element = document.getElementById(id), text = element.textContent;
  const bytes = new Uint8Array(text.length / 5 * 4), words = new DataView(bytes.buffer);
  for (let i = 0, j = 0; i < text.length; i += 5, j += 4) {
    let word = 0;
    for (let k = i; k < i + 5; k++) word = word * 85 + worth[text.charCodeAt(k)];
    words.setUint32(j, word);
  }
  const packed = new Blob([bytes.subarray(0, Number(element.dataset.bytes))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}
const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => window.location.reload());
function coloured(text) {
  for (const [light, other] of dark.matches ? DARK : []) text = text.replaceAll(light, other);
  return text;
}
async function show() {
  const narrow = window.innerWidth < 700;
  for (const element of document.querySelectorAll(".figure")) element.style.height = element.dataset.height + "px";
  const library = document.createElement("script");
  library.textContent = await unpacked("plotly");
  document.head.append(library);
  const figures = JSON.parse(coloured(await unpacked("figures")));
  function draw(element) {
    const figure = figures[element.id];
    if (element.dataset.drawn) { Plotly.Plots.resize(element); return; }
    element.dataset.drawn = "yes";
    Plotly.newPlot(element, figure.data, figure.layout,
      {responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
       modeBarButtonsToRemove: ["select2d", "lasso2d"],
       showSendToCloud: false, plotlyServerURL: ""});
  }
  for (const element of document.querySelectorAll(".figure")) {
    const part = element.closest("details");
    if (!part || part.open) draw(element);
    if (part) part.addEventListener("toggle", () => { if (part.open) draw(element); });
  }
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll(".outcome")) part.open = true;
  });
}
show().catch((error) => {
  for (const element of document.querySelectorAll(".figure"))
    element.textContent = "This browser cannot draw the figures (" + error + "): use a newer one.";
});
""".replace("DIGITS", _DIGITS_85).replace("DARK", json.dumps([*_DARK.items()]))

#: Asks whether the study has changed and loads the page anew if so; what was unfolded stays so.
LIVE_SCRIPT = """
const live = document.getElementById("live");
const parts = [...document.querySelectorAll("details")];
for (const place of JSON.parse(sessionStorage.getItem("open") || "[]")) if (parts[place]) parts[place].open = true;
async function look() {
  let text = "Live, up to date at " + new Date().toLocaleTimeString() + ".";
  try {
    const answer = await fetch("version" + window.location.search, {cache: "no-store"});
    if (!answer.ok) throw new Error(await answer.text());
    if (await answer.text() !== live.dataset.version) {
      const open = parts.flatMap((part, place) => part.open ? [place] : []);
      sessionStorage.setItem("open", JSON.stringify(open));
      window.location.reload();
      return;
    }
  } catch (error) {
    text = "No longer live: calibo watch does not answer, or cannot read the study.";
  }
  live.textContent = text;
  window.setTimeout(look, 1000 * Number(live.dataset.every));
}
look();
"""


@dataclass(frozen=True)
class Live:
    """What makes a page look for changes.

    Attributes:
        version: Version of the study that the page shows.
        every: Seconds between two looks.
    """

    version: str
    every: float


def document(title: str, body: str, figures: Mapping[str, go.Figure], *, script: str, live: Live | None = None) -> str:
    """Return the whole page.

    Args:
        title: Title of the browser window.
        body: HTML of everything that is shown.
        figures: Figures by the ids of the elements that hold them.
        script: Plotly's script, put into the page once, without what the figures do not need.
        live: For a page that is served and loads itself anew when there is a newer version.
    """
    drawn = {name: _without_title(figure) for name, figure in figures.items()}
    # Bold text would be a style of its own, which the policy forbids; "<" is written as an escape, a user's as "&lt;".
    data = compact_json(drawn).replace("\\u003cb>", "").replace("\\u003c/b>", "")
    script = reduced(script, frozenset(trace["type"] for bare in drawn.values() for trace in bare["data"]))
    scripts = (SCRIPT, script) if live is None else (SCRIPT, script, LIVE_SCRIPT)
    policy = _POLICY.format(scripts=" ".join(map(_hash, scripts)), styles=" ".join(map(_hash, (STYLE, ""))))
    # Only a page that is served may ask, and only where it comes from.
    policy += "" if live is None else "; connect-src 'self'"
    top = (
        ""
        if live is None
        else (
            f'<p class="live" id="live" data-version="{html.escape(live.version)}" data-every="{live.every:g}">Live.</p>'
        )
    )
    bottom = "" if live is None else f"<script>{LIVE_SCRIPT}</script>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{_unneeded_styles(script)}
<main>
{top}{body}
</main>
{_packed("figures", data)}
{_packed("plotly", script)}
<script>{SCRIPT}</script>
{bottom}</body>
</html>
"""


def _unneeded_styles(script: str) -> str:
    """Return elements with the ids of style sheets that Plotly would add, for maps: those that are there it does not add."""
    ids = sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', script)))
    return "".join(f'<template id="{one}"></template>' for one in ids)


def _hash(text: str) -> str:
    """Return the name of a script or style sheet in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _packed(name: str, text: str) -> str:
    """Return an element that holds compressed text, a third of the size: Plotly alone has almost 5 MB."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    squeezed = deflate.compress(text.encode()) + deflate.flush()
    digits = base64.b85encode(squeezed, pad=True).decode().replace("<", ",")
    return f'<script type="text/plain" id="{name}" data-bytes="{len(squeezed)}">{digits}</script>'


def packed_text(page: str, name: str) -> str:
    """Return the text that a page holds packed in the element of that id: "figures" (JSON) or "plotly"."""
    found = re.search(rf'id="{name}" data-bytes="(\d+)">([^<]*)</script>', page)
    if found is None:
        raise DataError(f"the page has no packed element {name!r}; it is no report of this version")
    squeezed = base64.b85decode(found[2].replace(",", "<"))[: int(found[1])]
    return zlib.decompress(squeezed, -15).decode()


def header(title: str, facts: Sequence[str], headline: str) -> str:
    """Return the top of the page: the title, a line of facts, and the summary."""
    return f"""<header>
<h1>{html.escape(title)}</h1>
<p class="facts">{html.escape(" · ".join(facts))}</p>
<p class="headline">{html.escape(headline)}</p>
<noscript><p>The figures below need JavaScript, which is switched off here.</p></noscript>
</header>"""


def panel(heading: str, body: str) -> str:
    """Return a framed part of the page with a heading."""
    return f'<section class="panel"><h2>{heading}</h2>\n{body}</section>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that scrolls, with a row of headings; the first cell of each row is a heading, too.

    Args:
        head: HTML of the headings.
        rows: HTML of the cells of each row.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return f'<div class="scroll"><table class="wide"><tr>{top}</tr>\n{body}</table></div>'


def badge(verdict: Verdict) -> str:
    """Return a verdict on intervals in a word or two."""
    return f'<span class="badge {verdict.name.lower()}">{BADGES[verdict]}</span>'


def calibration_rows(calibration: CalibrationTable) -> str:
    """Return a table with the verdict and the sentence for each coverage, and for all if only together they have one."""
    found = [(percent(row.nominal), row.verdict, sentence(row.sentence())) for row in calibration.rows]
    if calibration.verdict.accuses and not any(row.verdict.accuses for row in calibration.rows):
        found.append(("all", calibration.verdict, calibration.headline()))
    rows = "\n".join(
        f'<tr><th scope="row">{name}</th><td>{badge(verdict)}</td><td>{html.escape(text)}</td></tr>'
        for name, verdict, text in found
    )
    return f"<table>{rows}</table>"


def place_rows(places: PlaceTable) -> str:
    """Return a table with the counts and the verdict for each place."""
    head = ["", "", *(f"in {percent(row.nominal)}" for row in places.rows[0].calibration.rows)]
    rows = [
        [
            html.escape(one.place.value),
            badge(one.calibration.verdict),
            *(f"{row.contained} of {row.of}" for row in one.calibration.rows),
        ]
        for one in places.rows
    ]
    return table(head, rows)


def figure_section(figure: go.Figure, name: str, reading: str, *, inner: bool = False) -> str:
    """Return a figure with its title, its subtitle, and how to read it.

    Args:
        figure: The figure.
        name: Id of the element that holds it.
        reading: How to read it.
        inner: Whether it is inside another panel.
    """
    title = figure.layout.title
    look, heading = ("inner", "h3") if inner else ("panel", "h2")
    # The figures escape their titles, since Plotly reads some HTML itself.
    caption = f"<p>{title.subtitle.text}</p>" if title.subtitle.text else ""
    return f"""<section class="{look}"><{heading}>{title.text}</{heading}>
{caption}
<div class="figure" id="{name}" data-height="{figure.layout.height}"></div>
<details><summary>How to read this</summary><p>{html.escape(reading)}</p></details></section>
"""


def _without_title(figure: go.Figure) -> dict[str, Any]:
    """Return the figure as JSON without its title, which the page shows so that it can break over lines on a phone."""
    bare: dict[str, Any] = figure.to_plotly_json()
    layout = bare["layout"]
    layout.pop("title", None)
    menus = layout.get("updatemenus", ())
    layout["margin"] = {**layout.get("margin", {}), "t": 52 if menus else 32}
    layout["autosize"] = True
    for button in (button for choice in menus for button in choice["buttons"]):
        restyle, relayout, *others = button["args"]
        shown = {key: value for key, value in relayout.items() if not key.startswith("title.")}
        button["args"] = [restyle, shown, *others]
    return bare


def compact_json(value: Any) -> str:
    """Return `value` as JSON without blanks that cannot end a script element; numbers in lists are rounded.

    Args:
        value: A figure, or nested mappings and lists of figures, arrays, strings and numbers.
    """
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """Return the same made of the types of JSON; infinities and NaNs become null."""
    if isinstance(value, go.Figure):
        return _plain(value.to_plotly_json())
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        digits = _digits(value)
        return [_rounded(item, digits) if isinstance(item, float) else _plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _digits(values: list[Any] | tuple[Any, ...]) -> int:
    """Return the significant digits to keep, more where numbers differ only in their later digits."""
    numbers = {v for v in values if isinstance(v, float) and math.isfinite(v)}
    return _ALL_DIGITS if len(numbers) == 1 else min(_ALL_DIGITS, _DIGITS + shared_digits(numbers))


def _rounded(value: float, digits: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e6 else short
