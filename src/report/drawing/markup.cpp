#include "markup.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace attn::report {
namespace {

bool begins_tag(char c) { return (c >= 'a' && c <= 'z') || c == '#' || c == '/' || c == '@'; }

/// A tag with its preceding backslashes: `\\[bold]`.
struct Tag {
  std::size_t first;    ///< position of the first backslash, or of "["
  std::size_t bracket;  ///< position of "["
  std::size_t last;     ///< position after "]"
};

/// Returns the next tag at or after `from`: "[", a letter or one of #/@, then no further "[" up to the first "]".
std::optional<Tag> next_tag(std::string_view text, std::size_t from) {
  for (std::size_t open = text.find('[', from); open != std::string_view::npos; open = text.find('[', open + 1)) {
    if (open + 1 >= text.size() || !begins_tag(text[open + 1])) continue;
    const std::size_t stop = text.find_first_of("[]", open + 2);
    if (stop == std::string_view::npos) return std::nullopt;
    if (text[stop] == '[') continue;
    std::size_t first = open;
    while (first > from && text[first - 1] == '\\') --first;
    return Tag{first, open, stop + 1};
  }
  return std::nullopt;
}

std::string name_of(std::string_view tag) {
  tag = tag.substr(0, tag.find('='));
  while (!tag.empty() && tag.front() == ' ') tag.remove_prefix(1);
  while (!tag.empty() && tag.back() == ' ') tag.remove_suffix(1);
  std::string name(tag);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

/// Appends text between tags; `\[` is an escaped bracket.
void append_plain(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '[') continue;
    out += text[i];
  }
}

/// Closes the innermost open tag, or the innermost with that name.
bool close(std::vector<std::string>& open, const std::string& name) {
  const auto found = name.empty() ? open.rbegin() : std::find(open.rbegin(), open.rend(), name);
  if (found == open.rend()) return false;
  open.erase(std::next(found).base());
  return true;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  while (const std::optional<Tag> tag = next_tag(text, done)) {
    result += text.substr(done, tag->first - done);
    result.append(2 * (tag->bracket - tag->first) + 1, '\\');
    result += text.substr(tag->bracket, tag->last - tag->bracket);
    done = tag->last;
  }
  result += text.substr(done);
  if (result.ends_with('\\') && !result.ends_with("\\\\")) result += '\\';
  return result;
}

std::optional<std::string> plain_markup(std::string_view markup) {
  std::string result;
  std::vector<std::string> open;
  std::size_t done = 0;
  while (const std::optional<Tag> tag = next_tag(markup, done)) {
    append_plain(result, markup.substr(done, tag->first - done));
    const std::size_t backslashes = tag->bracket - tag->first;
    append_plain(result, markup.substr(tag->first, backslashes / 2));
    const std::string_view inside = markup.substr(tag->bracket + 1, tag->last - tag->bracket - 2);
    if (backslashes % 2 == 1) {
      append_plain(result, markup.substr(tag->bracket, tag->last - tag->bracket));
    } else if (inside.front() != '/') {
      open.push_back(name_of(inside));
    } else if (!close(open, name_of(inside.substr(1)))) {
      return std::nullopt;
    }
    done = tag->last;
  }
  append_plain(result, markup.substr(done));
  return result;
}

}  // namespace attn::report
