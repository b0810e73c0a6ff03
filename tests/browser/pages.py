"""The pages that the browser's tests look at, written once by the forerun under test.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import subprocess

JOB = "llama3-70b-64xh100"
LARGE = ["--set", "strategy.recompute=full"]  # it fits, and its step has more than 100,000 operators

# Whatever ends an element, a comment or a string, in every name that a file may choose.
HOSTILE_FILE = "<img src=x onerror=window.hostile=1>.yaml"
HOSTILE_MODEL = "<script>window.hostile=1</script> & \"q\" 'a' </title><!--"
HOSTILE_JOB = """\
model: {base: llama3-8b, name: "<script>window.hostile=1</script> & \\"q\\" 'a' </title><!--"}
cluster: {node: {base: dgx-h100, name: "</script><b id=hostile>node"}, nodes: 1}
training: {sequence: 8192, global_batch: 16}
strategy: {tp: 8}
"""
MEASURED = """\
source: {paper: "</script><script>window.hostile=1</script>"}
cases:
  - id: "<b id=hostile>first"
    tier: A
    job: {model: llama3-8b, cluster: {node: dgx-h100, nodes: 1}, training: {sequence: 8192, global_batch: 16}, strategy: {tp: 8}}
    measured: {step_time: 1.5s}
  - id: second
    tier: A
    job: {model: llama3-8b, cluster: {node: dgx-h100, nodes: 1}, training: {sequence: 8192, global_batch: 16}, strategy: {tp: 4}}
    measured: {step_time: 1.4s}
"""


class Pages:
    def __init__(self, forerun, folder):
        self.forerun, self.folder = forerun, pathlib.Path(folder)
        hostile, measured = self.folder / HOSTILE_FILE, self.folder / "<i>measured.yaml"
        hostile.write_text(HOSTILE_JOB)
        measured.write_text(MEASURED)
        self.predict = self.page("predict", "predict", JOB, *LARGE)
        self.hostile = self.page("hostile", "predict", str(hostile))
        self.compare = self.page("compare", "compare", str(hostile), JOB, "--vary", "strategy.tp=2,4,8", "--vary",
                                 "strategy.recompute=selective,full")
        self.search = self.page("search", "search", JOB, "--fix", "tp=4,8", "--fix", "pp=2,4", "--fix", "recompute=full")
        self.validate = self.page("validate", "validate", str(measured))
        self.all = [self.predict, self.hostile, self.compare, self.search, self.validate]

    def page(self, name, *arguments):
        path = self.folder / f"{name}.html"
        ended = subprocess.run([self.forerun, *arguments, "--html", path], capture_output=True, text=True)
        if ended.returncode not in (0, 1):
            raise SystemExit(f"forerun {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr}")
        return path
