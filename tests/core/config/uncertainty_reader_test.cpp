// SPDX-License-Identifier: Apache-2.0
#include "core/config/uncertainty_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/config/catalogue.h"

namespace {

TEST(UncertaintyReader, TheCataloguesOwnIsSound) {
  config::Faults faults;
  const spec::Uncertainty u = config::Catalogue(FORERUN_SOURCE_DIR).uncertainty(faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  EXPECT_GT(u.stack.slower, 0);
  EXPECT_GE(u.outside_fit, 1);
  EXPECT_TRUE(u.source.ends_with("topologies/uncertainty.yaml"));
}

TEST(UncertaintyReader, TellsWhatIsMissingAndWhatIsUnknown) {
  config::Faults faults;
  read_uncertainty(config::parse("stack: {faster: 0, slower: 0.1, slowest: 1}\nrepeat: -1\n", "u.yaml"), faults);
  const auto told = [&](const std::string& field, const std::string& what) {
    return std::any_of(faults.begin(), faults.end(), [&](const base::Fault& fault) {
      return fault.field == field && fault.what.find(what) != std::string::npos;
    });
  };
  EXPECT_TRUE(told("stack.slowest", ""));
  EXPECT_TRUE(told("unmodelled", "is missing"));
  EXPECT_TRUE(told("repeat", ""));
  EXPECT_TRUE(told("scarce", "is missing"));
}

}  // namespace
