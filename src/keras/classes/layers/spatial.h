// The common part of layers over spatial axes: the position of channels, and margins at both ends of each axis.
#pragma once

#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "config/fields.h"

namespace attn::keras {

/// The field `data_format`: (B, spatial…, C) or (B, C, spatial…). null means channels_last.
class DataFormat {
 public:
  void field(Fields& f, Version since = kOldest);
  [[nodiscard]] bool channels_first() const { return choice_.value == "channels_first"; }
  [[nodiscard]] int channel_axis(int rank) const { return channels_first() ? 1 : rank - 1; }
  [[nodiscard]] int first_spatial_axis() const { return channels_first() ? 2 : 1; }
  /// Converts x to channels last.
  [[nodiscard]] graph::ValueId channels_last(graph::Builder& b, graph::ValueId x) const;
  /// Converts x from channels last to the given `data_format`.
  [[nodiscard]] graph::ValueId as_given(graph::Builder& b, graph::ValueId x) const;

 private:
  Choice choice_{"channels_last", {"channels_last", "channels_first"}};
};

/// The margins (before, after) of each spatial axis.
struct Margins {
  using Side = std::pair<std::int64_t, std::int64_t>;
  std::vector<Side> sides;

  Margins(int rank, std::int64_t each) : sides(static_cast<std::size_t>(rank), {each, each}) {}
  /// Reads or writes the margins. A single integer applies to all axes; an integer for an axis applies to both of its
  /// ends. With one spatial axis, the pair is not nested.
  void field(Fields& f, std::string_view key);
};

/// Throws Error (bad_input) for an input of another rank.
void expect_rank(const Shape& shape, int rank);

}  // namespace attn::keras
