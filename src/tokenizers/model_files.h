// The files of a model: a folder, or a .keras archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/io/bytes.h"
#include "attn/io/zip.h"
#include "json_node.h"

namespace attn::tokenizers {

/// Files are named by their path inside, with '/' between: "assets/tokenizer/merges.txt".
class ModelFiles {
 public:
  /// Throws Error (bad_input) where `path` is neither a folder nor a zip archive.
  explicit ModelFiles(std::string path);
  /// Is it one of these? Throws Error (bad_input) where nothing is there.
  [[nodiscard]] static bool are_at(const std::string& path);

  [[nodiscard]] bool is_archive() const noexcept { return archive_.has_value(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool has(const std::string& name) const;
  /// What the file is called in messages, printable.
  [[nodiscard]] std::string place(const std::string& name) const;
  /// Throws Error (bad_input) where there is no such file, or it has over `limit` bytes.
  [[nodiscard]] io::Bytes read(const std::string& name, std::int64_t limit) const;
  /// A JSON file of a config's size, {} where there is none.
  [[nodiscard]] nlohmann::json config(const std::string& name) const;

 private:
  std::string path_;
  std::optional<io::ZipReader> archive_;
};

}  // namespace attn::tokenizers
