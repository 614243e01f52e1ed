# SPDX-License-Identifier: Apache-2.0
"""The MPIs that the lines run with: Debian's, and the makers' own releases from
PyPI, unpacked in a cache outside of the tree and mounted into the pods.

find(name) gives an Mpi, or raises Skip with one sentence.
"""
import os
import subprocess
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(TESTS, "cluster"), os.path.join(TESTS, "kubernetes")]

from harness import PROGRAMS, Skip, program  # noqa: E402
from problems import Problem  # noqa: E402
import wheels  # noqa: E402

# Since it brings no libfabric it takes that of the last release that does.
INTEL = ("2021.19.0", "708b4336c9d303a3d807b58054c502ed4f716dfb074dfa48904180b"
                      "46d14bb40")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MANIFESTS = {"open": "pi-openmpi.yaml", "mpich": "pi-mpich.yaml",
             "intel": "pi-intel.yaml"}


@dataclass
class Mpi:
    name: str
    family: str            # open, mpich, intel: whose options it takes
    command: str           # as people type it
    ways: str              # programs/ways.c for it
    binds: list = field(default_factory=list)
    env: dict = field(default_factory=dict)   # of the image
    plain: dict = field(default_factory=dict)  # for its hosts, if plain
    always: list = field(default_factory=list)  # options of every line

    @property
    def manifest(self):
        return MANIFESTS[self.family]

    @property
    def hydra(self):
        return self.family != "open"


def release(name, pinned=None):
    try:
        return wheels.unpacked(name, pinned)
    except Problem as e:
        raise Skip(str(e)) from e


def compiled(source, compiler, library, place):
    """The releases have the binary interface that the headers of Debian's
    packages describe."""
    target = os.path.join(PROGRAMS, f"{source}-{os.path.basename(library)}")
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    question = "--showme:compile" if "openmpi" in compiler else "-compile_info"
    words = subprocess.run([compiler, question], capture_output=True, text=True,
                           check=True).stdout.split()
    subprocess.run(
        ["gcc", "-O1", *(w for w in words if w.startswith("-I")), "-o", target,
         os.path.join(TESTS, "cluster", "programs", source + ".c"), library,
         "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{place}/lib"],
        check=True, timeout=120)
    return target


def image(place, more=()):
    """PATH of an image that has an MPI at `place`; muster's names come first."""
    return {"PATH": ":".join(["/opt/muster/dropin/bin", f"{place}/bin",
                              SYSTEM_PATH]), **dict(more)}


def debian_open():
    return Mpi("Open MPI 4.1 (Debian)", "open", "mpirun.openmpi",
               program("ways"))


def debian_mpich():
    return Mpi("MPICH 4.0 (Debian)", "mpich", "mpiexec.hydra",
               program("ways", "mpicc.mpich"))


def wheel_open():
    tree, place = release("openmpi"), "/opt/openmpi"
    library = os.path.join(tree, "lib", "libmpi.so.40")
    made = compiled("ways", "mpicc.openmpi", library, place)
    return Mpi("Open MPI 5.0.11 (PyPI)", "open", "mpirun", made,
               binds=[(tree, place, True)], env=image(place),
               plain={"PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile"})


def wheel_mpich():
    tree, place = release("mpich"), "/opt/mpich"
    library = os.path.join(tree, "lib", "libmpi.so.12")
    made = compiled("ways", "mpicc.mpich", library, place)
    return Mpi("MPICH 5.0.2 (PyPI)", "mpich", "mpiexec", made,
               binds=[(tree, place, True)], env=image(place))


def wheel_intel():
    tree, place = release("impi-rt", INTEL), "/opt/intel/oneapi/mpi/2021.19"
    fabric = os.path.join(release("impi-rt"), "lib", "libfabric")
    library = os.path.join(tree, "lib", "libmpi.so.12")
    made = compiled("ways", "mpicc.mpich", library, place)
    return Mpi("Intel MPI 2021.19 (PyPI)", "intel", "mpirun", made,
               binds=[(tree, place, True), (fabric, "/opt/libfabric", True)],
               env=image(place, {
                   "I_MPI_ROOT": place,
                   "LD_LIBRARY_PATH": f"{place}/lib:/opt/libfabric",
                   "FI_PROVIDER_PATH": "/opt/libfabric/prov",
                   "FI_PROVIDER": "tcp"}.items()))


MPIS = {"openmpi4": debian_open, "mpich4": debian_mpich,
        "openmpi5": wheel_open, "mpich5": wheel_mpich, "intel": wheel_intel}
DEBIAN = ("openmpi4", "mpich4")
