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
# Days and costs of eight candidates; names, sources and the model's name are hostile.
PLAN = """\
model: {base: llama3-8b, name: "<script>window.hostile=1</script> & \\"q\\" 'a' </title><!--"}
tokens: 20B
deadline: 8d
training: {sequence: 4096, global_batch: 64}
candidates:
  - {node: dgx-h100, nodes: [1, 2, 4, 8]}
  - {node: {base: dgx-a100-80gb, name: "<b id=hostile>a100"}, nodes: [1, 2, 4], rent: $1.20/h}
  - {node: dgx-h200, nodes: 2, terms: both, rent: $3.10/h, price: $300k}
prices: {rent: {h100-sxm: {value: $2.50/h, date: 2026-11-20, source: "<img src=x onerror=window.hostile=1>"}}}
strategy: {tp: 2, sp: true, cp: 1, pp: 1, schedule: 1f1b, zero: 1, recompute: none, attention_kernel: flash2, overlap: {tp: none}}
runs: 200
"""
# A Llama of some thousand parameters on 4 ranks of the CPU.
TINY = """\
model: {name: "<script>window.hostile=1</script> & \\"q\\" 'a' </title><!--", layers: 2, hidden: 16, heads: 4, kv_heads: 2,
        head_dim: 4, ffn: 24, gated_mlp: true, activation: swiglu, vocab: 32, norm: rmsnorm, position: rope}
cluster: {node: {base: dgx-h100, gpus: 4}, nodes: 1}
training: {sequence: 8, global_batch: 8, micro_batch: 1, precision: bf16, optimizer: adamw}
strategy: {tp: 2, sp: true, pp: 2}
"""


class NoPage(Exception):
    pass


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
        self.search = self.page("search", "search", JOB, "--allow", "tp=4,8", "--allow", "pp=2,4", "--fix", "recompute=full")
        self.validate = self.page("validate", "validate", str(measured))
        plan, tiny, trace = self.folder / "plan.yaml", self.folder / "tiny.yaml", self.folder / "<u>trace.json"
        plan.write_text(PLAN)
        tiny.write_text(TINY)
        self.plan = self.page("plan", "plan", str(plan))
        self.measure = self.page("measure", "measure", str(tiny), "--backend", "cpu", "--steps", "8", "--trace", str(trace))
        self.against = self.page("against", "explain", str(tiny), "--against", str(trace))
        self.all = [self.predict, self.hostile, self.compare, self.search, self.validate, self.plan, self.measure, self.against]

    def page(self, name, *arguments):
        path = self.folder / f"{name}.html"
        ended = subprocess.run([self.forerun, *arguments, "--html", path], capture_output=True, text=True)
        if ended.returncode not in (0, 1) or not path.exists():
            raise NoPage(f"forerun {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr}")
        return path
