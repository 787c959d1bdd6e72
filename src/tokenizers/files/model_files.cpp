#include "model_files.h"

#include <filesystem>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/json_text.h"

namespace attn::tokenizers {

ModelFiles::ModelFiles(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (std::filesystem::is_directory(path_, error)) return;
  const io::Bytes file = io::read_file(path_);
  if (io::kind_of(file) != io::FileKind::zip)
    throw bad_input(
        "{}: no tokenizer is here; give a preset folder of KerasHub, the .keras file of a task, or a Hugging Face "
        "folder",
        printable(path_));
  archive_.emplace(file, path_);
}

bool ModelFiles::are_at(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) || io::kind_of(io::read_file(path)) == io::FileKind::zip;
}

bool ModelFiles::has(const std::string& name) const {
  if (archive_) return archive_->find(name) != nullptr;
  std::error_code error;
  return std::filesystem::exists(path_ + "/" + name, error);
}

std::string ModelFiles::place(const std::string& name) const {
  return printable(archive_ ? path_ + ":" + name : path_ + "/" + name);
}

io::Bytes ModelFiles::read(const std::string& name, std::int64_t limit) const {
  if (!archive_) return io::read_file_in(path_, name, limit);
  const io::ZipMember* member = archive_->find(name);
  if (member == nullptr) throw bad_input("{}: there is no such file in the archive", place(name));
  return archive_->read(*member, limit);
}

nlohmann::json ModelFiles::config(const std::string& name) const {
  if (!has(name)) return nlohmann::json::object();
  constexpr io::JsonLimits kLimits;
  return io::parse_json(read(name, static_cast<std::int64_t>(kLimits.bytes)).text(), place(name), kLimits);
}

}  // namespace attn::tokenizers
