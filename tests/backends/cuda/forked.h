// Ranks as processes forked from the test, so that each has its own emulated GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attn/communicators/communicator.h"

namespace attn::test {

/// Returns "" on success, or a description of the problem.
using RankBody = std::function<std::string(std::unique_ptr<communicators::Communicator> host)>;

/// Runs `body` as every rank, with a communicator over shared memory. Returns the first result that is not "", as "rank
/// 1: …". The result of a rank that throws an Error is its message.
[[nodiscard]] std::string run_forked(int ranks, const RankBody& body);

}  // namespace attn::test
