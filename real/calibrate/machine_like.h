// real/calibrate/machine_like.h -- which entry of the catalogue a machine is. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "real/calibrate/measured_point.h"

namespace real {

/// Why the card is not the data sheet's, in words; empty: it is, as far as SMs, memory and name tell.
std::string why_not(const spec::Gpu&, const Machine&);

/// Nodes of the catalogue with that GPU, sorted, those that are told as another one's variants behind the others; of
/// one GPU only: where two data sheets fit, none is returned.
std::vector<std::string> nodes_like(const Machine&, const config::Catalogue&);

}  // namespace real
