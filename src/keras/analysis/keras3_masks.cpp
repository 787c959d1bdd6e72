#include "analysis/keras3_masks.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "classes/reading.h"
#include "model/trace_masks.h"

namespace attn::keras {

std::optional<std::string> keras3_mask_difference(const ReadModel& read) {
  if (!read.file().is_keras2() || read.single != nullptr || read.model() == nullptr || !read.model()->connected)
    return std::nullopt;
  try {
    const MaskTrace older = trace_masks(*read.model());
    const auto has_mask = [](const MaskRow& row) {
      return !row.uses.empty() || std::any_of(row.outputs.begin(), row.outputs.end(),
                                              [](const MaskedTensor& output) { return output.mask.has_value(); });
    };
    if (std::none_of(older.rows.begin(), older.rows.end(), has_mask)) return std::nullopt;
    const ReadModel later = read_model(read.root->name, to_json_text(layer_json(*read.root, kNewest)), {}, nullptr);
    const MaskTrace newer = trace_masks(*later.model());
    for (std::size_t i = 0; i < std::min(older.rows.size(), newer.rows.size()); ++i) {
      const MaskRow &then = older.rows[i], &now = newer.rows[i];
      if (then.uses.empty() == now.uses.empty()) continue;
      return fmt::format(
          "'{}' ({}) uses masks in Keras {} only, so Keras 3 gives other numbers for this model; attn computes as "
          "Keras 2 until it is converted",
          printable(then.name), then.class_name, now.uses.empty() ? 2 : 3);
    }
  } catch (const Error&) {  // a custom layer, or one that cannot be built: the model does not run
  }
  return std::nullopt;
}

}  // namespace attn::keras
