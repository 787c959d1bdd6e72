// Where masks go, as text.
#pragma once

#include <string>

#include "attn/keras/masks.h"
#include "attn/report/format.h"
#include "attn/report/json.h"

namespace attn::report {

/// table, markdown, csv: a row per call with the masks that come in, what becomes of them and the masks that go out;
/// then a line per warning. Calls inside nested models only with `expand_nested`, here and below.
[[nodiscard]] std::string render(Format format, const std::string& model, const keras::MaskTrace& trace,
                                 bool expand_nested);

/// What a summary's JSON gets: "masks", a list of calls, and "mask_warnings".
void add_masks(Json& summary, const keras::MaskTrace& trace, bool expand_nested);

}  // namespace attn::report
