#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of kubectl that a message, a rule or a document tells a person to
type, typed on the cluster while a job runs: pods, containers and namespaces
are found, options exist, the program is in the image."""
import os
import shlex
import sys

import kube
from kube import MpiJob, check, kubectl, mpijob, namespace, told, until

sys.path.insert(0, os.path.join(kube.ROOT, "tests", "images"))
import typed_commands  # noqa: E402

# What a document offers beside what the image has.
OPTIONAL = ("py-spy", "gdb", "nvidia-smi", "ibv_devinfo", "python3", "gcore")


def wrong(line, ns):
    """Why a line does not run as it stands; "" if it does."""
    words = [word for word in shlex.split(line)[1:] if word != "-f"]
    if "-n" not in words and "-A" not in words:
        words = ["--namespace", ns.name, *words]
    status, _, err = kubectl(*words)
    if status == 0:
        return ""
    if "--previous" in words and "previous terminated container" in err:
        return ""  # pod and container are there, and have not been restarted
    command = words[words.index("--") + 1:] if "--" in words else []
    if "executable file not found" in err:
        return "" if command and command[0] in OPTIONAL else err
    for word in ("NotFound", "not found", "unknown", "invalid", "error:"):
        if word in err and not command:
            return err
    # A command in the pod may well end with a finding.
    return err if "NotFound" in err or "error: unable" in err else ""


def test_all_commands_run_as_they_are_typed():
    with namespace("typed") as ns:
        job = MpiJob(ns, "pi", mpijob("pi", [
            "mpirun", "-n", "2", "sh", "-c", "echo all-is-up; sleep 100"]))
        launcher = job.launcher()["metadata"]["name"]
        until(lambda: ns.kubectl("logs", launcher)[1].count("all-is-up") >= 2,
              "output of both ranks")
        node = told("get", "nodes", "-o", "name").split()[0].split("/")[1]
        lines = typed_commands.kubectl_lines({
            "pod": "pi-worker-0", "launcher": launcher,
            "launcher_job": "job/pi-launcher", "namespace": ns.name,
            "node": node, "container": "worker"})
        check(len(lines) > 10, "hardly any command was found", lines)
        failed = []
        for line, source in lines:
            if why := wrong(line, ns):
                failed.append(f"{source}: {line}\n    {why.strip()}")
        check(not failed, f"{len(failed)} of {len(lines)} lines do not run",
              "\n".join(failed))
        ns.told("delete", "mpijob", "pi")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
