// core/config/huggingface_images.cpp -- architectures for text and images, of which the part that reads and writes text
// is read. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/config/huggingface_readers.h"

namespace config::huggingface {
namespace {

/// Older files have the text part's keys at their root.
void read_part_or_root(Model& model, Config& config, void (*read)(Model&, Config&)) {
  if (!config.map.has("text_config")) return read(model, config);
  read_text_part(model, config, read);
}

}  // namespace

void gemma3(Model& model, Config& config) { read_text_part(model, config, gemma3_text); }
void glm4v_moe(Model& model, Config& config) { read_text_part(model, config, glm4v_moe_text); }
void kimi_k25(Model& model, Config& config) { read_text_part(model, config, deepseek_v3); }
void llama4(Model& model, Config& config) { read_text_part(model, config, llama4_text); }
void qwen2_vl(Model& model, Config& config) { read_part_or_root(model, config, qwen2_vl_text); }
void qwen3_vl(Model& model, Config& config) { read_text_part(model, config, qwen3_vl_text); }
void qwen3_vl_moe(Model& model, Config& config) { read_text_part(model, config, qwen3_vl_moe_text); }

/// Mistral Small 3.1, Ministral 3, Mistral Small 4: the text part names its own architecture.
void mistral3(Model& model, Config& config) {
  std::string type = "mistral";
  const Value* part = config.value.find("text_config");
  if (const Value* named = part ? part->find("model_type") : nullptr) type = named->text;
  if (type == "ministral3") return read_text_part(model, config, ministral3);
  if (type == "mistral4") return read_text_part(model, config, mistral4);
  if (type == "mistral") return read_text_part(model, config, mistral);
  config.map.fault("text_config", "is of an architecture that is not known here, " + type,
                   "known: mistral, ministral3, mistral4");
}

}  // namespace config::huggingface
