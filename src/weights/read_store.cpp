#include "attn/weights/read_store.h"

#include <filesystem>
#include <set>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
#include "attn/io/unsupported_formats.h"
#include "attn/io/zip.h"
#include "keras_hdf5.h"
#include "shards.h"

namespace attn::weights {
namespace {

using io::Bytes;
using io::FileKind;

Store parse_archive(const Bytes& file, const std::string& path) {
  const auto weights = io::parse_keras_archive(file, path).weights;
  if (!weights) throw bad_input("{}: the model was saved without weights", printable(path));
  return keras_store(io::read_hdf5(*weights, path), printable(path));
}

/// Returns a store of arrays whose names their writer chose.
Store named_store(std::vector<NamedTensor> arrays, const std::string& path) {
  Store store{printable(path), Naming::path, {}, {}, {}};
  for (NamedTensor& array : arrays)
    (is_generator_state(array.name) ? store.state : store.weights).push_back(std::move(array));
  return store;
}

/// Detects files of torch.save: a zip archive whose first member is a pickle, or (before PyTorch 1.6) plain pickles.
bool is_pickle(const Bytes& file) {
  const std::string_view text = file.text();
  if (io::kind_of(file) == FileKind::zip) {
    constexpr std::size_t kLocalHeader = 512;  // the member's name is in these first bytes
    return text.substr(0, kLocalHeader).find("/data.pkl") != std::string_view::npos;
  }
  // The size field of a safetensors file may begin with the same bytes.
  if (io::kind_of(file) != FileKind::other) return false;
  return text.starts_with("\x80\x02") || text.starts_with("\x80\x04");
}

/// Returns whether a file is in the format of safetensors, or is a damaged one by its name. Throws Error (bad_input)
/// for formats that attn knows but does not read.
bool is_safetensors(const Bytes& file, const std::string& path) {
  const FileKind kind = io::kind_of(file);
  if (kind == FileKind::other) io::refuse_unsupported_format(file, path);
  return kind == FileKind::safetensors || (kind == FileKind::other && path.ends_with(".safetensors"));
}

/// Reads all files of an index as one store.
Store read_shards(const Bytes& index, const std::string& path) {
  io::Hdf5File all;
  std::vector<NamedTensor> arrays;
  std::set<std::string> names;
  const auto twice = [&](const std::string& name) {
    return bad_input("{}: the weight '{}' is in more than one of its files", printable(path), printable(name));
  };
  for (const std::string& own_name : shard_names(index.text(), path)) {
    const std::string shard = (std::filesystem::path(path).parent_path() / own_name).string();
    const Bytes file = io::read_sibling_file(path, own_name);
    if (is_safetensors(file, shard)) {
      for (NamedTensor& array : io::parse_safetensors(file, shard)) {
        if (!names.insert(array.name).second) throw twice(array.name);
        arrays.push_back(std::move(array));
      }
      continue;
    }
    for (auto& [name, object] : io::read_hdf5(file, shard).objects) {
      io::Hdf5Object& known = all.objects[name];
      if (object.tensor && known.tensor) throw twice(name);
      known.attributes.merge(object.attributes);
      if (object.tensor) known.tensor = std::move(object.tensor);
    }
  }
  if (!arrays.empty() && !all.objects.empty())
    throw bad_input("{}: lists both .h5 and .safetensors files", printable(path));
  return arrays.empty() ? keras_store(all, printable(path)) : named_store(std::move(arrays), path);
}

}  // namespace

Store parse_store(const Bytes& file, const std::string& path) {
  if (is_pickle(file)) {
    throw bad_input(
        "{}: a Python pickle, which cannot be read without running it; save the weights in Python with "
        "safetensors.torch.save_file(model.state_dict(), 'weights.safetensors')",
        printable(path));
  }
  if (is_safetensors(file, path)) return named_store(io::parse_safetensors(file, path), path);
  switch (io::kind_of(file)) {
    case FileKind::hdf5:
      return keras_store(io::read_hdf5(file, path), printable(path));
    case FileKind::zip:
      if (io::ZipReader(file, path).find("config.json") != nullptr) return parse_archive(file, path);
      return named_store(io::parse_npz(file, path), path);
    case FileKind::safetensors:  // read above
    case FileKind::other:
      break;
    case FileKind::npy:
      throw bad_input("{}: a .npy file holds one array without a name; use .npz for weights", printable(path));
  }
  return read_shards(file, path);
}

Store read_store(const std::string& path) { return parse_store(io::read_file(path), path); }

}  // namespace attn::weights
