// Two small trained models, and inputs for them, which are compiled in.
#pragma once

#include <span>
#include <string_view>

namespace attn::cli {

struct DemoFile {
  std::string_view name;  ///< "reverser.keras"
  std::span<const unsigned char> bytes;
};

[[nodiscard]] std::span<const DemoFile> demo_files();

}  // namespace attn::cli
