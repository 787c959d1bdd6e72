// Which backends this program has.
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
  std::unique_ptr<Backend> (*make)(int index);  ///< on the device of that number; throws Error (no_device)
};

/// The best device and backend first.
[[nodiscard]] std::span<const BackendRow> backend_rows();

struct MadeBackend {
  std::unique_ptr<Backend> backend;
  std::string fell_back;  ///< for "auto": why it is not the GPU's, or ""
};

/// The backend `name` of `device` ("cpu", "cuda", "cuda:0", "auto"); an empty name means the device's best. Throws
/// Error: (usage) for unknown names and for a backend of another device, (no_device) where there is no such device.
[[nodiscard]] MadeBackend make_backend(std::string_view device, std::string_view name);

}  // namespace attn::backends
