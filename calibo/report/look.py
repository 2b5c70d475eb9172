"""The page's style sheet and its few lines of script: light, system fonts, readable on a phone."""

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f5f7; color: #2b2b2b; line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 4px; }
h3 { font-size: 1.05rem; margin: 0 0 4px; }
header { margin: 0 0 20px; }
.facts { color: #5c6066; margin: 2px 0 12px; overflow-wrap: anywhere; }
.headline { font-size: 1.15rem; margin: 0; padding: 12px 16px; background: #fff; border-left: 4px solid #0072B2;
  border-radius: 4px; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 16px; align-items: start; }
.card { background: #fff; border: 1px solid #e3e5e8; border-radius: 8px; padding: 16px 18px; margin: 0 0 16px; }
.card > p { margin: 0 0 8px; color: #44484d; overflow-wrap: anywhere; }
.figure { width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: 6px 10px 6px 0; border-top: 1px solid #eceef0; }
tr:first-child > * { border-top: 0; }
th { font-weight: 600; white-space: nowrap; }
.scroll { max-height: 340px; overflow: auto; }
.front { width: auto; min-width: 60%; }
.front td { white-space: nowrap; font-variant-numeric: tabular-nums; padding-right: 22px; }
.front th { padding-right: 22px; }
.front tr:first-child th { position: sticky; top: 0; background: #fff; }
.front small { font-weight: 400; color: #5c6066; }
.best th { white-space: normal; }
.best th, .best td { overflow-wrap: anywhere; }
.best td { font-variant-numeric: tabular-nums; }
.total > * { border-top: 2px solid #c9ccd1; }
.badge { display: inline-block; white-space: nowrap; padding: 1px 8px; border-radius: 10px; font-size: .85rem;
  border: 1px solid #9aa0a6; background: #f1f3f4; }
.badge.compatible { border-color: #0072B2; background: #e5f1f8; }
.badge.too_narrow, .badge.too_wide { border-color: #D55E00; background: #fcefe6; }
details { margin-top: 8px; }
.outcome { margin-top: 0; }
.outcome > summary { color: #2b2b2b; }
.outcome > summary h2 { display: inline; overflow-wrap: anywhere; }
.outcome > summary span { display: block; color: #44484d; }
.inner { border-top: 1px solid #eceef0; margin-top: 14px; padding-top: 12px; }
.inner > p { max-width: none; margin: 0 0 8px; color: #44484d; overflow-wrap: anywhere; }
summary { cursor: pointer; color: #0060a0; }
details p { margin: 6px 0 0; max-width: 75ch; }
@media (max-width: 760px) { .columns { grid-template-columns: minmax(0, 1fr); } .card { padding: 12px; }
  .front th, .front td { padding-right: 10px; } }
"""

SCRIPT = """
const narrow = window.innerWidth < 700;
const figures = JSON.parse(document.getElementById("figures").textContent);
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
"""
