// SPDX-License-Identifier: Apache-2.0
// UvWork: a request that libuv's worker threads carry out: names, files.
//
//   submit ─▶ pool ─▶ worker, on memory of the request's own ─▶ callback ─▶ completion, or silence
//
// K1  A request is a heap object that only its callback frees, whatever became of who asked (RCT-45): a worker touches
//     nothing else.
// K2  It counts until then, a closed one too (RCT-15). One that no worker has begun is taken back, and its callback
//     comes at once.
// K3  What is still with a worker when the reactor has waited long enough is left to it for ever (RCT-2).
#pragma once

#include <uv.h>

#include <memory>

#include "heddle/core/base/intrusive_list.hpp"
#include "heddle/realreactor/detail/uv_request.hpp"

namespace heddle::real::detail {

class UvWork : public UvRequest, public ListHook<UvWork> {
public:
    bool on_abandoned() override {
        abandoned = true;
        uv_cancel(raw());
        return false;
    }
    void on_cancel() override { uv_cancel(raw()); }  // its callback says whether that won

    bool abandoned = false;  // nobody's memory is to be written to

protected:
    explicit UvWork(UvHost& host) : host_(host) {}
    [[nodiscard]] virtual uv_req_t* raw() = 0;
    UvHost& host_;

private:
    friend class UvWorks;
};

/// All work in flight of one reactor, oldest first.
class UvWorks {
public:
    ~UvWorks();
    [[nodiscard]] bool in_flight() const { return !works_.empty(); }
    /// From here on its callback, which calls `take`, frees it.
    void put(std::unique_ptr<UvWork> work) { works_.push_back(*work.release()); }
    std::unique_ptr<UvWork> take(UvWork& work) {
        works_.remove(work);
        return std::unique_ptr<UvWork>(&work);
    }
    /// K3; at shutdown. Takes back what no worker has begun.
    void cancel_all();
    void abandon_all();

private:
    IntrusiveList<UvWork, UvWork> works_;
};

}  // namespace heddle::real::detail
