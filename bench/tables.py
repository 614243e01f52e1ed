# SPDX-License-Identifier: Apache-2.0
"""Results of bench/run as Markdown and as one drawing. Pure: what was measured
goes in, text comes out; nothing is left out because it looks bad."""
import statistics
from html import escape

COLOURS = {"muster": "#2e9e6b", "OpenSSH": "#9aa3af"}
RIVAL = "OpenSSH mpirun"


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |\n"


def head(*cells):
    return row(*cells) + row("---", *["---:"] * (len(cells) - 1))


def failed(result):
    return f"not measured: {result['failed']}\n" if "failed" in result else ""


def middle(samples, key):
    return statistics.median(one[key] for one in samples)


def launch_table(result):
    if text := failed(result):
        return text
    out = head("`true` on every worker, from the command to its end",
               "pods × slots", "load", "median s", f"of {RIVAL}", "CPU s",
               f"of {RIVAL}")
    for run in result["runs"]:
        base = run["ways"].get(RIVAL, {}).get("true")
        for name, samples in run["ways"].items():
            wall = middle(samples["true"], "exit")
            cpu = middle(samples["true"], "cpu")
            out += row(name, f"{run['nodes']}×{run['slots']}", run["load"],
                       f"{wall:.2f}",
                       f"{wall / middle(base, 'exit'):.2f}" if base else "–",
                       f"{cpu:.2f}",
                       f"{cpu / middle(base, 'cpu'):.2f}" if base else "–")
    return out


def sshd_table(result):
    """As bench_ssh.py prints it: its columns are described there."""
    if text := failed(result):
        return text
    return "```\n" + "\n".join(result["lines"]) + "\n```\n"


def logs_table(result):
    if text := failed(result):
        return text
    out = head(f"{result['pods']} ranks, {result['lines']} lines of 100 bytes",
               "to /dev/null, million lines/s", "to a file",
               "CPU µs per line", "damaged or lost lines")
    for name, one in result["results"].items():
        out += row(name, f"{statistics.median(one['null']) / 1e6:.2f}",
                   f"{statistics.median(one['file']) / 1e6:.2f}",
                   f"{statistics.median(one['cpu_us']):.2f}",
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


def load_line(result, name):
    """Load averages tell of what ran before, too: the pods of the part itself
    are most of the second."""
    loads = result.get("loads", {}).get(name)
    return f"Load {loads[0]} before, {loads[1]} after.\n\n" if loads else ""


def markdown(result, picture):
    machine = result["machine"]
    out = (f"# Benchmarks of {result['date']}\n\n{result['muster']}, commit "
           f"{result['commit'] or 'unknown'}"
           f"{', quick run' if result['quick'] else ''}. {machine['cpu']}, "
           f"{machine['cores']} cores, {machine['memory_gib']} GiB, Linux "
           f"{machine['kernel']}, {machine['system']}.\n\n")
    for name, table in TABLES.items():
        if name in result:
            out += (f"## {name}\n\n{load_line(result, name)}"
                    f"{table(result[name])}\n")
    if picture and "runs" in result.get("launch", {}):
        out += f"![launch times]({picture})\n"
    return out


def launch_svg(result):
    """Bars of the CPU seconds, one group per shape: what the launch costs
    whatever else the machine does."""
    runs = result.get("launch", {}).get("runs", [])
    bars = [(run["nodes"], name, middle(samples["true"], "cpu"))
            for run in runs for name, samples in run["ways"].items()]
    longest = max((s for _, _, s in bars), default=1)
    text, y, last = "", 34, None
    for pods, name, seconds in bars:
        y += 12 if last not in (None, pods) else 0
        width = seconds / longest * 380
        colour = COLOURS.get(name.split()[0], "#3b7dd8")
        text += (f'<text x="8" y="{y + 13}">{pods} pods, {escape(name)}</text>'
                 f'<rect x="260" y="{y}" width="{width:.1f}" height="18" '
                 f'fill="{colour}"/><text x="{266 + width:.1f}" y="{y + 13}">'
                 f'{seconds:.2f} s</text>')
        y, last = y + 22, pods
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {y + 8}"'
            ' font-family="sans-serif" font-size="12" fill="#1c1f24"><rect '
            f'width="700" height="{y + 8}" fill="#fff"/><text x="8" y="18" '
            'font-weight="bold">true on every worker: CPU seconds of all pods '
            f'(median)</text>{text}</svg>\n')
