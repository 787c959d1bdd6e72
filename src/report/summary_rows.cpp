#include "summary_rows.h"

#include <algorithm>
#include <optional>
// GCC 12 sees uninitialized members inside <regex> when it builds with sanitizers (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <regex>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::report {
namespace {

/// Longer names match nothing: std::regex recurses once per character, and three `.*` take the cube of the length.
constexpr std::size_t kLongestMatched = 500;

/// Does the pattern match at the beginning of the name?
class Pattern {
 public:
  explicit Pattern(const std::string& text) : text_(text) {
    // A plain name needs no engine, so that names of any length can be given.
    if (text.find_first_of("\\^$.|?*+()[]{}") == std::string::npos) return;
    try {
      regex_.emplace(text, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      throw bad_usage("layer range: '{}' is not a regular expression", printable(text));
    }
  }

  [[nodiscard]] bool matches(const std::string& name) const {
    if (!regex_) return name.starts_with(text_);
    if (name.size() > kLongestMatched) return false;
    try {
      return std::regex_search(name, *regex_, std::regex_constants::match_continuous);
    } catch (const std::regex_error&) {
      throw bad_usage("layer range: '{}' takes too long to match", printable(text_));
    }
  }

 private:
  std::string text_;
  std::optional<std::regex> regex_;
};

struct Bounds {
  std::size_t first;
  std::size_t last;  ///< included
};

/// The first layer that matches `first` to the last that matches `last`. Where the last of those comes before the first
/// of these, Keras widens the range to every match of either.
Bounds bounds_of(const std::vector<const std::string*>& names, const LayerRange& range) {
  const Pattern first(range.first);
  const Pattern last(range.last);
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
  std::size_t layers = 0;  // of the top level, up to and with the current one
  for (const keras::SummaryRow& row : summary.rows) {
    if (row.level == 0) ++layers;
    if (row.level > 0 && !options.expand_nested) continue;
    if (bounds && (layers < bounds->first + 1 || layers > bounds->last + 1)) continue;
    rows.push_back(&row);
  }
  return rows;
}

}  // namespace attn::report
