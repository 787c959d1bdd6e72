#include "parallel.h"

#include <omp.h>

namespace attn::backends::onednn {

int default_threads() { return omp_get_num_procs(); }

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

void run_parallel(std::int64_t count, int threads, void (*body)(void*, std::int64_t, int), void* context) {
  if (threads == 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) body(context, i, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::int64_t i = 0; i < count; ++i) body(context, i, omp_get_thread_num());
}

}  // namespace attn::backends::onednn
