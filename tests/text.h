// Helpers to inspect the output of a program.
#pragma once

#include <string>

namespace attn::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace attn::test
