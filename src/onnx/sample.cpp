#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/onnx/export.h"
#include "attn/plan/passes.h"
#include "sizes.h"

namespace attn::onnx {
namespace {

/// An open size: input and axis → its place among the lengths.
using Places = std::map<std::pair<std::size_t, int>, std::size_t>;

/// The open sizes. Where `one` is set, all that are not a batch are one length.
Places places_of(const std::vector<std::string>& names, const std::vector<Shape>& shapes, bool one,
                 std::vector<Length>& lengths) {
  Places places;
  std::optional<std::size_t> batch, length;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      if (shapes[i][axis] != kUnknown) continue;
      std::optional<std::size_t> own;
      std::optional<std::size_t>& place = axis == 0 ? batch : one ? length : own;
      if (!place) {
        place = lengths.size();
        const std::string name = axis == 0 ? "batch" : one ? "length" : names[i] + "_" + std::to_string(axis);
        lengths.push_back({name, static_cast<int>(i), axis});
      }
      places[{i, axis}] = *place;
    }
  }
  return places;
}

std::vector<Shape> with(const std::vector<Shape>& shapes, const Places& places,
                        const std::vector<std::int64_t>& sizes) {
  std::vector<Shape> out = shapes;
  for (const auto& [where, place] : places) out[where.first][where.second] = sizes[place];
  return out;
}

Samples at(const std::vector<std::string>& names, const std::vector<Shape>& shapes, const Lower& lower, bool one,
           std::int64_t size) {
  const auto lowered = [&](const std::vector<Shape>& all) {
    return plan::fold_identities(plan::remove_dead(lower(all)));
  };
  Samples out;
  const Places places = places_of(names, shapes, one, out.lengths);
  constexpr std::int64_t kBatch = 2;  // what is said of a batch of one may be true of no other
  for (const Length& length : out.lengths) out.base_lengths.push_back(length.axis == 0 ? kBatch : size);
  out.base = lowered(with(shapes, places, out.base_lengths));
  if (out.lengths.empty()) return out;
  std::vector<std::int64_t> all = out.base_lengths;
  for (std::size_t i = 0; i < out.lengths.size(); ++i) {
    out.other_lengths.push_back(out.base_lengths);
    ++out.other_lengths.back()[i];
    all[i] += 2;
  }
  out.other_lengths.push_back(std::move(all));
  for (const auto& sizes : out.other_lengths) out.others.push_back(lowered(with(shapes, places, sizes)));
  if (const auto node = first_difference(out)) {
    const graph::LayerId layer = out.base.nodes[graph::at(*node)].layer;
    throw bad_input("'{}' computes in another way at another size, which one file cannot say; fix the sizes",
                    layer == graph::kNone ? "the model" : printable(out.base.layers[graph::at(layer)].name))
        .about("sequence_length");
  }
  return out;
}

}  // namespace

Samples sample(const std::vector<std::string>& names, const std::vector<Shape>& shapes, const Lower& lower) {
  constexpr std::array<std::int64_t, 6> kSizes{64, 32, 12, 7, 4, 2};  // of models that know few positions, too
  std::optional<Error> first;
  for (const bool one : {false, true}) {
    for (const std::int64_t size : kSizes) {
      try {
        return at(names, shapes, lower, one, size);
      } catch (const Error& error) {
        if (error.code() != ExitCode::bad_input) throw;
        if (!first) first = error;
      }
    }
  }
  throw Error(*first).about("sequence_length");
}

}  // namespace attn::onnx
