// tests/data/keras_versions/classes.json lists the Keras 3 version that added each class, argument and key; the records
// and the output of get-config must agree with it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../capture.h"
#include "../places.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "classes/class_table.h"
#include "classes/layer.h"
#include "classes/reading.h"
#include "config/activation.h"
#include "families/blocks/layer_classes.h"

namespace {

using namespace attn;
using nlohmann::json;

json table() {
  std::ifstream file(test::in_repository("tests/data/keras_versions/classes.json"));
  REQUIRE(file.good());
  return json::parse(file);
}

keras::Version version(const std::string& text) { return keras::version_of(text).value(); }

/// Returns whether a version is in a span of the table: "" is all, "3.4" since 3.4, "3.0-3.3" up to 3.3, "3.0-3.1,3.11"
/// both.
bool within(const std::string& span, keras::Version asked) {
  if (span.empty()) return true;
  for (const std::string& run : split(span, ',')) {
    const auto dash = run.find('-');
    if (asked >= version(run.substr(0, dash)) && (dash == std::string::npos || asked <= version(run.substr(dash + 1))))
      return true;
  }
  return false;
}

/// The keys of a config that a version has.
std::set<std::string> keys_in(const json& row, keras::Version asked) {
  std::set<std::string> out;
  for (const std::string item : row["config"]) {
    const auto blank = item.find(' ');
    if (within(blank == std::string::npos ? "" : item.substr(blank + 1), asked)) out.insert(item.substr(0, blank));
  }
  return out;
}

const keras::ClassTable& classes(bool operation) {
  return operation ? keras::operation_classes() : keras::layer_classes();
}

}  // namespace

TEST_CASE("since: every record agrees with the table") {
  const json rows = table();
  for (const bool operation : {false, true}) {
    const json& known = rows[operation ? "operations" : "layers"];
    for (const keras::Family family : classes(operation).families()) {
      for (const keras::ClassInfo& info : family) {
        if (info.module.starts_with("keras_hub")) continue;
        CAPTURE(info.name);
        REQUIRE(known.contains(info.name));
        const json& row = known[std::string(info.name)];
        CHECK(keras::version_text(info.since.version) == row["since"]);
        CHECK_FALSE(row.contains("last"));
        CHECK(info.module == row["module"][0]);
      }
    }
  }
  for (const auto& [name, row] : rows["activations"].items()) {
    CAPTURE_BINDING(name);
    if (keras::Activation::named(name)) CHECK(keras::version_text(keras::Activation::since(name)) == row["since"]);
  }
}

TEST_CASE("since: a record lists the call arguments that are newer than the class") {
  const json rows = table();
  for (const bool operation : {false, true}) {
    for (const keras::Family family : classes(operation).families()) {
      for (const keras::ClassInfo& info : family) {
        if (info.make == nullptr || info.module.starts_with("keras_hub")) continue;
        CAPTURE(info.name);
        const keras::LayerPtr layer = info.make();
        const auto arguments = layer->arguments();
        std::string later;
        bool takes_any = false;  // in old versions, through *args and **kwargs
        const json& row = rows[operation ? "operations" : "layers"][std::string(info.name)];
        for (const std::string item : row.value("call", json::array())) {
          const auto blank = item.find(' ');
          takes_any = takes_any || item.starts_with("**");
          // Required arguments are positional, whatever their names.
          if (blank == std::string::npos || item[blank - 1] != '=' || item.find('-') != std::string::npos) continue;
          const std::string name = item.substr(0, blank - 1);
          if (std::find(arguments.begin(), arguments.end(), name) == arguments.end()) continue;
          later += (later.empty() ? "" : "; ") + name + item.substr(blank);
        }
        CHECK(info.later_arguments == (takes_any ? "" : later));
      }
    }
  }
}

TEST_CASE("since: a config for a version has that version's keys") {
  const json rows = table();
  for (const bool operation : {false, true}) {
    for (const keras::Family family : classes(operation).families()) {
      for (const keras::ClassInfo& info : family) {
        if (info.make == nullptr || info.module.starts_with("keras_hub")) continue;
        const json& row = rows[operation ? "operations" : "layers"][std::string(info.name)];
        if (!row.contains("config")) continue;
        const keras::LayerPtr layer = info.make();
        layer->info = &info;
        for (const std::string text : rows["versions"]) {
          const keras::Version asked = version(text);
          const std::string what = fmt::format("{} for Keras {}", info.name, text);
          if (asked < info.since.version) {
            CHECK_THROWS_AS_MESSAGE((void)keras::layer_config(*layer, asked), Error, what);
            continue;
          }
          std::set<std::string> written;
          const keras::Json config = keras::layer_config(*layer, asked);
          for (auto it = config.begin(); it != config.end(); ++it) written.insert(it.key());
          std::string more, less;
          const std::set<std::string> expected = keys_in(row, asked);
          for (const std::string& key : written)
            if (!expected.contains(key)) more += " " + key;
          for (const std::string& key : expected)
            if (!written.contains(key)) less += " " + key;
          CHECK_MESSAGE(more.empty(), what, " has", more);
          CHECK_MESSAGE(less.empty(), what, " lacks", less);
        }
      }
    }
  }
}
