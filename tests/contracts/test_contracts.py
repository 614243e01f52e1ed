# SPDX-License-Identifier: Apache-2.0
"""The four contracts with users' scripts and collectors, as they are recorded
here, against what a built muster says: exit-codes.tsv, log.tsv, report.tsv and
commands.tsv. A difference is not forbidden; it needs a note.

    test_contracts.py MUSTER            compare; prints "N passed, N failed"
    test_contracts.py MUSTER --record   write commands.tsv anew

tests/unit/job/exit_codes_test.cc compares exit-codes.tsv with the program's
own table; here the page for users is compared with it. Emulated launches
(--local) give the records and reports: no pods, no network, any user.
"""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NOTE = ("If that is meant, write a line below [Unreleased] in CHANGELOG.md "
        "(what is gone or means something else: with \"breaking\" in it), "
        "change {page}, and {update}.")
TYPES = {str: "string", bool: "boolean", int: "number", float: "number",
         type(None): "null", dict: "object"}


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def rows(name):
    return [tuple(line.split("\t"))
            for line in read("tests", "contracts", name).splitlines()
            if line and not line.startswith("#")]


def run(*argv):
    """Without the caller's own settings of muster."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("MUSTER_")}
    return subprocess.run(argv, capture_output=True, text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL, env=env)


def differences(recorded, now):
    """Lines "- row" for what is gone, "+ row" for what is new."""
    return (["- " + "  ".join(row) for row in recorded if row not in now]
            + ["+ " + "  ".join(row) for row in now if row not in recorded])


def options_of(page):
    """(flags, value, variable) of each option of a page of --help-all."""
    found = []
    for line in page.splitlines():
        option = re.match(r"  (-\S.*?)(?:\s{2,}|$)", line)
        if option:
            words = option[1].replace(",", " ").split()
            flags = [word for word in words if word.startswith("-")]
            found.append([",".join(flags), " ".join(words[len(flags):]), ""])
        elif not re.match(r" {6,}\S", line):
            continue
        variable = re.search(r"[\[ ](MUSTER_[A-Z_]+)[\])]", line)
        if variable and found:
            found[-1][2] = variable[1]
    return found


def exit_codes_of(page):
    """The first words below the heading "Exit codes:"."""
    below = page.partition("\nExit codes:\n")[2]
    return re.findall(r"^  (\S.*?)\s{2,}", below, re.MULTILINE)


def command_rows(muster):
    names = re.findall(r"^  (\S+)\s", run(muster, "--help").stdout.partition(
        "Commands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    if len(names) < 10:
        raise SystemExit(f"{muster} --help names {names} as its commands")
    out = []
    for name in names:
        page = run(muster, name, "--help-all").stdout
        out += [(name, *option) for option in options_of(page)]
        out += [(name, "exit code", code, "") for code in exit_codes_of(page)]
    return out


def check_command_line(muster):
    wrong = differences(rows("commands.tsv"), command_rows(muster))
    if wrong:
        yield "the command line is another:"
        yield from wrong
        yield NOTE.format(page="docs/cli.md",
                          update="run this test with --record")


def check_exit_codes(_):
    """The page has the recorded table."""
    page = re.findall(r"^\| (\d+) \| `(\w+)` \| .* \| (\S.*?) \|$",
                      read("docs", "exit-codes.md"), re.MULTILINE)
    now = [(code, name, "retry" if again.startswith("yes") else "final")
           for code, name, again in page]
    wrong = differences(rows("exit-codes.tsv"), now)
    if wrong:
        yield "docs/exit-codes.md and tests/contracts/exit-codes.tsv differ:"
        yield from wrong
        yield NOTE.format(page="the page", update="change the file")


@functools.cache
def launches(muster):
    """Records of the log by kind, and reports, of three emulated launches: a
    rank that fails, a program that is missing, and a script that runs once."""
    records = {"rank": [], "script": [], "launcher": []}
    reports = []
    crash = ("echo out; head -c 5000 /dev/zero | tr '\\0' x; echo; "
             "printf '50%%\\r'; exit 3")
    for options, program in ((["--local", "2x1"], ["sh", "-c", crash]),
                             (["--local", "1x1"], ["/nonexistent/program"]),
                             (["--local", "1x1", "--once"], ["echo", "x"])):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            done = run(muster, "launch", "--log-format", "json",
                       "--report-json", report, *options, "--", *program)
            with open(report, encoding="utf-8") as file:
                reports.append(json.load(file))
        for line in done.stdout.splitlines():
            record = json.loads(line)
            records["script" if "source" in record else "rank"].append(record)
        records["launcher"] += map(json.loads, done.stderr.splitlines())
    return records, reports


def check_log(muster):
    """Each record has fields of its kind only, of the recorded type and in the
    recorded order; and each field occurs."""
    records, _ = launches(muster)
    seen = set()
    order = {}
    for number, (kind, field, _) in enumerate(rows("log.tsv")):
        order.setdefault((kind, field), number)
    wrong = []
    for kind, several in records.items():
        for record in several:
            places = [order.get((kind, field), -1) for field in record]
            if -1 not in places and places != sorted(places):
                wrong.append(f"another order in {json.dumps(record)[:200]}")
            seen |= {(kind, field, TYPES[type(value)])
                     for field, value in record.items()}
    wrong += differences(rows("log.tsv"), sorted(seen))
    if wrong:
        yield "the fields of log records are others:"
        yield from wrong
        yield NOTE.format(page="docs/log-schema.md",
                          update="change tests/contracts/log.tsv")


def fields(value, path=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from fields(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield path + "[]"
        for inner in value:
            if isinstance(inner, dict):
                yield from fields(inner, path + "[]")
    else:
        yield path


def check_report(muster):
    """Fields that every run like these has are all there, no field is unknown,
    and the page names each of them."""
    _, reports = launches(muster)
    seen = {field for report in reports for field in fields(report)}
    recorded = rows("report.tsv")
    known = {field for field, _ in recorded}
    wrong = ["- " + field for field, when in recorded
             if when == "seen" and field not in seen]
    wrong += ["+ " + field for field in sorted(seen - known)]
    page = read("docs", "report-schema.md")
    for field, _ in recorded:
        name = re.split(r"[.\[]", field.removesuffix("[]"))[-1]
        if not re.search(rf"[`\"]{name}(\[\])?[`\"]", page):
            wrong.append(f"docs/report-schema.md does not name {field}")
    if wrong:
        yield "the fields of report.json are others:"
        yield from wrong
        yield NOTE.format(page="docs/report-schema.md",
                          update="change tests/contracts/report.tsv")


def check_finds_changes(_):
    """The comparison sees what it looks for."""
    page = ("Options:\n  -n, --np N              ranks [MUSTER_NP]\n"
            "  --bootstrap auto|pmix\n"
            "                          starter [MUSTER_BOOTSTRAP]\n\n"
            "Exit codes:\n  126, 127    the program\n")
    if options_of(page) != [["-n,--np", "N", "MUSTER_NP"],
                            ["--bootstrap", "auto|pmix", "MUSTER_BOOTSTRAP"]]:
        yield f"options of a page: {options_of(page)}"
    if exit_codes_of(page) != ["126, 127"]:
        yield f"exit codes of a page: {exit_codes_of(page)}"
    if differences([("a", "b"), ("c", "d")], [("c", "d"), ("e", "f")]) != [
            "- a  b", "+ e  f"]:
        yield "a row that is gone, and a new one"
    if list(fields({"a": [{"b": 1}], "c": {"d": []}})) != [
            "a[]", "a[].b", "c.d[]"]:
        yield "fields of a report"


def record(muster):
    with open(os.path.join(HERE, "commands.tsv"), "w",
              encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: Apache-2.0\n"
                   "# Made by test_contracts.py MUSTER --record.\n"
                   "# command\toption\tvalue\tvariable\n")
        for row in command_rows(muster):
            file.write("\t".join(row) + "\n")


def main():
    muster = sys.argv[1]
    if sys.argv[2:] == ["--record"]:
        record(muster)
        return 0
    passed = failed = 0
    for check in (check_command_line, check_exit_codes, check_log,
                  check_report, check_finds_changes):
        problems = list(check(muster))
        name = check.__name__.removeprefix("check_").replace("_", " ")
        print(("ok   " if not problems else "FAIL ") + name)
        for problem in problems:
            print("     " + problem)
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
