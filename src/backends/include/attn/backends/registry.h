// The backends of this program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"

namespace attn::backends {

struct BackendRow {
  std::string_view name;                        ///< "onednn"
  std::string_view device;                      ///< "cpu"
  std::unique_ptr<Backend> (*make)(int index);  ///< makes it on the device of that index; throws Error (no_device)
};

/// Returns the backends, with the best device and its best backend first.
[[nodiscard]] std::span<const BackendRow> backend_rows();

struct MadeBackend {
  std::unique_ptr<Backend> backend;
  std::string fell_back;  ///< for "auto": the reason why no GPU is used, or ""
};

/// Makes the backend `name` of `device` ("cpu", "cuda", "cuda:0", "auto"); an empty name selects the device's best
/// backend. Throws Error: (usage) for an unknown name or a backend of another device, (no_device) if the device does
/// not exist.
[[nodiscard]] MadeBackend make_backend(std::string_view device, std::string_view name);

}  // namespace attn::backends
