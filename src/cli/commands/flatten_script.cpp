#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/error.h"
#include "attn/keras/known_classes.h"
#include "commands/flatten_py.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

constexpr std::size_t kScriptColumns = 118;

/// Returns the supported classes as lines of text: Keras's by their names, KerasHub's by their modules too.
std::string names_of(const std::vector<keras::KnownClass>& classes) {
  std::string out;
  std::size_t column = kScriptColumns;
  for (const keras::KnownClass& known : classes) {
    if (!known.refused.empty()) continue;
    const std::string module = known.package.empty() ? "" : fmt::format("{}.", known.module);
    for (const std::string_view name : {known.name, known.shown}) {
      if (name.empty()) continue;
      const std::string text = module + std::string(name);
      const bool fits = column + 1 + text.size() <= kScriptColumns;
      out += fits ? " " : "\n";
      column = fits ? column + 1 + text.size() : text.size();
      out += text;
    }
  }
  return out;
}

void put(std::string& script, std::string_view place, const std::string& text) {
  const std::size_t at = script.find(place);
  if (at == std::string::npos) throw internal_error("the script has no place for {}", place);
  script.replace(at, place.size(), text);
}

struct FlattenScriptCommand {
  Common common;

  void declare(Options& options) { add_common(options, common, {Format::python}); }

  [[nodiscard]] int run() const {
    std::string script = kFlattenPy;
    put(script, "%LAYERS%", names_of(keras::known_layers()));
    put(script, "%OPERATIONS%", names_of(keras::known_operations()));
    common.write(script, Formatting::exact);
    return 0;
  }
};

}  // namespace

Command flatten_script_command() {
  return command_of<FlattenScriptCommand>("flatten-script",
                                          "print a Python script that replaces custom layers with built-in ones");
}

}  // namespace attn::cli
