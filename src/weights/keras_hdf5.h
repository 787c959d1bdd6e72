// How Keras lays weights out in HDF5.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/hdf5.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// `file` is the file's name, fit to print. Throws Error (bad_input) where a list of names is missing or names what is
/// not there.
[[nodiscard]] Store keras_store(const io::Hdf5File& contents, const std::string& file);

/// Is that the counter of a random generator, which Keras has among a model's variables but not among its weights?
[[nodiscard]] bool is_generator_state(std::string_view path);

}  // namespace attn::weights
