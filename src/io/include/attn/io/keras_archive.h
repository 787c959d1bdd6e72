// Keras's .keras: a zip archive of a config and weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"

namespace attn::io {

/// A file with its name, in an archive or a folder.
struct NamedBytes {
  std::string name;
  Bytes bytes;
};

struct KerasArchive {
  std::string config;    ///< config.json
  std::string metadata;  ///< metadata.json
  /// model.weights.h5, for read_hdf5; absent if the model was saved without weights. Not written.
  std::optional<Bytes> weights = {};
  /// Files of the model's layers, by path: "assets/preprocessor/tokenizer/merges.txt". Not read.
  std::vector<NamedBytes> assets = {};
  std::string training = {};  ///< attn_state.json: the training state of attn; "" if there is none
};

/// Throws Error (bad_input) for an archive that ZipReader rejects, one without a config, and one whose weights are not
/// a single HDF5 file. `name` is the file's name for messages.
[[nodiscard]] KerasArchive parse_keras_archive(const Bytes& file, std::string_view name);

/// Returns the text of a layer's asset at assets/`place`; nothing if it does not exist. Throws Error (bad_input) as
/// parse_keras_archive does, and for a text of over 64 MiB.
[[nodiscard]] std::optional<std::string> read_keras_asset(const Bytes& file, std::string_view name,
                                                          const std::string& place);

/// Writes the members as Keras does: stored, metadata first, then the config and the weights. Needs as much memory as
/// write_hdf5.
void write_keras_archive(AtomicFile& file, const KerasArchive& archive, const Hdf5File& weights);

}  // namespace attn::io
