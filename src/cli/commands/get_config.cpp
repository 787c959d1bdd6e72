#include <algorithm>
#include <memory>

#include "arguments/parsed_values.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/known_classes.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/report/classes_view.h"
#include "options/command.h"
#include "output/common.h"
#include "output/custom_classes.h"

namespace attn::cli {
namespace {

constexpr int kIndent = 2;

/// Parses a version whose keys are known. Throws Error (usage).
keras::Version written_version(const std::string& text) {
  const keras::Version version = parse_version(text);
  if (version < keras::kOldest || version > keras::kNewest)
    throw bad_usage("--keras-version {}: expected Keras {} to {}", printable(text), keras::version_text(keras::kOldest),
                    keras::version_text(keras::kNewest));
  return version;
}

struct GetConfigCommand {
  Common common;
  std::vector<std::string> words;  // MODEL, or a class and its arguments: CLASS key=value…
  std::optional<std::string> layer;
  std::optional<Shape> input_shape;
  std::optional<std::string> list;
  std::string version = "3.15";

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::python});
    options.add("model", words, "MODEL | CLASS key=value", "model file, or a layer class with key=value arguments");
    options.add("--layer", layer, "NAME", "print only this layer (block/dense in a nested model)");
    add_input_shape(options, input_shape);
    options.add("--keras-version", version, "3.N", "Keras version to write for, 3.0 to 3.15");
    options.add("--list", list, "KIND", "list the supported classes of layers or operations, or the model families")
        .one_of({"layers", "operations", "families"});
  }

  [[nodiscard]] int run() const {
    if (list) return write_list();
    keras::ConfigOptions options;
    options.version = written_version(version);
    options.layer = layer;
    options.format = common.form() == Format::python ? keras::ConfigFormat::python : keras::ConfigFormat::json;
    options.indent = kIndent;
    if (words.empty() && !layer) {
      // The default is the encoder's attention layer, whose config the notebook prints.
      const open::LoadedModel loaded =
          open::load_model(std::nullopt, open::ReadingOptions{input_shape}, common.console);
      options.layer = loaded.model.first_attention();
      if (common.form() == Format::table) options.format = keras::ConfigFormat::python;
      return write(loaded.model, options);
    }
    if (is_class()) return write(made_layer(), options);
    const std::optional<std::string> path = words.empty() ? std::nullopt : std::optional(words.front());
    if (words.size() > 1)
      throw bad_usage("key=value arguments require the name of a class, not the file {}", printable(words.front()));
    const open::LoadedModel loaded = open::load_model(path, open::ReadingOptions{input_shape}, common.console);
    warn_of_custom_classes(loaded.model, common.console);
    return write(loaded.model, options);
  }

  int write(const keras::Model& model, const keras::ConfigOptions& options) const {
    common.write(model.config(options) + "\n");
    return 0;
  }

  [[nodiscard]] int write_list() const {
    if (!words.empty()) throw bad_usage("--list takes no model or class, got {}", printable(words.front()));
    if (common.form() == Format::python) throw bad_usage("--list does not support --format python; use table or json");
    if (*list == "families") {
      common.write(report::render(common.form(), report::KnownFamilies{keras::known_families()}));
      return 0;
    }
    const report::KnownClasses known{*list == "layers" ? keras::known_layers() : keras::known_operations()};
    common.write(report::render(common.form(), known));
    return 0;
  }

  /// Returns whether the words name a class. Several words do. A single word does if it has no '.' or slash and begins
  /// with a capital, or if it is similar to a class name and is not a file.
  [[nodiscard]] bool is_class() const {
    if (words.empty()) return false;
    if (words.size() > 1) return true;
    const std::string& word = words.front();
    if (word.empty() || word.find_first_of("./\\") != std::string::npos) return false;
    const bool capital = word.front() >= 'A' && word.front() <= 'Z';
    const auto is_near = [&] {
      const std::vector<std::string> classes = keras::Model::layer_classes();
      return !nearest(word, std::vector<std::string_view>(classes.begin(), classes.end())).empty();
    };
    return capital || (word != "-" && !open::is_file(word) && is_near());
  }

  [[nodiscard]] keras::Model made_layer() const {
    std::vector<std::pair<std::string, std::string>> arguments;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      if (equals == std::string::npos || equals == 0)
        throw bad_usage("'{}': expected key=value, as in num_heads=8", printable(words[i]));
      arguments.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
    }
    return keras::Model::make_layer(words.front(), arguments);
  }
};

}  // namespace

Command get_config_command() {
  return command_of<GetConfigCommand>("get-config", "print the config of a model or layer, as Keras writes it");
}

}  // namespace attn::cli
