// Which backends this program has.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"

namespace attn::backends {

struct BackendRow {
  std::string_view name;               ///< "onednn"
  std::string_view device;             ///< "cpu"
  std::unique_ptr<Backend> (*make)();  ///< null where it is not built
  std::string_view why_not;            ///< the sentence for that
};

/// The best of each device first.
[[nodiscard]] std::span<const BackendRow> backend_rows();

/// The backend `name` of `device` ("cpu", "cuda", "cuda:0", "auto"); an empty name means the device's best. Throws
/// Error: (usage) for unknown names and for a backend of another device, (no_device) where it is not built.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::string_view device, std::string_view name);

}  // namespace attn::backends
