# SPDX-License-Identifier: Apache-2.0
"""Kubelet probes: tcpSocket, httpGet, exec, with the periods and thresholds of the manifest.

Does: runs one probe for ever in a task and tells every change of its verdict; connects from the node's side of the
      bridge, so a bare TCP probe looks to the pod as it does in a cluster.
Refuses: grpc probes (a sentence at apply time, in manifest code, not here).
"""
import asyncio
import subprocess

from . import enter


async def run(probe, pod, changed, initial):
    """changed(bool) is called when the verdict flips; initial is what it counts as before the first result."""
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    period, timeout = probe.get("periodSeconds", 10), probe.get("timeoutSeconds", 1)
    verdict, streak = initial, 0
    while True:
        ok = await once(probe, pod, timeout)
        streak = streak + 1 if ok != verdict else 0
        needed = probe.get("successThreshold", 1) if ok else probe.get("failureThreshold", 3)
        if ok != verdict and streak >= needed:
            verdict, streak = ok, 0
            changed(ok)
        await asyncio.sleep(period)


async def once(probe, pod, timeout):
    try:
        return await asyncio.wait_for(_attempt(probe, pod), timeout)
    except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, ValueError):
        return False


async def _attempt(probe, pod):
    if "exec" in probe:
        return await _exec(probe["exec"]["command"], pod)
    where = probe.get("tcpSocket") or probe["httpGet"]
    port = where["port"]
    if not isinstance(port, int):
        port = pod.spec["ports"].get(port) or int(port)
    reader, writer = await asyncio.open_connection(where.get("host") or pod.addresses[0], port)
    try:
        if "tcpSocket" in probe:
            return True
        writer.write(f"GET {where.get('path', '/')} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
        status = (await reader.readline()).split()
        return len(status) > 1 and 200 <= int(status[1]) < 400
    finally:
        writer.close()


async def _exec(argv, pod):
    try:
        p = enter.popen(pod.info(), argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return False
    try:
        while p.poll() is None:
            await asyncio.sleep(0.01)
        return p.returncode == 0
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
