#include "attn/base/system_error.h"

#include <cerrno>
#include <cstring>

namespace attn {

Error system_error(std::string_view place, std::string_view what, int error) {
  return {error == ENOMEM ? ExitCode::no_memory : ExitCode::bad_input,
          fmt::format("{}: {}: {}", place, what, std::strerror(error))};
}

}  // namespace attn
