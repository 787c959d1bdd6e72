// Keras's layout of weights in HDF5.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/hdf5.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// `file` is the printable file name. Throws Error (bad_input) if a list of names is missing, or names a missing
/// object.
[[nodiscard]] Store keras_store(const io::Hdf5File& contents, const std::string& file);

/// Returns whether it is the counter of a random generator, which Keras counts as a variable of a model but not as a
/// weight.
[[nodiscard]] bool is_generator_state(std::string_view path);

}  // namespace attn::weights
