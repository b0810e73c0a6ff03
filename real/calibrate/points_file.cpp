// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/points_file.h"

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"

namespace real {
namespace {

using Json = nlohmann::json;
constexpr int kVersion = 1;
constexpr const char* kMark = "forerun_points";

[[noreturn]] void refuse(const std::string& path, int line, std::string what, std::string mend) {
  throw base::InputError({{"points", std::move(what), std::move(mend), {path, line, line == 0 ? 0 : 1}}});
}

Json json_of(const Machine& m) {
  return {{kMark, kVersion},
          {"gpu", m.gpu},
          {"compute_capability", {m.major, m.minor}},
          {"sms", m.sms},
          {"gpus", m.gpus},
          {"nodes", m.nodes},
          {"memory_bytes", m.memory.si()},
          {"power_limit_w", m.power_limit.si()},
          {"driver", m.driver},
          {"libraries", m.libraries},
          {"date", m.date}};
}

Machine machine_of(const Json& j) {
  if (j.at(kMark).get<int>() != kVersion) throw std::invalid_argument("its version is not 1");
  return {.gpu = j.at("gpu").get<std::string>(),
          .major = j.at("compute_capability").at(0).get<int>(),
          .minor = j.at("compute_capability").at(1).get<int>(),
          .sms = j.at("sms").get<int>(),
          .gpus = j.at("gpus").get<int>(),
          .nodes = j.value("nodes", 1),
          .memory = base::Bytes(j.at("memory_bytes").get<double>()),
          .power_limit = base::Watts(j.at("power_limit_w").get<double>()),
          .driver = j.at("driver").get<std::string>(),
          .libraries = j.at("libraries").get<std::string>(),
          .date = j.at("date").get<std::string>()};
}

Json json_of(const MeasuredPoint& p) {
  Json out{{"shape", to_json(p.shape)},
           {"samples", p.samples},
           {"sm_clock_hz", p.condition.sm_clock.si()},
           {"memory_clock_hz", p.condition.memory_clock.si()},
           {"power_w", p.condition.power.si()},
           {"celsius", p.condition.celsius},
           {"slowed_by", p.condition.slowed_by}};
  if (!p.void_because.empty()) {
    out["void"] = p.void_because;
  } else {
    out["median_s"] = p.median.si();
    out["low_s"] = p.low.si();
    out["high_s"] = p.high.si();
  }
  return out;
}

base::Seconds time_of(const Json& map, const char* key) {
  const auto value = map.at(key).get<double>();
  if (!(value > 0)) throw std::invalid_argument(std::string(key) + " is no time above 0");
  return base::Seconds(value);
}

MeasuredPoint point_of(const Json& j) {
  MeasuredPoint out{.shape = shape_from(j.at("shape")), .samples = j.at("samples").get<int>()};
  out.condition = {.gpu = {},
                   .sm_clock = base::Hertz(j.at("sm_clock_hz").get<double>()),
                   .memory_clock = base::Hertz(j.at("memory_clock_hz").get<double>()),
                   .power = base::Watts(j.at("power_w").get<double>()),
                   .celsius = j.at("celsius").get<int>(),
                   .slowed_by = j.at("slowed_by").get<std::vector<std::string>>()};
  if (j.contains("void")) {
    out.void_because = j.at("void").get<std::string>();
    if (out.void_because.empty()) throw std::invalid_argument("void says nothing");
    return out;
  }
  out.median = time_of(j, "median_s");
  out.low = time_of(j, "low_s");
  out.high = time_of(j, "high_s");
  return out;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, 0, "there is no such file", "name the points file of a run that was cut short");
  if (in.peek() == 0x1f)
    refuse(path, 0, "is packed, and a run that goes on writes behind it", "unpack it: gunzip FILE");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Calls body(line, number) for each whole line; returns the bytes of all of them.
template <class Body>
std::size_t for_each_line(const std::string& text, Body body) {
  std::size_t at = 0;
  int number = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    body(text.substr(at, end - at), ++number);
  }
  return at;
}

}  // namespace

Points read_points(const std::string& path) {
  Points out;
  bool begun = false;
  out.whole_bytes = for_each_line(content_of(path), [&](const std::string& line, int number) {
    try {
      const Json read = Json::parse(line);
      if (number == 1) {
        out.machine = machine_of(read);
        begun = true;
      } else if (!is_retired(read.at("shape"))) {
        out.points.push_back(point_of(read));
      }
    } catch (const std::exception& error) {  // of the JSON, or of shape_from()
      refuse(path, number, std::string(number == 1 ? "is no points file: " : "is no point: ") + error.what(),
             number == 1 ? "name a file that forerun calibrate began" : "delete this line");
    }
  });
  if (!begun) refuse(path, 0, "is empty", "name a file that forerun calibrate began");
  return out;
}

PointsFile PointsFile::begin(const std::string& path, const Machine& machine) {
  if (std::filesystem::exists(path)) {
    refuse(path, 0, "is there already", "go on with it by --resume " + path + ", or choose another folder by --out");
  }
  PointsFile out(path);
  out.out_.open(path, std::ios::binary);
  out.write(json_of(machine).dump());
  return out;
}

PointsFile PointsFile::resume(const std::string& path, const Machine& machine) {
  const Points before = read_points(path);
  if (const std::string what = difference(before.machine, machine); !what.empty()) {
    refuse(path, 1, "was measured elsewhere: " + what, "begin another file: leave --resume out");
  }
  PointsFile out(path);
  for (const MeasuredPoint& point : before.points) out.known_.insert(key(point.shape));
  std::error_code error;
  std::filesystem::resize_file(path, before.whole_bytes, error);
  if (error) refuse(path, 0, "cannot be written: " + error.message(), "choose another file");
  out.out_.open(path, std::ios::binary | std::ios::app);
  return out;
}

void PointsFile::append(const MeasuredPoint& point) {
  write(json_of(point).dump());
  known_.insert(key(point.shape));
}

void PointsFile::write(const std::string& line) {
  out_ << line << '\n' << std::flush;
  if (!out_) refuse(path_, 0, "cannot be written", "choose another folder by --out");
}

}  // namespace real
