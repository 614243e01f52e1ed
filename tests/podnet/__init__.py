# SPDX-License-Identifier: Apache-2.0
"""Pods from Linux namespaces on one machine: see README.md beside this file."""
from .cluster import Cluster, ExitStatus, Job, Pod, PodnetError      # noqa: F401
from .manifest import Manifest, ManifestError, load_manifest         # noqa: F401
