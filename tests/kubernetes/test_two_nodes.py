#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job across two nodes: where its ranks are, a drain of the node of a worker,
a node that vanishes and comes back."""
import json
import os
import re
import sys

import kube
from kube import (Follower, MpiJob, Skip, check, mpijob, namespace, part,
                  told, until)

HELLO = "/home/mpiuser/hello"
MPIRUN = "mpirun -n {n}"
NATIVE = "muster launch -n {n} --bootstrap pmix --"
FORMS = (("native", NATIVE), ("mpirun", MPIRUN))
# Longer than the API server's idea of a node that says nothing.
PATIENCE = 2 * kube.PATIENCE


def nodes():
    """Names of our two nodes, the first with the control plane."""
    items = json.loads(told("get", "nodes", "-o", "json"))["items"]
    if not kube.OWN_NODE or len(items) != 2:
        raise Skip("the cluster is not our two nodes")
    return sorted(item["metadata"]["name"] for item in items)


def ready(node):
    conditions = json.loads(told("get", "node", node, "-o", "json"))[
        "status"]["conditions"]
    return any(c["type"] == "Ready" and c["status"] == "True"
               for c in conditions)


def switch(verb, node):
    """Cuts the power of one of our nodes, or starts it again."""
    with open(os.environ["MUSTER_NODE_POWER"], "w") as f:
        f.write(f"{verb} {node}\n")


def spread(name, command, launcher=None, **spec):
    """The manifest of a job with a worker on each node, as a job of many
    nodes asks for it, and the launcher on `launcher`."""
    manifest = mpijob(name, ["sh", "-c", command], **spec)
    workers = {f"{kube.LABEL}job-name": name, f"{kube.LABEL}job-role": "worker"}
    part(manifest, "Worker")["affinity"] = {"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100, "podAffinityTerm": {
                "labelSelector": {"matchLabels": workers},
                "topologyKey": "kubernetes.io/hostname"}}]}}
    if launcher:
        part(manifest, "Launcher")["nodeSelector"] = {
            "kubernetes.io/hostname": launcher}
    return manifest


def places(ns, job):
    """Node of each worker, by the worker's number."""
    pods = ns.pods(f"{kube.LABEL}job-name={job},{kube.LABEL}job-role=worker")
    return {int(pod["metadata"]["name"].rsplit("-", 1)[1]):
            pod["spec"].get("nodeName") for pod in pods}


def across(ns, job, both):
    """The number of the worker on the second node, once both run."""
    found = until(lambda: (p := places(ns, job)) and None not in p.values()
                  and len(p) == 2 and p, f"places of the workers of {job}")
    check(sorted(found.values()) == both, "not one worker on each node", found)
    return next(i for i, node in found.items() if node == both[1])


def test_ranks_on_both_nodes():
    """In the order of the hostfile, two to a worker; the ranks of one node talk
    to those of the other."""
    both = nodes()
    with namespace("across") as ns:
        for name, form in FORMS:
            job = MpiJob(ns, name, spread(
                name, f"cat /etc/mpi/hostfile; {form.format(n=4)} {HELLO}",
                slotsPerWorker=2))
            end = job.finish()
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            hosts = [f"{name}-worker-{i}.{name}.{ns.name}.svc slots=2"
                     for i in (0, 1)]
            check("\n".join(hosts) in log, "not the hostfile", log)
            told_places = dict(re.findall(r"rank (\d) of 4 on (\S+?),", log))
            check(told_places == {str(r): f"{name}-worker-{r // 2}"
                                  for r in range(4)}, "wrong order", log)
            check(log.count("sum of ranks 6") == 4, "wrong sums", log)
        # The workers are gone by now; the events have where they were.
        events = json.loads(ns.told("get", "events", "-o", "json"))["items"]
        bound = {(event["involvedObject"]["name"], node) for event in events
                 for node in both if event["reason"] == "Scheduled"
                 and f" to {node}" in event["message"]}
        for name, _ in FORMS:
            used = {node for pod, node in bound
                    if pod.startswith(f"{name}-worker-")}
            check(used == set(both), "not on both nodes", bound)


def test_a_drained_node_of_a_worker():
    """The verdict says that the pod was ended, not by whom. The worker comes
    back on the other node; the next launcher finds it there."""
    both = nodes()
    with namespace("drain") as ns:
        command = MPIRUN.format(n=2) + (
            f" sh -c 'echo all-is-up; {kube.WAIT_AT_GATE}; exec {HELLO}'")
        job = MpiJob(ns, "moved", spread(
            "moved", command, launcher=both[0],
            runPolicy={"backoffLimit": 1}))
        lost = f"moved-worker-{across(ns, 'moved', both)}"
        try:
            with Follower(ns, job.launcher()["metadata"]["name"]) as log:
                until(lambda: log.text().count("all-is-up") == 2,
                      "output of both ranks")
                told("drain", both[1], "--force", "--ignore-daemonsets",
                     "--pod-selector", f"{kube.LABEL}job-name=moved",
                     "--timeout=90s")
                code, status, text = job.verdict()
            check(code == "pod_terminated", f"the verdict is {code}", text)
            check(status == 202, f"exit code {status}", text)
            check(lost in text, f"no {lost}", text)
            kube.ended_from_outside(text)
            ns.open_gate()
            check(job.finish() == "Succeeded", "no retry has succeeded", text)
        finally:
            told("uncordon", both[1])
        logs = [job.log(pod) for pod in job.launchers()]
        check(len(logs) == 2, f"{len(logs)} launchers", *logs)
        check(any(f"rank {lost[-1]} of 2 on {lost}" in log for log in logs),
              f"no rank on {lost}", *logs)
        events = ns.told("get", "events")
        check(re.search(rf"Scheduled\s+pod/{lost}\s.*{both[0]}", events),
              f"{lost} did not come back on {both[0]}", events)


def test_a_node_vanishes_and_returns():
    """Without a word, as when its power is cut. The launcher on the other node
    ends by itself and names the worker; workers whose launcher was there end
    their ranks. The node that is back runs the next job."""
    both = nodes()
    with namespace("vanish") as ns:
        wait = "sh -c 'echo all-is-up; sleep 1000'"
        jobs = {name: MpiJob(ns, name, spread(
            name, f"{form.format(n=2)} {wait}", launcher=both[0]))
                for name, form in FORMS}
        jobs["orphan"] = MpiJob(ns, "orphan", spread(
            "orphan", f"{MPIRUN.format(n=2)} {wait}", launcher=both[1]))
        gone = {name: across(ns, name, both) for name in jobs}
        for job in jobs.values():
            with Follower(ns, job.launcher()["metadata"]["name"]) as log:
                until(lambda f=log: f.text().count("all-is-up") == 2,
                      f"output of both ranks of {job.name}")
        switch("cut", both[1])
        try:
            for name, _ in FORMS:
                code, status, text = jobs[name].verdict()
                check(status == 201, f"{name}: exit code {status} ({code})",
                      text)
                check(f"{name}-worker-{gone[name]}" in text,
                      "not which worker", text)
            left = f"orphan-worker-{1 - gone['orphan']}"
            until(lambda: "sleep" not in ns.kubectl(
                "exec", left, "--", "sh", "-c", "cat /proc/[0-9]*/comm")[1],
                  f"end of the rank in {left}", PATIENCE)
            until(lambda: not ready(both[1]), "news of the node", PATIENCE)
        finally:
            switch("start", both[1])
            until(lambda: ready(both[1]), "return of the node", PATIENCE)
        job = MpiJob(ns, "next", spread(
            "next", f"{MPIRUN.format(n=2)} {HELLO}",
            runPolicy={"cleanPodPolicy": "None"}))
        across(ns, "next", both)
        end = job.finish(PATIENCE)
        log = job.log(job.launcher())
        check(end == "Succeeded", f"the next job {end}", log)
        check("rank 1 of 2 on next-worker-1" in log, "no rank 1", log)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
