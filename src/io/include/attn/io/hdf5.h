// HDF5, the format of Keras's weights (.weights.h5, .h5, and inside .keras).
//
// The HDF5 library runs in a separate process, attn-hdf5, which opens no other file and has limits on memory and time:
// a hostile file only ends that process and becomes an Error here. Contiguous arrays, as Keras writes them, are never
// copied: the process reports their offsets.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"

namespace attn::io {

/// Returns the library version of attn-hdf5: "1.10.8". Throws Error (bad_input) if the program is missing or does not
/// answer.
[[nodiscard]] std::string hdf5_version();

/// Returns all groups, datasets and string attributes. Two opaque bytes, as Keras stores them, are bfloat16. Throws
/// Error (bad_input) for damage, links, data outside the file, and non-numeric types. Also rejects filters other than
/// deflate, shuffle and fletcher32, and arrays that declare far more than is stored. `name` is the file's name for
/// messages.
[[nodiscard]] Hdf5File read_hdf5(const Bytes& file, std::string_view name);

/// Returns the bytes of a file that Keras and h5py can read: missing parent groups are added, and the attribute by
/// which Keras recognizes bfloat16. `name` is for messages.
[[nodiscard]] Bytes make_hdf5(const Hdf5File& contents, std::string_view name);

/// Appends such a file to the data written so far. attn-hdf5 writes it with one array at a time in memory. If the
/// target is written directly (AtomicFile::hidden_file), the whole file is held in memory.
void write_hdf5(AtomicFile& file, const Hdf5File& contents);

/// Returns an upper bound of the size of such a file.
[[nodiscard]] std::int64_t most_hdf5_bytes(const Hdf5File& contents);

}  // namespace attn::io
