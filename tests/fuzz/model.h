// Processes a config like the commands that show a model.
#pragma once

#include <string>
#include <utility>

#include "attn/keras/model.h"
#include "target.h"

namespace attn::fuzz {

/// Everything that shows a model.
inline void show(const keras::Model& model) {
  accepts([&] { static_cast<void>(model.summary()); });
  accepts([&] { check_printable(model.config({}), "a config"); });
  accepts([&] {
    keras::ConfigOptions python;
    python.format = keras::ConfigFormat::python;
    check_printable(model.config(python), "a config as Python");
  });
}

inline void read_and_show(const std::string& source, const std::string& text, keras::ReadOptions options = {}) {
  accepts([&] {
    const keras::Model model = keras::Model::read(source, text, options);
    show(model);
    if (!model.is_single_layer() || options.input_shape) return;
    options.input_shape = Shape{4, 8};
    read_and_show(source, text, options);
  });
  // The problems that validate finds are printed, too.
  for (const keras::Problem& problem : keras::Model::validate(source, text, options)) {
    check_printable(problem.pointer, "a place");
    check_printable(problem.message, "a message");
  }
}

}  // namespace attn::fuzz
