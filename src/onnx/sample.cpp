#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/onnx/export.h"
#include "attn/plan/passes.h"
#include "sizes.h"

namespace attn::onnx {
namespace {

/// Maps an open size, by input and axis, to its index in the lengths.
using Places = std::map<std::pair<std::size_t, int>, std::size_t>;

/// Returns the open sizes except the batch.
std::vector<std::pair<std::size_t, int>> open_axes(const std::vector<Shape>& shapes) {
  std::vector<std::pair<std::size_t, int>> out;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (int axis = 1; axis < shapes[i].rank(); ++axis)
      if (shapes[i][axis] == kUnknown) out.emplace_back(i, axis);
  return out;
}

/// The length of each open axis; equal numbers share one.
using Groups = std::vector<std::size_t>;

/// Returns the common prefix of a group's input names: "encoder_" for encoder_token_ids and encoder_padding_mask.
std::string common_words(const std::vector<std::string>& names) {
  std::string common = names.front();
  for (const std::string& name : names)
    common.resize(static_cast<std::size_t>(std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first -
                                           common.begin()));
  return common.substr(0, common.rfind('_') == std::string::npos ? 0 : common.rfind('_') + 1);
}

Places places_of(const std::vector<std::string>& names, const std::vector<Shape>& shapes, const Groups& groups,
                 std::vector<Length>& lengths) {
  Places places;
  std::optional<std::size_t> batch;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].rank() == 0 || shapes[i][0] != kUnknown) continue;
    if (!batch) {
      batch = lengths.size();
      lengths.push_back({"batch", static_cast<int>(i), 0});
    }
    places[{i, 0}] = *batch;
  }
  const auto axes = open_axes(shapes);
  std::map<std::size_t, std::vector<std::size_t>> members;
  for (std::size_t a = 0; a < axes.size(); ++a) members[groups[a]].push_back(a);
  for (const auto& [group, own] : members) {
    std::vector<std::string> inputs;
    for (const std::size_t a : own) inputs.push_back(names[axes[a].first]);
    const auto [input, axis] = axes[own.front()];
    const bool alone = own.size() == 1 && axes.size() > 1;
    std::string name = alone ? names[input] + "_" + std::to_string(axis) : common_words(inputs) + "length";
    if (members.size() == 1 && !alone) name = axes.size() == 1 ? names[input] + "_" + std::to_string(axis) : "length";
    if (std::ranges::find(lengths, name, &Length::name) != lengths.end())
      name = names[input] + "_" + std::to_string(axis);
    for (const std::size_t a : own) places[axes[a]] = lengths.size();
    lengths.push_back({std::move(name), static_cast<int>(input), axis});
  }
  return places;
}

std::vector<Shape> with(const std::vector<Shape>& shapes, const Places& places,
                        const std::vector<std::int64_t>& sizes) {
  std::vector<Shape> out = shapes;
  for (const auto& [where, place] : places) out[where.first][where.second] = sizes[place];
  return out;
}

constexpr std::array<std::int64_t, 6> kSizes{64, 32, 12, 7, 4, 2};  // small ones are for models with few positions
constexpr std::int64_t kBatch = 2;  // a batch of one could hide a dependence on the batch

Samples at(const std::vector<std::string>& names, const std::vector<Shape>& shapes, const Lower& lower,
           const Groups& groups, std::int64_t size) {
  const auto lowered = [&](const std::vector<Shape>& all) {
    return plan::fold_identities(plan::remove_dead(lower(all)));
  };
  Samples out;
  const Places places = places_of(names, shapes, groups, out.lengths);
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
    throw bad_input("'{}' computes differently at another size, which a single file cannot express; fix the sizes",
                    layer == graph::kNone ? "the model" : printable(out.base.layers[graph::at(layer)].name))
        .about("sequence_length");
  }
  return out;
}

/// Returns whether the model accepts these open axes one larger than the others.
bool takes(const std::vector<Shape>& shapes, const Lower& lower, std::uint32_t longer, std::int64_t size) {
  std::vector<Shape> all = shapes;
  for (Shape& shape : all)
    if (shape.rank() > 0 && shape[0] == kUnknown) shape[0] = kBatch;
  const auto axes = open_axes(shapes);
  for (std::size_t a = 0; a < axes.size(); ++a)
    all[axes[a].first][axes[a].second] = size + ((longer >> a & 1U) != 0U ? 1 : 0);
  try {
    static_cast<void>(lower(all));
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    return false;
  }
}

/// Returns the smallest groups of open axes that can differ from the rest; a single group if there are too many to try.
Groups found_groups(const std::vector<Shape>& shapes, const Lower& lower, std::int64_t size) {
  constexpr std::size_t kMost = 6;
  const std::size_t count = open_axes(shapes).size();
  Groups groups(count, 0);
  if (count > kMost) return groups;
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 1; set < (std::uint32_t{1} << count); ++set) sets.push_back(set);
  std::ranges::stable_sort(sets, {}, [](std::uint32_t set) { return std::popcount(set); });
  std::uint32_t grouped = 0;
  std::size_t next = 1;
  for (const std::uint32_t set : sets) {
    if ((set & grouped) != 0 || !takes(shapes, lower, set, size)) continue;
    for (std::size_t a = 0; a < count; ++a)
      if ((set >> a & 1U) != 0U) groups[a] = next;
    grouped |= set;
    ++next;
  }
  return groups;
}

/// Returns the size that the caller can fix if no size of the open axes works. That is the batch, if nothing else is
/// open or an input fixes a batch at which the model works.
const char* field_to_fix(const std::vector<Shape>& shapes, const Lower& lower) {
  const auto has_batch = [](const Shape& shape, bool open) {
    return shape.rank() > 0 && (shape[0] == kUnknown) == open;
  };
  if (std::ranges::none_of(shapes, [&](const Shape& shape) { return has_batch(shape, true); }))
    return "sequence_length";
  if (open_axes(shapes).empty()) return "batch";
  for (const Shape& fixed : shapes) {
    if (!has_batch(fixed, false)) continue;
    std::vector<Shape> same = shapes;
    for (Shape& shape : same)
      if (has_batch(shape, true)) shape[0] = fixed[0];
    if (std::ranges::any_of(kSizes, [&](std::int64_t size) { return takes(same, lower, 0, size); })) return "batch";
  }
  return "sequence_length";
}

}  // namespace

Samples sample(const std::vector<std::string>& names, const std::vector<Shape>& shapes, const Lower& lower) {
  std::optional<Error> first;
  Groups own(open_axes(shapes).size());
  std::iota(own.begin(), own.end(), std::size_t{0});
  // Tries each axis on its own, then the smallest groups that the model accepts, then all together.
  for (const int together : {0, 1, 2}) {
    if (together > 0 && own.size() < 2) break;
    for (const std::int64_t size : kSizes) {
      try {
        const Groups groups = together == 0   ? own
                              : together == 1 ? found_groups(shapes, lower, size)
                                              : Groups(own.size(), 0);
        return at(names, shapes, lower, groups, size);
      } catch (const Error& error) {
        if (error.code() != ExitCode::bad_input) throw;
        if (!first) first = error;
      }
    }
  }
  throw Error(*first).about(field_to_fix(shapes, lower));
}

}  // namespace attn::onnx
