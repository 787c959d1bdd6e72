#include "attn/open/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "attn/base/error.h"

namespace attn::open {
namespace {

/// Finds a smaller size that fits.
class SmallerPass {
 public:
  SmallerPass(const LoadedModel& loaded, keras::LowerOptions lower, std::function<std::int64_t(graph::Graph)> needed,
              std::int64_t limit)
      : loaded_(loaded), lower_(std::move(lower)), needed_(std::move(needed)), limit_(limit) {}

  /// "`batch` 12 fits", "`batch` 1 `sequence_length` 512 fits", or "".
  [[nodiscard]] std::string words(std::int64_t batch, std::int64_t needed, std::optional<std::int64_t> length) {
    lower_.batch = 1;
    const std::int64_t one = bytes();
    if (one > limit_) return length ? shorter(*length) : "";
    if (batch == 1) return "";
    // Bytes are proportional to the batch, except for rounding.
    const double each = static_cast<double>(needed - one) / static_cast<double>(batch - 1);
    auto largest = static_cast<std::int64_t>(1.0 + static_cast<double>(limit_ - one) / std::max(each, 1.0));
    largest = std::clamp<std::int64_t>(largest, 1, batch - 1);
    for (lower_.batch = largest; bytes() > limit_; lower_.batch = largest) largest = largest * 9 / 10;
    return fmt::format("`batch` {} fits", largest);
  }

 private:
  [[nodiscard]] std::string shorter(std::int64_t length) {
    for (std::int64_t size = length / 2; size > 0; size /= 2) {
      lower_.sequence_length = size;
      if (bytes() <= limit_) return fmt::format("`batch` 1 `sequence_length` {} fits", size);
    }
    return "";
  }

  [[nodiscard]] std::int64_t bytes() const {
    try {
      return needed_(loaded_.model.lower(lower_));
    } catch (const Error&) {  // a size that overflows, or that the model rejects
      return kMaxSize;
    }
  }

  const LoadedModel& loaded_;
  keras::LowerOptions lower_;
  std::function<std::int64_t(graph::Graph)> needed_;
  std::int64_t limit_;
};

}  // namespace

run::MemoryLimit memory_limit(const std::optional<std::int64_t>& own) {
  return run::memory_limit(own, "`memory_limit`");
}

std::int64_t batch_of(const graph::Graph& graph) {
  const Shape first = graph.inputs.empty() ? Shape{} : graph.value(graph.inputs.front()).shape;
  return first.rank() == 0 ? 1 : first[0];
}

std::optional<std::int64_t> sequence_length_of(const graph::Graph& graph) {
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const bool tokens = !is_floating(value.dtype) && value.shape.rank() == 2;
    const bool is_absent = value.shape.rank() > 1 && value.shape[1] == 0;  // such as images that no text has
    if (!is_absent && (tokens || value.shape.rank() == 3)) return value.shape[1];
  }
  return std::nullopt;
}

std::int64_t require_memory(const LoadedModel& loaded, const keras::LowerOptions& lower, const graph::Graph& graph,
                            const backends::Backend& backend, const Execution& execution, run::Keep keep) {
  const auto needed_by = [&](graph::Graph some) {
    return run::memory_needed(backend, std::move(some), execution.compile_options(), keep);
  };
  const run::MemoryLimit limit = memory_limit(execution.memory_limit);
  const std::int64_t needed = needed_by(graph);
  run::require_memory("the model takes", static_cast<UInt128>(needed), limit, [&] {
    return SmallerPass(loaded, lower, needed_by, limit.bytes).words(batch_of(graph), needed, sequence_length_of(graph));
  });
  return run::current_memory() + needed;
}

}  // namespace attn::open
