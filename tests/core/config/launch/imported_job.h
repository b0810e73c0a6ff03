// tests/core/config/launch/imported_job.h -- files as others write them, imported. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/config/launch/framework.h"

namespace testing_support {

class ImportedJob : public testing::Test {
 protected:
  ImportedJob() { std::filesystem::create_directories(folder_); }
  ~ImportedJob() override { std::filesystem::remove_all(folder_); }

  /// The imported Job's keys, as "key=value" lines; or the faults, without the folder.
  std::string read(const char* framework, const std::string& name, const std::string& text, const std::string& given,
                   const std::vector<std::string>& ignored = {},
                   const std::map<std::string, std::string>& variables = {}) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    std::string out;
    try {
      const config::launch::Imported job =
          config::launch::import_job(*config::launch::framework_named(framework), path, config::parse(given, "flags"),
                                     ignored, catalogue_, variables);
      for (const config::launch::Setting& key : config::launch::flattened(job.tree).all())
        out += key.name + '=' + config::launch::text_of(key.value) + '\n';
      for (const std::string& remark : job.remarks) out += "# " + remark + '\n';
    } catch (const base::InputError& error) {
      out = error.what();
      for (std::size_t at; (at = out.find(folder_ + "/")) != out.npos;) out.erase(at, folder_.size() + 1);
    }
    return out;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

  std::string folder_ = testing::TempDir() + "forerun-import-" + std::to_string(::getpid());
  config::Catalogue catalogue_{FORERUN_SOURCE_DIR};
};

}  // namespace testing_support
