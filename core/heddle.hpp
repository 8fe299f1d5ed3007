// SPDX-License-Identifier: Apache-2.0
// Everything a program that runs on Heddle uses, in one header.
#pragma once

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/circuit_breaker.hpp"
#include "heddle/core/sync/combine.hpp"
#include "heddle/core/sync/context.hpp"
#include "heddle/core/sync/future.hpp"
#include "heddle/core/sync/iterate.hpp"
#include "heddle/core/sync/mutex.hpp"
#include "heddle/core/sync/pool.hpp"
#include "heddle/core/sync/semaphore.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/core/sync/task_group.hpp"
