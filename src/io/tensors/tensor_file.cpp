#include "attn/io/tensor_file.h"

#include <array>
#include <filesystem>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/npy.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
#include "attn/io/zip.h"

namespace attn::io {
namespace {

void write_one(AtomicFile& file, std::span<const NamedTensor> tensors, std::span<const NamedTexts> texts) {
  if (const std::size_t count = tensors.size() + texts.size(); count != 1)
    throw bad_usage("{}: a .npy file holds one array, not {}; use .npz{}", printable(file.path()), count,
                    texts.empty() ? " or .safetensors" : "");
  if (texts.empty()) return write_npy(file, tensors.front().tensor);
  file.write(text_npy(texts.front().texts, texts.front().name));
}

void write_numbers(AtomicFile& file, std::span<const NamedTensor> tensors, std::span<const NamedTexts> texts) {
  if (!texts.empty())
    throw bad_usage("{}: '{}' contains strings, which .safetensors cannot store; use .npz", printable(file.path()),
                    printable(texts.front().name));
  write_safetensors(file, tensors);
}

using Writer = void (*)(AtomicFile&, std::span<const NamedTensor>, std::span<const NamedTexts>);

constexpr std::array<std::pair<std::string_view, Writer>, 3> kWriters = {
    {{".npy", write_one}, {".npz", write_npz}, {".safetensors", write_numbers}}};

Writer writer_of(const std::string& path) {
  if (path == "-") return write_npz;  // stdout has no extension
  const std::string extension = std::filesystem::path(path).extension().string();
  for (const auto& [known, writer] : kWriters) {
    if (extension == known) return writer;
  }
  throw bad_usage("{}: the file's extension must be .npy, .npz or .safetensors", printable(path));
}

}  // namespace

std::vector<NamedTensor> parse_tensors(const Bytes& file, const std::string& path) {
  switch (kind_of(file)) {
    case FileKind::npy:
      return {{std::filesystem::path(path).stem().string(), parse_npy(file, path)}};
    case FileKind::zip:
      if (ZipReader(file, path).find("config.json") != nullptr) {
        throw bad_input("{}: a .keras archive, where arrays are expected (.npy, .npz or .safetensors)",
                        printable(path));
      }
      return parse_npz(file, path);
    case FileKind::safetensors:
      return parse_safetensors(file, path);
    case FileKind::hdf5:
      throw bad_input("{}: an HDF5 file, where arrays are expected (.npy, .npz or .safetensors)", printable(path));
    case FileKind::other:
      break;
  }
  throw bad_input("{}: neither a .npy, a .npz nor a .safetensors file", printable(path));
}

std::vector<NamedTensor> read_tensors(const std::string& path) { return parse_tensors(read_file(path), path); }

void check_tensor_path(const std::string& path) { static_cast<void>(writer_of(path)); }

void write_tensors(const std::string& path, std::span<const NamedTensor> tensors, std::span<const NamedTexts> texts) {
  const Writer write = writer_of(path);
  AtomicFile file(path, AtomicFile::Content::binary);
  write(file, tensors, texts);
  file.commit();
}

}  // namespace attn::io
