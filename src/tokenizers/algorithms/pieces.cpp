#include "pieces.h"

#include <algorithm>
#include <utility>

namespace attn::tokenizers {

std::vector<Part> parts_by(const Pattern& pattern, std::string_view text, const RuleLimit& limit) {
  std::vector<Part> parts;
  std::size_t done = 0;  // bytes already assigned to parts
  for (std::size_t from = 0; from <= text.size();) {
    const std::optional<Pattern::Match> found = pattern.find(text, from);
    if (!found) break;
    limit.spend_match(pattern);
    const auto [begin, end] = *found;
    from = end;
    if (begin == end) {
      // The next search begins one letter later; an empty match directly after another match does not count.
      from = end < text.size() ? end + length_of(text[end]) : end + 1;
      if (begin == done && !parts.empty()) continue;
    }
    if (done < begin) parts.emplace_back(done, begin, false);
    parts.emplace_back(begin, end, true);
    done = end;
  }
  if (done < text.size()) parts.emplace_back(done, text.size(), false);
  return parts;
}

std::vector<Part> joined(std::vector<Part> parts, Behavior behavior) {
  std::vector<Part> out;
  bool was_match = false;
  const auto merge_with_previous = [&](const Part& part) {
    if (part.is_match && !was_match && !out.empty()) {
      out.back().to = part.to;
    } else {
      out.push_back(part);
    }
    was_match = part.is_match;
  };
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
      out = std::move(parts);
      break;
    case Behavior::isolated:
      out = std::move(parts);
      break;
    case Behavior::merged_with_previous:
      for (const Part& part : parts) merge_with_previous(part);
      break;
    case Behavior::merged_with_next:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->is_match && !was_match && !out.empty()) {
          out.back().from = part->from;
        } else {
          out.push_back(*part);
        }
        was_match = part->is_match;
      }
      std::reverse(out.begin(), out.end());
      break;
    case Behavior::contiguous:
      for (const Part& part : parts) {
        if (!out.empty() && out.back().is_match == part.is_match) {
          out.back().to = part.to;
        } else {
          out.push_back(part);
        }
      }
      break;
  }
  std::erase_if(out, [](const Part& part) { return part.from == part.to; });
  return out;
}

Pieces::Pieces(std::string text, bool begins_text, const RuleLimit& limit) : limit_(limit), text_(std::move(text)) {
  limit_.check(text_.size());
  if (!text_.empty()) pieces_.push_back({0, static_cast<std::uint32_t>(text_.size()), begins_text});
}

}  // namespace attn::tokenizers
