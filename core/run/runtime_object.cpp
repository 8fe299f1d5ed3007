// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/runtime_object.hpp"

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

RuntimeObject::RuntimeObject(Scheduler& scheduler, std::string_view kind)
    : scheduler_(scheduler), object_label_(scheduler.object_label(kind)) {
    scheduler.objects_.push_back(*this);
}

RuntimeObject::~RuntimeObject() {
    // One that outlives its runtime was taken out of the list by it (RO1).
    if (is_linked()) { scheduler_.objects_.remove(*this); }
}

}  // namespace heddle
