// SPDX-License-Identifier: Apache-2.0
// Search: what `simrun explore` does between its arguments and its result: one order or both, in this process or in
// workers, from the beginning or from where a folder says.
#pragma once

#include "heddle/tools/simrun/detail/arguments.hpp"
#include "heddle/tools/simrun/detail/campaign_store.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"

namespace heddle::detail {

/// Everything that decides what is searched, as texts.
[[nodiscard]] std::map<std::string, std::string> search_of(const Subject& subject, const Arguments& arguments);

/// @param store  may be null
[[nodiscard]] SearchResult search(const Subject& subject, const Arguments& arguments, CampaignStore* store);

}  // namespace heddle::detail
