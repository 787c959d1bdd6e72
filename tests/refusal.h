// The message of an expected error.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "attn/base/error.h"

namespace attn::test {

/// Returns the message of the Error with this code that `act` throws; fails the test if it throws nothing or another
/// error.
inline std::string refusal(const std::function<void()>& act, ExitCode code = ExitCode::bad_input) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("nothing was refused");
  return {};
}

}  // namespace attn::test
