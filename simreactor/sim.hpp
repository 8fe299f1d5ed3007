// SPDX-License-Identifier: Apache-2.0
// Everything a program that searches its own schedules uses, in one header.
#pragma once

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/simreactor/world/world.hpp"
