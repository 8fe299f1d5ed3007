// SPDX-License-Identifier: Apache-2.0
// Errors: the world's answers as exceptions, and ErrorValue, an error with its history (SCH-89, CAN-2).
//
//   std::exception ◁── Error ◁── AsyncError ◁── ServiceUnavailable, ContextError
//                        ▲────── ValueError, TimeoutError, IoError ◁── PollError, DnsError, DeadlockError, CompositeError
//   Cancellation ◁── AsyncCancellation ◁── OperationCanceled          (not a std::exception: catch (std::exception&) lets it pass)
//
// E1  An ErrorValue is immutable: attaching a previous error makes a new value, so no cycle can arise (INV-ERR-06).
// E2  The exception object is shared: every awaiter of one coroutine sees the same one (SCH-89).
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// {exception object, earlier error or none}. Cheap to copy; empty means "no error".
class ErrorValue {
public:
    ErrorValue() = default;
    explicit ErrorValue(std::exception_ptr error, ErrorValue previous = {});

    /// Makes an error of type E from its constructor's arguments, without throwing it.
    template <class E, class... Args>
    [[nodiscard]] static ErrorValue make(Args&&... args) {
        return ErrorValue(std::make_exception_ptr(E(std::forward<Args>(args)...)));
    }

    [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
    [[nodiscard]] std::exception_ptr exception() const;
    [[nodiscard]] ErrorValue previous() const;
    /// True for everything derived from Cancellation.
    [[nodiscard]] bool is_cancellation() const;

    /// The same error with `older` at the end of its history, less what of it is part of that already.
    [[nodiscard]] ErrorValue with_previous(const ErrorValue& older) const;
    /// Length of the history, itself included; 0 for "no error".
    [[nodiscard]] std::size_t depth() const;
    /// "type: message" of the exception object, for reports.
    [[nodiscard]] std::string describe() const;
    [[noreturn]] void rethrow() const;

    /// Same exception object, whatever the history.
    [[nodiscard]] bool same_error(const ErrorValue& other) const;

private:
    struct Node;
    explicit ErrorValue(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    std::shared_ptr<const Node> node_;
};

class Error : public std::exception {
public:
    explicit Error(std::string message) : message_(std::move(message)) {}
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

/// Misuse, or an operation that the runtime refuses in its present state.
class AsyncError : public Error {
public:
    using Error::Error;
};
class ServiceUnavailable : public AsyncError {
public:
    using AsyncError::AsyncError;
};
class ContextError : public AsyncError {
public:
    using AsyncError::AsyncError;
};
/// An argument out of its range.
class ValueError : public Error {
public:
    using Error::Error;
};
class TimeoutError : public Error {
public:
    using Error::Error;
    TimeoutError() : Error("the timeout expired") {}
};

class IoError : public Error {
public:
    /// @param code  a positive errno value, 0 if there is none
    explicit IoError(std::string message, int code = 0) : Error(std::move(message)), code_(code) {}
    [[nodiscard]] int code() const { return code_; }

private:
    int code_ = 0;
};
class PollError : public IoError {
public:
    using IoError::IoError;
};
class DnsError : public Error {
public:
    using Error::Error;
};

/// Nothing can ever wake the coroutines that are left (SCH-55).
class DeadlockError : public Error {
public:
    explicit DeadlockError(std::size_t waiting_count);
    [[nodiscard]] std::size_t waiting_count() const { return waiting_count_; }

private:
    std::size_t waiting_count_ = 0;
};

/// Several errors in order of occurrence (ERR-12).
class CompositeError : public Error {
public:
    explicit CompositeError(std::vector<ErrorValue> errors = {});
    void append(ErrorValue error) { errors_.push_back(std::move(error)); }
    [[nodiscard]] const std::vector<ErrorValue>& errors() const { return errors_; }

private:
    std::vector<ErrorValue> errors_;
};

/// Root of the cancellation family; deliberately not a std::exception (CAN-2).
class Cancellation {
public:
    explicit Cancellation(std::string message = "cancelled", ErrorValue previous = {})
        : message_(std::move(message)), previous_(std::move(previous)) {}
    virtual ~Cancellation() = default;
    Cancellation(const Cancellation&) = default;
    Cancellation& operator=(const Cancellation&) = default;

    [[nodiscard]] const char* what() const noexcept { return message_.c_str(); }
    /// What caused it: a token's error, an error that it replaced; empty for a plain request.
    [[nodiscard]] const ErrorValue& previous() const { return previous_; }

private:
    std::string message_;
    ErrorValue previous_;
};
class AsyncCancellation : public Cancellation {
public:
    using Cancellation::Cancellation;
};
/// Raised by tokens only (AWT-6).
class OperationCanceled : public AsyncCancellation {
public:
    using AsyncCancellation::AsyncCancellation;
};

}  // namespace heddle
