// The contents of a file as reported by attn-hdf5.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"
#include "hdf5_channel.h"

namespace attn::io {

/// Validates everything that the process sends, because the file may have taken it over. `place` names the file and is
/// printable. Throws Error (bad_input) for a rejected file and for impossible contents, and ChannelBroken.
[[nodiscard]] Hdf5File read_answer(Channel& channel, const Bytes& file, const std::string& place);

}  // namespace attn::io
