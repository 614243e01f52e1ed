#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdict as an Event on the MPIJob, by examples/event.yaml: it is there
when the launcher's pod is not, and its account may do nothing else."""
import json
import os
import sys

import kube
from kube import IMAGE, MpiJob, check, namespace, until

EXAMPLE_IMAGE = "registry.example/muster-openmpi:latest"


def test_the_verdict_outlives_the_pod():
    with open(os.path.join(kube.ROOT, "examples", "event.yaml")) as f:
        manifest = f.read().replace(EXAMPLE_IMAGE, IMAGE)
    manifest = manifest.replace('[mpirun, -np, "2", /bin/hostname]',
                                '[mpirun, -np, "2", sh, -c, "exit 7"]')
    manifest = manifest.replace("backoffLimit: 2", "backoffLimit: 0")
    manifest = manifest.replace(
        "serviceAccountName:",
        "securityContext: {runAsUser: 1000, fsGroup: 1000}\n          "
        "serviceAccountName:")
    with namespace("event") as ns:
        job = MpiJob(ns, "told", manifest)
        check(job.finish() == "Failed", "the job did not fail")
        ns.told("delete", "pod", job.launcher()["metadata"]["name"])

        def told():
            events = json.loads(ns.told("get", "events", "-o", "json"))
            return [e for e in events["items"]
                    if e["involvedObject"]["kind"] == "MPIJob"
                    and e["source"].get("component") == "muster"
                    or e.get("reportingComponent") == "muster"]
        events = until(told, "event of muster")
        check(len(events) == 1, f"{len(events)} events", events)
        text = events[0]["message"]
        check("rank" in text and "7" in text, "not the verdict", text)
        check(events[0]["type"] == "Warning", "no warning", events)
        shown = ns.told("get", "events")
        check(text.splitlines()[0][:60] in shown, "not shown", shown)
        who = f"system:serviceaccount:{ns.name}:muster-launcher"
        for verb, what in (("get", "pods"), ("list", "secrets"),
                           ("delete", "pods"), ("list", "events")):
            status, out, _ = ns.kubectl("auth", "can-i", verb, what,
                                        f"--as={who}")
            check(status != 0 and "no" in out, f"it may {verb} {what}", out)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
