// A file of weights in any form, as a store.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Reads .weights.h5, .h5, .keras, .safetensors, .npz (whatever the file is called; "-" is stdin), or the .weights.json
/// of weights that Keras has split over several .h5 files in the same folder (of other libraries' .safetensors too).
/// Throws Error (bad_input) for other files and damaged ones; Python pickles (.pt, .bin) are refused with the way out.
[[nodiscard]] Store read_store(const std::string& path);
/// The same for bytes in memory; `path` names them, and tells the folder of split weights.
[[nodiscard]] Store parse_store(const io::Bytes& file, const std::string& path);

}  // namespace attn::weights
