// Looking into what a program says.
#pragma once

#include <string>

namespace attn::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace attn::test
