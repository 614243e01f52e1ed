#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cluster's DNS while a job starts and while it runs: it stands still, as
a CoreDNS without a processor does, is away, as between two of its pods, or is
restarted."""
import contextlib
import sys
import time

import kube
from kube import Follower, MpiJob, check, mpijob, namespace, on_node, until

HELLO = "/home/mpiuser/hello"
WAYS = {"native": ["muster", "launch", "-n", "2", "--bootstrap", "pmix", "--"],
        "mpirun": ["mpirun", "-n", "2"]}
TABLE = "muster-test-dns"
REFUSE = f"""table inet {TABLE} {{
  chain input {{
    type filter hook input priority -10;
    meta l4proto {{ tcp, udp }} th dport 53 reject
  }}
}}"""


def server():
    """The process of CoreDNS."""
    found = on_node("pgrep", "-x", "coredns").split()
    check(len(found) == 1, f"{len(found)} CoreDNS")
    return found[0]


@contextlib.contextmanager
def still():
    """No answer, for as long as it takes."""
    stopped = server()
    on_node("kill", "-STOP", stopped)
    try:
        yield
    finally:
        on_node("kill", "-CONT", stopped)


def restart():
    """It is killed, and the node starts it again, with an empty cache."""
    killed = server()
    on_node("kill", "-KILL", killed)

    def another():
        found = on_node("sh", "-c", "pgrep -x coredns || true").split()
        return len(found) == 1 and found != [killed]

    until(another, "another CoreDNS")


@contextlib.contextmanager
def away():
    """Nobody listens: "port unreachable", as kube-proxy has it for a Service
    without a pod."""
    on_node("nft", REFUSE)
    try:
        yield
    finally:
        on_node("nft", "delete", "table", "inet", TABLE)


def starts_after(how, seconds):
    """Jobs created meanwhile wait, and start once there is DNS again."""
    with namespace("dns-start") as ns:
        with how():
            jobs = {way: MpiJob(ns, way, mpijob(way, [*line, HELLO]))
                    for way, line in WAYS.items()}
            for job in jobs.values():
                pod = job.launcher()["metadata"]["name"]
                until(lambda pod=pod: "waiting for 2 of 2 workers"
                      in ns.kubectl("logs", pod)[1], "a word of the wait")
            time.sleep(seconds)
            for way, job in jobs.items():
                log = job.log(job.launcher())
                check("of 2 on" not in log, f"{way}: a rank without DNS", log)
                check("the cluster's DNS does not answer" in log,
                      f"{way}: not what is awaited", log)
        for way, job in jobs.items():
            end = job.finish()
            logs = [job.log(pod) for pod in job.launchers()]
            check(end == "Succeeded" and len(logs) == 1,
                  f"{way}: {end}, {len(logs)} launchers", *logs)
            check("rank 1 of 2 on" in logs[0], f"{way}: no rank 1", logs[0])


def test_it_stands_still_while_a_job_starts():
    starts_after(still, 10)


def test_it_is_away_while_a_job_starts():
    starts_after(away, 10)


def test_it_restarts_while_a_job_starts_and_runs():
    """Again and again until the ranks are up, and once more after that."""
    with namespace("dns-restart") as ns:
        jobs = {way: MpiJob(ns, way, mpijob(way, [
            *line, "sh", "-c", "echo all-is-up; sleep 5; echo all-is-done"]))
            for way, line in WAYS.items()}
        for _ in range(3):
            restart()
            time.sleep(1)
        for way, job in jobs.items():
            pod = job.launcher()["metadata"]["name"]
            until(lambda pod=pod: ns.kubectl("logs", pod)[1].count("all-is-up")
                  >= 2, f"{way}: output of both ranks")
        restart()
        for way, job in jobs.items():
            end = job.finish()
            logs = [job.log(pod) for pod in job.launchers()]
            check(end == "Succeeded" and len(logs) == 1,
                  f"{way}: {end}, {len(logs)} launchers", *logs)
            check(logs[0].count("all-is-done") == 2, f"{way}: cut", logs[0])


def test_a_job_that_runs_needs_none():
    """It goes on, is looked at and ends while there is no DNS."""
    with namespace("dns-run") as ns:
        jobs = {way: MpiJob(ns, way, mpijob(way, [
            *line, "sh", "-c", "echo all-is-up; sleep 40; echo all-is-done"]))
            for way, line in WAYS.items()}
        pods = {way: job.launcher()["metadata"]["name"]
                for way, job in jobs.items()}
        with contextlib.ExitStack() as stack:
            logs = {way: stack.enter_context(Follower(ns, pod))
                    for way, pod in pods.items()}
            for log in logs.values():
                until(lambda log=log: log.text().count("all-is-up") >= 2,
                      "output of both ranks")
            with still():
                for way, pod in pods.items():
                    status, out, err = ns.kubectl("exec", pod, "--", "muster",
                                                  "status")
                    check(status == 0 and "2 running" in out,
                          f"{way}: muster status", out, err)
                for way, log in logs.items():
                    text = log.whole()
                    check(text.count("all-is-done") == 2
                          and "ended well" in text, f"{way}: not to its end",
                          text)
        for way, job in jobs.items():
            check(job.finish() == "Succeeded", f"{way} failed")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
