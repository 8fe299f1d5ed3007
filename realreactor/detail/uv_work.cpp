// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/detail/uv_work.hpp"

#include "heddle/realreactor/detail/uv_abandoned.hpp"

namespace heddle::real::detail {

UvWorks::~UvWorks() { HEDDLE_ASSERT(works_.empty(), "K1"); }

void UvWorks::cancel_all() {
    for (UvWork* work = works_.front(); work != nullptr; work = works_.next(*work)) { uv_cancel(work->raw()); }
}

void UvWorks::abandon_all() {
    while (UvWork* const work = works_.front()) {
        works_.remove(*work);
        abandon(std::shared_ptr<UvWork>(work));
    }
}

}  // namespace heddle::real::detail
