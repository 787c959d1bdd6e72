#include "attn/backends/registry.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "attn/backends/cpu.h"
#include "attn/backends/plugin.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::backends {
namespace {

std::unique_ptr<Backend> make_onednn(int) { return make_cpu_backend(); }
std::unique_ptr<Backend> make_reference(int) { return make_reference_backend(); }

// The best backend of each device first, and the best device first.
constexpr std::array kRows = {
    BackendRow{"cuda", "cuda", open_cuda_backend},
    BackendRow{"onednn", "cpu", make_onednn},
    BackendRow{"reference", "cpu", make_reference},
};

/// "cuda:2" → {"cuda", 2}.
struct Device {
  std::string_view kind;
  int index = 0;
};

Device parse_device(std::string_view text) {
  if (text == "gpu") text = "cuda";  // the name in other frameworks
  if (text == "cpu" || text == "cuda" || text == "auto") return {text, 0};
  Device device{"cuda", 0};
  const std::string_view digits = text.substr(0, 5) == "cuda:" ? text.substr(5) : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || device.index < 0) {
    static constexpr std::array<std::string_view, 3> kNames = {"cpu", "cuda", "auto"};
    throw bad_usage("device '{}': expected cpu, cuda, cuda:N or auto{}", printable(text), did_you_mean(text, kNames))
        .about("device");
  }
  return device;
}

}  // namespace

std::span<const BackendRow> backend_rows() { return kRows; }

MadeBackend make_backend(std::string_view device_text, std::string_view name) {
  const Device device = parse_device(device_text);
  static constexpr std::array<std::string_view, 3> kNames = {"onednn", "reference", "cuda"};
  if (!name.empty() && std::ranges::find(kNames, name) == kNames.end()) {
    throw bad_usage("backend '{}': expected onednn, reference or cuda{}", printable(name), did_you_mean(name, kNames))
        .about("backend");
  }
  std::string fell_back;
  for (const BackendRow& row : kRows) {
    if (!name.empty() && row.name != name) continue;
    if (device.kind != "auto" && row.device != device.kind) {
      if (name.empty()) continue;
      throw bad_usage("the backend {} runs on {}, not on {}", name, row.device, device_text);
    }
    try {
      return {row.make(device.index), std::move(fell_back)};
    } catch (const Error& error) {
      if (device.kind != "auto" || !name.empty() || error.code() != ExitCode::no_device) throw;
      fell_back = error.what();
    }
  }
  throw internal_error("no backend for the device {}", device_text);
}

}  // namespace attn::backends
