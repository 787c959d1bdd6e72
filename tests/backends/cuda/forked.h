// Ranks that are processes forked from the test, so that each has an emulated GPU of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attn/communicators/communicator.h"

namespace attn::test {

/// What a rank came to: "" where all was well, or what was wrong.
using RankBody = std::function<std::string(std::unique_ptr<communicators::Communicator> host)>;

/// Runs `body` as every rank, with a communicator over memory that they share, and gives what they came to: of the
/// first whose word is not "", "rank 1: …". A rank that throws an Error came to its message.
[[nodiscard]] std::string run_forked(int ranks, const RankBody& body);

}  // namespace attn::test
