#include "preset_text.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "attn/io/file.h"
#include "attn/io/json_text.h"

namespace attn::open {

std::optional<std::string> preset_text(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path(folder) / name, ignored)) return std::nullopt;
  constexpr io::JsonLimits kLimits;
  return std::string(io::read_file_in(folder, name, static_cast<std::int64_t>(kLimits.bytes)).text());
}

}  // namespace attn::open
