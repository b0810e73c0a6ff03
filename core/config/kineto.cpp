// SPDX-License-Identifier: Apache-2.0
#include "core/config/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/chrome_events.h"
#include "core/config/kernel_family.h"
#include "core/config/numbered.h"

namespace config {
namespace {

using trace::Span;
using trace::Ticks;

constexpr std::array<std::string_view, 7> kCommunication{"all_gather", "reduce_scatter", "all_reduce",   "all_to_all",
                                                         "broadcast",  "send_recv",      "reduce_to_one"};

struct Kernel {
  Ticks start = 0, end = 0;
  Ticks launched = 0;  // by the host; its own start where the file does not tell
  std::int64_t correlation = -1;
  std::int32_t name = 0, kind = 0, stream = 0, device = 0;
};

/// What the host did in "ProfilerStep#12".
struct Annotation {
  int number = 0;
  Ticks start = 0, end = 0;
};

std::int64_t number_of(const std::string* text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

class ProfileReader {
 public:
  ProfileReader(const std::string& file, std::optional<int> step) : file_(file), wanted_(step) {}

  void take(const ChromeEvent& event) {
    if (event.phase != "X" || !event.start_ps) return;
    const std::string& kind = event.category;
    if (kind == "kernel" || kind == "gpu_memcpy" || kind == "gpu_memset") {
      take_kernel(event);
    } else if (kind == "cuda_runtime" || kind == "cuda_driver") {
      const std::int64_t correlation = number_of(find(event.args, "correlation"), -1);
      if (correlation >= 0) launches_[correlation] = *event.start_ps;
    } else if (kind == "user_annotation" && event.name.starts_with("ProfilerStep#")) {
      const std::string number = event.name.substr(event.name.find('#') + 1);
      annotations_.push_back({checked(event.name, number_of(&number, -1), -1), *event.start_ps, end_of(event)});
    }
  }

  KinetoTrace result(const TextEntries& head) {
    if (find(head, "otherData.forerun") != nullptr) {
      refuse("otherData.forerun", "is of a recorded step of forerun's own, not of PyTorch's profiler",
             "give it as it is: forerun explain JOB --against " + file_);
    }
    keep_one_device();
    find_launches();
    const std::vector<std::vector<Kernel>> by_step = parted();
    KinetoTrace out;
    for (std::size_t i = 0; i < by_step.size(); ++i) out.steps.push_back(step_of(by_step, i));
    const std::size_t chosen = choose(out.steps);
    out.step = out.steps[chosen].number;
    tell(by_step[chosen], out.steps[chosen], head, out.recorded);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& what, const std::string& mend) const {
    throw base::InputError({{field, what, mend, {file_, 1, 1}}});
  }

  int checked(const std::string& field, std::int64_t number, std::int64_t least) const {
    if (number >= least && number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
    refuse(field, "has the number " + std::to_string(number) + ", which is none of a step or a rank",
           "give the trace as the profiler wrote it");
  }

  static Ticks end_of(const ChromeEvent& event) {
    return *event.start_ps + std::max<Ticks>(0, event.length_ps.value_or(0));
  }

  void take_kernel(const ChromeEvent& event) {
    const std::string* collective = find(event.args, "Collective name");
    const auto narrow = [&](const char* key) { return static_cast<std::int32_t>(number_of(find(event.args, key), 0)); };
    Kernel kernel;
    kernel.start = kernel.launched = *event.start_ps;
    kernel.end = end_of(event);
    kernel.correlation = number_of(find(event.args, "correlation"), -1);
    kernel.name = static_cast<std::int32_t>(names_.number(event.name));
    const std::string family = kernel_family(event.category, event.name, collective == nullptr ? "" : *collective);
    const int ranks = collective == nullptr ? 0 : narrow("Group size");
    kernel.kind = static_cast<std::int32_t>(kinds_.number({family, family == "send_recv" ? 0 : ranks}));
    kernel.stream = narrow("stream");
    kernel.device = narrow("device");
    kernels_.push_back(kernel);
  }

  /// A process may drive several GPUs; the one that ran most is told.
  void keep_one_device() {
    std::map<std::int32_t, std::size_t> count;
    for (const Kernel& kernel : kernels_) ++count[kernel.device];
    if (count.empty()) {
      refuse("traceEvents", "has no kernel of a GPU",
             "profile with ProfilerActivity.CUDA, and export the trace of a rank that has a GPU");
    }
    const auto most =
        std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::int32_t device = most->first;
    if (count.size() > 1) {
      notes_.push_back("the trace is of " + std::to_string(count.size()) + " GPUs; this is number " +
                       std::to_string(device) + " alone");
    }
    std::erase_if(kernels_, [&](const Kernel& kernel) { return kernel.device != device; });
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](const Kernel& a, const Kernel& b) { return a.start < b.start; });
  }

  void find_launches() {
    for (Kernel& kernel : kernels_) {
      const auto launch = launches_.find(kernel.correlation);
      if (launch != launches_.end()) kernel.launched = launch->second;
    }
    launches_.clear();
  }

  /// By step, in their order; steps without kernels are none. All in one where the file marks no steps.
  std::vector<std::vector<Kernel>> parted() {
    std::stable_sort(annotations_.begin(), annotations_.end(),
                     [](const Annotation& a, const Annotation& b) { return a.start < b.start; });
    if (annotations_.empty()) {
      notes_.push_back("the trace marks no steps (ProfilerStep#): all of it is taken for one");
      return {std::move(kernels_)};
    }
    std::vector<std::vector<Kernel>> out(annotations_.size());
    for (const Kernel& kernel : kernels_) {
      const auto after = std::upper_bound(annotations_.begin(), annotations_.end(), kernel.launched,
                                          [](Ticks at, const Annotation& step) { return at < step.start; });
      if (after == annotations_.begin() || kernel.launched >= std::prev(after)->end) continue;
      out[static_cast<std::size_t>(std::prev(after) - annotations_.begin())].push_back(kernel);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].empty()) continue;
      annotations_[kept] = annotations_[i];
      if (kept != i) out[kept] = std::move(out[i]);
      ++kept;
    }
    if (kept == 0)
      refuse("traceEvents", "no kernel was launched inside a ProfilerStep#",
             "profile with "
             "ProfilerActivity.CPU as well, and call step() of the profiler behind each step");
    annotations_.resize(kept);
    out.resize(kept);
    return out;
  }

  KinetoStep step_of(const std::vector<std::vector<Kernel>>& by_step, std::size_t i) const {
    const std::vector<Kernel>& kernels = by_step[i];
    Ticks end = 0;
    for (const Kernel& kernel : kernels) end = std::max(end, kernel.end);
    if (i + 1 < by_step.size()) end = std::max(kernels.front().start, by_step[i + 1].front().start);
    return {annotations_.empty() ? -1 : annotations_[i].number, end - kernels.front().start, kernels.size()};
  }

  std::size_t choose(const std::vector<KinetoStep>& steps) const {
    if (wanted_ && annotations_.empty()) {
      refuse("--step", "the trace marks no steps (ProfilerStep#), so that none is number " + std::to_string(*wanted_),
             "leave --step out: all of it is taken for one step");
    }
    if (wanted_) {
      std::string known;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].number == *wanted_) return i;
        known += (i ? ", " : "") + std::to_string(steps[i].number);
      }
      refuse("--step", "there is no step " + std::to_string(*wanted_), "choose of " + known);
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i + 1 < std::max<std::size_t>(2, steps.size()); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return steps[a].length < steps[b].length; });
    return order[(order.size() - 1) / 2];
  }

  /// The stream with the most time of kernels that do not communicate.
  std::int32_t compute_stream(const std::vector<Kernel>& kernels) const {
    std::map<std::int32_t, double> work;  // seconds
    for (const Kernel& kernel : kernels) {
      const std::string& family = kinds_.all()[static_cast<std::size_t>(kernel.kind)].family;
      const bool computes = std::find(kCommunication.begin(), kCommunication.end(), family) == kCommunication.end();
      work[kernel.stream] += computes ? trace::seconds(kernel.end - kernel.start) : 0;
    }
    return std::max_element(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void tell(const std::vector<Kernel>& kernels, const KinetoStep& step, const TextEntries& head, trace::Recorded& out) {
    out.source = "kineto";
    out.notes = notes_;
    const int rank = checked("distributedInfo.rank", number_of(find(head, "distributedInfo.rank"), 0), 0);
    if (const std::string* world = find(head, "distributedInfo.world_size")) {
      if (number_of(world, 0) <= rank)
        refuse("distributedInfo.rank", "is " + std::to_string(rank) + " of " + *world + " ranks",
               "give the trace as the profiler wrote it");
      out.facts = {{"cluster.gpus", *world}};
    } else {
      out.notes.push_back("the trace does not tell its rank: it is taken for rank 0");
    }
    if (const std::string* device = find(head, "deviceProperties.name")) out.facts.emplace_back("device", *device);
    out.kinds = kinds_.all();
    out.trace.names = names_.all();
    out.trace.phases = {"step"};
    out.trace.length = out.period = step.length;
    tell_others(kernels, out.notes);
    std::map<std::pair<std::int32_t, int>, std::size_t> track_of;  // by stream and lane
    const std::int32_t computing = compute_stream(kernels);
    const auto track = [&](std::int32_t stream, int lane) {
      const auto [known, fresh] = track_of.emplace(std::pair(stream, lane), out.trace.tracks.size());
      if (fresh) {
        const std::string name = stream == computing ? "compute" : "stream " + std::to_string(stream);
        out.trace.tracks.push_back({rank, 0, name + (lane > 0 ? " (" + std::to_string(lane + 1) + ")" : ""), {}});
      }
      return known->second;
    };
    track(computing, 0);
    for (const Kernel& kernel : kernels) {
      for (int lane = 0;; ++lane) {
        std::vector<Span>& spans = out.trace.tracks[track(kernel.stream, lane)].spans;
        if (!spans.empty() && beside(kernel, spans.back())) continue;
        append(kernel, spans);
        break;
      }
    }
    out.trace.streams = static_cast<int>(out.trace.tracks.size());
  }

  /// Kernels whose names say nothing, where they are many.
  void tell_others(const std::vector<Kernel>& kernels, std::vector<std::string>& notes) const {
    constexpr double kMany = 0.05;
    double all = 0, others = 0;
    std::map<std::int32_t, double> by_name;
    for (const Kernel& kernel : kernels) {
      const double length = trace::seconds(kernel.end - kernel.start);
      all += length;
      if (kinds_.all()[static_cast<std::size_t>(kernel.kind)].family != "other") continue;
      others += length;
      by_name[kernel.name] += length;
    }
    if (others <= kMany * all) return;
    const auto most = std::max_element(by_name.begin(), by_name.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    notes.push_back(fmt::format("{:.0f} % of the kernels' time has names that tell no family, most of it {}",
                                100 * others / all, base::quoted(names_.all()[static_cast<std::size_t>(most->first)])));
  }

  /// Programmatic launches begin before their predecessor has ended, and end behind it; what ends before it is of
  /// another branch of a graph.
  static bool beside(const Kernel& kernel, const Span& before) { return kernel.end <= before.end; }

  /// Spans of a track do not overlap.
  static void append(const Kernel& kernel, std::vector<Span>& spans) {
    Span span;
    span.start = std::max(kernel.start, spans.empty() ? kernel.start : spans.back().end);
    span.ready = span.start;
    span.end = std::max(span.start, kernel.end);
    span.name = kernel.name;
    span.work = kernel.kind;
    spans.push_back(span);
  }

  const std::string& file_;
  std::optional<int> wanted_;
  Numbered<std::string> names_;
  Numbered<trace::WorkKind> kinds_;
  std::vector<Kernel> kernels_;
  std::vector<Annotation> annotations_;
  std::unordered_map<std::int64_t, Ticks> launches_;  // by correlation
  std::vector<std::string> notes_;
};

}  // namespace

KinetoTrace read_kineto(std::istream& in, const std::string& name, std::optional<int> step) {
  ProfileReader reader(name, step);
  const TextEntries head = read_chrome_events(in, name, [&](const ChromeEvent& event) { reader.take(event); });
  return reader.result(head);
}

KinetoTrace read_kineto(const std::string& path, std::optional<int> step) {
  ProfileReader reader(path, step);
  const TextEntries head = read_chrome_events(path, [&](const ChromeEvent& event) { reader.take(event); });
  return reader.result(head);
}

}  // namespace config
