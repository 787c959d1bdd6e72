#include "summary_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/text/regex.h"

namespace attn::report {
namespace {

struct Bounds {
  std::size_t first;
  std::size_t last;  ///< index of the last row, inclusive
};

/// An end of a layer range: a regular expression.
class End {
 public:
  explicit End(const std::string& pattern)
      : pattern_(pattern),
        regex_(in_words([&] { return text::Regex(pattern, text::Regex::Subject::any_bytes); },
                        "layer range: '{}' is not a regular expression: {}")) {}

  [[nodiscard]] bool matches(const std::string& name) const {
    return in_words([&] { return regex_.matches_start(name); }, "layer range: matching '{}' takes too long: {}");
  }

 private:
  template <typename What>
  std::invoke_result_t<What> in_words(What what, fmt::format_string<std::string, const char*> message) const try {
    return what();
  } catch (const text::RegexError& error) {
    throw bad_usage(message, printable(pattern_), error.what());
  }

  std::string pattern_;
  text::Regex regex_;
};

/// Returns the range from the first layer that matches `first` to the last that matches `last`. If they are in reverse
/// order, Keras widens the range to all matches of either.
Bounds bounds_of(const std::vector<const std::string*>& names, const LayerRange& range) {
  const End first(range.first), last(range.last);
  std::optional<Bounds> lower;
  std::optional<Bounds> upper;
  const auto extend = [](std::optional<Bounds>& bounds, std::size_t i) {
    bounds = Bounds{bounds ? bounds->first : i, i};
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (first.matches(*names[i])) extend(lower, i);
    if (last.matches(*names[i])) extend(upper, i);
  }
  if (!lower || !upper) {
    throw bad_usage("Passed layer_names do not match the layer names in the model. Received: [{}, {}]",
                    python_repr(std::string_view(range.first)), python_repr(std::string_view(range.last)));
  }
  if (lower->first > upper->last) return {upper->first, lower->last};
  return {lower->first, upper->last};
}

}  // namespace

std::vector<const keras::SummaryRow*> shown_rows(const keras::Summary& summary, const SummaryOptions& options) {
  std::optional<Bounds> bounds;
  if (options.layer_range) {
    std::vector<const std::string*> names;
    for (const keras::SummaryRow& row : summary.rows) {
      if (row.level == 0) names.push_back(&row.name);
    }
    bounds = bounds_of(names, *options.layer_range);
  }

  std::vector<const keras::SummaryRow*> rows;
  std::size_t layers = 0;  // number of top-level layers, including the current one
  for (const keras::SummaryRow& row : summary.rows) {
    if (row.level == 0) ++layers;
    if (row.level > 0 && !options.expand_nested) continue;
    if (bounds && (layers < bounds->first + 1 || layers > bounds->last + 1)) continue;
    rows.push_back(&row);
  }
  return rows;
}

std::vector<std::string> total_lines(const keras::Summary& summary) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view what, keras::Count count, keras::Count bytes) {
    out.push_back(fmt::format("{}: {}{} ({})", what, summary.unknown_params ? "unknown, at least " : "",
                              with_commas(count), memory_size(bytes)));
  };
  const auto optimizer = summary.optimizer.value_or(keras::Summary::OptimizerSize());
  add("Total params", summary.total_params + optimizer.params, summary.total_bytes + optimizer.bytes);
  add("Trainable params", summary.trainable_params, summary.trainable_bytes);
  add("Non-trainable params", summary.non_trainable_params, summary.non_trainable_bytes);
  if (summary.optimizer) add("Optimizer params", optimizer.params, optimizer.bytes);
  return out;
}

}  // namespace attn::report
