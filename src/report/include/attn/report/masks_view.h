// The flow of masks, as text.
#pragma once

#include <string>

#include "attn/keras/masks.h"
#include "attn/report/format.h"
#include "attn/report/json.h"

namespace attn::report {

/// table, markdown, csv: a row for each call with its input masks, their treatment, and its output masks; then a line
/// for each warning. Here and below, calls inside nested models are included only with `expand_nested`.
[[nodiscard]] std::string render(Format format, const std::string& model, const keras::MaskTrace& trace,
                                 bool expand_nested);

/// Adds to a summary's JSON: "masks", a list of calls, and "mask_warnings".
void add_masks(Json& summary, const keras::MaskTrace& trace, bool expand_nested);

}  // namespace attn::report
