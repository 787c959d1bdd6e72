#include "form.h"

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

std::string form_of(const std::string& format, const std::optional<std::string>& path, const Endings& endings,
                    const std::string& otherwise) {
  if (!format.empty()) return format;
  if (!path || *path == "-") return otherwise;
  std::vector<std::string> known;
  for (const auto& [ending, form] : endings) {
    if (path->ends_with(ending)) return form;
    known.push_back(ending);
  }
  throw bad_usage("-o {}: the ending tells no form; known are {}; or say --format", printable(*path),
                  join(known, ", "));
}

}  // namespace attn::cli
