# SPDX-License-Identifier: Apache-2.0
"""Every example parses, and says only what muster and Kubernetes understand.

  tests/images/test_examples.py [MUSTER]

With MUSTER (the program, or $MUSTER) the options in the manifests are checked
against its own help as well. Prints "N passed, N failed".
"""
import glob
import json
import os
import re
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
VERSIONS = {
    "MPIJob": "kubeflow.org/v2beta1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "Job": "batch/v1",
    "ServiceAccount": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "NetworkAttachmentDefinition": "k8s.cni.cncf.io/v1",
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
}
# The table of docs/exit-codes.md: what a retry rule may name.
PERMANENT = {2, 100, 101, 102, 126, 127}
RETRY = {200, 201, 202, 203, 204, 209}


def need(condition, text):
    if not condition:
        raise AssertionError(text)


def walk(node):
    yield node
    children = node.values() if isinstance(node, dict) else (
        node if isinstance(node, list) else ())
    for child in children:
        yield from walk(child)


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [d for d in yaml.safe_load_all(file) if d]


def check_manifest(path):
    for document in documents(path):
        kind = document.get("kind")
        need(kind in VERSIONS, f"unknown kind {kind}")
        need(document["apiVersion"] == VERSIONS[kind],
             f"{kind} has apiVersion {document['apiVersion']}")
        need(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?",
                          document["metadata"]["name"]), "metadata.name")
        for node in walk(document):
            if isinstance(node, dict) and "volumeMounts" in node:
                need("image" in node, "volumeMounts outside a container")
            if isinstance(node, dict) and "containers" in node:
                check_pod(node)
            if isinstance(node, dict) and "onExitCodes" in node:
                codes = set(node["onExitCodes"]["values"])
                allowed = PERMANENT if node["action"] == "FailJob" else RETRY
                need(codes <= allowed, f"{node['action']} for {codes - allowed}")


def check_retries(path):
    """No permanent error is tried again for ever, and a failed launcher stays
    to be read."""
    for document in documents(path):
        spec = document.get("spec")
        if document["kind"] == "MPIJob":  # its API has no podFailurePolicy
            need(0 <= spec.get("runPolicy", {}).get("backoffLimit", -1) <= 6,
                 "runPolicy.backoffLimit is not set")
            launcher = spec["mpiReplicaSpecs"]["Launcher"]
            need(launcher.get("restartPolicy") == "Never",
                 "the launcher's restartPolicy is not Never")
        elif document["kind"] == "Job":
            check_job(spec)
        elif document["kind"] in ("JobSet", "ClusterTrainingRuntime"):
            check_jobset(spec["template"]["spec"]
                         if document["kind"] != "JobSet" else spec)


def check_jobset(spec):
    jobs = {job["name"]: job["template"]["spec"]
            for job in spec["replicatedJobs"]}
    check_job(jobs["launcher"])
    policy = spec.get("failurePolicy")
    if policy:  # else the first Job that fails ends all
        need(policy["maxRestarts"] <= 6, "maxRestarts")
        need({"action": "FailJobSet", "name": "permanent",
              "onJobFailureReasons": ["PodFailurePolicy"]} in policy["rules"],
             "a permanent error restarts the JobSet")


def check_job(spec):
    need(0 <= spec.get("backoffLimit", -1) <= 6, "backoffLimit is not set")
    rules = [rule for rule in spec["podFailurePolicy"]["rules"]
             if rule["action"] == "FailJob"]
    need([set(rule["onExitCodes"]["values"]) for rule in rules] == [PERMANENT],
         "FailJob does not have all permanent codes")
    need(spec["template"]["spec"].get("restartPolicy") == "Never",
         "podFailurePolicy needs restartPolicy: Never")


def check_pod(spec):
    volumes = {v["name"] for v in spec.get("volumes", [])}
    for container in spec["containers"]:
        for mount in container.get("volumeMounts", []):
            need(mount["name"] in volumes, f"no volume {mount['name']}")
        for word in (container.get("command") or []) + (
                container.get("args") or []):
            need(isinstance(word, str), f"{word!r} is not a string")


def muster_lines(path):
    for document in documents(path):
        for node in walk(document):
            if not isinstance(node, dict) or "command" not in node:
                continue
            words = (node["command"] or []) + (node.get("args") or [])
            if len(words) > 1 and words[0] == "muster":
                yield words[1:]


def options_of(muster, command):
    text = subprocess.run([muster, command, "--help-all"], check=True, text=True,
                          capture_output=True, timeout=30).stdout
    return set(re.findall(r"(?:^|[ ,])(--?[a-zA-Z][a-z-]*)", text, re.M))


def check_options(path, muster):
    for words in muster_lines(path):
        known = options_of(muster, words[0])
        for word in words[1:]:
            if word == "--":
                break
            if word.startswith("-"):
                need(word.split("=")[0] in known,
                     f"muster {words[0]} has no option {word}")


def check_dashboard(path):
    with open(path, encoding="utf-8") as file:
        board = json.load(file)
    with open(os.path.join(ROOT, "docs", "metrics.md"),
              encoding="utf-8") as file:
        documented = set(re.findall(r"`(muster_[a-z_]+)`", file.read()))
    used = set()
    for panel in board["panels"]:
        for target in panel["targets"]:
            used |= set(re.findall(r"muster_[a-z_]+", target["expr"]))
    need(used, "no metric is shown")
    need(used <= documented, f"not documented: {used - documented}")


def main():
    muster = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MUSTER")
    checks = [(p, check_manifest, (p,))
              for p in sorted(glob.glob(os.path.join(EXAMPLES, "*.yaml")))]
    checks += [(p, check_retries, (p,)) for p, _, _ in checks]
    checks += [(p, check_dashboard, (p,))
               for p in glob.glob(os.path.join(EXAMPLES, "*.json"))]
    if muster:
        checks += [(p, check_options, (p, muster)) for p, f, _ in checks
                   if f is check_manifest]
    failed = 0
    for path, check, arguments in checks:
        try:
            check(*arguments)
        except (AssertionError, KeyError, TypeError, ValueError,
                yaml.YAMLError) as error:
            failed += 1
            print(f"{os.path.basename(path)}: {check.__name__}: {error!r}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
