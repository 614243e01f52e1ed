# SPDX-License-Identifier: Apache-2.0
"""What messages, rules, documents and examples tell a person to type: collected
from their sources. Commands stand between backquotes there, in a block of code,
or are a string of their own (the examples of --help)."""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
PROGRAMS = "kubectl", "oc", "muster"
SUBCOMMANDS = ("launch worker sshd ssh entry doctor netpol fabric hostfile "
               "keygen status ps top stack logs explain explain-log task "
               "completion version help").split()
# "muster logs" names a command; "muster sets", "muster and" do not.
NAMED = re.compile(r"(?<![\w./-])(?:kubectl(?: |$)|oc (?:get|describe|logs|adm)|"
                   r"muster (?:" + "|".join(SUBCOMMANDS) + r")(?![\w-]))")
TEXT_KEYS = "title", "headline", "cause", "meaning", "confirm", "remedy"


class Command:
    """A line to type, as its source has it."""

    def __init__(self, text, source, whole, message):
        self.text = " ".join(text.split())
        self.source = source    # "src/x.rules:12"
        self.whole = whole      # the text around it
        self.message = message  # said by the program, wherever it is read

    def __repr__(self):
        return f"{self.source}: {self.text}"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def below(folder, *ends):
    for at, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
        for name in sorted(names):
            if name.endswith(ends):
                yield os.path.relpath(os.path.join(at, name), ROOT)


def is_command(text):
    words = text.split()
    return bool(words) and words[0] in PROGRAMS and len(words) > 1 and (
        words[0] != "muster" or words[1] in SUBCOMMANDS
        or words[1].startswith("--"))


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def unquoted(text):
    """Commands outside of backquotes, where nobody sees their end."""
    return NAMED.search(re.sub(r"`[^`]*`", " ", text))


def rule_texts():
    """(source, key, text) of the rules, each alternative by itself."""
    for path in below("src/diagnosis/rules", ".rules"):
        logical = []
        for number, line in enumerate(read(path).splitlines(), 1):
            if line.startswith("  ") and logical:
                logical[-1][1] += " " + line.strip()
            else:
                logical.append([number, line])
        for number, line in logical:
            key, mark, text = line.partition(": ")
            if mark and key in TEXT_KEYS:
                for alternative in text.split(" || "):
                    yield f"{path}:{number}", key, alternative


# A comment, a raw string, a character, or neighbouring strings.
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|'
                 r"'(?:\\.|[^'\\\n])+'|"
                 r'"(?:\\.|[^"\\\n])*"(?:\s*(?:MUSTER_VERSION\s*)?'
                 r'"(?:\\.|[^"\\\n])*")*', re.S)


def cpp_strings():
    """(source, text) of the strings in src, neighbours joined."""
    for path in below("src", ".cc", ".h"):
        text = read(path)
        for found in CPP.finditer(text):
            if not found.group().startswith('"'):
                continue
            parts = re.findall(r'"((?:\\.|[^"\\\n])*)"', found.group())
            joined = "".join(parts)
            for escape, plain in (("\\n", "\n"), ('\\"', '"'), ("\\\\", "\\"),
                                  ("\\t", " ")):
                joined = joined.replace(escape, plain)
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{line}", joined


def document_blocks():
    """(source, line) of what blocks of code in documents say to type."""
    pages = glob.glob("*.md", root_dir=ROOT) + list(below("docs", ".md"))
    for path in sorted(pages):
        if path in ("CHANGELOG.md", "docs/history.md"):
            continue
        inside = False
        held = ""
        for number, line in enumerate(read(path).splitlines() + [""], 1):
            fence = line.lstrip().startswith("```")
            if inside and not fence:
                held += line
                if not held.endswith("\\"):
                    yield f"{path}:{number}", held, True
                held = held[:-1] if held.endswith("\\") else ""
                continue
            if fence or not line or line[0] in "*|-#":  # not the same sentence
                yield f"{path}:{number - 1}", held, False
                held = ""
            held += "" if fence else line + " "
            inside ^= fence


def example_comments():
    for path in below("examples", ".yaml"):
        for number, line in enumerate(read(path).splitlines(), 1):
            mark = re.search(r"(?:^|\s)#(.*)", line)
            if mark:
                yield f"{path}:{number}", mark.group(1)


def without_comment(line):
    return re.split(r"\s+#", line.strip(), maxsplit=1)[0].removeprefix("$ ")


def commands():
    """All of them."""
    for source, _, text in rule_texts():
        for span in quoted(text):
            yield Command(span, source, text, True)
    for source, text in cpp_strings():
        for span in quoted(text):
            yield Command(span, source, text, True)
        for line in text.splitlines():
            whole = is_command(line) and not re.match(
                r"\s*(muster [\w-]+( %s)?(:|$)|kubectl \w+( \w+)? ?$)", line)
            if whole and "`" not in line and not is_usage(line):
                # kubectl.cc fills in pods and namespaces.
                yield Command(line, source, text, "kubectl.cc" in source)
    for source, line, block in document_blocks():
        if block and is_command(without_comment(line)):
            yield Command(without_comment(line), source, line, False)
        for span in () if block else quoted(line):
            yield Command(span, source, line, False)
    for source, text in example_comments():
        spans = quoted(text)
        bare = re.search(r"(?:^|: )\s*((?:kubectl|muster) .*)$", text)
        if bare and not spans and is_command(bare.group(1)):
            spans = [bare.group(1)]
        for span in spans:
            yield Command(span, source, text, False)


def is_usage(line):
    return "[" in line or "COMMAND" in line


def kubectl_lines(names):
    """[(line, source)]: each line of kubectl, once, with `names` ("pod",
    "launcher", "namespace", "node", …) in the places of its placeholders, so
    that a cluster can run it, with /dev/null as stdin. Left out are lines that
    need a name which is not given, and those that read a manifest."""
    lines = {}
    for command in commands():
        for part in re.split(r"\s+\|\s+", command.text):
            words = part.split()
            if len(words) < 3 or words[0] != "kubectl" or words[1] == "apply":
                continue
            line = with_names(part, names)
            if line is None or re.search(r"\b[A-Z]{2,}\b|[{}…]", line):
                continue
            if words[-1] == "--":  # begins a command in the pod
                line += " muster version"
            if words[1] == "cordon":
                line += " --dry-run=client"
            lines.setdefault(line, command.source)
    return sorted(lines.items())


# What stands for a name, by whose name it is.
PLACES = (
    (r"\{pod\}|\bPOD\b|\bpi-worker-\d+\b", "pod"),
    (r"\bpi-launcher-x+\b", "launcher"),
    (r"\bjob/(?:pi|ddp)-launcher\b", "launcher_job"),
    (r"\{namespace\}|\bNAMESPACE\b|(?<=-n )\{\}", "namespace"),
    (r"\bNODE\b", "node"),
    (r"\bCONTAINER\b", "container"),
    (r"\{job\}", "indexed_job"),
    (r"\{index\}", "index"),
)


def with_names(line, names):
    for pattern, name in PLACES:
        if re.search(pattern, line):
            if name not in names:
                return None
            line = re.sub(pattern, names[name], line)
    return line
