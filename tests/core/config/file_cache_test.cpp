// SPDX-License-Identifier: Apache-2.0
#include "core/config/file_cache.h"

#include <gtest/gtest.h>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

const std::string kCachedJob =
    "{model: small, cluster: {node: box-8}, training: {sequence: 128, global_batch: 16}, strategy: {tp: 2}}";

TEST(FileCache, ReadsAFileOnce) {
  const SmallCatalogue small;
  small.add("one.yaml", "a: 1\n");
  FileCache cache;
  const auto first = cache.load(small.root() + "/one.yaml");
  small.add("one.yaml", "a: 2\n");
  EXPECT_EQ(cache.load(small.root() + "/one.yaml"), first);
  EXPECT_EQ(first->find("a")->text, "1");
}

TEST(FileCache, ABrokenFileIsAFaultEachTime) {
  const SmallCatalogue small;
  small.add("broken.yaml", "a: [\n");
  FileCache cache;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(cache.load(small.root() + "/broken.yaml"), base::InputError);
  small.add("broken.yaml", "a: 1\n");
  EXPECT_EQ(cache.load(small.root() + "/broken.yaml")->find("a")->text, "1");
}

TEST(FileCache, ARememberingCatalogueReadsWhatAForgetfulOneDoes) {
  const SmallCatalogue small;
  const Catalogue remembering = small.catalogue().remembering();
  for (int i = 0; i < 2; ++i) {
    const spec::Job job = read_job(parse(kCachedJob, "job.yaml"), remembering);
    EXPECT_EQ(job.framework.launch, small.read(kCachedJob).framework.launch);
    EXPECT_EQ(job.cluster.node.gpu.memory, base::GB(80));
  }
}

TEST(FileCache, WhatIsLaidOverDoesNotStayInTheFilesOfOthers) {
  const SmallCatalogue small;
  const Catalogue remembering = small.catalogue().remembering();
  const Catalogue changed = remembering.with(parse("{frameworks: {megatron: {step: 7ms}}}", "overlay.yaml"));
  EXPECT_EQ(read_job(parse(kCachedJob, "job.yaml"), changed).framework.step, base::ms(7));
  EXPECT_EQ(read_job(parse(kCachedJob, "job.yaml"), remembering).framework.step, base::ms(1));
}

}  // namespace
}  // namespace config::testing
