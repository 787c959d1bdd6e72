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

/// A file by its name, in an archive or a folder.
struct NamedBytes {
  std::string name;
  Bytes bytes;
};

struct KerasArchive {
  std::string config;    ///< config.json
  std::string metadata;  ///< metadata.json
  /// model.weights.h5, for read_hdf5; absent where the model was saved without. Not written.
  std::optional<Bytes> weights = {};
  /// What the model's layers keep beside, by its path: "assets/preprocessor/tokenizer/merges.txt". Not read.
  std::vector<NamedBytes> assets = {};
  std::string training = {};  ///< attn_state.json: where a training of attn's stands; "" where there is none
};

/// Throws Error (bad_input) for an archive that ZipReader refuses, one without a config, and one whose
/// weights are in another form than one HDF5 file. `name` is the file's name for messages.
[[nodiscard]] KerasArchive parse_keras_archive(const Bytes& file, std::string_view name);

/// The text that a layer keeps in an archive as assets/`place`; nothing where it keeps none. Throws Error (bad_input)
/// as parse_keras_archive does, and for one of over 64 MiB.
[[nodiscard]] std::optional<std::string> read_keras_asset(const Bytes& file, std::string_view name,
                                                          const std::string& place);

/// Writes the members as Keras does: stored, metadata first, then the config and the weights. It takes as much memory
/// as write_hdf5.
void write_keras_archive(AtomicFile& file, const KerasArchive& archive, const Hdf5File& weights);

}  // namespace attn::io
