// Tracks which row wrote each position of the context in a search that continues with selected rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/shape.h"
#include "attn/generate/decoder.h"

namespace attn::generate {

class Sources {
 public:
  /// Creates sources for `rows` rows. All rows of a sequence share the positions before `first`, which its first row
  /// has computed.
  Sources(Dim rows, Dim branches, Dim first);
  /// Records that row r continues with the context of row parents[r] before `position`, and computes the rest itself.
  void follow(const std::vector<Dim>& parents, Dim position);
  /// Returns the argument Advance::sources: `position` entries for each row. The view is valid until the next call.
  [[nodiscard]] std::span<const std::int32_t> before(Dim position);

 private:
  std::vector<std::vector<std::int32_t>> rows_;
  std::vector<std::int32_t> flat_;
};

}  // namespace attn::generate
