// What attn-hdf5 says is in a file.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"
#include "hdf5_channel.h"

namespace attn::io {

/// Believes nothing that the process says: it may have been taken over by the file it reads. `place` names the file and
/// is fit to print. Throws Error (bad_input) for what the process refuses and for what cannot be so, and ChannelBroken.
[[nodiscard]] Hdf5File read_answer(Channel& channel, const Bytes& file, const std::string& place);

}  // namespace attn::io
