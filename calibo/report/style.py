"""The look all figures share: colours that colour-blind readers can tell apart, fonts, margins, and "not yet"."""

from __future__ import annotations

import plotly.graph_objects as go

from calibo.report.ranges import Zoom

#: Okabe and Ito's palette: one meaning per colour in every figure.
CALIBRATED = "#0072B2"
RAW = "#7a7a7a"
OUTCOME = "#222222"
MISS = "#D55E00"
BEST = "#009E73"
ACQUISITION = "#9c4f80"
FAINT = "#b5b5b5"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_GRID = "#ececec"
_INK = "#2b2b2b"


def tint(colour: str, opacity: float) -> str:
    """A colour such as "#0072B2" with an opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def blank(title: str, *, x: str, y: str, height: int = 430) -> go.Figure:
    """An empty figure in the house's look.

    Args:
        title: What it shows, in plain words.
        x: Title of the x axis.
        y: Title of the y axis.
        height: In pixels.
    """
    axis = dict(gridcolor=_GRID, zeroline=False, linecolor="#c8c8c8", showline=True, ticks="outside", automargin=True)
    template = go.layout.Template(
        layout=dict(
            font=dict(family=FONT, size=13, color=_INK),
            title=dict(x=0, xref="paper", xanchor="left", font=dict(size=18), subtitle=dict(font=dict(size=13))),
            paper_bgcolor="white",
            plot_bgcolor="white",
            xaxis=axis,
            yaxis=axis,
            hoverlabel=dict(bgcolor="white", bordercolor="#c8c8c8", font=dict(family=FONT, size=12), align="left"),
            legend=dict(orientation="h", x=0, y=0, xanchor="left", yanchor="bottom", yref="container"),
        )
    )
    figure = go.Figure()
    figure.update_layout(
        template=template,
        title=dict(text=title),
        xaxis=dict(title=dict(text=x, standoff=8)),
        yaxis=dict(title=dict(text=y), exponentformat="power", minexponent=5),
        height=height,
        margin=dict(l=64, r=16, t=96, b=48),
        hovermode="closest",
    )
    return figure


def subtitle(figure: go.Figure, text: str) -> None:
    """Puts a sentence under the title."""
    figure.update_layout(title=dict(subtitle=dict(text=text)))


def not_yet(text: str, heading: str = "Not yet") -> dict[str, object]:
    """The annotation in the middle of a picture that there is too little to draw."""
    return dict(
        text=f"<b>{heading}</b><br>{text}",
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        align="center",
        font=dict(size=14, color=_INK),
        bgcolor="rgba(255,255,255,0.9)",
        bordercolor="#c8c8c8",
        borderpad=10,
    )


def empty(figure: go.Figure, text: str, heading: str = "Not yet") -> go.Figure:
    """The figure with nothing but the reason why there is nothing to see."""
    figure.add_annotation(not_yet(text, heading))
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(height=220)
    return figure


def without_forecasts(figure: go.Figure) -> go.Figure:
    """The figure of a method that makes no forecasts, for which it is of no use to wait."""
    return empty(figure, "this method makes none unless it is given a forecaster", heading="No forecasts")


def whole_numbers(figure: go.Figure, largest: int) -> None:
    """Keeps fractions off an x axis that counts."""
    if largest <= 12:
        figure.update_layout(xaxis=dict(dtick=1))


def menu(buttons: list[dict[str, object]], *, active: int = 0, dropdown: bool = False) -> dict[str, object]:
    """Buttons above the drawing area (or a dropdown), one of which is active."""
    return dict(
        type="dropdown" if dropdown else "buttons",
        direction="down" if dropdown else "right",
        buttons=buttons,
        active=active,
        showactive=True,
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        pad=dict(b=8, t=0, l=0, r=0),
        bgcolor="#ffffff",
        bordercolor="#c8c8c8",
        font=dict(size=12),
    )


def zoom_menu(figure: go.Figure, zoom: Zoom, marks: int | None = None) -> None:
    """Buttons that show most results or everything; the first view is of most results only where it must be.

    Args:
        figure: The figure.
        zoom: The range that shows most results.
        marks: Index of the trace that marks what lies beyond it, which is hidden while everything is shown.
    """
    near = {"yaxis.range": [zoom.low, zoom.high], "yaxis.autorange": False}
    far = {"yaxis.autorange": True}
    which = [] if marks is None else [[marks]]
    show = [{}, {}] if marks is None else [{"visible": True}, {"visible": False}]
    buttons: list[dict[str, object]] = [
        dict(label="most results", method="update", args=[show[0], near, *which]),
        dict(label="everything", method="update", args=[show[1], far, *which]),
    ]
    figure.update_layout(updatemenus=[menu(buttons, active=0 if zoom.needed else 1)])
    if zoom.needed:
        figure.update_layout(yaxis=dict(range=[zoom.low, zoom.high]))
