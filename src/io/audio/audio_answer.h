// The samples of a file as reported by attn-audio.
#pragma once

#include <string>

#include "attn/io/audio.h"
#include "companion/channel.h"

namespace attn::io {

/// Reads the answer of attn-audio, and validates it, because a malicious file may have taken over that process. Memory
/// grows only as samples arrive. `place` names the file in messages and is printable. Throws Error (bad_input) if the
/// process rejected the file, and ChannelBroken if it exited, timed out or sent invalid data.
[[nodiscard]] Audio read_audio_answer(Channel& channel, const std::string& place);

}  // namespace attn::io
