#include "config/versions.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace attn::keras {
namespace {

using Since = std::pair<std::string_view, Version>;

constexpr std::array kLayersSince = {Since{"RMSNormalization", 309}, Since{"ReversibleEmbedding", 312}};

constexpr std::array kOperationsSince = {
    Since{"Select", 303},
    Since{"DotProductAttention", 306},
    Since{"Trunc", 306},
    Since{"Celu", 307},
    Since{"ConvertToTensor", 307},
    Since{"Exp2", 307},
    Since{"Glu", 307},
    Since{"HardShrink", 307},
    Since{"HardTanh", 307},
    Since{"Inner", 307},
    Since{"SoftShrink", 307},
    Since{"Squareplus", 307},
    Since{"TanhShrink", 307},
    Since{"SparsePlus", 308},
    Since{"Sparsemax", 308},
    Since{"Threshold", 311},
    Since{"RMSNorm", 309},
    Since{"Rot90", 309},
    Since{"SparseSigmoid", 310},
    Since{"Cbrt", 311},
    Since{"Deg2rad", 311},
    Since{"Heaviside", 311},
    Since{"LayerNorm", 311},
    Since{"Hypot", 312},
    Since{"Isneginf", 312},
    Since{"Isposinf", 312},
    Since{"Logaddexp2", 312},
    Since{"ArraySplit", 313},
    Since{"EmptyLike", 313},
    Since{"Dstack", 314},
    Since{"Fliplr", 314},
    Since{"Flipud", 314},
    Since{"Fmod", 314},
    Since{"Hsplit", 314},
    Since{"Nanmean", 314},
    Since{"Nansum", 314},
    Since{"Ptp", 314},
    Since{"Rad2deg", 314},
    Since{"Sinc", 314},
    Since{"Vsplit", 314},
    Since{"Dsplit", 315},
    Since{"Erfc", 315},
    Since{"Fabs", 315},
    Since{"Fmax", 315},
    Since{"Fmin", 315},
};

constexpr std::array kActivationsSince = {
    Since{"celu", 307},        Since{"hard_tanh", 307},  Since{"hard_shrink", 307},    Since{"soft_shrink", 307},
    Since{"tanh_shrink", 307}, Since{"squareplus", 307}, Since{"log_sigmoid", 307},    Since{"glu", 307},
    Since{"sparse_plus", 308}, Since{"sparsemax", 308},  Since{"sparse_sigmoid", 310},
};

Version since(std::span<const Since> rows, std::string_view name) {
  for (const auto& [known, version] : rows)
    if (known == name) return version;
  return kOldest;
}

}  // namespace

std::optional<Version> version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || at == end || *at != '.') return std::nullopt;
  const auto rest = std::from_chars(at + 1, end, minor);
  if (rest.ec != std::errc() || (rest.ptr != end && *rest.ptr != '.' && *rest.ptr != '-')) return std::nullopt;
  if (major < 1 || major > 99 || minor < 0 || minor > 99) return std::nullopt;
  return 100 * major + minor;
}

std::string version_text(Version version) { return fmt::format("{}.{}", version / 100, version % 100); }

Version class_since(std::string_view class_name, bool operation) {
  return operation ? since(kOperationsSince, class_name) : since(kLayersSince, class_name);
}

Version activation_since(std::string_view name) { return since(kActivationsSince, name); }

}  // namespace attn::keras
