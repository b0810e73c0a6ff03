// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(Check, ASoundJobHasNoFault) {
  EXPECT_EQ(fields(small_job()), Fields{});
  EXPECT_EQ(fields(resolve(small_job())), Fields{});
}

TEST(Check, TpDividesHeadsFeedForwardAndSequence) {
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 16;
              j.strategy.sp = true;
            })),
            Fields{});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 4;
              j.model.heads = 20;
              j.model.ffn = 4097;
            })),
            Fields{"strategy.tp"});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 4;
              j.model.heads = 18;
              j.model.kv_heads = 18;
            })),
            Fields{"strategy.tp"});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 4;
              j.training.sequence = 1022;
            })),
            Fields{});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 4;
              j.strategy.sp = true;
              j.training.sequence = 1022;
            })),
            Fields{"strategy.tp"});
}

TEST(Check, KvHeadsAreDividedOrReplicated) {
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.tp = 2; })), Fields{});  // 4 kv heads: 2 each
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.tp = 8; })), Fields{});  // each on 2 ranks
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 4;
              j.model.heads = 24;
              j.model.kv_heads = 6;
            })),
            Fields{"strategy.tp"});
}

TEST(Check, AVocabularyNeedNotDivide) {
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = 8;
              j.model.vocab = 50257;
            })),
            Fields{});
}

TEST(Check, TheRanksAreUsedUp) {
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.dp = 16; })), Fields{});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.dp = 8; })), Fields{"strategy.dp"});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.pp = 3; })), Fields{"strategy.pp"});
}

TEST(Check, TheBatchIsDividedByReplicasAndMicrobatches) {
  EXPECT_EQ(fields(with([](Job& j) { j.training.micro_batch = 4; })), Fields{});
  EXPECT_EQ(fields(with([](Job& j) { j.training.micro_batch = 8; })), Fields{"training.global_batch"});
}

TEST(Check, FewerMicrobatchesThanStagesAreAllowed) {
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.pp = 8;
              j.training.global_batch = 2;
            })),
            Fields{});
}

TEST(Check, AnInterleavedScheduleHasStagesChunksAndFullRounds) {
  const auto interleaved = [](int pp, int vpp, int batch) {
    return with([&](Job& j) {
      j.strategy.schedule = Schedule::interleaved;
      j.strategy.pp = pp;
      j.strategy.vpp = vpp;
      j.training.global_batch = batch;
    });
  };
  EXPECT_EQ(fields(interleaved(4, 2, 64)), Fields{});
  EXPECT_EQ(fields(interleaved(4, 1, 64)), Fields{"strategy.schedule"});
  EXPECT_EQ(fields(interleaved(1, 2, 64)), Fields{"strategy.schedule"});
  EXPECT_EQ(fields(interleaved(4, 2, 8)), Fields{"training.global_batch"});  // 2 microbatches over 4 stages
}

TEST(Check, AStageCannotRecomputeMoreLayersThanThereAre) {
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.recompute = {Recompute::Kind::full, 24}; })), Fields{});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.recompute = {Recompute::Kind::full, 25};
            })),
            Fields{"strategy.recompute"});
}

TEST(Check, ModulesComputedAgainBelongToTheModel) {
  const auto modules = [](RecomputeModules m) {
    return with([&](Job& j) { j.strategy.recompute = {Recompute::Kind::selective, 0, m}; });
  };
  EXPECT_EQ(fields(modules({.layernorm = true, .mlp = true})), Fields{});
  EXPECT_EQ(fields(modules({.mla_up_proj = true})), Fields{"strategy.recompute.modules"});
  EXPECT_EQ(fields(modules({.moe_act = true})), Fields{"strategy.recompute.modules"});
}

TEST(Check, StorageIn8BitsAnd16BitsIsForWhatIsKeptSo) {
  const auto moments = [](Optimizer optimizer) {
    return with([&](Job& j) {
      j.training.moments_dtype = Dtype::bf16;
      j.training.optimizer = optimizer;
    });
  };
  EXPECT_EQ(fields(moments(Optimizer::adamw)), Fields{});
  EXPECT_EQ(fields(moments(Optimizer::adamw8bit)), Fields{"training.moments_dtype"});
  const auto inputs = [](bool gated) {
    return with([&](Job& j) {
      j.training.fp8_activation_inputs = true;
      j.model.gated_mlp = gated;
      j.model.activation = gated ? Activation::swiglu : Activation::gelu;
    });
  };
  EXPECT_EQ(fields(inputs(true)), Fields{});
  EXPECT_EQ(fields(inputs(false)), Fields{"training.fp8_activation_inputs"});
}

TEST(Check, NodesAreJoinedByCardsOrByNvlink) {
  EXPECT_EQ(fields(with([](Job& j) { j.cluster.node.nic = {}; })), Fields{"cluster.node.nic"});
  EXPECT_EQ(fields(with([](Job& j) {
              j.cluster.node.nic = {};
              j.cluster.node.nvlink.domain = 16;
            })),
            Fields{});
  EXPECT_EQ(fields(with([](Job& j) {
              j.cluster.node.nic = {};
              j.cluster.nodes = 1;
            })),
            Fields{});
}

TEST(Check, MuonUpdatesWholeMatricesOnTheGpu) {
  const auto refused = [](const std::function<void(Job&)>& change) {
    return fields(with([&](Job& j) {
      j.training.optimizer = Optimizer::muon;
      change(j);
    }));
  };
  EXPECT_EQ(refused([](Job&) {}), Fields{});
  EXPECT_EQ(refused([](Job& j) { j.strategy.zero = 1; }), Fields{});
  EXPECT_EQ(refused([](Job& j) { j.strategy.zero = 2; }), Fields{"training.optimizer"});
  EXPECT_EQ(refused([](Job& j) { j.strategy.lora = Lora{.qkv = true}; }), Fields{"training.optimizer"});
}

TEST(Check, TensorParallelOverlapIsSupported) {
  for (const TpOverlap overlap : {TpOverlap::none, TpOverlap::wgrad, TpOverlap::chunked, TpOverlap::userbuffers}) {
    EXPECT_EQ(fields(with([&](Job& j) {
                j.strategy.tp = 2;
                j.strategy.overlap.tp = overlap;
              })),
              Fields{});
  }
  EXPECT_EQ(fields(with([](Job& j) { j.model.window = 128; })), Fields{});
}

TEST(Check, ExpertDegreesMustDivide) {
  const auto experts = [](int tp, bool sp, int ep, int etp) {
    return fields(with([&](Job& j) {
      j.model.moe = Moe{.experts = 6, .top_k = 2, .ffn = 64};
      j.strategy.tp = tp;
      j.strategy.sp = sp;
      j.strategy.ep = ep;
      j.strategy.etp = etp;
    }));
  };
  EXPECT_EQ(experts(1, false, 2, 2), Fields{});
  EXPECT_EQ(experts(2, true, 2, 1), Fields{});
  EXPECT_EQ(experts(2, false, 2, 1), Fields{"strategy.sp"});
  EXPECT_EQ(experts(1, false, 4, 1), Fields{"strategy.ep"});                     // of 6 experts
  EXPECT_EQ(experts(1, false, 1, 3), (Fields{"strategy.etp", "strategy.etp"}));  // of 64 columns; of the ranks
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.ep = 2; })), Fields{"strategy.ep"});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.etp = 2; })), Fields{"strategy.etp"});
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.cuda_graphs = CudaGraphs::whole;
              j.strategy.launch_blocking = true;
            })),
            Fields{"strategy.launch_blocking"});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.launch_blocking = true; })), Fields{});
  const auto pipeline_under = [](int zero) {  // DeepSpeed's engine asserts a stage below 2
    return fields(with([=](Job& j) {
      j.framework.pipeline_zero = 1;
      j.strategy.pp = 2;
      j.strategy.dp.reset();
      j.strategy.zero = zero;
    }));
  };
  EXPECT_EQ(pipeline_under(1), Fields{});
  EXPECT_EQ(pipeline_under(2), Fields{"strategy.zero"});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.cuda_graphs = CudaGraphs::beside_experts; })),
            Fields{"strategy.cuda_graphs"});
}

TEST(Check, LatentAttentionHasWidthsAndNoSecondNorms) {
  const Mla sound{48, 32, 8, 16, 24};
  EXPECT_EQ(fields(with([&](Job& j) { j.model.mla = sound; })), Fields{});
  EXPECT_EQ(fields(with([](Job& j) { j.model.mla = Mla{48, 32, 8, 16, 0}; })), Fields{"model.mla.value_head_dim"});
  EXPECT_EQ(fields(with([&](Job& j) {
              j.model.mla = sound;
              j.model.qk_norm = true;
              j.model.parallel_block = true;
            })),
            (Fields{"model.parallel_block", "model.qk_norm"}));
}

TEST(Check, OneKeySaysHowFarLayersSeeAndOneWhichOfThem) {
  EXPECT_EQ(fields(with([](Job& j) { j.model.attention_chunk = 64; })), Fields{});
  EXPECT_EQ(fields(with([](Job& j) { j.model.attention_chunk = j.model.window = 64; })),
            Fields{"model.attention_chunk"});
  const auto mixed = [](int window_every) {
    return with([=](Job& j) {
      j.model.window = 64;
      j.model.full_every = 6;
      j.model.window_every = window_every;
    });
  };
  EXPECT_EQ(fields(mixed(1)), Fields{});
  EXPECT_EQ(fields(mixed(2)), Fields{"model.full_every"});
  EXPECT_EQ(fields(with([](Job& j) {
              j.model.mla = Mla{48, 32, 8, 16, 24};
              j.model.nope_every = 4;
            })),
            Fields{"model.nope_every"});
}

TEST(Check, AnOrderOfRanksNamesEveryAxis) {
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.rank_order = "tp-dp-pp"; })), Fields{"strategy.rank_order"});
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.rank_order = "pp-dp-cp-tp"; })), Fields{});
}

TEST(Check, ExpertsBehindAProjectionGoWithoutAdaptersAndSelectiveOps) {
  const auto latent = [](auto change) {
    return fields(with([&](Job& j) {
      j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 512, .latent = 64};
      change(j);
    }));
  };
  EXPECT_EQ(latent([](Job&) {}), Fields{});
  EXPECT_EQ(latent([](Job& j) { j.strategy.lora = Lora{}; }), Fields{"strategy.lora"});
  EXPECT_EQ(latent([](Job& j) { j.strategy.recompute.kind = Recompute::Kind::selective_ops; }),
            Fields{"strategy.recompute"});
  EXPECT_EQ(latent([](Job& j) { j.strategy.overlap.shared_expert = true; }), Fields{"strategy.overlap.shared_expert"});
}

/// A model of 8 layers behind an indexer in layers 0, 1, 4 and 7.
std::vector<std::string> behind_indexer(const std::function<void(Job&)>& change) {
  return fields(with([&](Job& j) {
    j.model.layers = 8;
    j.model.mla =
        Mla{.q_lora_rank = 64, .kv_lora_rank = 32, .rope_head_dim = 16, .nope_head_dim = 16, .value_head_dim = 16};
    j.model.indexer = Indexer{.heads = 4, .head_dim = 16, .top_k = 64, .first = 2, .every = 3};
    j.cluster.node.gpu.generation = Generation::hopper;
    change(j);
  }));
}

TEST(Check, AnIndexerGoesWithoutWhatNothingHereLowersBesideIt) {
  EXPECT_EQ(behind_indexer([](Job&) {}), Fields{});
  EXPECT_EQ(behind_indexer([](Job& j) { j.strategy.lora = Lora{}; }), Fields{"strategy.lora"});
  EXPECT_EQ(behind_indexer([](Job& j) { j.cluster.node.gpu.generation = Generation::ampere; }),
            Fields{"model.indexer"});
  EXPECT_EQ(behind_indexer([](Job& j) { j.training.precision = Dtype::fp32; }), Fields{"model.indexer"});
  EXPECT_EQ(behind_indexer([](Job& j) { j.strategy.attention_kernel = AttentionKernel::cudnn; }),
            Fields{"strategy.attention_kernel"});
  EXPECT_EQ(behind_indexer([](Job& j) {
              j.strategy.recompute.kind = Recompute::Kind::selective;
              j.strategy.recompute.modules.mla_up_proj = true;
            }),
            Fields{"strategy.recompute"});
  EXPECT_EQ(fields(with([](Job& j) { j.training.indexer_loss = IndexerLoss::sparse; })),
            Fields{"training.indexer_loss"});
}

TEST(Check, AStageBeginsWithALayerThatChoosesItsKeys) {
  const auto stages = [](std::vector<int> layers) {
    return behind_indexer([&](Job& j) {
      j.strategy.pp = 2;
      j.strategy.stage_layers = layers;
      j.strategy.dp = j.cluster.gpus() / (j.strategy.tp * 2);
      j.training.global_batch = j.training.micro_batch * *j.strategy.dp;
    });
  };
  EXPECT_EQ(stages({4, 4}), Fields{});
  EXPECT_EQ(stages({7, 1}), Fields{});
  EXPECT_EQ(stages({5, 3}), Fields{"strategy.stage_layers"});
}

TEST(Check, AFrameworkThatCutsByItselfCutsWhereKeysAreChosen) {
  // Layers 0, 1, 4 and 7 have an indexer: four stages begin there, eight cannot.
  const auto with_stages = [](int pp) {
    return behind_indexer([&](Job& j) {
      j.framework.balances_stages = true;
      j.strategy.pp = pp;
      j.strategy.tp = 1;
      j.cluster.nodes = 5;
      j.strategy.dp = j.cluster.gpus() / pp;
      j.training.global_batch = j.training.micro_batch * *j.strategy.dp * 8;
    });
  };
  EXPECT_EQ(with_stages(4), Fields{});
  EXPECT_EQ(with_stages(8), Fields{"strategy.pp"});
}

TEST(Check, AFabricHasPlacesForAllNodes) {
  const auto on = [](int nodes) {
    return fields(with([&](Job& j) {
      j.cluster.nodes = nodes;
      j.strategy.dp = j.cluster.gpus() / (j.strategy.tp * j.strategy.pp * j.strategy.cp);
      j.training.global_batch = j.training.micro_batch * *j.strategy.dp;
      j.cluster.fabric.kind = Fabric::Kind::torus;
      j.cluster.fabric.shape = {2, 2};
    }));
  };
  EXPECT_EQ(on(4), Fields{});
  EXPECT_EQ(on(8), Fields{"cluster.fabric"});
}

TEST(Check, EachUnsupportedFeatureIsNamed) {
  const auto refused = [](auto bend) {
    const std::vector<base::Fault> faults = unsupported(with(bend));
    EXPECT_EQ(faults.size(), 1u);
    if (faults.empty()) return std::string();
    EXPECT_TRUE(faults[0].what.ends_with("is not supported by this version")) << faults[0].what;
    return faults[0].field;
  };
  EXPECT_EQ(refused([](Job& j) {
              j.model.moe = Moe{};
              j.model.parallel_block = true;
            }),
            "model.moe");
  EXPECT_EQ(refused([](Job& j) {
              j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64};
              j.training.mode = Mode::decode;
              j.strategy.tp = 2;
            }),
            "strategy.tp");
  EXPECT_EQ(refused([](Job& j) {
              j.network.fidelity = spec::Fidelity::coupled;
              j.simulation.unfold = true;
              j.cluster.nodes = 1025;
              j.cluster.node.gpus = 1;
            }),
            "network.fidelity");
}

TEST(Check, NodesOfDifferentSizeAreToldAloneForNothingElseCanBeCounted) {
  Job job = small_job();
  job.training.global_batch = 7;  // which no number of replicas divides
  Node smaller = job.cluster.node;
  smaller.gpus = 4;
  smaller.nvlink.domain = 4;
  job.cluster.groups = {{job.cluster.node, 1}, {smaller, 1}};
  for (const std::string& field : fields(job)) EXPECT_TRUE(field.starts_with("cluster.node[1]")) << field;
  job.cluster.groups.back().node = job.cluster.node;
  EXPECT_EQ(fields(job), Fields{"training.global_batch"});
}

TEST(Check, ANewTokenAttendsToItsPromptAtTheLeast) {
  Job job = small_job();
  job.training.mode = Mode::decode;
  job.training.context = job.training.sequence;
  EXPECT_EQ(fields(job), Fields{});
  job.training.context = job.training.sequence - 1;
  EXPECT_EQ(fields(job), Fields{"training.context"});
}

TEST(Check, TokensTravelBesideAnotherMicrobatchWhereAForwardIsPairedWithAWholeBackward) {
  const auto told = [](auto bend) {
    const std::vector<base::Fault> faults = unsupported(with([&](Job& j) {
      j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64};
      j.strategy.ep = 2;
      j.strategy.overlap.expert = true;
      bend(j.strategy);
    }));
    for (const base::Fault& fault : faults) EXPECT_EQ(fault.field, "strategy.overlap.expert");
    return faults.empty() ? std::string() : faults.front().what;
  };
  EXPECT_EQ(told([](Strategy&) {}), "");
  EXPECT_EQ(told([](Strategy& s) { s.schedule = Schedule::interleaved; }), "");
  EXPECT_EQ(told([](Strategy& s) { s.schedule = Schedule::dualpipe; }), "");
  EXPECT_EQ(told([](Strategy& s) { s.recompute.kind = Recompute::Kind::selective; }), "");
  for (const Schedule schedule : {Schedule::gpipe, Schedule::zb_h1, Schedule::zb_v, Schedule::pipedream}) {
    EXPECT_EQ(told([&](Strategy& s) { s.schedule = schedule; }),
              "a schedule that pairs no forward with the whole backward of another microbatch is not supported by this "
              "version");
  }
  EXPECT_NE(told([](Strategy& s) { s.recompute.kind = Recompute::Kind::full; }), "");
  EXPECT_NE(told([](Strategy& s) {
              s.recompute.kind = Recompute::Kind::selective;
              s.recompute.modules.moe = true;
            }),
            "");
  EXPECT_NE(told([](Strategy& s) { s.moe_dispatcher = MoeDispatcher::allgather; }), "");
  EXPECT_NE(told([](Strategy& s) { s.overlap.shared_expert = true; }), "");
  EXPECT_NE(told([](Strategy& s) { s.zero = 2; }), "");
  EXPECT_NE(told([](Strategy& s) { s.offload.activations = true; }), "");
}

TEST(Check, DualpipeNeverWaitsForTokensAlone) {
  const std::vector<base::Fault> faults = check(with([](Job& j) {
    j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64};
    j.strategy.ep = 2;
    j.strategy.pp = 2;
    j.strategy.schedule = Schedule::dualpipe;
    j.strategy.overlap.expert = false;
  }));
  EXPECT_TRUE(std::ranges::any_of(faults, [](const base::Fault& f) { return f.field == "strategy.overlap.expert"; }));
}

TEST(Check, ExtremeValuesAreFaultsAndDoNotOverflow) {
  constexpr int huge = std::numeric_limits<int>::max();
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.tp = j.strategy.pp = j.strategy.cp = 1'000'000;
              j.strategy.dp = 1'000'000;
            })).front(),
            "strategy.tp");
  EXPECT_EQ(fields(with([](Job& j) { j.strategy.tp = huge; })), Fields{"strategy.tp"});
  EXPECT_EQ(fields(with([](Job& j) { j.training.global_batch = std::numeric_limits<std::int64_t>::max(); })),
            Fields{"training.global_batch"});
  EXPECT_EQ(fields(with([](Job& j) { j.cluster.nodes = 0; })), Fields{"cluster.nodes"});
  EXPECT_EQ(fields(with([](Job& j) { j.training.dropout = 1; })), Fields{"training.dropout"});
  EXPECT_EQ(fields(with([](Job& j) { j.simulation.jitter = std::numeric_limits<double>::quiet_NaN(); })),
            Fields{"simulation.jitter"});
}

TEST(Check, SlowRanksAndLinksExist) {
  EXPECT_EQ(fields(with([](Job& j) {
              j.simulation.slow_ranks = {{15, 2}};
              j.simulation.slow_links = {{.node = 1, .factor = 2}};
            })),
            Fields{});
  EXPECT_EQ(fields(with([](Job& j) {
              j.simulation.slow_ranks = {{16, 2}};
              j.simulation.slow_links = {{.node = 2, .factor = 2}};
            })),
            (Fields{"simulation.slow_ranks", "simulation.slow_links"}));
  EXPECT_EQ(fields(with([](Job& j) {
              j.simulation.slow_ranks = {{3, 1.2}, {3, 1.5}};
            })),
            Fields{"simulation.slow_ranks"});
}

}  // namespace
}  // namespace spec
