// Work that falls into parts, on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace attn {

/// Calls work(0), …, work(count - 1), each once and begun in this order, on at most `threads` threads (0: as many as
/// the machine has), one of which is the caller's. Where the system gives fewer, those do it all. What a part throws,
/// the first to do so, comes out once all threads have ended; parts that had not begun by then are left out.
void for_each_part(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace attn
