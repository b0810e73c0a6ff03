// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/base/text.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/memory_line.h"

namespace reports {
namespace {

using result::PassKind;
using result::Schedule;
using result::SchedulePass;
using result::StageSchedule;

/// How a kind is drawn: a capital for even chunks, small for odd ones, and what fills the rest of its cells; with
/// colour the background fills them, brighter for odd chunks.
struct Look {
  char letter;
  std::string_view fill;
  int background;
  std::string_view meaning;
};
constexpr std::array<Look, result::kPassKinds> kLooks{{{'F', "░", 46, "forward"},
                                                       {'B', "▓", 42, "backward"},
                                                       {'W', "▒", 43, "weight gradient"},
                                                       {'V', "▚", 45, "vocabulary"},
                                                       {'O', "█", 47, "ends of the step, with the optimizer"}}};
constexpr int kBrighter = 60;  // bright backgrounds are 100 to 107
constexpr std::string_view kIdleMark = "·";
constexpr int kFewestCells = 20;

const Look& look_of(PassKind kind) { return kLooks[static_cast<std::size_t>(kind)]; }
bool is_odd(const SchedulePass& pass) { return pass.chunk > 0 && pass.chunk % 2 == 1; }

char letter_of(const SchedulePass& pass) {
  const char capital = look_of(pass.kind).letter;
  return is_odd(pass) ? static_cast<char>(std::tolower(capital)) : capital;
}

std::string repeated(std::string_view cell, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += cell;
  return out;
}

/// "B12▓▓" in five cells, "B▓" in two: the number is there only as a whole.
std::string block(const SchedulePass& pass, int cells, const Style& style) {
  std::string label(1, letter_of(pass));
  const std::string number = pass.microbatch < 0 ? "" : std::to_string(pass.microbatch);
  if (static_cast<int>(number.size()) < cells) label += number;
  const Look& look = look_of(pass.kind);
  const std::string drawn = label + repeated(style.colour ? " " : look.fill, cells - columns(label));
  if (!style.colour) return drawn;
  return fmt::format("\033[30;{}m{}\033[0m", look.background + (is_odd(pass) ? kBrighter : 0), drawn);
}

std::string line(const std::vector<const SchedulePass*>& cells, const Style& style) {
  std::string out;
  for (std::size_t at = 0; at < cells.size();) {
    std::size_t end = at + 1;
    while (end < cells.size() && cells[end] == cells[at]) ++end;
    const int length = static_cast<int>(end - at);
    out += cells[at] ? block(*cells[at], length, style) : inked(repeated(kIdleMark, length), Ink::dim, style);
    at = end;
  }
  return out + '\n';
}

std::vector<const SchedulePass*> chosen(const StageSchedule& stage, bool forward, bool others) {
  std::vector<const SchedulePass*> out;
  for (const SchedulePass& pass : stage.passes) {
    if (pass.kind == PassKind::forward ? forward : others) out.push_back(&pass);
  }
  return out;
}

std::string stage_lines(const Schedule& s, const StageSchedule& stage, Window window, int label, int cells,
                        const Style& style) {
  std::string out = fmt::format("{:<{}}", fmt::format("stage {}", stage.stage), label);
  const std::string indent(label, ' ');
  if (s.beside) {
    out += line(timeline(chosen(stage, true, false), window, cells), style) + indent +
           line(timeline(chosen(stage, false, true), window, cells), style);
  } else {
    out += line(timeline(chosen(stage, true, true), window, cells), style);
  }
  if (stage.memory.empty() || s.capacity_bytes <= 0) return out;
  return out + indent + memory_line(highest(stage.memory, window, cells), s.capacity_bytes, style) + '\n';
}

std::string axis(Window window, int label, int cells) {
  const std::string from = base::human(base::Seconds(window.from_s)), to = base::human(base::Seconds(window.to_s));
  return std::string(label, ' ') + from + std::string(std::max(1, cells - columns(from) - columns(to)), ' ') + to +
         '\n';
}

std::string letters(const Schedule& s) {
  std::array<bool, result::kPassKinds> there{};
  for (const StageSchedule& stage : s.stages) {
    for (const SchedulePass& pass : stage.passes) there[static_cast<std::size_t>(pass.kind)] = true;
  }
  std::string out;
  for (std::size_t kind = 0; kind < there.size(); ++kind) {
    if (there[kind]) out += fmt::format("{} {}, ", kLooks[kind].letter, kLooks[kind].meaning);
  }
  return out + fmt::format("{} idle; numbers are microbatches", kIdleMark);
}

std::string chunks(const Schedule& s) {
  if (s.two_way) return ". Capitals go down the stages, small letters up";
  return s.chunks > 1 ? ". Capitals are even chunks of a stage, small letters odd ones" : "";
}

bool has_passes_below(const Schedule& s, double width_s) {
  for (const StageSchedule& stage : s.stages) {
    for (const SchedulePass& pass : stage.passes) {
      if (pass.kind == PassKind::forward && pass.end_s - pass.start_s < width_s) return true;
    }
  }
  return false;
}

bool has_memory(const Schedule& s) {
  return std::any_of(s.stages.begin(), s.stages.end(),
                     [](const StageSchedule& stage) { return !stage.memory.empty(); });
}

std::string legend(const Schedule& s, double width_s) {
  std::string out = letters(s) + chunks(s) + fmt::format(". A column is {}", base::human(base::Seconds(width_s)));
  if (has_passes_below(s, width_s)) out += "; shorter passes take turns, and --to TIME shows them all";
  if (s.rolling) out += ". Steps follow one another without a barrier: each stage's time begins with its first kernel";
  if (has_memory(s)) {
    out += fmt::format(". Below each stage what it has allocated, in eighths of {}; ! is more than that",
                       base::human(base::Bytes(static_cast<double>(s.capacity_bytes))));
  }
  return out + '.';
}

Json memory_json(const StageSchedule& stage) {
  Json out = Json::array();
  for (const result::MemoryStep& step : stage.memory) out.push_back({{"at_s", step.at_s}, {"bytes", step.bytes}});
  return out;
}

}  // namespace

std::string text(const Schedule& s, const Style& style, std::optional<Window> asked) {
  const Window window = asked.value_or(Window{0, s.step_time_s});
  int label = 0;
  for (const StageSchedule& stage : s.stages) label = std::max(label, columns(fmt::format("stage {}  ", stage.stage)));
  const int cells = std::max(kFewestCells, style.columns - label);
  std::string out = paragraph("", s.job, style.columns) + '\n' + axis(window, label, cells);
  for (const StageSchedule& stage : s.stages) out += stage_lines(s, stage, window, label, cells, style);
  out += '\n' + paragraph("", legend(s, (window.to_s - window.from_s) / cells), style.columns);
  out += fmt::format("\nStep time         {}\nPipeline bubble   {}", base::human(base::Seconds(s.step_time_s)),
                     percent(s.bubble_fraction));
  return out + (s.stages.size() > 1 ? fmt::format(" of stage {}, the slowest\n", s.bubble_stage) : "\n");
}

std::string json(const Schedule& s) {
  Json stages = Json::array();
  for (const StageSchedule& stage : s.stages) {
    Json passes = Json::array();
    for (const SchedulePass& pass : stage.passes) {
      Json one{{"pass", result::kPassNames[static_cast<std::size_t>(pass.kind)]}};
      if (pass.microbatch >= 0) one["microbatch"] = pass.microbatch;
      if (pass.chunk >= 0) one["chunk"] = pass.chunk;
      one["start_s"] = pass.start_s;
      one["end_s"] = pass.end_s;
      passes.push_back(std::move(one));
    }
    stages.push_back({{"stage", stage.stage}, {"passes", std::move(passes)}});
    if (!stage.memory.empty()) stages.back()["memory"] = memory_json(stage);
  }
  return text_of(Json{{"schema", 1},
                      {"job", s.job},
                      {"schedule", s.name},
                      {"chunks", s.chunks},
                      {"step_time_s", s.step_time_s},
                      {"bubble_fraction", s.bubble_fraction},
                      {"bubble_stage", s.bubble_stage},
                      {"stages", std::move(stages)}});
}

}  // namespace reports
