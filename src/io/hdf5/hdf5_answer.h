// The contents of a file as reported by attn-hdf5.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/io/hdf5_file.h"
#include "hdf5_records.h"

namespace attn::io {

/// Reads the answer of attn-hdf5 and validates all of it, because a malicious file may have taken over that process.
/// `place` names the file in messages and is printable. Throws Error (bad_input) if the process rejected the file or
/// sent impossible contents, and ChannelBroken if it exited, timed out or sent invalid data.
[[nodiscard]] Hdf5File read_answer(Channel& channel, const Bytes& file, const std::string& place);

}  // namespace attn::io
