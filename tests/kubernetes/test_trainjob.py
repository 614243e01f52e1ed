#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TrainJobs that Kubeflow Trainer and JobSet start with muster's images."""
import json
import re
import sys

import kube
from kube import Skip, check, namespace, terminated, until
from trainer import (RELEASE, TrainJob, create, mpi_runtime, need_trainer,
                     torch_runtime)

HELLO = "/home/mpiuser/hello"
MPICH_IMAGE = "muster.test/mpich:1"
LINE = re.compile(r"rank (\d) of (\d) on (\S+), sum of ranks (\d)")
# torchrun's part in a pod: as many processes as it is told, each with the
# variables that it sets, and the first code that is not 0.
TORCHRUN = r"""
size=$((PET_NNODES * PET_NPROC_PER_NODE)) i=0 pids=
while [ $i -lt $PET_NPROC_PER_NODE ]; do
  TORCHELASTIC_RUN_ID=none LOCAL_RANK=$i WORLD_SIZE=$size \
  RANK=$((PET_NODE_RANK * PET_NPROC_PER_NODE + i)) \
    muster task -- sh -c "$1" & pids="$pids $!"
  i=$((i + 1))
done
code=0
for pid in $pids; do wait $pid || code=$?; done
exit $code
"""


def ended(train, end):
    """The log of the launcher of a TrainJob that has to end like that."""
    got = train.finish()
    log = train.log(train.launcher())
    check(got == end, f"the TrainJob is {got}", log)
    return log


def hosts_of_ranks(log, size):
    """From hello's lines, each rank's once."""
    found = sorted(LINE.findall(log))
    total = str(size * (size - 1) // 2)
    check([f[0] for f in found] == [str(i) for i in range(size)]
          and all(f[1] == str(size) and f[3] == total for f in found),
          f"not {size} ranks that talk", log)
    return [f[2] for f in found]


def hello(name, command, as_node):
    """Two nodes with two ranks each; the launcher is one or is not."""
    need_trainer()
    with namespace(name) as ns:
        train = create(ns, "hello", mpi_runtime(as_node=as_node), {
            "numNodes": 2, "numProcPerNode": 2, "command": command})
        hosts = hosts_of_ranks(ended(train, "Complete"), 4)
        nodes = ["hello-node-0-0", "hello-launcher-0-0" if as_node
                 else "hello-node-0-1"]
        check(sorted(hosts) == sorted(nodes * 2), f"ranks on {hosts}")


def test_mpirun_with_the_launcher_as_node():
    hello("mpirun-node", ["mpirun", HELLO], True)


def test_mpirun_from_a_launcher_without_ranks():
    hello("mpirun", ["mpirun", HELLO], False)


def test_native_with_the_launcher_as_node():
    hello("native-node", ["muster", "launch", "--", HELLO], True)


def test_native_from_a_launcher_without_ranks():
    hello("native", ["muster", "launch", "--", HELLO], False)


def test_a_crash_is_told():
    """Rank 1, on the second node, dies of SIGSEGV."""
    need_trainer()
    for name, command in (("crash-mpirun", ["mpirun", HELLO, "1"]),
                          ("crash-native", ["muster", "launch", "--", HELLO,
                                            "1"])):
        with namespace(name) as ns:
            train = create(ns, "crash", mpi_runtime(as_node=False), {
                "numNodes": 2, "command": command})
            log = ended(train, "Failed")
            state = terminated(train.launcher())
            for place, text in (("log", log), ("termination message",
                                               state.get("message", ""))):
                check("rank 1" in text, f"no rank 1 in the {place}", text)
                check("segmentation fault" in text,
                      f"no segmentation fault in the {place}", text)
                check("crash-node-0-1" in text, f"no node in the {place}",
                      text)
            check(state["exitCode"] == 139, f"code {state['exitCode']}", log)


def test_trainer_refuses_another_mpi():
    """Trainer's own schema does, before any pod."""
    need_trainer()
    with namespace("other-mpi") as ns:
        status, _, err = ns.kubectl("create", "-f", "-", stdin=json.dumps(
            {**mpi_runtime(mpiImplementation="MPICH"),
             "metadata": {"name": "mpich"}}))
        check(status != 0 and "mpiImplementation" in err
              and "OpenMPI" in err, "MPICH is taken", err)


def one_failure(name, image, command, words):
    """The launcher's verdict is one sentence with these words."""
    need_trainer()
    with namespace(name) as ns:
        train = create(ns, "wrong", mpi_runtime(image, as_node=False), {
            "numNodes": 2, "numProcPerNode": 2, "command": command})
        log = ended(train, "Failed")
        message = terminated(train.launcher()).get("message", "")
        for place, text in (("log", log), ("termination message", message)):
            for word in words:
                check(word in text, f"no {word} in the {place}", text)


def test_more_ranks_than_slots():
    for name, start in (("slots-mpirun", ["mpirun"]),
                        ("slots-native", ["muster", "launch"])):
        one_failure(name, None, [*start, "-n", "5", HELLO], [
            "cannot place 5 ranks", "2 hosts x 2 slots = 4",
            "numNodes x numProcPerNode"])


def test_an_image_with_another_mpi():
    """The runtime says OpenMPI, the image has MPICH: Trainer's variables mean
    nothing to it, the hostfile is read all the same."""
    need_trainer()
    if not kube.OWN_NODE:
        raise Skip("no image with MPICH")
    with namespace("mpich-image") as ns:
        train = create(ns, "hello", mpi_runtime(MPICH_IMAGE, as_node=False), {
            "numNodes": 2, "numProcPerNode": 2, "command": ["mpirun", HELLO]})
        hosts = hosts_of_ranks(ended(train, "Complete"), 4)
        check(sorted(hosts) == sorted(["hello-node-0-0", "hello-node-0-1"]
                                      * 2), f"ranks on {hosts}")


def test_only_one_of_several_launchers_launches():
    """Trainer makes as many launchers as the runtime has nodes, and as many
    nodes as the TrainJob says."""
    need_trainer()
    with namespace("launchers") as ns:
        runtime = mpi_runtime(as_node=False)
        runtime["spec"]["mlPolicy"]["numNodes"] = 2
        train = create(ns, "hello", runtime, {"command": ["mpirun", HELLO]})
        end = train.finish()
        logs = [train.log(pod) for pod in train.pods("launcher")]
        check(end == "Complete" and len(logs) == 2,
              f"the TrainJob is {end}, {len(logs)} launchers", *logs)
        hosts_of_ranks(logs[0], 1)
        check("nothing to launch here" in logs[1], "the second is busy",
              logs[1])


def test_torch_ranks():
    """Every process knows its rank, and so do its lines."""
    need_trainer()
    with namespace("torch") as ns:
        train = create(ns, "torch", torch_runtime(), {
            "numNodes": 2, "numProcPerNode": 2, "command": [
                "sh", "-c", TORCHRUN, "torchrun",
                "echo rank $RANK of $WORLD_SIZE on $(hostname) meets at "
                "$PET_MASTER_ADDR:$PET_MASTER_PORT"]})
        end = train.finish()
        pods = train.pods("node")
        logs = [train.log(pod) for pod in pods]
        check(end == "Complete", f"the TrainJob is {end}", *logs)
        check(len(pods) == 2, f"{len(pods)} pods")
        for node, log in enumerate(logs):
            for rank in (2 * node, 2 * node + 1):
                line = (f"rank {rank} of 4 on torch-node-0-{node} meets at "
                        "torch-node-0-0.torch:29500")
                check(re.search(rf"\b{rank}\b.*\] {re.escape(line)}", log),
                      f"no line of rank {rank}", log)


def test_torch_code_passes_through():
    need_trainer()
    with namespace("torch-code") as ns:
        train = create(ns, "torch", torch_runtime(), {
            "numNodes": 1, "numProcPerNode": 1, "command": [
                "sh", "-c", TORCHRUN, "torchrun",
                "echo ValueError: no such data >&2; exit 7"]})
        end = train.finish()
        pod = train.pods("node")[0]
        log, state = train.log(pod), terminated(pod)
        check(end == "Failed", f"the TrainJob is {end}", log)
        check(state["exitCode"] == 7, f"code {state['exitCode']}", log)
        check("no such data" in log, "the program's line is lost", log)


def test_progress_reaches_the_trainjob():
    """The controller's own server takes it, with its own certificate and the
    token of the pod, while the job runs and at its end."""
    need_trainer()
    if kube.OWN_NODE and RELEASE == "2.0":
        raise Skip("Trainer 2.0 has no status server")
    with namespace("progress") as ns:
        train = create(ns, "train", mpi_runtime(as_node=False), {
            "numNodes": 1, "command": [
                "muster", "launch", "--", "sh", "-c",
                f"echo epoch 1/4; {kube.WAIT_AT_GATE}; echo epoch 2/4"]})

        def status():
            return ns.get("trainjob", "train").get("status", {}).get(
                "trainerStatus", {})
        until(lambda: status().get("progressPercentage") == 25, "25 %")
        metrics = {m["name"]: m["value"] for m in status()["metrics"]}
        check(metrics == {"epoch": "1", "total_epoch": "4"}, metrics)
        ns.open_gate()
        ended(train, "Complete")
        check(status().get("progressPercentage") == 100, status())


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
