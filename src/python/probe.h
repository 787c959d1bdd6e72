// The inside of attn.Probe.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

/// Adds the functions that answer questions about the inside of an Engine. Each returns a dict with the fields of the
/// dataclass in attn/probe.py.
void bind_probe(nanobind::module_& m);

}  // namespace attn::python
