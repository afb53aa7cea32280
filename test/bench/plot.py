#!/usr/bin/env python3
"""Draws what `make bench` measured, as PNG files beside its results.

SPDX-License-Identifier: 0BSD
"""
import json
import os

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # pylint: disable=wrong-import-position

BUILD = os.environ.get("BUILD", "build") + "/bench/"


def save(figure, name, about):
    figure.text(0.01, 0.01, about, fontsize=6, color="gray")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(BUILD + name, dpi=150)
    print(BUILD + name)


def bars(axes, title, values):
    """Horizontal bars, ours in a colour of its own; each with its value."""
    names = list(values)[::-1]
    drawn = axes.barh(names, [values[name] for name in names],
                      color=["tab:orange" if name.startswith("mini_stream")
                             else "tab:blue" for name in names])
    labels = [f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
              for value in drawn.datavalues]
    axes.bar_label(drawn, labels, padding=2, fontsize=7)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.margins(x=0.15)


def panels(results, name, charts):
    figure, axes = pyplot.subplots(len(charts), squeeze=False,
                                   figsize=(7, 1 + 1.9 * len(charts)))
    for chart, (title, values) in zip(axes[:, 0], charts):
        bars(chart, title, values)
    save(figure, name, results["about"])


def column(table, key, scale=1.0):
    return {name: row[key] * scale for name, row in table.items()
            if key in row}


def plot_scale(results):
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for what, unit, points in results["scale"]:
        sizes = [size for size, _ in points]
        least = min(cost for _, cost in points)
        axes.plot(sizes, [cost / least for _, cost in points], marker="o",
                  label=f"{what}: {unit}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title("Cost of a unit of work, times the least", fontsize=9)
    axes.legend(fontsize=6)
    axes.tick_params(labelsize=7)
    save(figure, "scale.png", results["about"])


def main():
    with open(BUILD + "results.json", encoding="ascii") as file:
        results = json.load(file)
    panels(results, "decode.png", [
        ("Decoding a message of the plain corpus, ns",
         column(results["decode"], "mixed")),
        ("Decoding a message of the varied corpus, ns",
         column(results["decode"], "varied")),
        ("Decoding a snapshot of 2 x 5,000 levels, us",
         column(results["decode"], "snapshot", 1e-3)),
    ])
    panels(results, "clients.png", [
        (f"Processor time for a million messages, s: {transport}",
         column(results["cpu"], transport))
        for transport in results["cpu"]["mini_stream"]
    ] + [("Resident memory, MB", {name: kb / 1024 for name, kb
                                  in results["memory"].items()})])
    panels(results, "latency.png", [
        ("From sending to the event in hand, p50, us",
         column(results["latency"], "p50_ns")),
        ("p99.9, us", column(results["latency"], "p999_ns")),
        ("From resolution to the first event, full handshake, ms",
         column(results["connect"], "full")),
        ("resumed, ms", column(results["connect"], "resumed")),
    ])
    plot_scale(results)


if __name__ == "__main__":
    main()
