// Fields of parts that attn does not have.
#pragma once

#include <string_view>

#include "config/fields.h"

namespace attn::keras {

/// Reads or writes a field that must be null. `why` follows "expected null: " in the error.
inline void absent_field(Fields& f, std::string_view key, std::string_view why) {
  if (!f.reading()) return f.put(key, Json());
  const auto given = f.take(key);
  if (given && !given->is_null())
    f.config().document().attempt([&] { given->fail(fmt::format("expected null: {}", why)); });
}

}  // namespace attn::keras
