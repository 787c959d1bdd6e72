// HDF5: what Keras keeps weights in (.weights.h5, .h5, and inside .keras).
//
// The HDF5 library runs in a process of its own, attn-hdf5, which opens no other file and has limits on memory and
// time: a hostile file ends that process and becomes an Error here. Arrays that lie in one piece, as Keras writes them,
// are never copied: the process tells where they are.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"

namespace attn::io {

/// The version that the program attn-hdf5 runs by: "1.10.8". Throws Error (bad_input) where it is missing or does not
/// answer.
[[nodiscard]] std::string hdf5_version();

/// All groups, datasets and string attributes. bfloat16 is what Keras stores as two opaque bytes. Throws Error
/// (bad_input) for damage, links, data outside the file, types that are no numbers, filters other than deflate, shuffle
/// and fletcher32, and arrays that declare far more than is stored. `name` is the file's name for messages.
[[nodiscard]] Hdf5File read_hdf5(const Bytes& file, std::string_view name);

/// The bytes of a file that Keras and h5py read: groups that are missing on the way to an object are added, and so is
/// the attribute by which Keras knows bfloat16. `name` is for messages.
[[nodiscard]] Bytes make_hdf5(const Hdf5File& contents, std::string_view name);

/// Writes such a file behind what was written before: attn-hdf5 does it, with one array at a time in memory, but where
/// the target is written directly (AtomicFile::hidden_file), which takes as much memory as the file has bytes.
void write_hdf5(AtomicFile& file, const Hdf5File& contents);

/// More bytes than such a file has.
[[nodiscard]] std::int64_t most_hdf5_bytes(const Hdf5File& contents);

}  // namespace attn::io
