// The options --text and --texts: labels that a model compares with images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/open/input_files.h"
#include "options/options.h"

namespace attn::cli {

struct LabelWords {
  std::vector<std::string> texts;
  std::optional<std::string> file;

  void declare(Options& options);
  [[nodiscard]] bool are_given() const { return !texts.empty() || file; }
  /// Returns the files and the labels. Throws Error.
  [[nodiscard]] open::InputFiles added_to(open::InputFiles files) const;
};

}  // namespace attn::cli
