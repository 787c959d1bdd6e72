#pragma once

#include <doctest/doctest.h>

// CAPTURE of a structured binding, which clang 14 does not let the macro's lambda see.
#define CAPTURE_BINDING(name)      \
  const auto& name##_bound = name; \
  CAPTURE(name##_bound)
