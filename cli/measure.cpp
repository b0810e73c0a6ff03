// cli/measure.cpp -- forerun measure JOB: trains a job on this machine's GPUs for a few steps, by a worker process for
// each, or without any (--backend cpu); without JOB it checks the GPUs. SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/job_flags.h"
#include "cli/measure_job.h"
#include "cli/measure_on_cpu.h"
#include "cli/number.h"
#include "cli/worker.h"
#include "core/base/fault.h"
#include "core/spec/ranges.h"

namespace cli {
namespace {

/// 0: not given.
int gpus_of(const Arguments& arguments) {
  if (!arguments.has("--gpus")) return 0;
  const std::string text = arguments.get("--gpus");
  if (const auto gpus = number_in<int>(text, 1, spec::kMostGpusOfANode)) return *gpus;
  throw base::InputError({{"--gpus", "'" + text + "' is no number of GPUs", "give a whole number, 1 or more", {}}});
}

/// What an option says that means nothing here.
void refuse(const Arguments& arguments, std::initializer_list<const char*> options, const std::string& what,
            const std::string& mend) {
  for (const char* option : options) {
    if (arguments.has(option)) throw base::InputError({{option, what, mend, {}}});
  }
}

/// Which of the two, by --backend; what belongs to the other one is a fault.
bool on_cpu(const Arguments& arguments) {
  const std::string backend = arguments.has("--backend") ? arguments.get("--backend") : "gpu";
  if (backend != "cpu" && backend != "gpu") {
    throw base::InputError({{"--backend", "'" + backend + "' is no backend", "write cpu or gpu", {}}});
  }
  const bool cpu = backend == "cpu";
  if (cpu) refuse(arguments, {"--gpus"}, "the CPU has none", "leave it out: the job says how many ranks there are");
  if (cpu) refuse(arguments, {"--warmup"}, "belongs to a run on GPUs", "leave it out");
  return cpu;
}

int check_gpus(const Arguments& arguments, int gpus) {
  refuse(arguments, {"--steps", "--warmup", "--tokens", "--json", "--trace", "--html"}, "belongs to a JOB", "name one");
  if (!job_settings(arguments).empty()) {
    throw base::InputError({{"JOB",
                             "is missing: without a file only the GPUs are checked",
                             "name the Job file that the flags are for, or write --backend cpu",
                             {}}});
  }
  return verdict_on(run_workers(gpus == 0 ? 1 : gpus, {"--smoke"}));
}

/// The workers print to it, and the page is made of the file that they write.
void refuse_stdout_for_pages(const Arguments& arguments) {
  if (!arguments.has("--html")) return;
  for (const char* option : {"--html", "--json"}) {
    if (arguments.get(option) != "-") continue;
    throw base::InputError({{option, "stdout is the workers' where a page is asked for", "give it a file", {}}});
  }
}

int run_measure(const Arguments& arguments) {
  check_html(arguments);
  if (on_cpu(arguments)) return measure_on_cpu(arguments);
  const int gpus = gpus_of(arguments);
  if (arguments.operands().empty()) return check_gpus(arguments, gpus);
  refuse_stdout_for_pages(arguments);
  const MeasuredJob measured = measured_job(arguments, gpus);
  if (measured.job.strategy.launch_blocking) setenv("CUDA_LAUNCH_BLOCKING", "1", 1);  // the workers' too
  const auto failures = run_workers(measured.gpus, measured.words);
  if (!failures.empty()) return verdict_on(failures);
  write_recorded(measured, arguments);
  return kAnswered;
}

}  // namespace

const Command measure{
    .name = "measure",
    .summary = "Trains a job for a few steps, on this machine's GPUs or its CPU; or checks the GPUs.",
    .operands = {job_operand()},
    .options = with_job_flags(
        {{"--backend", "NAME", "gpu or cpu (in double); gpu when not given", false, "gpu cpu"},
         {"--gpus", "N", "how many ranks to start, one a GPU; as many as JOB is cut for when not given"},
         {"--steps", "N", "steps to time, or to train on the CPU; 10 when not given"},
         {"--warmup", "N", "gpu: steps before those; 3 when not given"},
         {"--tokens", "FILE",
          "token ids to learn from, 16 bits each (32 for vocabularies above 65,536); made up when not given"},
         {"--json", "FILE", "write the result (docs/real-mode.md; of the CPU: docs/output.md); - prints only it"},
         {"--trace", "FILE", "record one more step; prediction and measurement in one timeline for ui.perfetto.dev"},
         {"--html", "FILE", "record one more step; write a page that holds it against the prediction (docs/html.md)"}}),
    .notes =
        "On GPUs: step time, tokens/s, MFU, loss by step, memory beside the Plan's, clocks. Without JOB memory, "
        "recording and NCCL are checked. Other launchers start the workers themselves:\n"
        "  torchrun --nproc-per-node 8 --no-python forerun-worker run JOB\n"
        "What real mode does not compute is refused by name, with exit code 2, before a GPU is looked for.\n"
        "With --backend cpu a thread for each rank runs the job's Plan: real arithmetic, no measurement of a GPU.\n"
        "Exit code 3 where there is no GPU, no driver, or this build has no GPU part. More ranks than GPUs share "
        "cards: that shows that all works together, and its times mean nothing.\n",
    .examples = {{"forerun measure llama3-8b-8xh100-torchtitan --steps 20", "a step on the GPUs here", "GPUs"},
                 {"forerun measure tiny.yaml --backend cpu --steps 2", "a tiny model, trained on the CPU",
                  "a job of a tiny model"},
                 {"forerun measure tiny.yaml --backend cpu --steps 20 --html step.html",
                  "the same as a page: losses, timeline, operators, memory", "a job of a tiny model"}},
    .run = run_measure,
};

}  // namespace cli
