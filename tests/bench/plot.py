"""docs/performance.svg: price by tool, error by rate, growth over time."""
import html
import math

import peers as peers_of
import verdicts

WIDTH, INK, FAINT, OURS, THEIRS = 860, "#24292f", "#d0d7de", "#1a7f37", "#8c959f"
COLOURS = ["#0969da", "#1a7f37", "#9a6700", "#cf222e", "#8250df", "#bf3989", "#1b7c83", "#57606a"]


def text(x, y, words, anchor="start", size=12, colour=INK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{html.escape(words)}</text>')


def line(points, colour, width=1.5):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def bars(results, top):
    """Ratios to plain on Lua, the geometric mean of the three programs, on a logarithmic scale."""
    lua = verdicts.lua(results["prices"])
    out = [text(10, top + 14, "CPU time against plain, Lua (log scale)", size=14)]
    left, right, y = 270, WIDTH - 60, top + 30
    values = []
    for peer in peers_of.PEERS:
        if peer.name in ("plain", "plain-small"):
            continue
        ratios = [e[peer.name]["ratio"]["median"] for e in lua.values()
                  if "ratio" in e.get(peer.name, {})]
        if ratios:
            values.append((peer.title.replace("**", "").replace("`", ""), verdicts.geometric_mean(ratios)))
    if all("ratio" in e["xray"] for e in results.get("xray", {"": {"xray": {}}}).values()):
        values.append(("LLVM XRay, against clang's plain", verdicts.geometric_mean(
            e["xray"]["ratio"]["median"] for e in results["xray"].values())))
    most = max(value for _, value in values)
    for title, value in sorted(values, key=lambda v: v[1]):
        length = (right - left) * math.log(max(value, 1.01)) / math.log(most)
        out += [text(left - 8, y + 12, title, "end"),
                f'<rect x="{left}" y="{y}" width="{length:.1f}" height="15" '
                f'fill="{OURS if "fbleprof" in title else THEIRS}"/>',
                text(left + length + 6, y + 12, f"{value:.2f}")]
        y += 21
    return out, y + 20


def axes(left, top, width, height, title):
    return [text(left - 40, top - 12, title, size=14),
            line([(left, top), (left, top + height), (left + width, top + height)], INK, 1)]


def errors(results, top):
    """Worst error of the top 20 functions by sampling rate."""
    left, width, height = 60, 300, 180
    out = axes(left, top, width, height, "Worst error of the top 20, points")
    rates = (250, 1000, 4000)
    series = {name: [a["rates"][str(r)]["worst_points"] for r in rates]
              for name, a in results["accuracy"].items()}
    most = max(max(values) for values in series.values()) * 1.1

    def place(i, value):
        return left + 20 + i * (width - 40) / 2, top + height * (1 - value / most)
    for i, rate in enumerate(rates):
        out.append(text(place(i, 0)[0], top + height + 16, f"{rate} Hz", "middle", 11))
    for mark in range(0, int(most) + 1, max(1, int(most / 4))):
        y = place(0, mark)[1]
        out += [line([(left, y), (left + width, y)], FAINT, 0.7), text(left - 6, y + 4, str(mark), "end", 11)]
    for colour, (name, values) in zip(COLOURS, series.items()):
        out.append(line([place(i, v) for i, v in enumerate(values)], colour))
    return out


def growth(results, top):
    """Nodes over time, as parts of the last count."""
    left, width, height = 470, 300, 180
    out = axes(left, top, width, height, "Contexts over the run (1 = all there ever were)")
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height * (1 - mark)
        out += [line([(left, y), (left + width, y)], FAINT, 0.7),
                text(left - 6, y + 4, f"{mark:g}", "end", 11),
                text(left + width * mark, top + height + 16, f"{100 * mark:.0f} %", "middle", 11)]
    for i, (colour, (name, a)) in enumerate(zip(COLOURS, results["accuracy"].items())):
        end_time, end = a["growth"][-1]
        points = [(left, top + height)] + [(left + width * min(1, s / end_time), top + height * (1 - n / max(end, 1)))
                                           for s, n in a["growth"]]
        out += [line(points, colour),
                text(60 + i % 4 * 190, top + height + 44 + i // 4 * 18, f"{name} ({end:,})", colour=colour)]
    return out


def draw(results):
    out, y = [], 10
    if verdicts.lua(results.get("prices", {})):
        drawn, y = bars(results, y)
        out += drawn
    if results.get("accuracy"):
        out += errors(results, y + 30) + growth(results, y + 30)
        y += 310
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
            f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n' +
            "\n".join(out) + "\n</svg>\n")


def draw_large(found):
    """docs/performance_large.svg: ns per call against contexts, both logarithmic."""
    left, top, width, height = 70, 50, 640, 300
    shapes = sorted(found["shapes"], key=lambda s: s["contexts"])
    lines = [("fbleprof", OURS, "above"), ("gprof", THEIRS, "gprof"), ("uftrace, cheapest", COLOURS[3], "uftrace")]
    decades, low = (3, 4, 5, 6, 7), (1, 10, 100, 1000, 10000)

    def place(contexts, ns):
        return (left + width * (math.log10(contexts) - 3) / 4,
                top + height * (1 - math.log10(max(ns, 1)) / 4))
    out = axes(left, top, width, height, "ns per call above plain, against contexts (both log scale)")
    for decade in decades:
        x = place(10 ** decade, 1)[0]
        out += [line([(x, top), (x, top + height)], FAINT, 0.7),
                text(x, top + height + 16, f"{10 ** decade:,}", "middle", 11)]
    for mark in low:
        y = place(1000, mark)[1]
        out += [line([(left, y), (left + width, y)], FAINT, 0.7), text(left - 6, y + 4, f"{mark:,}", "end", 11)]
    for name, colour, key in lines:
        points = [place(s["contexts"], s[key]["median"]) for s in shapes if key in s]
        if not points:
            continue
        out += [line(points, colour), text(points[-1][0] + 8, points[-1][1] + 4, name, colour=colour)]
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    y = top + height + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
            f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n' +
            "\n".join(out) + "\n</svg>\n")
