// SPDX-License-Identifier: Apache-2.0
#include "core/config/catalogue.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/calibration_reader.h"
#include "core/config/fabric_reader.h"
#include "core/config/framework_reader.h"
#include "core/config/gpu_reader.h"
#include "core/config/huggingface.h"
#include "core/config/model_reader.h"
#include "core/config/network_calibration_reader.h"
#include "core/config/node_reader.h"
#include "core/config/uncertainty_reader.h"

namespace config {
namespace {

namespace fs = std::filesystem;
using Kind = Catalogue::Kind;

/// `many`: what `forerun list` calls them; empty where it does not show them.
struct Shelf {
  const char *folder, *one, *many;
};

Shelf shelf(Kind kind) {
  switch (kind) {
    case Kind::model: return {"workloads/models", "model", "models"};
    case Kind::node: return {"topologies/nodes", "node", "nodes"};
    case Kind::gpu: return {"topologies/gpus", "GPU", "gpus"};
    case Kind::fabric: return {"topologies/fabrics", "fabric", "fabrics"};
    case Kind::calibration: return {"topologies/calibrations", "calibration", "calibrations"};
    case Kind::framework: return {"workloads/frameworks", "framework", "frameworks"};
    case Kind::job: return {"workloads/jobs", "job", "jobs"};
  }
  return {};
}

constexpr Shelf kNetworks{"topologies/calibrations/network", "calibration of a network", ""};
constexpr const char* kUncertaintyFile = "topologies/uncertainty.yaml";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string file_of(const fs::path& folder, std::string_view name) {
  if (name.empty() || name.find('/') != std::string_view::npos) return {};
  std::error_code error;
  for (const char* extension : {".yaml", ".json"}) {
    const fs::path file = folder / (std::string(name) + extension);
    if (fs::is_regular_file(file, error)) return file;
  }
  return {};
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml") ||
         text.ends_with(".json");
}

/// `beside`: the file that the name would be the path of.
base::Fault unknown(std::string field, const std::string& name, const Shelf& shelf,
                    const std::vector<std::string>& known, const std::string& beside, base::Where where) {
  if (!beside.empty()) {
    const bool is_folder = fs::path(beside).filename() != fs::path(name).filename();
    return {std::move(field), std::string("there is no ") + shelf.one + ' ' + base::quoted(name),
            is_folder ? name + " is a folder: write " + name + '/' + fs::path(beside).filename().string()
                      : name + " is a file: write ./" + name,
            std::move(where)};
  }
  constexpr std::size_t kFew = 8;
  const std::string near = base::did_you_mean(name, known);
  const std::string many = shelf.many;
  const std::string list =
      many.empty() || known.size() <= kFew ? "known: " + base::joined(known) : "`forerun list " + many + "` shows all";
  return {std::move(field), std::string("there is no ") + shelf.one + ' ' + base::quoted(name),
          (near.empty() ? "write a known name or a path; " : near + ' ') + list, std::move(where)};
}

/// The file at `text`, from here or from the folder of the file that names it; empty when there is none.
std::string file_at(const std::string& text, const base::Where& from) {
  std::error_code error;
  for (const fs::path& file : {fs::path(text), fs::path(from.file).parent_path() / text}) {
    if (fs::is_regular_file(file, error)) return file;
    // A checkpoint of Hugging Face is a folder that holds its configuration.
    if (fs::is_regular_file(file / "config.json", error)) return file / "config.json";
  }
  return {};
}

base::Fault no_file(std::string field, const std::string& text, const std::vector<std::string>& known,
                    base::Where where) {
  // A name of Hugging Face ("Qwen/Qwen2.5-7B") looks like a path; its model may be in the catalogue.
  const bool names_a_file = text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
  const std::string near = names_a_file ? "" : base::did_you_mean(fs::path(text).filename().string(), known);
  return {std::move(field), "there is no file " + base::quoted(text),
          "write the path from here or from the file that names it, or a catalogue name" +
              (near.empty() ? "" : "; " + near),
          std::move(where)};
}

/// The file that `text` names or gives the path of; a fault and nothing where there is none.
std::string file_named(const fs::path& root, const Shelf& shelf, const std::string& field, const std::string& text,
                       const base::Where& where, Faults& faults) {
  const fs::path folder = root / shelf.folder;
  const bool is_path = looks_like_path(text);
  const std::string file = is_path ? file_at(text, where) : file_of(folder, text);
  if (file.empty()) {
    faults.push_back(is_path ? no_file(field, text, names_in(folder), where)
                             : unknown(field, text, shelf, names_in(folder), file_at(text, where), where));
  }
  return file;
}

bool has_data(const fs::path& root) {
  std::error_code error;
  return fs::is_directory(root / "topologies", error) && fs::is_directory(root / "workloads", error);
}

/// A config.json is read by its own keys only, so a key of ours laid over it would be lost: it is a fault instead.
void check_huggingface_keys(const Value& base, const Value& over, const std::string& field, Faults& faults) {
  for (const auto& [key, entry] : over.entries) {
    if (key == "base" || key == "source" || base.find(key)) continue;
    faults.push_back({field + '.' + key, "is not a key of this Hugging Face config",
                      "use the file's own names, such as num_hidden_layers", entry.key_where});
  }
}

/// Follows `base:` and lays each map over its base. One object a value, for the chain of files it has passed.
class Expander {
 public:
  Expander(const Catalogue& catalogue, Kind kind, std::string field, Faults& faults)
      : catalogue_(catalogue), kind_(kind), field_(std::move(field)), faults_(faults) {}

  Value expand(Value at) {
    if (at.kind == Value::Kind::scalar) return named(at);
    if (at.kind == Value::Kind::map) return laid_over(std::move(at));
    if (at.kind == Value::Kind::list) {
      faults_.push_back(
          {field_, std::string("a list is not a ") + shelf(kind_).one, "write a name, a path or a map", at.where});
    }
    return {};
  }

 private:
  Value laid_over(Value at) {
    const Value* base = at.find("base");
    if (!base || base->kind == Value::Kind::null) return at;
    if (base->kind == Value::Kind::list) {
      faults_.push_back({field_ + ".base", "a list is not a base", "write a name, a path or a map", base->where});
      return {};
    }
    Value below = expand(*base);
    if (below.kind == Value::Kind::null) return {};
    Value over = std::move(at);
    std::erase_if(over.entries, [](const auto& entry) { return entry.first == "base"; });
    if (over.entries.empty()) return below;
    if (kind_ == Kind::model && is_huggingface(below)) check_huggingface_keys(below, over, field_, faults_);
    if (Value* name = below.find("name"); name && name->kind == Value::Kind::scalar && !over.find("name")) {
      if (!name->text.ends_with(" (changed)")) name->text += " (changed)";
    }
    return kind_ == Kind::node ? merged_node(std::move(below), std::move(over)) : merged(below, over);
  }

  Value named(const Value& at) {
    const std::string file = file_named(catalogue_.root(), shelf(kind_), field_, at.text, at.where, faults_);
    if (file.empty()) return {};
    const std::string one = fs::path(file).lexically_normal();  // however often a cycle goes up and down again
    if (std::find(passed_.begin(), passed_.end(), one) != passed_.end()) {
      faults_.push_back({field_ + ".base", base::quoted(at.text) + " is its own base, by way of " + passed_.back(),
                         "let one of them stand on its own, without base:", at.where});
      return {};
    }
    passed_.push_back(one);
    return base::or_faults(faults_, [&]() -> Value {
      Value tree = *catalogue_.entry(kind_, file);
      if (tree.kind != Value::Kind::map) {
        faults_.push_back({field_, std::string("the file does not hold a ") + shelf(kind_).one,
                           "write `key: value` entries", tree.where});
        return {};
      }
      if (!tree.find("name") && !(kind_ == Kind::model && is_huggingface(tree)))
        tree.set("name", scalar(fs::path(file).stem().string(), tree.where));
      return expand(std::move(tree));
    });
  }

  const Catalogue& catalogue_;
  Kind kind_;
  std::string field_;
  Faults& faults_;
  std::vector<std::string> passed_;
};

/// The curves of a GPU that none were fitted to: those of its generation.
std::string usual_calibration(const spec::Gpu& gpu) { return "defaults-" + std::string(name(gpu.generation)); }

/// What a model without a name is called: its file, or the folder of a bare config.json.
std::string stem_of(const Value& tree) {
  const fs::path file = tree.where.file;
  const fs::path folder = file.parent_path().filename();
  const bool named = !folder.empty() && folder != "." && folder != "..";
  return file.stem() == "config" && named ? folder : file.stem();
}

}  // namespace

Catalogue::Catalogue(std::string root) : root_(std::move(root)) {}

Catalogue Catalogue::find() {
  if (const char* set = std::getenv("FORERUN_DATA"); set && *set) {
    if (has_data(set)) return Catalogue(set);
    throw base::InputError({{"FORERUN_DATA",
                             std::string("there is no catalogue in '") + set + "'",
                             "name the folder that holds topologies/ and workloads/",
                             {}}});
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "forerun";
  if (!error && has_data(installed)) return Catalogue(installed);
#ifdef FORERUN_SOURCE_DIR
  if (has_data(FORERUN_SOURCE_DIR)) return Catalogue(FORERUN_SOURCE_DIR);
#endif
  throw base::InputError({{"",
                           "the catalogue of models and nodes was not found",
                           "set FORERUN_DATA to the folder that holds topologies/ and workloads/",
                           {}}});
}

std::vector<std::string> Catalogue::names(Kind kind) const { return names_in(fs::path(root_) / shelf(kind).folder); }

std::string Catalogue::path(Kind kind, std::string_view name) const {
  return file_of(fs::path(root_) / shelf(kind).folder, name);
}

std::vector<std::string> Catalogue::network_names() const { return names_in(fs::path(root_) / kNetworks.folder); }

std::string Catalogue::network_path(std::string_view name) const {
  return file_of(fs::path(root_) / kNetworks.folder, name);
}

Catalogue Catalogue::with(const Value& overlay) const {
  Catalogue out = *this;
  if (overlay.kind == Value::Kind::map) out.overlay_ = merged(overlay_, overlay);
  return out;
}

Catalogue Catalogue::noting(std::set<std::string>& entries) const {
  Catalogue out = *this;
  out.noted_ = &entries;
  return out;
}

Catalogue Catalogue::remembering() const {
  Catalogue out = *this;
  if (!out.read_before_) out.read_before_ = std::make_shared<FileCache>();
  return out;
}

std::shared_ptr<const Value> Catalogue::read(const std::string& path) const {
  return read_before_ ? read_before_->load(path) : std::make_shared<Value>(load(path));
}

std::shared_ptr<const Value> Catalogue::launch(std::string_view name) const {
  return read(root_ + "/workloads/launch/" + std::string(name) + ".yaml");
}

std::shared_ptr<const Value> Catalogue::entry(Kind kind, const std::string& file) const {
  return entry(shelf(kind).folder, shelf(kind).many, file);
}

/// A file elsewhere is nobody's entry, whatever its name.
std::shared_ptr<const Value> Catalogue::entry(const std::string& folder, std::string_view shelf,
                                              const std::string& file) const {
  std::shared_ptr<const Value> tree = read(file);
  const std::string name = fs::path(file).stem();
  if (file != file_of(fs::path(root_) / folder, name)) return tree;
  if (noted_) noted_->insert(std::string(shelf) + '.' + name);
  const Value* shelf_over = overlay_.find(shelf);
  const Value* over = shelf_over ? shelf_over->find(name) : nullptr;
  return over ? std::make_shared<Value>(merged(*tree, *over)) : tree;
}

Value Catalogue::expanded(Kind kind, const Value& at, std::string_view field, Faults& faults) const {
  return Expander(*this, kind, std::string(field), faults).expand(at);
}

spec::Model Catalogue::model(const Value& at, std::string_view field, Faults& faults,
                             std::vector<std::string>* assumptions) const {
  const Value tree = expanded(Kind::model, at, field, faults);
  if (tree.kind == Value::Kind::null) return {};
  const std::string stem = stem_of(tree);
  if (is_huggingface(tree)) return read_huggingface(tree, stem, faults, assumptions);
  spec::Model model = read_model(tree, std::string(field), faults);
  if (model.name.empty()) model.name = stem;
  return model;
}

spec::Gpu Catalogue::gpu(const Value& at, std::string_view field, Faults& faults) const {
  const Value tree = expanded(Kind::gpu, at, field, faults);
  return tree.kind == Value::Kind::null ? spec::Gpu{} : read_gpu(tree, std::string(field), faults);
}

std::optional<spec::Generation> Catalogue::generation_of(const std::string& gpu) const {
  const std::string file = path(Kind::gpu, gpu);
  if (file.empty()) return {};
  Faults others;  // of a file that this job does not use otherwise
  return read_gpu(*entry(Kind::gpu, file), "gpu", others).generation;
}

spec::Node Catalogue::node(const Value& at, std::string_view field, Faults& faults) const {
  const Value tree = expanded(Kind::node, at, field, faults);
  if (tree.kind == Value::Kind::null) return {};
  const std::string path(field);
  spec::Node node = read_node(tree, path, faults);
  const Value* gpu_at = tree.find("gpu");
  if (!gpu_at || gpu_at->kind == Value::Kind::null) {
    faults.push_back({path + ".gpu", "is missing", "add `gpu:` with a name, a path or a map", tree.where});
    return node;
  }
  node.gpu = gpu(*gpu_at, path + ".gpu", faults);
  if (node.name.empty()) node.name = "node of " + std::to_string(node.gpus) + ' ' + node.gpu.name;
  const std::string curves = node.gpu.calibration.empty() ? usual_calibration(node.gpu) : node.gpu.calibration;
  if (!node.gpu.calibration.empty() || !Catalogue::path(Kind::calibration, curves).empty()) {
    const Value* named = gpu_at->find("calibration");
    node.calibration = calibration(curves, path + ".gpu.calibration", named ? named->where : gpu_at->where, faults);
    const std::string& fitted = node.calibration.gpu;
    if (!fitted.empty() && fitted != node.gpu.name) node.calibration.generation = generation_of(fitted);
  }
  if (const Value* links = tree.find("links"); links && links->kind == Value::Kind::scalar) {
    node.links = network_calibration(links->text, path + ".links", links->where, faults);
  }
  return node;
}

spec::Fabric Catalogue::fabric(const Value& at, std::string_view field, Faults& faults) const {
  const Value tree = expanded(Kind::fabric, at, field, faults);
  if (tree.kind == Value::Kind::null) return {};
  spec::Fabric fabric = read_fabric(tree, std::string(field), faults);
  if (const Value* name = tree.find("calibration"); name && name->kind == Value::Kind::scalar) {
    const std::string path = std::string(field) + ".calibration";
    fabric.calibration = network_calibration(name->text, path, name->where, faults);
  }
  return fabric;
}

spec::Framework Catalogue::framework(const Value& at, std::string_view field, Faults& faults) const {
  const Value tree = expanded(Kind::framework, at, field, faults);
  return tree.kind == Value::Kind::null ? spec::Framework{} : read_framework(tree, std::string(field), faults);
}

spec::Uncertainty Catalogue::uncertainty(Faults& faults) const {
  return base::or_faults(faults, [&] {
    return read_uncertainty(*entry("topologies", "topologies", fs::path(root_) / kUncertaintyFile), faults);
  });
}

spec::Calibration Catalogue::calibration(const std::string& name, std::string_view field, const base::Where& from,
                                         Faults& faults) const {
  const std::string file = file_named(root_, shelf(Kind::calibration), std::string(field), name, from, faults);
  if (file.empty()) return {};
  return base::or_faults(faults, [&] {
    return read_calibration(*entry(Kind::calibration, file), fs::path(file).stem().string(), faults);
  });
}

spec::NetworkCalibration Catalogue::network_calibration(const std::string& name, std::string_view field,
                                                        const base::Where& from, Faults& faults) const {
  const std::string file = file_named(root_, kNetworks, std::string(field), name, from, faults);
  if (file.empty()) return {};
  return base::or_faults(faults, [&] {
    return read_network_calibration(*entry(kNetworks.folder, "networks", file), fs::path(file).stem().string(), faults);
  });
}

}  // namespace config
