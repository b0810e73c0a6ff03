#!/usr/bin/env python3
"""Runs on a machine with a GPU what docs/gpu-checklist.md asks of one GPU: tests, losses beside PyTorch, recorded steps,
steps of real models beside their prediction, a calibration. Each part has its own time limit and is told as soon as it
is done.

usage: session.py BUILD OUT [--only PART,...] [--minutes N] [--node NAME] [--cases I/N] [--ranks N] [--small]

BUILD is the folder of forerun, forerun-worker and tests/gpu. OUT gets PART.json and PART.log for each part, the traces of
slices and the calibration. --cases I/N: of each part's cases every N-th, beginning with the I-th of 1 to N, for several
sessions side by side (not of slices and operators, whose times would suffer, nor of the few of crowded). --ranks N: strategies of up to N ranks, which share the GPUs
there are; that shows that all works, and no time. --small: models of a few thousand parameters in the place of real ones, for emulated GPUs. Exit code 1: a
part has failed; 3: there is no GPU.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

from session_cases import CROWDED, RECORDED, STRATEGIES, TORCH, operators, slices

class Failed(Exception):
    pass


def pack(path):
    """Beside it, as PATH.gz."""
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)


def keep_packed(path):
    """In its place, as PATH.gz."""
    pack(path)
    os.remove(path)


def sets_of(settings):
    return [word for setting in settings for word in ("--set", setting)]


class Session:
    def __init__(self, options):
        self.build, self.out, self.small = os.path.abspath(options.build), os.path.abspath(options.out), options.small
        self.minutes, self.node, self.ranks = options.minutes, options.node, options.ranks
        self.first, self.of = options.cases
        self.worker = os.environ.get("FORERUN_WORKER") or self.program("forerun-worker")  # as forerun finds it
        self.log = None
        os.makedirs(self.out, exist_ok=True)

    def program(self, name):
        return os.path.join(self.build, name)

    def run(self, words, seconds):
        """What it prints. Throws Failed with the last lines of what it complains of."""
        self.log.write("$ " + " ".join(words) + "\n")
        try:
            child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise Failed(str(error)) from error
        late = False
        try:
            out, complaints = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)  # with what it has started, which would hold the GPU
            out, complaints = child.communicate()
        except BaseException:  # Ctrl-C does not reach a session of its own
            os.killpg(child.pid, signal.SIGKILL)
            raise
        out, complaints = out.decode(errors="replace"), complaints.decode(errors="replace")
        self.log.write(out + complaints)
        self.log.flush()
        if late:
            raise Failed(f"{os.path.basename(words[0])} was not done after {seconds} s")
        if child.returncode:
            last = (complaints or out).strip().splitlines()[-4:]
            raise Failed(f"exit code {child.returncode}: " + " | ".join(last))
        return out

    def forerun(self, *words, seconds=120):
        return self.run([self.program("forerun"), *words], seconds)

    def tiny(self, *settings):
        return [os.path.join(TORCH, "tiny.yaml"), *sets_of(settings)]

    # Parts. Each returns what is kept of it; "failed" names what was not as it should be.

    def machine(self):
        out = {"versions": self.run([self.worker, "--versions"], 60), "smoke": self.forerun("measure")}
        if shutil.which("nvidia-smi"):
            query = "name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.memory"
            out["card"] = self.run(["nvidia-smi", "--query-gpu=" + query, "--format=csv"], 60)
        return out

    def _tests(self, name, seconds):
        self.run([self.program(f"tests/gpu/{name}_test")], seconds)
        return {}

    def kernels(self):
        return self._tests("gpu_kernels", 180)

    def vendor(self):
        return self._tests("gpu_vendor", 180)

    def training(self):
        return self._tests("gpu_training", 600)

    def torch(self):
        if subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
            return {"left out": f"{sys.executable} has no PyTorch"}
        told = os.path.join(self.out, "parity.json")
        steps = ["--steps", "6"] if self.small else []
        text = self.run([sys.executable, "-B", os.path.join(TORCH, "parity.py"), self.program("forerun"),
                         os.path.join(TORCH, "tiny.yaml"), "--backend", "gpu", "--each",
                         os.path.join(TORCH, "models.txt"), "--json", told, *steps], 300)
        return {"told": text.splitlines()}

    def sanitizer(self):
        if not shutil.which("compute-sanitizer"):
            return {"left out": "there is no compute-sanitizer"}
        # NCCL asks for kernels that this GPU has not, and copes: a call that fails is no error of ours.
        self.run(["compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9", self.worker,
                  "run", os.path.join(TORCH, "tiny.yaml"), "--steps", "1", "--warmup", "0"], 240)
        return {}

    def _measured(self, job, settings, steps, trace):
        if self.small:
            steps, settings = 1, settings + ["training.global_batch=1"]
        sets = sets_of(settings)
        return json.loads(self.forerun("measure", job, *sets, "--warmup", "2", "--steps", str(steps), "--json", "-",
                                       "--trace", trace, seconds=300)), sets

    def _card(self, query):
        return self.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], 60).strip().splitlines()

    def _has_fp8(self):
        return self.small or float(self._card("compute_cap")[0]) >= 8.9

    def _aligned(self, job, sets, measured, trace):
        """What aligning the recorded step of each stage with its prediction tells; nothing of it may be without a
        counterpart."""
        with open(trace, encoding="utf-8") as file:
            told_of = json.load(file)["otherData"]["job"]
        stages, gpus = int(told_of["strategy.pp"]), int(told_of["cluster.gpus"])
        told = [json.loads(self.forerun("explain", job, *sets, "--against", trace, "--rank", str(stage * gpus // stages),
                                        "--json", "-")) for stage in range(stages)]
        return {"losses": measured["losses"], "notes": measured["plain_attention"] + measured["experts_one_by_one"],
                "explained": [note for t in told for note in t["notes"]],
                "unpredicted": [p["name"] for t in told for p in t["parts"] if p["kind"] == "only_measured"]}

    def _each(self, cases, tell):
        """What `tell` says of the settings of each case, and the names of those that failed, have something unpredicted
        or lie apart. `tell` also gets the path of a trace, which does not stay."""
        out, failed, trace = {}, [], os.path.join(self.out, "trace.json")
        for name, settings in list(cases.items())[self.first - 1::self.of]:
            if "training.precision=fp8" in settings and not self._has_fp8():
                out[name] = {"left out": "this GPU has no fp8"}
                continue
            try:
                out[name] = tell(settings, trace)
            except (Failed, ValueError, KeyError, OSError) as error:
                out[name] = {"failed": str(error)}
            wrong = [key for key in ("failed", "unpredicted", "apart") if out[name].get(key)]
            print(f"  {name}: {', '.join(f'{key} {out[name][key]}' for key in wrong) or 'ok'}", flush=True)
            if wrong:
                failed.append(name)
            if os.path.exists(trace):
                os.remove(trace)
        return out, failed

    def strategies(self):
        gpus = self.ranks or (8 if self.small else len(self._card("name")))
        job = os.path.join(TORCH, "tiny.yaml")
        seconds = 400 if self.ranks else 120  # processes that share a card take turns, and their NCCL goes over sockets

        def tell(settings, trace):
            sets = sets_of(settings)
            cpu = [step["loss"] for step in json.loads(
                self.forerun("measure", job, *sets, "--backend", "cpu", "--steps", "5", "--json", "-"))["steps"]]
            ours = json.loads(self.forerun("measure", job, *sets, "--warmup", "3", "--steps", "2", "--json", "-",
                                           "--trace", trace, seconds=seconds))
            near = all(a is not None and abs(a / b - 1) <= 0.02 for a, b in zip(ours["losses"], cpu))
            return {"cpu": cpu, **self._aligned(job, sets, ours, trace), "apart": not near}

        out, failed = self._each({name: [f"cluster.node.gpus={wanted}", "training.global_batch=8", *settings]
                                  for name, (wanted, settings) in STRATEGIES.items() if wanted <= gpus}, tell)
        out |= {name: {"left out": f"wants {wanted} GPUs"} for name, (wanted, _) in STRATEGIES.items() if wanted > gpus}
        return {"losses": out, "failed": failed}

    def recorded(self):
        job = os.path.join(TORCH, "tiny.yaml")

        def tell(settings, trace):
            measured, sets = self._measured(job, settings, 3, trace)
            return self._aligned(job, sets, measured, trace)

        out, failed = self._each(RECORDED, tell)
        return {"steps": out, "failed": failed}

    def _node(self):
        if self.node:
            return self.node
        if self.small:
            return None
        card = self._card("name")[0]
        for name, node in (("NVIDIA H200", "dgx-h200"), ("NVIDIA H100 80GB HBM3", "dgx-h100"),
                           ("NVIDIA B200", "dgx-b200"), ("NVIDIA A100-SXM4-80GB", "dgx-a100-80gb")):
            if card == name:
                return node
        raise Failed(f"--node is wanted: which of `forerun list nodes` has {card}?")

    def _trace_of(self, part, name):
        return os.path.join(self.out, part + re.sub(r"[^a-z0-9]+", "-", name) + ".json")

    def _compared(self, name, job, settings, calibration):
        """Step and families of operators, measured and predicted, in seconds."""
        trace = self._trace_of("calibrated-" if calibration else "", name)
        measured, sets = self._measured(job, settings, 10, trace)
        with_it = ["--calibration", calibration] if calibration else []
        told = json.loads(self.forerun("explain", job, *sets, *with_it, "--against", trace, "--json", "-"))
        predicted = told["predicted_ps"] / 1e12  # without what a framework's host does around each step
        families = {f["family"]: [side["busy_ps"] / 1e12 for side in (f["measured"], f["predicted"])]
                    for f in told["families"]}
        memory = measured["memory"]
        keep_packed(trace)
        print(f"  {name}: {measured['step_time_s'] * 1e3:.2f} ms, predicted {predicted * 1e3:.2f} "
              f"({predicted / measured['step_time_s'] - 1:+.1%})", flush=True)
        for family, (took, thought) in families.items():
            if took > 0.02 * measured["step_time_s"]:
                print(f"    {family:<24}{took * 1e3:9.3f} ms{thought / took - 1:+8.1%}", flush=True)
        return {"settings": settings, "measured_s": measured["step_time_s"], "predicted_s": predicted,
                "steps_s": measured["steps_s"], "families_s": families, "losses": measured["losses"],
                "peak_bytes": memory["peak_bytes"], "planned_bytes": memory["planned_bytes"],
                "reserved_bytes": memory["reserved_bytes"], "memory": {w: memory[w] for w in ("measured", "planned")},
                "conditions": measured["conditions"],
                "plain_attention": measured["plain_attention"], "experts_one_by_one": measured["experts_one_by_one"],
                "mfu": measured["mfu"]}

    def slices(self):
        return self._slices(None)

    def _of_models(self, cases, tell):
        """What `tell` says of the job and settings of each case on this machine's node, and the names of those that failed."""
        node, out, failed = self._node(), {}, []
        for name, (job, settings) in cases.items():
            if "training.precision=fp8" in settings and not self._has_fp8():
                out[name] = {"left out": "this GPU has no fp8"}
                continue
            try:
                out[name] = tell(name, job, (["cluster.node=" + node] if node else []) + settings)
            except (Failed, ValueError, KeyError, OSError) as error:
                print(f"  {name}: {error}", flush=True)
                out[name] = {"failed": str(error)}
                failed.append(name)
        return out, failed

    def _slices(self, calibration):
        out, failed = self._of_models(slices(self.small), lambda *case: self._compared(*case, calibration))
        return {"slices": out, "failed": failed}

    def operators(self):
        out, failed = self._of_models(operators(self.small), self._beside)
        return {"steps": out, "failed": failed}

    def _beside(self, name, job, settings):
        """A step of which no time is held against the prediction: each of its operators beside it, as count and seconds."""
        trace = self._trace_of("operators-", name)
        measured, sets = self._measured(job, settings, 3, trace)
        told = json.loads(self.forerun("explain", job, *sets, "--against", trace, "--json", "-"))
        keep_packed(trace)
        memory, notes = measured["memory"], measured["plain_attention"] + measured["experts_one_by_one"]
        print(f"  {name}: {measured['step_time_s'] * 1e3:.2f} ms, recorded {told['measured_ps'] / 1e9:.2f}, predicted "
              f"{told['predicted_ps'] / 1e9:.2f}; memory {memory['peak_bytes'] / 1e9:.3f} GB, planned "
              f"{memory['planned_bytes'] / 1e9:.3f}; {notes or ''}", flush=True)

        def side(which, part):
            return [part[which]["count"], part[which]["busy_ps"] / 1e12] if which in part else None

        return {"settings": settings, "measured_s": measured["step_time_s"], "recorded_s": told["measured_ps"] / 1e12,
                "losses": measured["losses"], "memory": memory, "notes": notes,
                "operators": [[p.get("phase", p["kind"]), p["name"], side("measured", p), side("predicted", p)]
                              for p in told["parts"]]}

    def crowded(self):
        """Four ranks, on one GPU if there are no more: they end, and when one of them is killed the others do."""
        out, failed = {}, []
        for name, settings in CROWDED.items():
            measure = [self.program("forerun"), "measure",
                       *self.tiny("cluster.node.gpus=4", "training.global_batch=8", *settings), "--warmup", "1", "--steps", "2",
                       "--json", "-"]
            before = None
            for loading in ("LAZY", "EAGER"):
                case, begin = f"{name}, {loading}", time.monotonic()
                try:
                    losses = json.loads(self.run(["env", "CUDA_MODULE_LOADING=" + loading, *measure], 120))["losses"]
                    out[case] = {"losses": losses, "seconds": time.monotonic() - begin}
                    if not all(abs(a / b - 1) <= 0.02 for a, b in zip(losses, before or losses)):
                        failed.append(f"{name}: losses lie apart")
                    before = losses
                except (Failed, ValueError, KeyError) as error:
                    out[case] = {"failed": str(error)}
                    failed.append(case)
                print(f"  {case}: {out[case]}", flush=True)
        out["killed"] = self._killed()
        print(f"  killed: {out['killed']}", flush=True)
        if out["killed"].get("failed"):
            failed.append("killed")
        return {"steps": out, "failed": failed}

    def _killed(self):
        """Ends one of four ranks that have communicators of tp and of replicas at work."""
        words = [self.program("forerun"), "measure",
                 *self.tiny("cluster.node.gpus=4", "training.global_batch=8", "strategy.tp=2", "strategy.sp=true", "strategy.zero=3"),
                 "--steps", "1000000"]
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        try:
            workers, until = [], time.monotonic() + 60
            while len(workers) < 4 and time.monotonic() < until:
                time.sleep(0.5)
                workers = children_of(child.pid)
            time.sleep(2 if self.small else 15)  # all of them in the middle of steps
            if len(workers) < 4 or child.poll() is not None:
                return {"failed": f"{len(workers)} ranks were at work"}
            begin = time.monotonic()
            os.kill(workers[1], signal.SIGKILL)
            said = child.communicate(timeout=30)[1].decode(errors="replace").strip()
            took = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            return {"failed": "the others were still there after 30 s"}
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
        good = child.returncode == 3 and took < 15 and "signal 9" in said
        return {"seconds": took, "exit_code": child.returncode, "said": said[-300:]} | ({} if good else {"failed": "not as it should be"})

    def calibrate(self):
        words = ["--minutes", str(self.minutes), "--out", self.out] + (["--node", self.node] if self.node else [])
        begun = os.path.join(self.out, time.strftime("calibration-%Y-%m-%d.points.jsonl"))
        if os.path.exists(begun):
            words += ["--resume", begun]
        text = self.forerun("calibrate", *words, seconds=60 * self.minutes + 90)
        for name in os.listdir(self.out):
            if name.endswith(".points.jsonl"):
                pack(os.path.join(self.out, name))
        return {"told": text.splitlines()}

    def calibrated(self):
        files = [name for name in os.listdir(self.out) if re.search(r"-\d{4}-\d\d-\d\d\.yaml$", name)]
        if not files:
            raise Failed("there is no calibration in OUT: run the part `calibrate` first")
        return self._slices(os.path.join(self.out, max(files, key=lambda f: os.path.getmtime(os.path.join(self.out, f)))))


PARTS = ("machine", "kernels", "vendor", "training", "torch", "recorded", "strategies", "crowded", "sanitizer", "slices",
         "operators", "calibrate", "calibrated")


def children_of(process):
    """Numbers of the processes that it has started and that are left."""
    out = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
        if parent == process:
            out.append(int(number))
    return sorted(out)


def why_no_gpu(worker):
    """What the worker says of this machine; empty where it has a GPU."""
    try:
        done = subprocess.run([worker, "--room", "1"], stderr=subprocess.PIPE, check=False)
    except OSError as error:
        return f"this build has no GPU part: {error}"
    return done.stderr.decode(errors="replace").strip() if done.returncode else ""


def share(text):
    first, of = map(int, text.split("/"))
    if not 1 <= first <= of:
        raise ValueError(text)
    return first, of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=int, default=5, help="of the calibration")
    parser.add_argument("--node", help="the catalogue's node that this GPU is of")
    parser.add_argument("--cases", type=share, default=(1, 1), metavar="I/N")
    parser.add_argument("--ranks", type=int, help="of strategies, sharing GPUs")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        parser.error("there is no part " + ", ".join(sorted(unknown)))

    session, bad = Session(options), []
    if why := why_no_gpu(session.worker):
        print(why, file=sys.stderr)
        return 3
    for name in [part for part in PARTS if part in wanted]:
        begin = time.monotonic()
        with open(os.path.join(session.out, name + ".log"), "w", encoding="utf-8") as session.log:
            try:
                told = getattr(session, name)()
            except Failed as error:
                told = {"failed": [str(error)]}
            except Exception as error:  # pylint: disable=broad-except  # parts behind it are wanted all the same
                session.log.write(traceback.format_exc())
                told = {"failed": [f"{type(error).__name__}: {error}"]}
        told["seconds"] = round(time.monotonic() - begin, 1)
        with open(os.path.join(session.out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
        failed = told.get("failed", [])
        print(f"{name:<11}{told['seconds']:>7.1f} s  {'FAILED: ' + '; '.join(failed) if failed else 'ok'}", flush=True)
        bad += [name] if failed else []
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
