# SPDX-License-Identifier: Apache-2.0
"""The sources against docs/design.md: each module includes only the modules
that the table "Modules" allows, and the table has no circle and no row that
nothing needs. Files and lines, and the findings of scripts/plain-english, stay
within tests/structure/budget.tsv. Prints "N passed, N failed".

A module is a folder of src/ with all that is below it, except for folders that
have a row of their own.
"""
import importlib.machinery
import importlib.util
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def table(text):
    """{module: modules that it may include}, as design.md has them."""
    found = re.search(r"^### Modules$.*?^```\n(.*?)^```$", text, re.M | re.S)
    if not found:
        raise SystemExit("docs/design.md has no table below '### Modules'")
    rows = {}
    for line in found.group(1).splitlines():
        name, _, allowed = line.partition(":")
        if name.strip() in rows:
            raise SystemExit(f"docs/design.md has two rows for {name.strip()}")
        rows[name.strip()] = allowed.split()
    return rows


def sources(root):
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            if name.endswith((".h", ".cc")):
                yield os.path.relpath(os.path.join(folder, name),
                                      os.path.join(root, "src"))


def module_of(path, rows):
    folder = os.path.dirname(path)
    while folder and folder not in rows:
        folder = os.path.dirname(folder)
    return folder


def wrong_includes(root, rows):
    """Sentences about includes that the table does not allow, and the
    (module, module) pairs that occur."""
    wrong, used = [], set()
    for path in sources(root):
        own = module_of(path, rows)
        if not own:
            wrong.append(f"src/{path}: its folder has no row in the table")
            continue
        for name in INCLUDE.findall(read(os.path.join(root, "src", path))):
            other = module_of(name, rows)
            if "/" not in name or other == own:
                continue
            if not os.path.exists(os.path.join(root, "src", name)):
                wrong.append(f"src/{path}: there is no {name}")
                continue
            used.add((own, other))
            if other not in rows[own]:
                wrong.append(f"src/{path} includes {name}, but {own} may not "
                             f"include {other or 'what has no row'}")
    return wrong, used


def circles(rows):
    """A module that reaches itself, as the modules on the way."""
    done = set()

    def walk(name, way):
        if name in way:
            return way[way.index(name):] + [name]
        if name in done:
            return None
        for other in rows.get(name, []):
            found = walk(other, way + [name])
            if found:
                return found
        done.add(name)
        return None

    for name in rows:
        found = walk(name, [])
        if found:
            return [" → ".join(found)]
    return []


def table_problems(root):
    rows = table(read(os.path.join(root, "docs", "design.md")))
    wrong, used = wrong_includes(root, rows)
    wrong += circles(rows)
    for name, allowed in rows.items():
        if not os.path.isdir(os.path.join(root, "src", name)):
            wrong.append(f"the table has {name}, and there is no such folder")
        wrong += [f"the table lets {name} include {other}, which it does not"
                  for other in allowed if (name, other) not in used]
    return wrong


def sizes(root, folders):
    """Files, lines and headers with one client besides their own .cc."""
    clients = {}
    for path in sources(root):
        for name in INCLUDE.findall(read(os.path.join(root, "src", path))):
            if path.rsplit(".", 1)[0] != name.rsplit(".", 1)[0]:
                clients.setdefault(name, set()).add(path)
    files = lines = lonely = 0
    for path in sources(root):
        if path.split("/")[0] not in folders:
            continue
        files += 1
        lines += read(os.path.join(root, "src", path)).count("\n")
        lonely += path.endswith(".h") and len(clients.get(path, ())) == 1
    return files, lines, lonely


def budget(root):
    return [line.split("\t") for line in read(os.path.join(
        root, "tests", "structure", "budget.tsv")).splitlines()
        if line and not line.startswith("#")]


def budget_problems(root, show):
    rows = [row for row in budget(root) if row[0] != "prose"]
    listed = {folder for row in rows for folder in row[1].split()}
    there = {name for name in os.listdir(os.path.join(root, "src"))
             if os.path.isdir(os.path.join(root, "src", name))}
    for folder in sorted(there - listed):
        yield f"src/{folder} has no budget"
    for name, folders, *limits in rows:
        now = sizes(root, folders.split())
        if show:
            print(f"{name}: {now[0]} files, {now[1]} lines, {now[2]} headers "
                  "with one client")
        for what, have, limit in zip(
                ("files", "lines", "headers with one client"), now, limits):
            if have > int(limit):
                yield (f"{name} has {have} {what}, {limit} are in its budget: "
                       "make room, or raise it and say why in the commit")


def prose_problems(root, limit):
    loader = importlib.machinery.SourceFileLoader(
        "plain_english", os.path.join(ROOT, "scripts", "plain-english"))
    script = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("plain_english", loader))
    loader.exec_module(script)
    found = sum(1 for path, lines in script.every_line(root)
                for _ in script.findings(path, lines))
    if found > limit:
        yield (f"scripts/plain-english --all finds {found} sentences, {limit} "
               "are in the budget: rewrite those that you added")


def prose_limit(root):
    return int(next(row[2] for row in budget(root) if row[0] == "prose"))


def finds_what_is_wrong(root):
    """The checks see what they look for: each on a tree with one mistake."""
    import tempfile
    tree = {"docs/design.md": "### Modules\n\n```\na:\nb: a\n```\n",
            "src/a/x.h": "", "src/b/y.cc": '#include "a/x.h"\n'}
    cases = [
        ({}, ""),
        ({"src/a/z.cc": '#include "b/y.h"\n', "src/b/y.h": ""},
         "a may not include b"),
        ({"src/c/z.cc": ""}, "src/c/z.cc: its folder has no row"),
        ({"docs/design.md": "### Modules\n\n```\na: b\nb: a\n```\n",
          "src/a/z.cc": '#include "b/y.h"\n', "src/b/y.h": ""}, "a → b → a"),
        ({"src/b/y.cc": ""}, "lets b include a, which it does not"),
        ({"src/b/v.cc": '#include "a/gone.h"\n'}, "there is no a/gone.h"),
    ]
    for changes, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**tree, **changes}.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            found = table_problems(folder)
        if bool(found) != bool(expected) or not any(
                expected in line for line in found or [""]):
            yield f"expected {expected!r}, got {found}"
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "src"))
        with open(os.path.join(folder, "src", "x.h"), "w",
                  encoding="utf-8") as file:
            file.write("// Whoever waits sees it.\n// A worker waits.\n")
        for name in "y.h", "z.h":
            with open(os.path.join(folder, "src", name), "w",
                      encoding="utf-8") as file:
                file.write("namespace muster {\nstruct Twice {\n};\n}\n")
        if len(list(name_problems(folder))) != 1:
            yield "two types of one name are not found"
        if list(prose_problems(folder, 1)) or not list(
                prose_problems(folder, 0)):
            yield "one sentence to rewrite does not count as one"


TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?"
                  r"(?: :[^;{]*)? \{", re.M)
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]+) \{", re.M)


def name_problems(root):
    """Two types of one name: the linker keeps one constructor for both."""
    headers = {}
    for at, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if not name.endswith(".h"):
                continue
            path = os.path.join(at, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            within = tuple(NAMESPACE.findall(text))
            for found in TYPE.findall(text):
                headers.setdefault((within, found), []).append(
                    os.path.relpath(path, root))
    for (_, found), paths in sorted(headers.items()):
        if len(paths) > 1:
            yield f"{' and '.join(paths)} each define {found}: rename one"


def main():
    passed = failed = 0
    for name, problems in (
            ("modules include what the table allows", table_problems(ROOT)),
            ("files and lines within the budget",
             list(budget_problems(ROOT, show=True))),
            ("prose within the budget",
             list(prose_problems(ROOT, prose_limit(ROOT)))),
            ("a type's name is its own", list(name_problems(ROOT))),
            ("the checks find mistakes", list(finds_what_is_wrong(ROOT)))):
        print(("ok   " if not problems else "FAIL ") + name)
        for problem in problems[:40]:
            print("     " + problem)
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
