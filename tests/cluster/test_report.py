# SPDX-License-Identifier: Apache-2.0
"""The page of `--report FILE.html`, made by a job that fails, by one whose
worker never comes, and by one that ends well."""
import html.parser
import sys

from harness import Launch, apply, cluster, contains, equal, main


class Page(html.parser.HTMLParser):
    """Insists on closed elements; keeps the text and what would load."""

    EMPTY = {"meta", "br", "img", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.loads = [], "", []
        self.feed(text)
        equal(self.open, [], "elements that are not closed")

    def handle_starttag(self, tag, attributes):
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.loads += [tag] * (tag in ("script", "img", "link", "iframe"))
        self.loads += [v for k, v in attributes if k in ("src", "href")]

    def handle_endtag(self, tag):
        equal(tag, self.open.pop(), "closing tag")

    def handle_data(self, data):
        self.text += data


def run(job, code, *words):
    launch = Launch(job, ["muster", "launch", "--report", "/tmp/page.html",
                          *words]).wait(60)
    equal(launch.code, code, "exit code", launch.out, launch.err)
    page = Page(job.launcher.exec(["cat", "/tmp/page.html"]).stdout)
    equal(page.loads, [], "what the page would load")
    contains(page.text, f"exit code {code}")
    return page.text


def test_pages():
    with cluster("page") as c:
        job = apply(c, workers=4)
        job.wait_ready(60)
        text = run(job, 0, "-n", "4", "--bootstrap", "pmix", "--", "true")
        for part in ("exited with code 0", "0-3", "pi-worker-3",
                     "openmpi 4.1", "Network", "connect"):
            contains(text, part)
        text = run(job, 7, "-n", "4", "--bootstrap", "pmix", "--", "sh", "-c",
                   "[ $RANK = 2 ] && { echo '<b>why</b>' >&2; exit 7; };"
                   "sleep 60")
        for part in ("rank 2 on pi-worker-2", "<b>why</b>",
                     "stopped by muster", "0-1, 3"):
            contains(text, part)
        job.workers[1].lose()
        text = run(job, 200, "-n", "4", "--connect-timeout", "3s",
                   "--bootstrap", "pmix", "--", "true")
        contains(text, "not ready")
        contains(text, "What to do")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
