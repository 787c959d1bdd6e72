// Keras's layout of weights in HDF5.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/hdf5.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Reads the weights of a file in either layout. `file` is the printable file name. Throws Error (bad_input) if a list
/// of names is missing, or names a missing object.
[[nodiscard]] Store keras_store(const io::Hdf5File& contents, const std::string& file);

/// Returns whether the dataset is the counter of a random generator. Keras counts it as a variable of a model but not
/// as a weight.
[[nodiscard]] bool is_generator_state(std::string_view path);

}  // namespace attn::weights
