#include "attn/backends/registry.h"

#include <array>

#include "attn/backends/onednn.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::backends {
namespace {

std::unique_ptr<Backend> make_onednn() { return make_onednn_backend(); }
std::unique_ptr<Backend> make_reference() { return make_reference_backend(); }

constexpr std::array kRows = {
    BackendRow{"onednn", "cpu", make_onednn, ""},
    BackendRow{"reference", "cpu", make_reference, ""},
    BackendRow{"cuda", "cuda", nullptr, "no CUDA backend is built into this program; use --device cpu"},
};

bool is_device(std::string_view device) {
  if (device == "cpu" || device == "cuda" || device == "auto") return true;
  return device.size() > 5 && device.substr(0, 5) == "cuda:" &&
         device.substr(5).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::span<const BackendRow> backend_rows() { return kRows; }

std::unique_ptr<Backend> make_backend(std::string_view device, std::string_view name) {
  if (!is_device(device)) throw bad_usage("--device {}: expected cpu, cuda, cuda:N or auto", printable(device));
  const std::string_view kind = device.substr(0, device.find(':'));
  bool named = name.empty();
  for (const BackendRow& row : kRows) {
    if (!name.empty() && row.name != name) continue;
    named = true;
    if (kind == "auto" && row.make == nullptr && name.empty()) continue;
    if (kind != "auto" && row.device != kind) {
      if (name.empty()) continue;
      throw bad_usage("the backend {} runs on {}, not on {}", name, row.device, device);
    }
    if (row.make == nullptr) throw Error(ExitCode::no_device, fmt::format("{}: {}", device, row.why_not));
    return row.make();
  }
  static constexpr std::array<std::string_view, 3> kNames = {"onednn", "reference", "cuda"};
  if (!named)
    throw bad_usage("--backend {}: expected onednn, reference or cuda{}", printable(name), did_you_mean(name, kNames));
  throw internal_error("no backend for the device {}", device);
}

}  // namespace attn::backends
