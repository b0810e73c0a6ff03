// core/config/names.h -- the spellings of the values that more than one file may hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/spec/cluster.h"
#include "core/spec/network_algorithm.h"
#include "core/spec/strategy.h"

namespace config {

template <class E>
using Names = std::initializer_list<std::pair<std::string_view, E>>;

inline const Names<spec::Dtype> kDtypes{{"fp32", spec::Dtype::fp32},  {"tf32", spec::Dtype::tf32},
                                        {"fp16", spec::Dtype::fp16},  {"bf16", spec::Dtype::bf16},
                                        {"fp8", spec::Dtype::fp8},    {"mxfp8", spec::Dtype::mxfp8},
                                        {"nvfp4", spec::Dtype::nvfp4}};
inline const Names<spec::Generation> kGenerations{
    {"volta", spec::Generation::volta},   {"turing", spec::Generation::turing},
    {"ampere", spec::Generation::ampere}, {"ada", spec::Generation::ada},
    {"hopper", spec::Generation::hopper}, {"blackwell", spec::Generation::blackwell},
    {"cdna3", spec::Generation::cdna3}};
inline const Names<spec::NicKind> kNicKinds{
    {"none", spec::NicKind::none},          {"infiniband", spec::NicKind::infiniband},
    {"roce", spec::NicKind::roce},          {"efa", spec::NicKind::efa},
    {"omnipath", spec::NicKind::omnipath},  {"ethernet", spec::NicKind::ethernet},
    {"slingshot", spec::NicKind::slingshot}};
inline const Names<spec::TpOverlap> kTpOverlaps{{"none", spec::TpOverlap::none},
                                                {"wgrad", spec::TpOverlap::wgrad},
                                                {"chunked", spec::TpOverlap::chunked},
                                                {"userbuffers", spec::TpOverlap::userbuffers}};
inline const Names<spec::Algorithm> kAlgorithms{{"auto", spec::Algorithm::automatic},
                                                {"ring", spec::Algorithm::ring},
                                                {"tree", spec::Algorithm::tree},
                                                {"nvls", spec::Algorithm::nvls},
                                                {"nvls_tree", spec::Algorithm::nvls_tree},
                                                {"collnet", spec::Algorithm::collnet},
                                                {"pat", spec::Algorithm::pat},
                                                {"direct", spec::Algorithm::direct},
                                                {"hierarchical", spec::Algorithm::hierarchical}};

}  // namespace config
