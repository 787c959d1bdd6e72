// The hidden files and folders of all writers in this process, in a form that a signal handler can read.
#pragma once

#include <string>

namespace attn::io {

/// Adds the path of a file or folder to those that remove_listed() removes. Returns its place in the list; null if
/// there are too many writers or the path is too long. A terminated program then leaves it behind, and the target's
/// next writer removes it.
[[nodiscard]] char* enlist(const std::string& name) noexcept;

/// Removes all files and folders in the list. May be called by a signal handler.
void remove_listed() noexcept;

/// Takes a path off the list, and sets `listed` to null.
void strike_off(char*& listed) noexcept;

}  // namespace attn::io
