"""Goodput over bit error rate as an SVG, next to others and the limit."""
import math

# Measured on the same kind of emulated line: medians where seeds differ, and no value where the body never completed.
OTHERS = {
    "TCP/IP in PPP, MTU 1500": ("#c2410c", {0: 0.955, 1e-6: 0.942, 1e-5: 0.76, 1e-4: 0}),
    "TCP/IP in PPP, MTU 576": ("#d97706", {0: 0.895, 1e-6: 0.892, 1e-5: 0.84, 1e-4: 0.02}),
    "ZMODEM": ("#7c3aed", {0: 0.965, 1e-6: 0.933, 1e-5: 0.59, 1e-4: 0.03}),
    "C-Kermit": ("#64748b", {0: 0.715, 1e-6: 0.698, 1e-5: 0.41, 1e-4: 0.05}),
}
# The same without error correction, as before it existed: a damaged frame is lost.
WHOLE = {0: 0.986, 1e-6: 0.972, 1e-5: 0.938, 1e-4: 0.835, 3e-4: 0.729, 1e-3: 0.478, 3e-3: 0}
OVERHEAD = 11
DECADES = 4.5
LEFT, TOP, WIDTH, HEIGHT = 60, 30, 560, 340


def svg(points):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 220} {TOP + HEIGHT + 60}" '
             'font-family="sans-serif" font-size="13">',
             f'<rect width="100%" height="100%" fill="white"/>', *grid()]
    exponents = [-7 + number / 20 for number in range(int(DECADES * 20) + 1)]
    parts.append(line([(place(10 ** e), shannon(10 ** e)) for e in exponents], "#cbd5e1", dashed=True))
    parts.append(line([(place(10 ** e), limit(10 ** e)) for e in exponents], "#94a3b8", dashed=True))
    parts += curve(WHOLE, "#5eead4")
    labels = [("frames that are lost whole", "#5eead4"), ("their limit at 11 bytes a frame", "#94a3b8"),
              ("Shannon's limit", "#cbd5e1")]
    for name, (colour, values) in OTHERS.items():
        parts += curve(values, colour)
        labels.append((name, colour))
    parts += curve(points, "#0f766e", width=3)
    labels.insert(0, ("Byway, HTTP end to end", "#0f766e"))
    for number, (name, colour) in enumerate(labels):
        y = TOP + 14 + number * 22
        parts.append(f'<rect x="{LEFT + WIDTH + 12}" y="{y - 10}" width="12" height="12" fill="{colour}"/>'
                     f'<text x="{LEFT + WIDTH + 30}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def limit(rate):
    """Returns the maximum goodput of frames with that overhead, at their best size."""
    return max(size / (size + OVERHEAD) * (1 - rate) ** (8 * (size + OVERHEAD)) for size in range(10, 4000, 2))


def shannon(rate):
    """Returns the capacity of a line with that bit error rate, for any code."""
    return 1 + rate * math.log2(rate) + (1 - rate) * math.log2(1 - rate)


def grid():
    for tenth in range(0, 11, 2):
        y = vertical(tenth / 10)
        yield f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#e2e8f0"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tenth * 10} %</text>'
    for rate, name in ((0, "0"), (1e-6, "1e-6"), (1e-5, "1e-5"), (1e-4, "1e-4"), (1e-3, "1e-3"), (3e-3, "3e-3")):
        yield f'<text x="{place(rate)}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{name}</text>'
    yield (f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 44}" text-anchor="middle">bit error rate of a 921600-baud '
           'line</text>')
    yield f'<text x="{LEFT}" y="{TOP - 12}">goodput of a body of 1 MiB, share of the wire</text>'


def curve(values, colour, width=2):
    spots = [(place(rate), value) for rate, value in sorted(values.items())]
    yield line(spots, colour, width)
    for x, value in spots:
        yield f'<circle cx="{x}" cy="{vertical(value)}" r="4" fill="{colour}"/>'


def line(spots, colour, width=2, dashed=False):
    path = " ".join(f"{x:.1f},{vertical(value):.1f}" for x, value in spots)
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'


def place(rate):
    """Returns the position of an error rate on a logarithmic scale. No errors are placed at 1e-7."""
    return LEFT + (math.log10(max(rate, 1e-7)) + 7) / DECADES * (WIDTH - 40) + 20


def vertical(share):
    return TOP + (1 - share) * HEIGHT
