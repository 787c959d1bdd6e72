// Tables of the classes that a config may name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "classes/class_info.h"

namespace attn::keras {

/// Classes by name. A document is read with a table of layers (Document::layers). Models are layers too; the module
/// `model` adds them to the table.
class ClassTable {
 public:
  explicit ClassTable(std::vector<Family> families) : families_(std::move(families)) {}

  /// Returns the class with this name or alternative name, or null. The class may be a rejected one.
  [[nodiscard]] const ClassInfo* find(std::string_view class_name) const;
  /// Returns the names of the supported classes.
  [[nodiscard]] std::vector<std::string_view> names() const;
  [[nodiscard]] const std::vector<Family>& families() const noexcept { return families_; }

 private:
  std::vector<Family> families_;
};

/// Returns the class of this name in a family, which must contain it.
[[nodiscard]] const ClassInfo& class_in(Family family, std::string_view class_name);

/// Returns all layers except models and the layers of a single model family.
[[nodiscard]] std::vector<Family> layer_families();
/// Returns all operations.
[[nodiscard]] const ClassTable& operation_classes();

}  // namespace attn::keras
