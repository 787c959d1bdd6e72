// Tables of classes: what a config may name, and nothing else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "classes/class_info.h"

namespace attn::keras {

/// Classes by name. A document is read by a table of layers (Document::layers): models are layers too, and what stands
/// above the layers joins them to it.
class ClassTable {
 public:
  explicit ClassTable(std::vector<Family> families) : families_(std::move(families)) {}

  /// The class of this name, or of one of its other names; or null. It may be one that is refused.
  [[nodiscard]] const ClassInfo* find(std::string_view class_name) const;
  /// The classes that attn runs.
  [[nodiscard]] std::vector<std::string_view> names() const;
  [[nodiscard]] const std::vector<Family>& families() const noexcept { return families_; }

 private:
  std::vector<Family> families_;
};

/// The class of this name in a family, which must have it.
[[nodiscard]] const ClassInfo& class_in(Family family, std::string_view class_name);

/// All layers but models.
[[nodiscard]] std::vector<Family> layer_families();
/// All operations.
[[nodiscard]] const ClassTable& operation_classes();

}  // namespace attn::keras
