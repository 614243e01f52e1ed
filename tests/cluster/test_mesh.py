# SPDX-License-Identifier: Apache-2.0
"""A mesh's proxy in the launcher's pod (a stand-in that speaks its two health
calls): the launcher waits for it, and tells it to go at the end."""
import re
import subprocess
import sys

from harness import (apply, check, cluster, contains, expect, launch, main,
                     nothing_left)

# Not ready for the first three questions; writes down who told it to go.
PROXY = r"""
import http.server, sys, threading
asked = []
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        ready = self.path == "/healthz/ready" and len(asked) > 3
        self.send_response(200 if ready and sys.argv[1] == "good" else 503)
        self.end_headers()
    def do_POST(self):
        open("/tmp/told", "w").write(f"{self.path} after {len(asked)}")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words): pass
for port in (15020, 15021):
    server = http.server.HTTPServer(("127.0.0.1", port), Health)
    threading.Thread(target=server.serve_forever).start()
print("up", flush=True)
"""


def proxy(pod, kind):
    """Runs until the pod goes."""
    process = pod.popen(["/usr/bin/python3", "-c", PROXY, kind],
                        stdout=subprocess.PIPE)
    check(process.stdout.readline(), "the stand-in does not start")
    return process


def test_wait_and_quit():
    with cluster("mesh") as c:
        job = apply(c, workers=2)
        started = proxy(job.launcher, "good")
        run = expect(launch(job, "--mesh", "istio", "-n", "2", "--", "true"),
                     0, "waiting for the mesh's proxy",
                     "told the mesh's proxy to quit")
        told = job.launcher.exec(["cat", "/tmp/told"]).stdout
        when = re.fullmatch(r"/quitquitquit after (\d+)", told)
        check(when and int(when[1]) >= 4, "told to go before it was ready",
              told)
        check("quit" not in run.out, "said on stdout", run.out)
        job.launcher.exec(["rm", "/tmp/told"])
        # A command that cannot start anything lets it go, too.
        launch(job, "--mesh", "istio", "--hostfile", "/nowhere", "--", "true")
        contains(job.launcher.exec(["cat", "/tmp/told"]).stdout, "quitquit",
                 "what the proxy was told")
        job.launcher.exec(["rm", "/tmp/told"])
        started.kill()
        nothing_left(job)


def test_proxy_that_is_never_ready():
    with cluster("mesh-never") as c:
        job = apply(c, workers=2)
        run = expect(launch(job, "--mesh", "istio", "--connect-timeout", "3s",
                            "-n", "2", "--", "true"), 101,
                     "127.0.0.1:15021", "Connection refused")
        started = proxy(job.launcher, "bad")
        run = expect(launch(job, "--mesh", "istio", "--connect-timeout", "3s",
                            "-n", "2", "--", "true"), 101)
        contains(run.err, "still answers 503", "stderr")
        started.kill()
        nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
