# SPDX-License-Identifier: Apache-2.0
"""Controllers that only some tests need: JobSet, Kubeflow Trainer, Kueue.

Each is its program in an image of its own, and the manifests of its module as
they are but for this: the image is ours and never pulled; it asks for little
processor time, since a node may have two; Trainer does not fetch a JobSet from
the network, and its TrainJobStatus feature is on where it has one. Each makes
the certificates of its webhooks by itself.
"""
import json
import os
import shutil
import time

import archives
import programs
from problems import Problem

PATIENCE = 120
USER = "65532:65532"


class Controller:
    """`overlay` is the folder of its kustomization below its module's `files`
    folder. `probe` is an object that its webhooks are asked about."""

    def __init__(self, program, files, overlay, namespace, deployment, probe):
        self.program, self.files, self.overlay = program, files, overlay
        self.namespace, self.deployment = namespace, deployment
        self.probe = probe


JOBS = [{"name": "node", "template": {"spec": {"template": {"spec": {
    "restartPolicy": "Never",
    "containers": [{"name": "node", "image": "muster.test/none:1"}]}}}}}]

JOBSET = Controller("jobset", "config", "default", "jobset-system",
                    "jobset-controller-manager", {
                        "apiVersion": "jobset.x-k8s.io/v1alpha2",
                        "kind": "JobSet", "spec": {"replicatedJobs": JOBS}})
TRAINER = Controller("trainer", "manifests", "overlays/manager",
                     "kubeflow-system", "kubeflow-trainer-controller-manager",
                     {"apiVersion": "trainer.kubeflow.org/v1alpha1",
                      "kind": "ClusterTrainingRuntime",
                      "metadata": {"labels": {
                          "trainer.kubeflow.org/framework": "probe"}},
                      "spec": {"mlPolicy": {"numNodes": 1}, "template": {
                          "spec": {"replicatedJobs": JOBS}}}})
KUEUE = Controller("kueue", "config", "default", "kueue-system",
                   "kueue-controller-manager",
                   {"apiVersion": "kueue.x-k8s.io/v1beta2",
                    "kind": "ResourceFlavor"})
BY_COMPONENT = {"jobset": JOBSET, "jobset-0.8": JOBSET, "trainer": TRAINER,
                "trainer-2.0": TRAINER, "kueue": KUEUE}


def image(component):
    return f"muster.test/{component}:1"


def archive(folder, component):
    """The image of a controller's program."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, component)
    program = BY_COMPONENT[component].program
    with archives.layer(path + ".layer.tar") as layer:
        layer.file(programs.path(program, component), "/manager")
    return archives.image(path + ".tar", [image(component)], {
        "Entrypoint": ["/manager"], "User": USER}, [path + ".layer.tar"])


def install(node, folder, components):
    """Applies the manifests, and waits until all webhooks answer."""
    for component in components:
        node.kubectl("apply", "--server-side", "-k",
                     kustomization(folder, component), limit=120)
    for component in components:
        known = BY_COMPONENT[component]
        await_available(node, known)
        await_webhook(node, os.path.join(folder, component), known.probe)


def await_available(node, known):
    """The certificates come after the pod. A kubelet looks at a Secret once a
    minute, but at once where the pod changes: a change that the webhook of
    another controller refuses while that one starts, too."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            node.kubectl("--namespace", known.namespace, "annotate", "pods",
                         "--all", "--overwrite",
                         f"look-again={time.monotonic()}")
            node.kubectl("--namespace", known.namespace, "wait",
                         "--timeout=5s", "--for=condition=Available",
                         f"deployment/{known.deployment}")
            return
        except Problem:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def await_webhook(node, folder, probe):
    """A Service leads to its pod a moment after the pod is Ready."""
    path = os.path.join(folder, "probe.json")
    with open(path, "w") as f:
        json.dump({**probe, "metadata": {**probe.get("metadata", {}),
                                         "name": "probe"}}, f)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            node.kubectl("create", "--dry-run=server", "-f", path)
            return
        except Problem:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def kustomization(folder, component):
    """A folder for `kubectl apply -k`: a copy of the module's manifests, and
    beside it what is different here."""
    known = BY_COMPONENT[component]
    top = os.path.join(folder, component)
    shutil.rmtree(top, ignore_errors=True)
    shutil.copytree(programs.path(known.files, component),
                    os.path.join(top, "manifests"))
    if known is TRAINER:
        change_trainer(os.path.join(top, "manifests"))
    container = "/spec/template/spec/containers/0/"
    patch = [{"op": "add", "path": container + name, "value": value}
             for name, value in (("image", image(component)),
                                 ("imagePullPolicy", "Never"),
                                 ("resources", {"requests": {"cpu": "50m"}}))]
    with open(os.path.join(top, "kustomization.yaml"), "w") as f:
        json.dump({"resources": ["manifests/" + known.overlay],
                   "patches": [{"target": {"kind": "Deployment"},
                                "patch": json.dumps(patch)}]}, f)
    return top


def change_trainer(manifests):
    overlay = os.path.join(manifests, "overlays/manager/kustomization.yaml")
    with open(overlay) as f:
        lines = f.readlines()
    with open(overlay, "w") as f:
        f.writelines(line for line in lines if "third-party/" not in line)
    settings = os.path.join(manifests,
                            "base/manager/controller_manager_config.yaml")
    if os.path.exists(settings):  # Trainer 2.0 has none, nor the feature
        with open(settings, "a") as f:
            f.write("\nfeatureGates:\n  TrainJobStatus: true\n")
