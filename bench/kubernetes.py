#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From "created" to the first rank of an MPIJob on a real cluster, split into
operator, kubelet and launcher.

  tests/kubernetes/run.py --up                    # prints the kubectl to use
  bench/kubernetes.py [options] -- KUBECTL...

Every image and policy takes its turn within a round. Operator: until all pods
are made, by a watch. Kubelet, with the scheduler: until their containers have
started, by the birth of their logs. Readiness: until the operator makes the
launcher, where it waits for the workers. Launcher: until the first rank's own
clock. The node is on this machine. --save keeps the runs in results/.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "kubernetes"))

import kube  # noqa: E402

POLICIES = ("AtStartup", "WaitForWorkersReady")
IMAGES = {"muster": "muster.test/openmpi:1",
          "OpenSSH": "muster.test/openmpi-ssh:1"}
LIMIT = 300  # seconds for one job
PHASES = ("operator", "kubelet", "readiness", "launcher")


class Watch:
    """When each pod was first seen."""

    def __init__(self, namespace):
        self.seen = {}
        self.process = subprocess.Popen(
            [*kube.KUBECTL, "--namespace", namespace, "get", "pods",
             "--watch", "-o", "jsonpath={.metadata.name}{'\\n'}"],
            stdout=subprocess.PIPE, text=True, bufsize=1,
            start_new_session=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.seen.setdefault(line.strip(), time.time())

    def end(self):
        kube.kill_session(self.process)
        self.thread.join()


def started(namespace):
    """When each pod's container started first: its log's birth."""
    told = kube.on_node("find", "/var/log/pods", "-path",
                        f"/var/log/pods/{namespace}_*/0.log", "-printf",
                        "%B@ %p\\n")
    return {line.split("_")[1]: float(line.split()[0])
            for line in told.splitlines()}


def manifest(image, policy, workers):
    value = kube.mpijob("start", [
        "mpirun", "-n", str(workers), "sh", "-c", "echo at=$(date +%s.%N)"],
        workers, image, launcherCreationPolicy=policy,
        runPolicy={"backoffLimit": 20, "cleanPodPolicy": "None"})
    roles = value["spec"]["mpiReplicaSpecs"]
    # The operator's default: a launcher that came too early starts again.
    roles["Launcher"]["restartPolicy"] = "OnFailure"
    # So is a worker Ready when it listens, which the policy waits for.
    roles["Worker"]["template"]["spec"]["containers"][0]["readinessProbe"] = {
        "tcpSocket": {"port": 2222}, "periodSeconds": 1}
    return value


def one(image, policy, workers):
    with kube.namespace("bench") as ns:
        watch = Watch(ns.name)
        try:
            time.sleep(1)
            load = os.getloadavg()[0]
            created = time.time()
            job = kube.MpiJob(ns, "start", manifest(image, policy, workers))
            end = job.finish(LIMIT)
        finally:
            watch.end()
        pod = job.launcher()
        log = job.log(pod)
        name = pod["metadata"]["name"]
        kube.check(end == "Succeeded", f"the job {end}", log)
        ranks = [float(line.partition("at=")[2]) for line in log.splitlines()
                 if "at=" in line]
        kube.check(len(ranks) == workers, f"{len(ranks)} ranks", log)
        up = started(ns.name)
        launcher = {pod: watch.seen[pod] for pod in up if pod == name}
        workers_made = max(watch.seen[pod] for pod in up if pod != name)
        workers_up = max(at for pod, at in up.items() if pod != name)
        if policy == "AtStartup":
            made = max(workers_made, launcher[name])
            all_up = max(workers_up, up[name])
            split = made - created, all_up - made, 0, min(ranks) - all_up
        else:
            split = (workers_made - created,
                     workers_up - workers_made + up[name] - launcher[name],
                     launcher[name] - workers_up, min(ranks) - up[name])
        return {"total": min(ranks) - created,
                "all ranks": max(ranks) - created,
                **dict(zip(PHASES, split)), "load": load,
                "restarts": pod["status"]["containerStatuses"][0][
                    "restartCount"]}


def wait_for_quiet():
    """Until the pods of the job before are gone."""
    kube.until(lambda: "bench-" not in kube.told("get", "pods", "-A"),
               "end of earlier pods", LIMIT)


def table(runs):
    lines = ["| workers | image | policy | first rank s | all ranks s | "
             "operator | kubelet | readiness | launcher | restarts |",
             "|---:|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for (workers, image, policy), some in runs.items():
        def middle(key, some=some):
            return statistics.median(run[key] for run in some)
        lines.append(
            f"| {workers} | {image} | {policy} | {middle('total'):.1f} | "
            f"{middle('all ranks'):.1f} | "
            + " | ".join(f"{middle(phase):.1f}" for phase in PHASES)
            + f" | {middle('restarts'):g} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="bench/kubernetes.py")
    parser.add_argument("--workers", default="2,8,30")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("kubectl", nargs="+")
    options = parser.parse_args()
    kube.KUBECTL, kube.OWN_NODE = options.kubectl, True
    runs = {}
    for workers in map(int, options.workers.split(",")):
        for _ in range(options.count):
            for policy in POLICIES:
                for image, name in IMAGES.items():
                    wait_for_quiet()
                    run = one(name, policy, workers)
                    runs.setdefault((workers, image, policy), []).append(run)
                    print(workers, image, policy, {
                        key: round(value, 2) for key, value in run.items()},
                        flush=True)
        print(table(runs), flush=True)
    if options.save:
        path = os.path.join(HERE, "results", time.strftime(
            "kubernetes-%Y%m%d-%H%M.json", time.gmtime()))
        with open(path, "w") as f:
            json.dump([{"workers": w, "image": i, "policy": p, "runs": some}
                       for (w, i, p), some in runs.items()], f, indent=1)


if __name__ == "__main__":
    main()
