# SPDX-License-Identifier: Apache-2.0
"""Results of bench/run as Markdown and as one drawing. Pure: what was measured
goes in, text comes out; nothing is left out because it looks bad."""
import re
import statistics
from html import escape

COLOURS = {"muster native": "#2e9e6b", "muster mpirun": "#3b7dd8",
           "OpenSSH mpirun": "#9aa3af"}


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |\n"


def head(*cells):
    return row(*cells) + row("---", *["---:"] * (len(cells) - 1))


def failed(result):
    return f"not measured: {result['failed']}\n" if "failed" in result else ""


def launch_table(result):
    if text := failed(result):
        return text
    out = head("from the command to its end, `true` on every worker", "pods",
               "median s", "best s", "of OpenSSH")
    for run in result["runs"]:
        base = statistics.median(run["seconds"]["OpenSSH mpirun"])
        for name, seconds in run["seconds"].items():
            middle = statistics.median(seconds)
            out += row(name, run["pods"], f"{middle:.2f}", f"{min(seconds):.2f}",
                       f"{middle / base:.2f}")
    return out


def sshd_table(result):
    if text := failed(result):
        return text
    out = head("one command `true` over SSH", "median ms", "worst ms",
               "CPU ms, both sides")
    for line in result["lines"]:
        if m := re.match(r"(.{1,60}?) +([\d.]+) ms median +([\d.]+) ms worst.*"
                         r"= +([\d.]+) ms", line):
            out += row(*m.groups())
    out += "\n" + head("a connection that idles", "KiB")
    for line in result["lines"]:
        if m := re.match(r"(.{1,60}?) +(-?\d+) KiB PSS per idle", line):
            out += row(*m.groups())
    return out


def logs_table(result):
    if text := failed(result):
        return text
    out = head(f"{result['ranks']} ranks, {result['lines']} lines of 100 bytes",
               "to /dev/null, million lines/s", "to a file",
               "CPU µs per line", "damaged or lost lines")
    for name, one in result["results"].items():
        out += row(name, f"{statistics.median(one['null']) / 1e6:.2f}",
                   f"{statistics.median(one['file']) / 1e6:.2f}",
                   f"{statistics.median(one['cpu']):.2f}",
                   one["damaged"] + max(one["lost"], 0))
    return out


def readiness_table(result):
    if text := failed(result):
        return text
    out = head("from exec to the SSH version line", "median ms", "worst ms")
    for name, times in result["milliseconds"].items():
        out += row(name, f"{statistics.median(times):.1f}",
                   f"{max(times):.1f}")
    return out


def memory_table(result):
    if text := failed(result):
        return text
    out = head("memory beside the ranks (PSS)", "pods", "launcher KiB",
               "each worker KiB", "idle worker KiB")
    for run in result["runs"]:
        for name, one in run["ways"].items():
            out += row(name, run["pods"], one["launcher_kib"],
                       one["worker_kib"], one["idle_worker_kib"])
    return out


TABLES = {"launch": launch_table, "sshd": sshd_table, "logs": logs_table,
          "readiness": readiness_table, "memory": memory_table}


def markdown(result, picture):
    machine = result["machine"]
    out = (f"# Benchmarks of {result['date']}\n\n{result['muster']}, commit "
           f"{result['commit'] or 'unknown'}"
           f"{', quick run' if result['quick'] else ''}. {machine['cpu']}, "
           f"{machine['cores']} cores, {machine['memory_gib']} GiB, Linux "
           f"{machine['kernel']}, {machine['system']}. Load "
           f"{machine['load_at_start']} at the start, "
           f"{machine['load_at_end']} at the end: {machine['state']}"
           f"{'; trust ratios, not seconds' if machine['state'] != 'idle' else ''}"
           ".\n\n")
    for name, table in TABLES.items():
        if name in result:
            out += f"## {name}\n\n{table(result[name])}\n"
    if picture and "runs" in result.get("launch", {}):
        out += f"![launch times]({picture})\n"
    return out


def launch_svg(result):
    """Bars of the medians, one group per number of pods."""
    runs = result.get("launch", {}).get("runs", [])
    bars = [(run["pods"], name, statistics.median(seconds))
            for run in runs for name, seconds in run["seconds"].items()]
    longest = max((s for _, _, s in bars), default=1)
    text, y, last = "", 34, None
    for pods, name, seconds in bars:
        y += 12 if last not in (None, pods) else 0
        label = f"{pods} pods, {name}"
        width = seconds / longest * 420
        text += (f'<text x="8" y="{y + 13}">{escape(label)}</text>'
                 f'<rect x="200" y="{y}" width="{width:.1f}" height="18" '
                 f'fill="{COLOURS.get(name, "#b4559c")}"/><text '
                 f'x="{206 + width:.1f}" y="{y + 13}">{seconds:.2f} s</text>')
        y, last = y + 22, pods
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {y + 8}"'
            ' font-family="sans-serif" font-size="12" fill="#1c1f24"><rect '
            f'width="700" height="{y + 8}" fill="#fff"/><text x="8" y="18" '
            'font-weight="bold">true on every worker, command to end (median)'
            f'</text>{text}</svg>\n')
