// SPDX-License-Identifier: Apache-2.0
#include "core/config/catalogue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

class CatalogueTest : public ::testing::Test {
 protected:
  SmallCatalogue small_;
  Catalogue catalogue_ = small_.catalogue();
  Faults faults_;

  spec::Node node(const std::string& yaml) {
    return catalogue_.node(*parse("node: " + yaml, "f").find("node"), "node", faults_);
  }
};

TEST_F(CatalogueTest, NamesAreSorted) {
  EXPECT_EQ(catalogue_.names(Catalogue::Kind::node), (std::vector<std::string>{"box-8", "rack-72"}));
  EXPECT_EQ(catalogue_.names(Catalogue::Kind::model), (std::vector<std::string>{"hf", "small"}));
  EXPECT_EQ(catalogue_.path(Catalogue::Kind::node, "../gpus/chip"), "");
}

TEST_F(CatalogueTest, ANodeBringsItsGpu) {
  const spec::Node box = node("box-8");
  EXPECT_TRUE(faults_.empty());
  EXPECT_EQ(box.gpu.name, "chip");
  EXPECT_EQ(box.gpu.peak_of(spec::Dtype::bf16).si(), 1e15);
  EXPECT_EQ(box.nic.bandwidth.si(), 25e9);
  EXPECT_EQ(box.nvlink.via, spec::Switch::nvswitch);
}

TEST_F(CatalogueTest, OtherGpusTakeTheirCardsAndTheirDomainAlong) {
  // Half of a box of eight: one card a GPU, and a domain that was the node stays the node.
  const spec::Node half = node("{base: box-8, gpus: 4, nic: {bandwidth: 50Gb/s}}");
  EXPECT_TRUE(faults_.empty());
  EXPECT_EQ(half.nic.count, 4);
  EXPECT_EQ(half.nic.bandwidth.si(), 6.25e9);
  EXPECT_EQ(half.nic.kind, spec::NicKind::infiniband);
  EXPECT_EQ(half.nvlink.domain, 4);
  EXPECT_EQ(half.name, "box-8 (changed)");
}

TEST_F(CatalogueTest, AWrittenCountOfCardsStays) {
  EXPECT_EQ(node("{base: box-8, nic: {count: 2}}").nic.count, 2);
  EXPECT_EQ(node("{base: box-8, power: 9kW}").nic.count, 8);
}

TEST_F(CatalogueTest, ADomainOfARackOutlivesItsHosts) {
  EXPECT_EQ(node("rack-72").nvlink.domain, 72);
  EXPECT_EQ(node("{base: rack-72, gpus: 2}").nvlink.domain, 72);
}

TEST_F(CatalogueTest, AGpuInANodeIsChangedKeyByKey) {
  const spec::Node node96 = node("{base: box-8, gpu: {memory: 96GB, peak: {fp8: 2PFLOP/s}}}");
  EXPECT_TRUE(faults_.empty());
  EXPECT_EQ(node96.gpu.memory.si(), 96e9);
  EXPECT_EQ(node96.gpu.hbm.si(), 3e12);
  EXPECT_EQ(node96.gpu.peak_of(spec::Dtype::fp8).si(), 2e15);
  EXPECT_EQ(node96.gpu.peak_of(spec::Dtype::bf16).si(), 1e15);
}

TEST_F(CatalogueTest, ANodeWithoutBaseIsReadWhole) {
  const spec::Node own = node("{gpu: chip, gpus: 2, pcie: {bandwidth: 32GB/s, p2p: false}}");
  EXPECT_TRUE(faults_.empty());
  EXPECT_FALSE(own.pcie.p2p);
  EXPECT_EQ(own.nic.count, 0);
  EXPECT_EQ(own.nvlink.via, spec::Switch::none);
}

TEST_F(CatalogueTest, AFabricMayHaveABase) {
  const spec::Fabric slow = catalogue_.fabric(parse("{f: slow}", "f").entries[0].second, "fabric", faults_);
  EXPECT_TRUE(faults_.empty());
  EXPECT_EQ(slow.oversubscription, 2);
  EXPECT_EQ(slow.hop_latency.si(), 1e-6);
  EXPECT_EQ(slow.name, "slow");
}

TEST_F(CatalogueTest, ACalibrationThatIsNotThereIsToldAtTheKeyThatNamesIt) {
  node("{base: box-8, links: lost}");
  node("{base: box-8, gpu: {base: chip, calibration: lost}}");
  catalogue_.fabric(parse("{f: {base: slow, calibration: ./lost.yaml}}", "f").entries[0].second, "fabric", faults_);
  ASSERT_EQ(faults_.size(), 3);
  EXPECT_EQ(faults_[0].field, "node.links");
  EXPECT_EQ(faults_[1].field, "node.gpu.calibration");
  EXPECT_EQ(faults_[1].where.column, 52);  // of `lost`, behind "node: {base: box-8, gpu: {base: chip, calibration: "
  EXPECT_EQ(faults_[2].field, "fabric.calibration");
}

TEST_F(CatalogueTest, AModelIsANameAPathOrAMap) {
  const auto layers = [&](const std::string& yaml) {
    return catalogue_.model(parse("{m: " + yaml + "}", small_.root() + "/job.yaml").entries[0].second, "model", faults_)
        .layers;
  };
  EXPECT_EQ(layers("small"), 24);
  EXPECT_EQ(layers(small_.root() + "/workloads/models/small.yaml"), 24);
  EXPECT_EQ(layers("workloads/models/small.yaml"), 24);  // beside the file that names it
  EXPECT_EQ(layers("{base: small, layers: 3}"), 3);
  EXPECT_EQ(layers("hf"), 2);
  EXPECT_EQ(layers("{base: hf, num_hidden_layers: 5}"), 5);
  EXPECT_TRUE(faults_.empty());
}

TEST_F(CatalogueTest, TheEnvironmentNamesAnotherCatalogue) {
  setenv("FORERUN_DATA", small_.root().c_str(), 1);
  EXPECT_EQ(Catalogue::find().root(), small_.root());
  setenv("FORERUN_DATA", "/nowhere", 1);
  EXPECT_THROW(Catalogue::find(), base::InputError);
  unsetenv("FORERUN_DATA");
}

TEST(RealCatalogue, OneChipOnTwoBoardsHasOneSetOfCurves) {
  const Catalogue catalogue(FORERUN_SOURCE_DIR);
  const auto node = [&](const std::string& name) {
    Faults faults;
    const spec::Node out = catalogue.node(*parse("node: " + name, "f").find("node"), "node", faults);
    EXPECT_TRUE(faults.empty()) << base::to_string(faults.front());
    return out;
  };
  EXPECT_EQ(node("rtx-pro-6000-server-x8").calibration.name, node("rtx-pro-6000-workstation-x8").calibration.name);
  EXPECT_EQ(node("mi355x-x8").calibration.name, "defaults-cdna4");
  // H200 NVL: other peaks on the data sheet, as many TFLOP/s before its lower power limit.
  const spec::Node sxm = node("dgx-h200"), nvl = node("h200-nvl-x8");
  for (const spec::Dtype d : {spec::Dtype::tf32, spec::Dtype::bf16, spec::Dtype::fp8}) {
    const int i = static_cast<int>(d);
    EXPECT_NEAR(nvl.calibration.matmul[i].ceiling * nvl.gpu.peak[i].si() /
                    (sxm.calibration.matmul[i].ceiling * sxm.gpu.peak[i].si()),
                1, 2e-3)
        << name(d);
  }
  EXPECT_EQ(nvl.calibration.power.power, sxm.calibration.power.power);
}

TEST(RealCatalogue, EveryFrameworkIsRead) {
  const Catalogue catalogue(FORERUN_SOURCE_DIR);
  const std::vector<std::string> names = catalogue.names(Catalogue::Kind::framework);
  EXPECT_EQ(names, (std::vector<std::string>{"deepspeed", "forerun", "jax", "megatron", "none", "torch", "torchtitan",
                                             "transformers"}));
  for (const std::string& name : names) {
    Faults faults;
    const spec::Framework framework =
        catalogue.framework(parse("{f: " + name + "}", "f").entries[0].second, "f", faults);
    EXPECT_TRUE(faults.empty()) << base::to_string(faults.front());
    EXPECT_EQ(framework.name, name);
  }
}

TEST(RealCatalogue, WhatIsBasedOnAFrameworkCanDoWhatThatOneCan) {
  const Catalogue catalogue(FORERUN_SOURCE_DIR);
  const auto profile = [&](const std::string& text) {
    Faults faults;
    return catalogue.framework(parse("{f: " + text + "}", "f").entries[0].second, "f", faults);
  };
  using Kernel = spec::AttentionKernel;
  // FSDP's shards are updated where they are; DeepSpeed alone keeps anything on drives; Megatron keeps parameters.
  for (const char* fsdp : {"torch", "transformers", "torchtitan", "{base: transformers, launch: 30us}"}) {
    EXPECT_TRUE(profile(fsdp).updates_where_kept && profile(fsdp).offloads_parameters) << fsdp;
    EXPECT_FALSE(profile(fsdp).offloads_to_drives) << fsdp;
    EXPECT_EQ(profile(fsdp).hopper_attention, Kernel::flash2) << fsdp;
  }
  EXPECT_FALSE(profile("megatron").offloads_parameters || profile("megatron").offloads_to_drives);
  EXPECT_EQ(profile("megatron").hopper_attention, Kernel::cudnn);
  EXPECT_TRUE(profile("deepspeed").offloads_parameters && profile("deepspeed").offloads_to_drives);
  EXPECT_FALSE(profile("deepspeed").updates_where_kept);
}

TEST(CatalogueEntries, AreNotedAsAJobReadsThem) {
  const SmallCatalogue small;
  std::set<std::string> entries;
  read_job(parse("{model: small, cluster: {node: box-8}, training: {sequence: 128, global_batch: 16}}", "job.yaml"),
           small.catalogue().noting(entries));
  EXPECT_EQ(entries, (std::set<std::string>{"fabrics.flat", "frameworks.megatron", "gpus.chip", "models.small",
                                            "nodes.box-8", "topologies.uncertainty"}));
}

}  // namespace
}  // namespace config::testing
