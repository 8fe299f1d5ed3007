// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/task_group.hpp"

#include <algorithm>

namespace heddle::detail {

void leave_group(GroupState& group, ErrorValue thrown, SourceLocation at) {
    const Ref<GroupState> alive(&group);
    if (!thrown) {
        group.close();
        try {
            group.await_completion(nullptr, true, at);
        } catch (const UnwindToken&) {
            throw;
        } catch (...) {
            thrown = ErrorValue(std::current_exception());  // the caller was cancelled meanwhile
        }
    }
    std::vector<ErrorValue> errors = group.unhandled();
    if (thrown) { group.cancel({}); }
    // Whatever is left is waited for, cancelled or not (PROT-03); a cancellation that comes now is raised by the next suspension.
    cleanup([&] {
        group.await_completion(nullptr, true, at);
        for (const ErrorValue& error : group.unhandled()) {
            const auto known = [&](const ErrorValue& other) { return other.same_error(error); };
            if (std::none_of(errors.begin(), errors.end(), known)) { errors.push_back(error); }
        }
        group.mark_handled();
        group.dispose();
        if (!group.scope().core().is_terminated()) {
            group.scope().await_after_cancellation([&](const ErrorValue& error, ScopeRef) {
                if (!error.is_cancellation()) { errors.push_back(error); }
            });
        }
    });
    const ErrorValue composite = errors.empty() ? ErrorValue() : ErrorValue(std::make_exception_ptr(CompositeError(std::move(errors))));
    if (!thrown) {
        if (composite) { composite.rethrow(); }
        return;
    }
    if (!composite) { thrown.rethrow(); }
    try {
        thrown.rethrow();
    } catch (const Cancellation& cancellation) {
        throw AsyncCancellation(cancellation.what(), composite.with_previous(cancellation.previous()));
    } catch (...) {
        // An exception of the program's own has no place for a cause: the tasks' errors go to the error sink (CV-20).
        group.scheduler().report({"tasks failed in a group that was left by another error", composite});
        throw;
    }
}

}  // namespace heddle::detail
