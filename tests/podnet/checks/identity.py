# SPDX-License-Identifier: Apache-2.0
"""The security context and what a container sees."""
import os

from .. import Cluster, podspec
from . import example, same, true, until


def _caps(pod):
    text = pod.exec(["cat", "/proc/self/status"]).stdout
    return {l.split(":")[0]: l.split()[1] for l in text.splitlines() if l.startswith(("Cap", "NoNew"))}


def check_restricted_by_default():
    """Arbitrary UID without passwd entry, GID 0, no capability in any set, no_new_privs, read-only root; pid 1 too."""
    with Cluster("st-id") as c:
        p = c.pod("p", ["/bin/sh", "-c", "id; cat /proc/self/status; exec sleep 99"])
        until(lambda: "NoNewPrivs" in p.stdout() and "sleep 99" in p.processes().values())
        true("uid=1000680000 gid=0(root)" in p.stdout(), p.stdout())
        true("NoNewPrivs:\t1" in p.stdout() and "CapBnd:\t0000000000000000" in p.stdout(), p.stdout())
        same(set(_caps(p).values()), {"0" * 16, "1"})
        same(p.exec(["getent", "passwd", "1000680000"]).returncode, 2)
        for path, code in (("/x", 1), ("/usr/x", 1), ("/etc/x", 1), ("/run/x", 1), ("/tmp/x", 0), ("/dev/shm/x", 0),
                           ("/dev/termination-log", 0)):
            same(p.exec(["touch", path]).returncode, code, path)
        same(p.exec(["sh", "-c", "echo $HOME; cat /proc/1/comm"]).stdout, "/\nsleep\n")


def check_other_identities():
    """runAsUser 1000 and root without capabilities; the kubernetes profile with fourteen and a writable root."""
    with Cluster("st-id2") as c:
        p = c.pod("p", uid=1000)
        same(p.exec(["sh", "-c", "id; echo $HOME"]).stdout, "uid=1000(mpiuser) gid=1000(mpiuser) groups=1000(mpiuser)\n/home/mpiuser\n")
        q = c.pod("q", uid=0)
        same(q.exec(["id", "-u"]).stdout, "0\n")
        same(_caps(q)["CapEff"], "0" * 16)
        r = c.pod("r", profile="kubernetes")
        same(_caps(r)["CapEff"], "00000000a80425fb")
        same(r.exec(["sh", "-c", "touch /new && ls /new"]).stdout, "/new\n")


def check_what_a_container_sees():
    """Own process numbers, host name, loopback, private directories, nothing of the machine's home directories."""
    with Cluster("st-see") as c:
        p, q = c.pod("p"), c.pod("q")
        same(p.exec(["sh", "-c", "touch /tmp/mine; hostname; cat /etc/hostname"]).stdout, "p\np\n")
        same(q.exec(["ls", "/tmp"]).stdout, "")
        same(p.exec(["sh", "-c", "ls /proc | grep -c '^[0-9]'"]).stdout.strip() in ("3", "4"), True)
        true("LOWER_UP" in p.exec(["ip", "link", "show", "lo"]).stdout, "lo down")
        same(p.exec(["ls", "-A", "/home"]).stdout, "mpiuser\n")
        same(p.exec(["sh", "-c", "echo hi > /proc/sys/kernel/hostname"]).returncode != 0, True)
        same(p.exec(["sh", "-c", "echo x > /dev/null; head -c4 /dev/urandom | wc -c; tty -s < /dev/null; ls /dev/pts"]).stdout, "4\nptmx\n")


def check_image_without_ssh():
    """Layer "none": no ssh, no sshd, no configuration; a muster tree brings its own sshd and PATH."""
    import os
    import tempfile
    with tempfile.TemporaryDirectory() as d, Cluster("st-none") as c:
        os.makedirs(f"{d}/bin")
        os.makedirs(f"{d}/dropin/bin")
        os.chmod(d, 0o755)
        with open(f"{d}/bin/muster", "w") as f:
            f.write("#!/bin/sh\necho muster as $0 \"$@\"\n")
        os.chmod(f"{d}/bin/muster", 0o755)
        p = c.pod("p", layer="none")
        same(p.exec(["sh", "-c", "command -v ssh sshd; ls /etc/ssh/ssh_config"]).stdout, "")
        q = c.pod("q", ["/usr/sbin/sshd", "-De"], layer="none", prefix=d)
        same(q.wait().code, 0)
        same(q.stdout(), "muster as /usr/sbin/sshd -De\n")
        r = c.pod("r", prefix=d)
        same(r.exec(["sh", "-c", "echo $PATH; touch /opt/muster/x"]).stdout.split(":")[0], "/opt/muster/dropin/bin")


def check_host_network():
    """One network namespace and host name, the node's; mounts, processes and IPC of their own; names in DNS stay."""
    def edit(specs):
        for spec in specs:
            podspec.on_the_node(spec)
    with Cluster("st-hostnet") as c:
        job = c.apply(example("pi-openmpi.yaml"), workers=2, edit=edit, launcher_command=["sleep", "99"],
                      worker_command=["sleep", "99"])
        pods = [job.launcher, *job.workers]
        for kind, count in (("net", 1), ("uts", 1), ("mnt", 3), ("pid", 3), ("ipc", 3)):
            same(len({os.readlink(f"/proc/{p.pid}/ns/{kind}") for p in pods}), count, kind)
        same({p.exec(["sh", "-c", "hostname; echo $HOSTNAME; cat /etc/hostname"]).stdout for p in pods},
             {f"{podspec.NODE}\n" * 3})
        same(len({p.ip for p in pods}), 1)
        found = job.launcher.exec(["getent", "hosts", "pi-worker-1.pi.default.svc"]).stdout
        same(found.split()[0], job.workers[1].ip)
        job.workers[0].kill()
        job.workers[0].wait(10)
        same(job.launcher.exec(["getent", "hosts", "pi-worker-1.pi.default.svc"]).returncode, 0, "the node's network stays")
