#include "attn/io/array_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/json_text.h"
#include "attn/io/npy.h"
#include "attn/io/tensor_file.h"
#include "attn/io/zip.h"

namespace attn::io {
namespace {

constexpr std::string_view kMember = ".npy";

TextArray lines_of(std::string_view text, const std::string& place) {
  if (!is_utf8(text)) throw bad_input("{}: a text file of inputs must be UTF-8", place);
  TextArray out;
  for (std::string& line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    out.values.push_back(std::move(line));
  }
  if (out.values.back().empty()) out.values.pop_back();  // the empty string after the last newline
  out.shape = {static_cast<Dim>(out.values.size())};
  return out;
}

/// Nested lists of strings in a JSON text.
class Lists {
 public:
  explicit Lists(std::string place) : place_(std::move(place)) {}

  [[nodiscard]] TextArray read(const nlohmann::json& list, const std::string& pointer) const {
    constexpr int kMostAxes = 8;
    TextArray out;
    for (const nlohmann::json* level = &list; level->is_array() && out.shape.rank() < kMostAxes;
         level = &level->front()) {
      out.shape.push_back(static_cast<Dim>(level->size()));
      if (level->empty()) break;
    }
    if (out.shape.rank() == 0) fail(pointer, "expected a list of strings, or an object of such by the names of inputs");
    collect(list, 0, pointer, out);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw bad_input("{}: {}{}{}", place_, printable(pointer), pointer.empty() ? "" : ": ", message);
  }
  /// Adds the strings of a list, and of nested lists, which must have equal lengths.
  void collect(const nlohmann::json& list, int axis, const std::string& pointer, TextArray& out) const {
    if (axis == out.shape.rank()) {
      if (!list.is_string()) fail(pointer, fmt::format("expected a string, got {}", list.type_name()));
      out.values.push_back(list.get<std::string>());
      return;
    }
    if (!list.is_array() || static_cast<Dim>(list.size()) != out.shape[axis])
      fail(pointer, fmt::format("expected a list of {}, as next to it", out.shape[axis]));
    for (std::size_t i = 0; i < list.size(); ++i) collect(list[i], axis + 1, fmt::format("{}/{}", pointer, i), out);
  }

  std::string place_;
};

std::vector<NamedTexts> parse_texts(std::string_view text, const std::string& place) {
  constexpr JsonLimits kLimits{std::size_t{1} << 30, static_cast<std::size_t>(kMostTexts)};
  const nlohmann::json list = parse_json(text, place, kLimits);
  const Lists lists(place);
  if (!list.is_object()) return {{"", lists.read(list, "")}};
  std::vector<NamedTexts> out;
  for (const auto& [name, value] : list.items()) out.push_back({name, lists.read(value, "/" + name)});
  return out;
}

/// Adds the array of a .npy file, of numbers or of strings.
void add(const Bytes& file, const std::string& place, std::string name, Arrays& out) {
  if (auto texts = parse_text_npy(file, place)) {
    out.texts.push_back({std::move(name), std::move(*texts)});
  } else {
    out.tensors.push_back({std::move(name), parse_npy(file, place)});
  }
}

}  // namespace

Arrays read_arrays(const std::string& path) {
  const Bytes file = read_file(path);
  const FileKind kind = kind_of(file);
  Arrays out;
  if (kind == FileKind::npy) {
    add(file, path, std::filesystem::path(path).stem().string(), out);
  } else if (const bool is_zip = kind == FileKind::zip;
             is_zip && ZipReader(file, path).find("config.json") == nullptr) {
    const ZipReader archive(file, path);
    for (const ZipMember& member : archive.members()) {
      const std::string place = fmt::format("{}: {}", path, member.name);
      if (!member.name.ends_with(kMember))
        throw bad_input("{}: not an array; a .npz archive holds .npy members only", printable(place));
      add(archive.read(member, kMaxSize), place, member.name.substr(0, member.name.size() - kMember.size()), out);
    }
  } else if (kind == FileKind::other && path.ends_with(".txt")) {
    out.texts.push_back({"", lines_of(file.text(), printable(path))});
  } else if (kind == FileKind::other && path.ends_with(".json")) {
    out.texts = parse_texts(file.text(), printable(path));
  } else {
    out.tensors = parse_tensors(file, path);
  }
  return out;
}

}  // namespace attn::io
