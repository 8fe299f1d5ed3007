// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/detail/uv_abandoned.hpp"

#include <mutex>
#include <vector>

namespace heddle::real::detail {
namespace {

struct Abandoned {
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> blocks;
};

/// Never destroyed: a worker may outlive the static objects of the process.
Abandoned& abandoned() {
    static Abandoned* const all = new Abandoned;
    return *all;
}

}  // namespace

void abandon(std::shared_ptr<void> memory) {
    const std::lock_guard<std::mutex> lock(abandoned().mutex);
    abandoned().blocks.push_back(std::move(memory));
}

std::size_t abandoned_count() {
    const std::lock_guard<std::mutex> lock(abandoned().mutex);
    return abandoned().blocks.size();
}

}  // namespace heddle::real::detail
