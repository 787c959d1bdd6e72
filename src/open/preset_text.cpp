#include "preset_text.h"

#include <cstdint>

#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/open/model.h"

namespace attn::open {

std::optional<std::string> preset_text(const std::string& folder, const std::string& name) {
  if (!is_file(folder + "/" + name)) return std::nullopt;
  constexpr io::JsonLimits kLimits;
  return std::string(io::read_file_in(folder, name, static_cast<std::int64_t>(kLimits.bytes)).text());
}

}  // namespace attn::open
