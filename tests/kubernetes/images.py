# SPDX-License-Identifier: Apache-2.0
"""The images that the tests start, made without a container builder.

    pause         what holds a pod's namespaces, from Kubernetes' own source
    mpi-operator  the operator's program and nothing else
    openmpi       Debian 12, its Open MPI, muster in place of OpenSSH as
                  README.md has it, the operator's pi and our hello
    mpich         the same with MPICH's own release
    openmpi5      the same with Open MPI 5's
    intel         the same with Intel MPI's own release, laid out and entered
                  as the operator's Intel image is
    …-ssh         these with OpenSSH instead, set up as the operator's are
    example-…     what examples/ start: the same with user, entry and PATH of
                  docs/images.md, and /opt/app/hello

A Debian root is debootstrapped once and cached as a layer; its mirror is the
one that apt uses here, or $MUSTER_MIRROR.
"""
import fcntl
import hashlib
import os
import subprocess
import tempfile
from dataclasses import dataclass, field

import archives
import plan
import programs
import wheels
from problems import Problem

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(ROOT, "tests", "cluster", "programs")

OPERATOR = "docker.io/mpioperator/mpi-operator:0.8.2"
# The image of the operator's example, which so runs unchanged.
EXAMPLE = "docker.io/mpioperator/mpi-pi:openmpi"

RELEASE = "bookworm"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BASE = ["libssl3", "libstdc++6"]
SSH = ["openssh-server", "openssh-client"]
CLIENT_CONFIG = b"""Host *
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    Port 2222
"""
SERVER_CONFIG = b"StrictModes no\nPort 2222\n"
INTEL = "/opt/intel/oneapi"


@dataclass
class Mpi:
    """An MPI as an image has it."""
    packages: list        # of Debian
    wheel: str = ""       # its own release; without, compilers of Debian
    place: str = ""       # of the wheel in the image
    on_path: bool = True  # the wheel's bin directory, by the image
    env: list = field(default_factory=list)  # of an image without entrypoint
    hydra: bool = True  # the operator's entrypoint is for those


# The operator's entrypoint asks nslookup.
DNS = ["bind9-dnsutils"]
MPIS = {
    # Python is what the command of Kubeflow's SDK calls.
    "openmpi": Mpi(["openmpi-bin", "python3-minimal"]),
    "openmpi5": Mpi(DNS, "openmpi", "/opt/openmpi", hydra=False),
    "mpich": Mpi(DNS, "mpich", "/opt/mpich"),
    "intel": Mpi(DNS, "impi-rt", f"{INTEL}/mpi/2021.14", on_path=False, env=[
        f"I_MPI_ROOT={INTEL}/mpi/2021.14",
        f"LD_LIBRARY_PATH={INTEL}/mpi/2021.14/lib:"
        f"{INTEL}/mpi/2021.14/lib/libfabric",
        f"FI_PROVIDER_PATH={INTEL}/mpi/2021.14/lib/libfabric/prov",
        "FI_PROVIDER=tcp"]),
}
# As Intel's: its own directory comes first, whatever the image has. Without
# libraries for RDMA Intel's libfabric takes shared memory, between pods, too.
SETVARS = f"""export I_MPI_ROOT={MPIS['intel'].place}
export PATH=$I_MPI_ROOT/bin:$PATH
export LD_LIBRARY_PATH=$I_MPI_ROOT/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$I_MPI_ROOT/lib/libfabric
export FI_PROVIDER_PATH=$I_MPI_ROOT/lib/libfabric/prov FI_PROVIDER=tcp
"""


def name(kind):
    """What the image of a kind is called."""
    return f"muster.test/{kind}:1"


def make(folder, prefix, kinds):
    """Archives of all images, for Cluster.load()."""
    os.makedirs(folder, exist_ok=True)
    return [pause(folder), operator(folder),
            *(mpi(folder, prefix, kind) for kind in kinds)]


def pause(folder):
    program = os.path.join(folder, "pause")
    run("gcc", "-Os", "-static", "-DVERSION=test", "-o", program,
        programs.path("build/pause/linux/pause.c"))
    with archives.layer(program + ".layer.tar") as layer:
        layer.file(program, "/pause")
    return archives.image(program + ".tar", [plan.PAUSE_IMAGE], {
        "Entrypoint": ["/pause"], "User": "65535:65535"}, [
            program + ".layer.tar"])


def operator(folder):
    path = os.path.join(folder, "mpi-operator")
    with archives.layer(path + ".layer.tar") as layer:
        layer.file(programs.path("mpi-operator"), "/opt/mpi-operator")
    return archives.image(path + ".tar", [OPERATOR], {
        "Entrypoint": ["/opt/mpi-operator"]}, [path + ".layer.tar"])


def mpi(folder, prefix, kind):
    path = os.path.join(folder, kind)
    library = kind.removesuffix("-ssh")
    with_muster = library == kind
    own = MPIS[library]
    with archives.layer(path + ".start.tar") as layer:
        if with_muster:
            kit(layer, prefix)
        else:
            openssh(layer)
    with archives.layer(path + ".app.tar") as layer:
        application(layer, folder, library)
    layers = [debian(kind), path + ".start.tar", path + ".app.tar"]
    config = {"WorkingDir": "/home/mpiuser"}
    folders = ["/opt/muster/dropin/bin"] if with_muster else []
    if own.wheel:
        layers.insert(1, release(folder, own))
        if own.hydra:
            config["Entrypoint"] = ["/entrypoint.sh"]
        folders += [own.place + "/bin"] if own.on_path else []
    config["Env"] = ["PATH=" + ":".join([*folders, PATH])]
    names = [name(kind), *([EXAMPLE] if kind == "openmpi" else [])]
    examples = [example(folder, library, layers)] if with_muster else []
    return archives.images(path + ".tar", [(names, config, layers),
                                           *examples])


def example(folder, library, layers):
    """As the images of docs/images.md: any command, user 1000 of group 0."""
    own = MPIS[library]
    path = os.path.join(folder, library + ".example.tar")
    with archives.layer(path) as layer:
        layer.folder("/root", 0o750)
        layer.file(os.path.join(folder, f"hello-{library}"), "/opt/app/hello")
    found = [f"{own.place}/bin"] if own.wheel else []
    env = ["PATH=" + ":".join(["/opt/muster/dropin/bin", *found, PATH])]
    config = {"WorkingDir": "/home/mpiuser", "User": "1000:0",
              "Entrypoint": ["muster", "entry"],
              "Env": env + own.env}
    return [name("example-" + library)], config, [*layers, path]


def release(folder, own):
    """The layer of an MPI's own release, with the operator's entrypoint,
    which waits for names and reads Intel's settings."""
    tree = wheels.unpacked(own.wheel)
    path = os.path.join(folder, own.wheel + ".release.tar")
    with archives.layer(path) as layer:
        for part in ("bin", "lib", "etc", "opt", "share"):
            if os.path.exists(os.path.join(tree, part)):
                layer.tree(os.path.join(tree, part), f"{own.place}/{part}")
        if not own.on_path:
            layer.data(SETVARS.encode(), f"{INTEL}/setvars.sh")
        layer.file(programs.path("build/base/entrypoint.sh"),
                   "/entrypoint.sh")
    return path


def kit(layer, prefix):
    """As "Into an image" in README.md."""
    layer.tree(prefix, "/opt/muster")
    layer.link("/usr/sbin/sshd", "/opt/muster/bin/muster")


def openssh(layer):
    """As the operator's build/base/Dockerfile."""
    layer.folder("/run/sshd")
    layer.data(CLIENT_CONFIG, "/etc/ssh/ssh_config.d/mpi.conf")
    layer.data(SERVER_CONFIG, "/etc/ssh/sshd_config.d/mpi.conf")


def application(layer, folder, library):
    """What the operator's example image has in its user's home."""
    with open(programs.path("build/base/sshd_config"), "rb") as f:
        layer.data(f.read() + b"Port 2222\n", "/home/mpiuser/.sshd_config",
                   owner=1000)
    for program, source in (
            ("pi", programs.path("examples/v2beta1/pi/pi.cc")),
            ("hello", os.path.join(PROGRAMS, "hello.c"))):
        built = os.path.join(folder, f"{program}-{library}")
        compile_for(MPIS[library], source, built)
        layer.file(built, f"/home/mpiuser/{program}")


def compile_for(own, source, built):
    """By Debian's compilers. The releases have the binary interface that the
    headers of Debian's Open MPI and MPICH describe, under the usual name of
    the library."""
    c = source.endswith(".c")
    if not own.wheel:
        run("mpicc.openmpi" if c else "mpicxx.openmpi", "-O2", "-o", built,
            source)
        return
    info, library = (("-compile_info", "libmpi.so.12") if own.hydra
                     else ("--showme:compile", "libmpi.so.40"))
    headers = run("mpicc.mpich" if own.hydra else "mpicc.openmpi",
                  info).split()
    run("gcc" if c else "g++", "-O2", "-DMPICH_SKIP_MPICXX",
        "-DOMPI_SKIP_MPICXX",
        *(word for word in headers if word.startswith("-I")), "-o", built,
        source, os.path.join(wheels.unpacked(own.wheel), "lib", library),
        "-Wl,--allow-shlib-undefined",
        *([f"-Wl,-rpath,{own.place}/lib"] if own.on_path else []))


def debian(kind):
    """The cached layer of the Debian root that an image starts from."""
    packages = MPIS[kind.removesuffix("-ssh")].packages + BASE
    if kind.endswith("-ssh"):
        packages += SSH
    key = hashlib.sha256(repr((RELEASE, packages)).encode()).hexdigest()[:12]
    path = os.path.join(programs.cache(), "layers", f"{RELEASE}-{key}.tar")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            bootstrap(path, packages)
    return path


def bootstrap(path, packages):
    print(f"making a Debian root with {packages[0]}", flush=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as work:
        root = os.path.join(work, "root")
        run("unshare", "--mount", "debootstrap", "--variant=minbase",
            "--include=" + ",".join(packages), RELEASE, root, mirror())
        run("chroot", root, "useradd", "--uid", "1000", "--create-home",
            "mpiuser")
        for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc",
                      "usr/share/man", "usr/share/locale"):
            run("find", os.path.join(root, waste), "-type", "f", "-delete")
        with archives.layer(path) as layer:
            layer.root(root)


def mirror():
    if given := os.environ.get("MUSTER_MIRROR"):
        return given
    told = run("apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI)",
               "Created-By: Packages")
    for line in told.splitlines():
        uri = line.split()[-1]
        if uri.startswith("http") and "security" not in uri:
            return uri
    raise Problem("apt has no package source by http; set MUSTER_MIRROR")


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900,
                          check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise Problem(f"{argv[0]} failed: {' '.join(said)}")
    return done.stdout
