// Detection of file formats.
#pragma once

#include "attn/io/bytes.h"

namespace attn::io {

enum class FileKind {
  npy,
  zip,  ///< .npz or .keras
  hdf5,
  safetensors,
  other  ///< JSON text, or anything else
};

/// Detects the format only from the first bytes: the rest may still be damaged.
[[nodiscard]] FileKind kind_of(const Bytes& file) noexcept;

}  // namespace attn::io
