// SPDX-License-Identifier: Apache-2.0
#include "reports/quantity.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/money.h"
#include "core/base/text.h"
#include "reports/layout.h"

namespace reports {

std::string human(double si, std::string_view unit) {
  if (unit == "s") return base::human(base::Seconds(si));
  if (unit == "B") return base::human(base::Bytes(si));
  if (unit == "B/s") return base::human(base::ByteRate(si));
  if (unit == "FLOP/s") return base::human(base::FlopRate(si));
  if (unit == "W") return base::human(base::Watts(si));
  return fmt::format("{:.4g}", si);
}

std::string seconds(double value) { return base::human(base::Seconds(value)); }
std::string bytes(std::int64_t value) { return base::human(base::Bytes(static_cast<double>(value))); }
std::string money(double dollars) { return base::human(base::usd(dollars)); }
std::string percent(const std::optional<double>& share) { return share ? percent(*share) : "-"; }

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace reports
