// real/calibrate/points_file.h -- the points of a calibration on disk: the machine in the first line, then a JSON
// object a point, written as it is timed, so that a run that is cut short is still whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "real/calibrate/measured_point.h"

namespace real {

struct Points {
  Machine machine = {};
  std::vector<MeasuredPoint> points = {};  // in the order in which they were timed
  std::size_t whole_bytes = 0;             // of the file, without a last line that was cut short
};

/// Passes over points that are retired. Throws base::InputError with file and line: cannot be read, no points file, a
/// line that is no point. A last line without its end is passed over: the run was cut there.
Points read_points(const std::string& path);

class PointsFile {
 public:
  /// Begins a file. Throws base::InputError: there is one, or it cannot be written.
  static PointsFile begin(const std::string& path, const Machine&);
  /// Goes on with one. Throws base::InputError as read_points() does, and where the machine is not the same.
  static PointsFile resume(const std::string& path, const Machine&);

  bool has(const Shape& shape) const { return known_.contains(key(shape)); }
  /// On disk when it returns. Throws base::InputError: cannot be written.
  void append(const MeasuredPoint&);

 private:
  explicit PointsFile(std::string path) : path_(std::move(path)) {}
  void write(const std::string& line);

  std::string path_;
  std::ofstream out_;
  std::set<std::string> known_;
};

}  // namespace real
