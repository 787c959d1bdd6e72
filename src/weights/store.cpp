#include "attn/weights/store.h"

#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
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

/// All files that an index names, as one.
Store read_shards(const Bytes& index, const std::string& path) {
  io::Hdf5File all;
  for (const std::string& shard : shard_paths(index.text(), path)) {
    for (auto& [name, object] : io::read_hdf5(io::read_file(shard), shard).objects) {
      io::Hdf5Object& known = all.objects[name];
      if (object.tensor && known.tensor) {
        throw bad_input("{}: the weight '{}' is in more than one of its files", printable(path), printable(name));
      }
      known.attributes.merge(object.attributes);
      if (object.tensor) known.tensor = std::move(object.tensor);
    }
  }
  return keras_store(all, printable(path));
}

}  // namespace

Store parse_store(const Bytes& file, const std::string& path) {
  switch (io::kind_of(file)) {
    case FileKind::hdf5:
      return keras_store(io::read_hdf5(file, path), printable(path));
    case FileKind::zip:
      if (io::ZipReader(file, path).find("config.json") != nullptr) return parse_archive(file, path);
      return {printable(path), Naming::path, io::parse_npz(file, path), {}};
    case FileKind::safetensors:
      return {printable(path), Naming::path, io::parse_safetensors(file, path), {}};
    case FileKind::npy:
      throw bad_input("{}: a .npy file holds one array without a name; use .npz for weights", printable(path));
    case FileKind::other:
      break;
  }
  return read_shards(file, path);
}

Store read_store(const std::string& path) { return parse_store(io::read_file(path), path); }

}  // namespace attn::weights
