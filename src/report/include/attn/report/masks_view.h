// Where masks go, as text.
#pragma once

#include <string>

#include "attn/keras/masks.h"
#include "attn/report/json.h"

namespace attn::report {

/// A row per call: the masks that come in, what becomes of them, the masks that go out; then a line per warning. Calls
/// inside nested models only with `expand_nested`, here and below.
[[nodiscard]] std::string masks_table(const std::string& model, const keras::MaskTrace& trace, bool expand_nested);
[[nodiscard]] std::string masks_markdown(const std::string& model, const keras::MaskTrace& trace, bool expand_nested);
[[nodiscard]] std::string masks_csv(const keras::MaskTrace& trace, bool expand_nested);

/// What a summary's JSON gets: "masks", a list of calls, and "mask_warnings".
void add_masks(Json& summary, const keras::MaskTrace& trace, bool expand_nested);

}  // namespace attn::report
