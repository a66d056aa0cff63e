#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what a reconnect costs, beside how many sessions live, from the figures of mcp_resume_bench --json.

usage: plot.py FIGURES.json PICTURE.svg
"""
import json
import math
import sys

# Lines: name in the figures, label, colour (readable on white and on black), dashes, width.
LINES = [
    ("reconnect: peer map", "std::map", "#c2571a", "", 2),
    ("reconnect: peer ring", "boost::circular_buffer", "#8a63d2", "", 2),
    ("reconnect: peer deque", "std::deque", "#2e8b57", "", 2),
    ("reconnect: library", "mcp_resume", "#1f7ae0", "", 3.5),
    ("reconnect: limit", "one bulk copy", "#808080", "5 4", 2),
]
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 46, 52


def series(figures, name):
    points = []
    for time in figures["times"]:
        work, _, size = time["name"].rpartition("/")
        if work == name:
            points.append((int(size), time["median_ns"] / 1000))
    return sorted(points)


def decades(low, high):
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)


def number(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def spread(labels, distance):
    """Moves labels apart that would overlap: (y, ...) sorted by y."""
    placed = []
    for label in sorted(labels):
        y = max(label[0], placed[-1][0] + distance) if placed else label[0]
        placed.append((y,) + label[1:])
    return placed


def draw(figures):
    lines = [(series(figures, line[0]),) + line[1:] for line in LINES]
    sizes = [x for line in lines for x, _ in line[0]]
    times = [y for line in lines for _, y in line[0]]
    x_decades, y_decades = decades(min(sizes), max(sizes)), decades(min(times), max(times))

    def place(value, of, begin, end):
        return begin + (math.log10(value) - of[0]) / (of[-1] - of[0]) * (end - begin)

    def x_of(value):
        return place(value, x_decades, LEFT, WIDTH - RIGHT)

    def y_of(value):
        return place(value, y_decades, HEIGHT - BOTTOM, TOP)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        "<style>text{fill:#24292f}.grid{stroke:#d0d7de}@media(prefers-color-scheme:dark)"
        "{text{fill:#e6edf3}.grid{stroke:#3d444d}}</style>",
        "<title>A reconnect that replays 50 events of 256 bytes, beside the number of sessions</title>",
        f'<text x="{LEFT}" y="22" font-size="15">Reconnect: decision and replay of 50 events of 256 bytes, '
        "µs of CPU time</text>",
    ]
    for exponent in x_decades:
        x = x_of(10**exponent)
        out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{number(10**exponent)}</text>')
    for exponent in y_decades:
        y = y_of(10**exponent)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(10.0**exponent)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">sessions</text>')
    labels = []
    for points, label, colour, dashes, width in lines:
        path = "L".join(f"{x_of(x):.1f} {y_of(y):.1f}" for x, y in points)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"{style}/>')
        out += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        labels.append((y_of(points[-1][1]) + 4, label, colour))
    for y, label, colour in spread(labels, 17):
        out.append(f'<text x="{WIDTH - RIGHT + 12}" y="{y:.1f}" style="fill:{colour}">{label}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1].strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        figures = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(figures))


if __name__ == "__main__":
    main()
