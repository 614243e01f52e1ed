# SPDX-License-Identifier: Apache-2.0
"""Layers and image archives, as `ctr images import` and `docker load` take
them. A layer is a tar file; an image names layers and a configuration."""
import contextlib
import hashlib
import io
import json
import os
import tarfile


@contextlib.contextmanager
def layer(path):
    """A new layer, which is there only when it is whole."""
    made = path + ".building"
    with tarfile.open(made, "w") as tar:
        yield Layer(tar)
    os.rename(made, path)


class Layer:
    """Whatever is added belongs to root unless told otherwise."""

    def __init__(self, tar):
        self.tar = tar

    def tree(self, source, target):
        """A folder of this machine with all that is in it."""
        self.tar.add(source, target.lstrip("/"), filter=as_root)

    def root(self, source):
        """A whole root file system, with its owners and its devices."""
        self.tar.add(source, ".", filter=by_number)

    def file(self, source, target, mode=0o755):
        with open(source, "rb") as f:
            self.data(f.read(), target, mode)

    def data(self, data, target, mode=0o644, owner=0):
        info = tarfile.TarInfo(target.lstrip("/"))
        info.size, info.mode, info.uid = len(data), mode, owner
        self.tar.addfile(info, io.BytesIO(data))

    def folder(self, target, mode=0o755, owner=0):
        info = tarfile.TarInfo(target.lstrip("/"))
        info.type, info.mode, info.uid = tarfile.DIRTYPE, mode, owner
        self.tar.addfile(info)

    def link(self, target, points_to):
        info = tarfile.TarInfo(target.lstrip("/"))
        info.type, info.linkname = tarfile.SYMTYPE, points_to
        self.tar.addfile(info)


def by_number(info):
    """Names of this machine's users are not the image's."""
    info.uname = info.gname = ""
    return info


def as_root(info):
    info.uid = info.gid = 0
    return by_number(info)


def image(path, names, config, layers):
    """Writes the archive of one image that goes by several names."""
    return images(path, [(names, config, layers)])


def images(path, made):
    """Writes the archive of several images, each its names, configuration and
    layers; a layer that several have is there once."""
    manifest, files = [], {}
    with tarfile.open(path, "w") as tar:
        whole = Layer(tar)
        for names, config, layers in made:
            files |= {file: digest(file) for file in layers
                      if file not in files}
            blob = configuration(config, [files[file] for file in layers])
            name = hashlib.sha256(blob).hexdigest() + ".json"
            whole.data(blob, name)
            manifest.append({"Config": name, "RepoTags": names, "Layers": [
                files[file] + "/layer.tar" for file in layers]})
        for file, d in files.items():
            tar.add(file, d + "/layer.tar")
        whole.data(json.dumps(manifest).encode(), "manifest.json")
    return path


def configuration(config, digests):
    return json.dumps({
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[
            os.uname().machine],
        "os": "linux", "created": "2026-01-01T00:00:00Z", "config": config,
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + d for d in digests]}}).encode()


def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()
