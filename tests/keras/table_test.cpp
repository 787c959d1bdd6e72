// docs/keras.md lists the classes that attn knows and those that it refuses; the lists must be those of the tables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/model.h"
#include "classes/class_table.h"
#include "model/layer_classes.h"

namespace {

using namespace attn;

/// Heading → the names in `back quotes` below it.
std::map<std::string, std::set<std::string>> documented() {
  std::ifstream file(attn::test::in_repository("docs/keras.md"));
  REQUIRE(file.good());
  std::map<std::string, std::set<std::string>> out;
  std::string line, heading;
  const std::regex name("`([A-Za-z0-9_]+)`");
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) heading = line.substr(3);
    for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it) out[heading].insert((*it)[1]);
  }
  return out;
}

/// The classes of a table that attn runs, or those that it refuses.
std::set<std::string> names(const keras::ClassTable& table, bool refused = false) {
  std::set<std::string> out;
  for (const keras::Family family : table.families())
    for (const keras::ClassInfo& info : family)
      if (info.refused.empty() != refused) out.emplace(info.name);
  return out;
}

std::string difference(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::string out;
  for (const std::string& name : a)
    if (!b.contains(name)) out += name + " ";
  return out;
}

}  // namespace

TEST_CASE("table: docs/keras.md lists what the tables hold") {
  const auto docs = documented();
  const std::map<std::string, std::set<std::string>> tables = {
      {"Layers", names(keras::layer_classes())},
      {"Operations", names(keras::operation_classes())},
      {"Refused layers", names(keras::layer_classes(), true)},
      {"Refused operations", names(keras::operation_classes(), true)}};
  for (const auto& row : tables) {
    const auto& heading = row.first;
    const auto& rows = row.second;
    CAPTURE(heading);
    REQUIRE(docs.contains(heading));
    CHECK_MESSAGE(difference(rows, docs.at(heading)).empty(),
                  "not in docs/keras.md: ", difference(rows, docs.at(heading)));
    CHECK_MESSAGE(difference(docs.at(heading), rows).empty(),
                  "in docs/keras.md alone: ", difference(docs.at(heading), rows));
  }
}

TEST_CASE("table: a class has one record, and a refusal names it and says why") {
  for (const bool operation : {false, true}) {
    std::set<std::string_view> seen;
    for (const keras::Family family : (operation ? keras::operation_classes() : keras::layer_classes()).families()) {
      for (const keras::ClassInfo& info : family) {
        CAPTURE(info.name);
        CHECK(seen.insert(info.name).second);
        CHECK((info.make == nullptr) == !info.refused.empty());
        if (info.refused.empty()) continue;
        const std::string text = fmt::format(R"({{"module": "{}", "class_name": "{}", "config": {{}}}})",
                                             operation ? "keras.src.ops.numpy" : "keras.layers", info.name);
        try {
          (void)keras::Model::read("it.json", text);
          FAIL_CHECK("read");
        } catch (const Error& error) {
          CHECK(error.code() == ExitCode::bad_input);
          CHECK(std::string(error.what())
                    .ends_with(fmt::format("the {} '{}' is refused: {}", operation ? "operation" : "layer", info.name,
                                           info.refused)));
        }
      }
    }
  }
}
