// A parallel loop.
#pragma once

#include <cstdint>
#include <functional>

namespace attn {

/// Calls work(0), …, work(count - 1), each once and started in this order, on at most `threads` threads including the
/// caller's (0: one per core). If the system provides fewer threads, those do all the work. The first exception is
/// rethrown once all threads have ended; calls that had not started by then are skipped.
void for_each_part(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace attn
