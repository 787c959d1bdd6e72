// The `data_format` of operations on windows and images; None means channels_last.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "classes/ops/array/layout.h"
#include "classes/ops/ops.h"

namespace attn::keras {

/// Permutes `channels_first` to (B, spatial…, C) and back; does nothing for `channels_last`.
class OpDataFormat {
 public:
  void fields(Fields& f, Version since = kOldest) {
    f("data_format", format_, since);
    if (f.reading() && format_ && *format_ != "channels_last" && *format_ != "channels_first")
      f.config()["data_format"].fail("expected channels_last or channels_first");
  }
  [[nodiscard]] graph::ValueId to_last(graph::Builder& b, graph::ValueId x) const { return turned(b, x, 1, -1); }
  [[nodiscard]] graph::ValueId from_last(graph::Builder& b, graph::ValueId x) const { return turned(b, x, -1, 1); }
  /// Permutes images (C, H, W), which may have a batch axis, to (H, W, C) and back; does nothing for `channels_last`.
  [[nodiscard]] graph::ValueId image_to_last(graph::Builder& b, graph::ValueId x) const { return turned(b, x, -3, -1); }
  [[nodiscard]] graph::ValueId image_from_last(graph::Builder& b, graph::ValueId x) const {
    return turned(b, x, -1, -3);
  }
  [[nodiscard]] bool channels_first() const { return format_ == "channels_first"; }

 private:
  [[nodiscard]] graph::ValueId turned(graph::Builder& b, graph::ValueId x, int from, int to) const {
    if (!channels_first()) return x;
    return moved(b, x, std::array{axis_in(from, b.shape(x))}, std::array{axis_in(to, b.shape(x))});
  }

  std::optional<std::string> format_ = "channels_last";
};

}  // namespace attn::keras
