// Where each position's context comes from while a search goes on with the rows that it chose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/shape.h"
#include "attn/generate/decoder.h"

namespace attn::generate {

class Sources {
 public:
  /// All rows of a sequence share what stands before `first`, which its first row read.
  Sources(Dim rows, Dim branches, Dim first);
  /// Row r goes on with what row parents[r] has before `position`, and writes itself there.
  void follow(const std::vector<Dim>& parents, Dim position);
  /// For Advance::sources: `position` of them a row. A view that holds until the next call.
  [[nodiscard]] std::span<const std::int32_t> before(Dim position);

 private:
  std::vector<std::vector<std::int32_t>> rows_;
  std::vector<std::int32_t> flat_;
};

}  // namespace attn::generate
