// The pixels of a file as reported by attn-image.
#pragma once

#include <string>

#include "attn/base/tensor.h"
#include "attn/io/image.h"
#include "companion/channel.h"

namespace attn::io {

/// Reads the answer of attn-image, (height, width, 3) uint8, and validates it, because a malicious file may have taken
/// over that process. Pages of memory are taken only as pixels arrive. `place` names the file in messages and is
/// printable. Throws Error (bad_input) if the process rejected the file, and ChannelBroken if it exited, timed out or
/// sent invalid data.
[[nodiscard]] Tensor read_image_answer(Channel& channel, const std::string& place, const SizeCheck& check = {});

}  // namespace attn::io
