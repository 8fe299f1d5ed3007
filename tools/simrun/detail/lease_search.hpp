// SPDX-License-Identifier: Apache-2.0
// A reduced search in several worker processes, by leases (simreactor/explore/lease_book.hpp).
#pragma once

#include "heddle/tools/simrun/detail/worker_search.hpp"

namespace heddle::detail {

/// Requires: options.order; options.reduction is none or source.
[[nodiscard]] WorkerSearchResult explore_by_leases(const Subject& subject, const sim::ExploreOptions& options,
                                                   const WorkerOptions& workers);

}  // namespace heddle::detail
