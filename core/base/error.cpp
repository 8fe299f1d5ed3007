// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/base/error.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>
#include <utility>

#include "heddle/core/base/assert.hpp"

namespace heddle {
namespace {

std::string demangled(const std::type_info& type) {
    int status = 0;
    char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    std::string name = status == 0 && text != nullptr ? text : type.name();
    std::free(text);
    return name;
}

bool is_cancellation_object(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Cancellation&) {
        return true;
    } catch (...) {
        return false;
    }
}

/// What a runtime-made cancellation carried when it was made becomes the history of its value.
ErrorValue carried_previous(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Cancellation& cancellation) {
        return cancellation.previous();
    } catch (...) {
        return {};
    }
}

}  // namespace

struct ErrorValue::Node {
    std::exception_ptr error;
    ErrorValue previous;
    bool is_cancellation = false;
};

ErrorValue::ErrorValue(std::exception_ptr error, ErrorValue previous) {
    HEDDLE_ASSERT(error != nullptr, "an error value holds an exception");
    const bool cancellation = is_cancellation_object(error);
    if (!previous && cancellation) { previous = carried_previous(error); }
    node_ = std::make_shared<const Node>(Node{std::move(error), std::move(previous), cancellation});
}

std::exception_ptr ErrorValue::exception() const { return node_ ? node_->error : nullptr; }
ErrorValue ErrorValue::previous() const { return node_ ? node_->previous : ErrorValue{}; }
bool ErrorValue::is_cancellation() const { return node_ && node_->is_cancellation; }

bool ErrorValue::same_error(const ErrorValue& other) const {
    return node_ && other.node_ && node_->error == other.node_->error;
}

ErrorValue ErrorValue::with_previous(const ErrorValue& older) const {
    if (!node_ || !older) { return node_ ? *this : older; }
    const auto is_known = [this](const ErrorValue& error) {
        for (ErrorValue at = *this; at; at = at.previous()) {
            if (at.same_error(error)) { return true; }
        }
        return false;
    };
    ErrorValue rest = older;
    while (rest && is_known(rest)) { rest = rest.previous(); }  // what came before it is still part of the history
    if (!rest) { return *this; }
    // Histories are short; copying the nodes keeps every value immutable (E1).
    return ErrorValue(std::make_shared<const Node>(
        Node{node_->error, node_->previous ? node_->previous.with_previous(rest) : rest, node_->is_cancellation}));
}

std::size_t ErrorValue::depth() const {
    std::size_t count = 0;
    for (const Node* at = node_.get(); at != nullptr; at = at->previous.node_.get()) { ++count; }
    return count;
}

std::string ErrorValue::describe() const {
    if (!node_) { return "no error"; }
    try {
        std::rethrow_exception(node_->error);
    } catch (const Cancellation& error) {
        return demangled(typeid(error)) + ": " + error.what();
    } catch (const std::exception& error) {
        return demangled(typeid(error)) + ": " + error.what();
    } catch (...) {
        const std::type_info* type = abi::__cxa_current_exception_type();
        return type != nullptr ? demangled(*type) : "an exception of unknown type";
    }
}

void ErrorValue::rethrow() const {
    HEDDLE_ASSERT(node_ != nullptr, "an empty error is not thrown");
    std::rethrow_exception(node_->error);
}

DeadlockError::DeadlockError(std::size_t waiting_count)
    : Error("deadlock: " + std::to_string(waiting_count) + " coroutine(s) wait and nothing can wake them"),
      waiting_count_(waiting_count) {}

CompositeError::CompositeError(std::vector<ErrorValue> errors)
    : Error("several errors occurred"), errors_(std::move(errors)) {}

}  // namespace heddle
