// The files of a model: a folder, or a .keras archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/io/bytes.h"
#include "attn/io/zip.h"
#include "json_node.h"

namespace attn::tokenizers {

/// The files of a model in a folder or a zip archive. They are named by their relative path:
/// "assets/tokenizer/merges.txt".
class ModelFiles {
 public:
  /// Throws Error (bad_input) if `path` is neither a folder nor a zip archive.
  explicit ModelFiles(std::string path);
  /// Returns whether the path is a folder or a zip archive. Throws Error (bad_input) if it does not exist.
  [[nodiscard]] static bool are_at(const std::string& path);

  [[nodiscard]] bool is_archive() const noexcept { return archive_.has_value(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool has(const std::string& name) const;
  /// Returns the printable name of a file for messages.
  [[nodiscard]] std::string place(const std::string& name) const;
  /// Reads a file. Throws Error (bad_input) if it is missing or larger than `limit` bytes.
  [[nodiscard]] io::Bytes read(const std::string& name, std::int64_t limit) const;
  /// Parses a JSON file of limited size; {} if it is missing.
  [[nodiscard]] nlohmann::json config(const std::string& name) const;

 private:
  std::string path_;
  std::optional<io::ZipReader> archive_;
};

}  // namespace attn::tokenizers
