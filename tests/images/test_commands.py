# SPDX-License-Identifier: Apache-2.0
"""Commands that muster tells a person to type run as they are typed.

  tests/images/test_commands.py [MUSTER]
  tests/images/test_commands.py --kubectl NAME=VALUE...

Commands of kubectl are held against a table of what kubectl takes, those of
muster against the program's own help (with MUSTER, or $MUSTER), and both against
what a pod has: a pod's name and not its name in DNS, a namespace, programs of
the image. The second form prints the lines of kubectl with real names (pod,
launcher, launcher_job, namespace, node, container, indexed_job, index), for a
cluster to run; lines that need a name which is not given are left out.
Prints "N passed, N failed".
"""
import os
import re
import shlex
import subprocess
import sys

import typed_commands
from typed_commands import Command, is_command, unquoted

PODS = {"pod", "pods", "po"}
NAMESPACED = PODS | {"events", "endpointslices", "job", "jobs", "mpijob",
                     "secret", "service"}
OF_CLUSTER = {"node", "nodes"}
COMMON = {"-n": 1, "--namespace": 1}
# What each takes: options with how many words follow, and the names behind.
KUBECTL = {
    "get": {"-o": 1, "-l": 1, "-w": 0, "-A": 0},
    "describe": {"-l": 1},
    "logs": {"-f": 0, "-l": 1, "-c": 1, "--previous": 0, "--prefix": 0},
    "exec": {"-i": 0, "-t": 0, "-it": 0, "-c": 1},
    "debug": {"-it": 0, "--image": 1, "--target": 1, "--profile": 1},
    "apply": {"-f": 1},
    "cordon": {},
}
# What an image with muster has in any case; the rest has to be said.
IN_IMAGE = {"muster", "sh", "cat", "ls", "df", "id"}
# Programs that an image may lack, and the words that say so.
MAY_LACK = re.compile(r"(?<![\w./-])(nc|ldd|ss|ip|gdb|strace|py-spy|dmesg|dcgmi|"
                      r"nvidia-smi|ibv_devinfo|ibstat|show_gids|ompi_info|"
                      r"ucx_info|ssh-keyscan|nslookup|dig|getent|lscpu|"
                      r"compute-sanitizer|enroot)(?![\w-])")
SAYS_SO = re.compile(r"where (?:the image|it) has|on (?:the|this) node|comes with"
                     r"|where the GPU's runtime|with the driver")
# Words in capitals and these stand for what only the reader knows.
PLACEHOLDER = re.compile(r"\{\w*\}|[A-Z][A-Z_]*")


def need(condition, text):
    if not condition:
        raise AssertionError(text)


def split_pipe(command):
    return [part for part in re.split(r"\s+\|\s+", command) if part]


def words_of(part):
    return shlex.split(part.replace("…", "..."))


def check_kubectl(words, command):
    need(len(words) > 1 and words[1] in KUBECTL, "no such subcommand")
    verb, rest = words[1], words[2:]
    options, names, inner = {}, [], None
    takes = {**KUBECTL[verb], **COMMON}
    while rest:
        word = rest.pop(0)
        if word == "--":
            inner, rest = rest, []
        elif word.startswith("-") and word != "-":
            name, mark, value = word.partition("=")
            need(name in takes, f"kubectl {verb} has no {name}")
            if takes[name] and not mark:
                need(rest, f"{name} lacks its value")
                value = rest.pop(0)
            options[name] = value
        else:
            names.append(word)
    check_names(verb, names, options, inner)
    if command.message and verb != "apply" and names[:1] != ["nodes"]:
        cluster = verb == "cordon" or names[:1] and names[0] in OF_CLUSTER
        need(cluster or "-n" in options, "no namespace")


def check_names(verb, names, options, inner):
    if verb in ("get", "describe"):
        need(names and names[0] in NAMESPACED | OF_CLUSTER, "no such resource")
        names = names[1:]
        need(verb == "get" or names or "-l" in options or True, "of what?")
    elif verb == "apply":
        need("-f" in options and not names, "apply -f FILE")
    elif verb == "logs":
        need(len(names) == (0 if "-l" in options else 1), "logs of one pod")
    else:
        need(len(names) == 1, f"{verb} of one thing")
    if verb == "exec":
        need(inner is not None, "exec without --")
    for name in names:
        kind, mark, own = name.rpartition("/")
        need(not mark or kind in NAMESPACED, f"no resource {kind}")
        need("." not in own, f"{own} is a name in DNS, and none of a pod")
        need("host" not in own, f"{own} is a host")


def check_inner(words, command):
    """The command in the pod: of an image with muster."""
    if "--" not in words:
        return
    inner = words[words.index("--") + 1:]
    if words[1] == "exec" and inner:
        said = SAYS_SO.search(command.whole) or SAYS_SO.search(
            typed_commands.read(command.source.rpartition(":")[0])
            if not command.message else "")
        need(inner[0] in IN_IMAGE or PLACEHOLDER.fullmatch(inner[0]) or said,
             f"the image may have no {inner[0]}")


class Muster:
    """The program's own help."""

    def __init__(self, path):
        self.path = path
        self.known = {}

    def options(self, command):
        if command not in self.known:
            text = subprocess.run([self.path, command, "--help-all"], check=True,
                                  text=True, capture_output=True,
                                  timeout=60).stdout
            self.known[command] = text, set(re.findall(
                r"(?:^|[ ,\[])(--?[a-zA-Z][a-z-]*)", text, re.M))
        return self.known[command]

    def check(self, words):
        if words[1].startswith("--"):
            return
        need(words[1] in typed_commands.SUBCOMMANDS, f"no command {words[1]}")
        if words[1] in ("help", "sshd", "ssh"):  # OpenSSH's, or names
            return
        text, known = self.options(words[1])
        for word in words[2:]:
            if word == "--":
                break
            if word in ("|", ">"):
                break
            if word.startswith("-") and word != "-":
                need(word.split("=")[0] in known | {"--help", "--help-all"},
                     f"muster {words[1]} has no option {word}")
        if words[1] == "fabric" and len(words) > 2 and words[2][0] != "-":
            need(re.search(rf"\b{re.escape(words[2])}\b", text),
                 f"muster fabric has no {words[2]}")


def check_command(command, muster):
    for part in split_pipe(command.text):
        if not is_command(part):
            continue
        words = words_of(part)
        if words[0] == "kubectl" and len(words) == 2 and not command.message:
            continue  # a document speaks of the program
        if words[0] == "kubectl":
            check_kubectl(words, command)
            check_inner(words, command)
            if "--" in words:
                words = words[words.index("--") + 1:]
        if words and words[0] == "muster" and len(words) > 1 and muster:
            muster.check(words)


def check_rule(text, key):
    found = unquoted(text)
    need(not found, f"`{found and found.group()}` stands without backquotes")
    # On a host without containers, or a node of Slurm, tools are the host's.
    of_host = text.startswith(("{?bare}", "{?slurm}"))
    if key in ("confirm", "remedy") and not of_host:
        tool = MAY_LACK.search(text)
        need(not tool or SAYS_SO.search(text),
             f"the image may have no {tool and tool.group()}")


# A message begins with the program's name; a usage line is none to type.
NO_COMMAND = re.compile(r"^(?:muster [\w-]+(?: %s)?(?: probe)?(?::|$).*)$|"
                        r"usage(?: is|:) .*", re.M)


def check_string(source, text):
    if source.startswith("src/cli/") or "kubectl.cc" in source:
        return
    if text.count("`") % 2:  # it goes on in another string
        text = text[1:] if text.startswith("`") else text + "`"
    lines = [line for line in text.splitlines() if not is_command(line)]
    for line in lines:
        line = re.sub(r"^muster [\w-]+( probe)?: ", "", line)
        found = unquoted(NO_COMMAND.sub("", line))
        need(not found, f"`{found and found.group()}` stands without backquotes")


def checks(muster):
    for command in typed_commands.commands():
        if is_command(command.text.split(" | ")[0]):
            yield repr(command), check_command, (command, muster)
    for source, key, text in typed_commands.rule_texts():
        yield f"{source}: {text}", check_rule, (text, key)
    for source, text in typed_commands.cpp_strings():
        yield f"{source}: {text!r}", check_string, (source, text)


def wrong_ones(muster):
    """The checks themselves: each of these has to be refused."""
    for text in ("kubectl describe pod pi-worker-0.pi.ml.svc -n ml",
                 "kubectl exec {host} -n ml -- muster doctor",
                 "kubectl describe pod POD", "kubectl frob pods -n ml",
                 "kubectl logs -n ml", "kubectl get pods -n ml --wide",
                 "kubectl exec POD -n ml muster ps",
                 "kubectl exec POD -n ml -- nc HOST 2222",
                 "kubectl get pdos -n ml",
                 *(["muster logs --rnak 3", "muster fabric shwo",
                    "kubectl exec POD -n ml -- muster doctor --jbo"]
                   if muster else [])):
        yield text, refused, (check_command,
                              (Command(text, "test:1", text, True), muster))
    for text in ("look at it: kubectl get pods", "see muster stack"):
        yield text, refused, (check_rule, (text, "remedy"))
    yield "nc", refused, (check_rule, ("nc HOST 2222 says it", "confirm"))


def refused(check, arguments):
    try:
        check(*arguments)
    except AssertionError:
        return
    raise AssertionError("is accepted")


def print_kubectl(arguments):
    names = dict(argument.split("=", 1) for argument in arguments)
    for line, _ in typed_commands.kubectl_lines(names):
        print(line)


def main():
    if sys.argv[1:2] == ["--kubectl"]:
        print_kubectl(sys.argv[2:])
        return 0
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MUSTER")
    muster = Muster(path) if path else None
    passed = failed = 0
    for name, check, arguments in (*checks(muster), *wrong_ones(muster)):
        try:
            check(*arguments)
            passed += 1
        except (AssertionError, ValueError) as error:
            failed += 1
            print(f"{name}: {error}")
    if passed < 300:
        failed += 1
        print("too few commands were found: where have they gone?")
    print(f"{passed} texts are right")
    print(f"{0 if failed else 1} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
