#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From "created" to the first rank of an MPIJob on a real cluster, split into
operator, kubelet and launcher.

  tests/kubernetes/run.py --up                    # prints the kubectl to use
  bench/kubernetes.py [options] -- KUBECTL...

Every image and policy takes its turn within a round. Operator: until all pods
are made, by a watch. Kubelet, with the scheduler: until their containers have
started, by their own clock. Readiness: until the operator makes the
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


def manifest(image, policy, workers):
    """Every container says when it starts; the launcher keeps it where it
    outlives a restart."""
    value = kube.mpijob("start", [
        "sh", "-c", "date +start=%s.%N >> /start/at; cat /start/at; exec "
        f"mpirun -n {workers} date +at=%s.%N"], workers, image,
        launcherCreationPolicy=policy,
        runPolicy={"backoffLimit": 20, "cleanPodPolicy": "None"})
    # The operator's default: a launcher that came too early starts again.
    value["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "OnFailure"
    launcher = kube.part(value, "Launcher")
    launcher["volumes"] = [{"name": "start", "emptyDir": {}}]
    launcher["containers"][0]["volumeMounts"] = [
        {"name": "start", "mountPath": "/start"}]
    worker = kube.part(value, "Worker")["containers"][0]
    worker["args"] = ["-c", "date +start=%s.%N; exec /usr/sbin/sshd -De -f "
                      "/home/mpiuser/.sshd_config"]
    worker["command"] = ["sh"]
    # So is a worker Ready when it listens, which the policy waits for.
    worker["readinessProbe"] = {"tcpSocket": {"port": 2222},
                                "periodSeconds": 1}
    return value


def times(text, mark):
    return [float(line.partition(mark)[2]) for line in text.splitlines()
            if mark in line]


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
        kube.check(end == "Succeeded", f"the job {end}", log)
        first = min(times(log, "at="))
        kube.check(len(times(log, "at=")) == workers, "too few ranks", log)
        up = times(ns.told(
            "logs", "-l", f"{kube.LABEL}job-role=worker", "--tail=-1",
            "--max-log-requests=100"), "start=")
        kube.check(len(up) == workers, f"{len(up)} workers started")
        name = pod["metadata"]["name"]
        made = max(at for pod, at in watch.seen.items() if pod != name)
        launched = times(log, "start=")[0]
        if policy == "AtStartup":
            made = max(made, watch.seen[name])
            all_up = max(*up, launched)
            split = made - created, all_up - made, 0, first - all_up
        else:
            split = (made - created,
                     max(up) - made + launched - watch.seen[name],
                     watch.seen[name] - max(up), first - launched)
        return {"total": first - created,
                "all ranks": max(times(log, "at=")) - created,
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
