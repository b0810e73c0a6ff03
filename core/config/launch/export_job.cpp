// core/config/launch/export_job.cpp -- the way out: a Job's tree becomes a framework's files, or faults at its keys.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/config/job_reader.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/job_settings.h"
#include "core/config/launch/slurm.h"

namespace config::launch {
namespace {

/// A model of which every key has its default.
spec::Model plain_model(const spec::Model& like) {
  spec::Model out;
  if (like.moe) out.moe.emplace();
  if (like.mla) out.mla.emplace();
  out.norm = like.norm;
  out.norms_in_parallel = like.norms_in_parallel;
  return out;
}

/// The Job with nothing but its degrees, resolved: what the framework does where the user says nothing. The degrees
/// themselves are then those of one GPU.
Settings usual_settings(spec::Job job) {
  const spec::Strategy& cut = job.strategy;
  spec::Strategy s;
  s.sp_given = true;
  std::tie(s.tp, s.sp, s.cp, s.pp, s.vpp, s.schedule) = std::tie(cut.tp, cut.sp, cut.cp, cut.pp, cut.vpp, cut.schedule);
  std::tie(s.dp, s.zero, s.ep, s.compile, s.framework) = std::tie(cut.dp, cut.zero, cut.ep, cut.compile, cut.framework);
  const spec::Training& given = job.training;
  spec::Training t;
  std::tie(t.sequence, t.global_batch, t.micro_batch) = std::tie(given.sequence, given.global_batch, given.micro_batch);
  std::tie(t.precision, t.fp8_recipe) = std::tie(given.precision, given.fp8_recipe);
  job.strategy = s;
  job.training = t;
  spec::Job plain;
  plain.model = plain_model(job.model);
  Settings out = job_settings(spec::resolve(std::move(job)));
  std::erase_if(out.all(), [](const Setting& setting) { return setting.name.starts_with("model."); });
  for (Setting& setting : job_settings(plain).all()) {
    if (setting.name.starts_with("model.")) out.set(setting.name, std::move(setting.value));
  }
  for (const char* degree : {"tp", "cp", "pp", "ep", "dp"}) out.set(std::string("strategy.") + degree, "1");
  out.set("strategy.sp", "false");
  out.set("strategy.zero", "0");
  out.set("strategy.schedule", "1f1b");
  out.set("strategy.compile", "false");
  for (const char* required : {"sequence", "global_batch", "micro_batch", "precision", "fp8_recipe"}) {
    out.erase(std::string("training.") + required);
  }
  return out;
}

/// Keys about the machine, the data and the prediction, which no launch says.
void tell_others(const Value& tree, Export& e) {
  std::string others;
  const auto note = [&](const Value* section, const std::string& prefix, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (section && section->find(key)) others += (others.empty() ? "" : ", ") + prefix + key;
    }
  };
  note(tree.find("training"), "training.", {"data", "checkpoint"});
  note(tree.find("strategy"), "strategy.", {"moe_imbalance", "moe_routing", "launch_blocking"});
  note(&tree, "", {"network", "simulation"});
  if (!others.empty()) e.notes.push_back("not in the files: " + others);
}

const Framework& framework_of(std::string_view to, const spec::Framework& profile) {
  if (const Framework* named = framework_named(to)) return *named;
  const std::string known = base::joined(framework_names());
  if (to != "slurm")
    throw base::InputError({{"--to", "there is no framework " + base::quoted(to), "choose among slurm, " + known, {}}});
  const Framework* own = framework_named(profile.launcher);
  if (own && own->command) return *own;
  if (!own && !profile.launcher.empty())
    throw base::InputError({{"strategy.framework.launcher",
                             "there is no framework " + base::quoted(profile.launcher) + " to launch with",
                             "choose among " + known,
                             {}}});
  throw base::InputError({{"strategy.framework",
                           base::quoted(profile.name) + " has no program that a batch script could start",
                           "write megatron, torchtitan, deepspeed, jax, torch or transformers (Accelerate)",
                           {}}});
}

/// The Job as the framework would run it.
Value under_profile(const Value& tree, const spec::Job& job, const Framework& framework, const Correspondence& table,
                    std::vector<std::string>& notes) {
  if (job.strategy.framework == table.profile) return tree;
  if (job.strategy.framework == table.profile + " (changed)") {
    notes.push_back("what strategy.framework changes of " + table.profile + " is for predictions alone" +
                    (table.profile == "megatron" ? ", but for the rows of the vocabulary" : ""));
    return tree;
  }
  if (job.framework.launcher == framework.name) {
    notes.push_back("whose models and loss are trained is the script's affair: forerun import takes framework: " +
                    table.profile + " unless told --framework " + job.strategy.framework);
    return tree;
  }
  Value out = tree;
  set_path(out, "strategy.framework", table.profile, "--to");
  notes.push_back("defaults are those of framework: " + table.profile + ", not of " + job.strategy.framework +
                  "; predict it so with --framework " + table.profile);
  return out;
}

void refuse_shape(const spec::Job& job, const Value& tree) {
  std::vector<base::Fault> faults;
  const auto refuse = [&](const char* field, const char* what, const char* mend) {
    faults.push_back({field, what, mend, place_of(tree, field)});
  };
  if (job.model.is_list())
    refuse("model", "is a list of operators, and frameworks here train transformers", "name a transformer");
  if (job.strategy.pp == 1 && !job.strategy.traits().one_f_one_b)
    refuse("strategy.schedule",
           "orders the microbatches of one stage, which frameworks run one after another as 1f1b does",
           "write 1f1b, or leave it out");
  if (job.cluster.mixed())
    refuse("cluster.node", "is a mixed cluster, and launchers here start equal nodes", "name one kind of node");
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

}  // namespace

Launch export_job(const Value& tree, const Catalogue& catalogue, std::string_view to) {
  const spec::Job written = read_unchecked_job(tree, catalogue);
  const Framework& framework = framework_of(to, written.framework);
  Correspondence table = read_correspondence(catalogue, framework.table);
  Launch out;
  const Value own = under_profile(tree, written, framework, table, out.notes);
  const spec::Job job = read_job(own, catalogue);
  refuse_shape(job, tree);
  if (framework.title) table.title = framework.title;
  Export e{table, catalogue, job, own, job_settings(job), {}, {}, {}};
  const Value* strategy = own.find("strategy");
  // The best kernel of the GPU is what the framework takes by itself.
  if (!strategy || !strategy->find("attention_kernel")) e.keys.erase("strategy.attention_kernel");
  framework.write(e);
  refuse_rest(e, usual_settings(read_unchecked_job(own, catalogue)));
  const auto refuse_all = [&] {
    if (e.faults.empty()) return;
    for (base::Fault& fault : e.faults) fault.where = place_of(tree, fault.field);
    throw base::InputError(std::move(e.faults));
  };
  refuse_all();
  tell_others(tree, e);
  out.files = framework.files(e);
  refuse_all();
  if (to == "slurm") out.files.insert(out.files.begin(), batch_script(e, framework, out.files.front().name));
  out.notes.insert(out.notes.end(), e.notes.begin(), e.notes.end());
  return out;
}

}  // namespace config::launch
