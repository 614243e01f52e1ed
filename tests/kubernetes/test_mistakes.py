#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people get wrong in an MPIJob, and the one sentence where they look
first: the launcher's log and its termination message."""
import base64
import sys

import kube
from kube import MpiJob, Skip, check, mpijob, namespace, part

HELLO = ["mpirun", "-n", "2", "/home/mpiuser/hello"]


def told(job, code, status, *words):
    seen, ended, text = job.verdict()
    check(seen == code, f"the verdict is {seen}", text)
    check(ended == status, f"exit code {ended}", text)
    for word in words:
        check(word in text, f"no {word!r}", text)
    return text


def test_a_worker_without_muster():
    """An image with OpenSSH in the workers: it cannot start our agent, now or
    later."""
    if not kube.OPENSSH_IMAGE:
        raise Skip("no image with OpenSSH")
    with namespace("openssh") as ns:
        manifest = mpijob("plain", HELLO)
        part(manifest, "Worker")["containers"][0]["image"] = kube.OPENSSH_IMAGE
        text = told(MpiJob(ns, "plain", manifest), "agent_unusable", 100,
                    "plain-worker-0", "muster")
        check(text.count("waiting for") < 5, "told again and again", text)


def test_another_key():
    """Workers that hold another job's key."""
    with namespace("key") as ns:
        ns.create({"apiVersion": "v1", "kind": "Secret",
                   "metadata": {"name": "other"}, "data": {
                       "authorized_keys": base64.b64encode(
                           b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0Fl0oCEDDW"
                           b"fFrWSxmcbc5uGQGbHXVgTjlrjL0eGqYy other\n"
                       ).decode()}})
        manifest = mpijob("locked", HELLO)
        spec = part(manifest, "Worker")
        spec["volumes"] = [{"name": "k", "secret": {"secretName": "other"}}]
        spec["containers"][0]["volumeMounts"] = [
            {"name": "k", "mountPath": "/keys"}]
        spec["containers"][0]["args"] = [
            "-De", "-f", "/home/mpiuser/.sshd_config", "-o",
            "AuthorizedKeysFile=/keys/authorized_keys"]
        told(MpiJob(ns, "locked", manifest), "ssh_auth", 100,
             "locked-worker-0", "key")


def test_another_mpi_implementation():
    """mpiImplementation: Intel in a job of Open MPI: other variables, another
    hostfile, and all the same a job."""
    with namespace("implementation") as ns:
        job = MpiJob(ns, "intel", mpijob("intel", HELLO,
                                         mpiImplementation="Intel"))
        end = job.finish()
        check(end == "Succeeded", f"the job {end}",
              *map(job.log, job.launchers()))


def test_more_ranks_than_slots():
    with namespace("slots") as ns:
        told(MpiJob(ns, "many", mpijob("many", [
            "mpirun", "-n", "3", "/home/mpiuser/hello"])), "not_enough_slots",
             100, "3", "2", "slotsPerWorker")


def test_a_program_that_is_not_there():
    with namespace("missing") as ns:
        for name, command, code, status in (
                ("missing", "/opt/app/nothing", "exe_not_runnable", 127),
                ("plain", "/etc/hostname", "exe_not_runnable", 126)):
            told(MpiJob(ns, name, mpijob(name, ["mpirun", "-n", "2",
                                                command])),
                 code, status, command, f"{name}-worker-")


def test_an_image_that_is_not_there():
    """One worker cannot be pulled: the launcher says for whom it waits, and
    which command shows why."""
    with namespace("pull") as ns:
        manifest = mpijob("unpulled", HELLO)
        part(manifest, "Launcher")["containers"][0]["env"] = [
            {"name": "MUSTER_CONNECT_TIMEOUT", "value": "15"}]
        part(manifest, "Worker")["containers"][0]["image"] = (
            "registry.invalid/none:1")
        _, status, text = MpiJob(ns, "unpulled", manifest).verdict()
        check(status == 200, f"exit code {status}", text)
        check("unpulled-worker-0" in text, "not for whom", text)
        check(f"-n {ns.name}" in text and "kubectl" in text,
              "no command that shows why", text)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
