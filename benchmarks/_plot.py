"""Plots of the figures for the docs: what a step costs as the history grows, ours beside the others."""

from __future__ import annotations

from collections.abc import Mapping

from _report import ROOT

PLOTS = ROOT / "docs" / "plots"
OURS, OTHERS = "#c2410c", "#64748b"
LABELS = 17
"""How many labels have room one above the other."""


def growth(name: str, costs: Mapping[str, Mapping[int, float]], across: str, up: str) -> None:
    """Writes docs/plots/<name>.svg: a line for each of what is compared, both scales logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    for label, points in costs.items():
        ours = label.startswith("recollect")
        style = {"color": OURS if ours else OTHERS, "linewidth": 2.5 if ours else 1.2, "marker": "o", "markersize": 4}
        axes.plot(list(points), list(points.values()), **style)
    for label, (size, at) in _apart({label: list(points.items())[-1] for label, points in costs.items()}).items():
        colour = OURS if label.startswith("recollect") else OTHERS
        axes.annotate(label, (size, at), (8, 0), textcoords="offset points", va="center", fontsize=9, color=colour)
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    PLOTS.mkdir(exist_ok=True)
    figure.savefig(PLOTS / f"{name}.svg", bbox_inches="tight", facecolor="white", metadata={"Date": None})
    pyplot.close(figure)


def _apart(ends: Mapping[str, tuple[int, float]]) -> dict[str, tuple[int, float]]:
    """The places of the labels: at the ends of the lines, moved up where they would touch."""
    costs = [cost for _, cost in ends.values()]
    step = (max(costs) / min(costs)) ** (1 / LABELS)
    placed: dict[str, tuple[int, float]] = {}
    lowest: dict[int, float] = {}
    for label, (size, cost) in sorted(ends.items(), key=lambda end: end[1][1]):
        at = max(cost, lowest.get(size, 0.0))
        placed[label], lowest[size] = (size, at), at * step
    return placed
