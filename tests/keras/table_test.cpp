// The records of classes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "analysis/symbols.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/known_classes.h"
#include "attn/keras/model.h"
#include "classes/class_table.h"
#include "families/blocks/layer_classes.h"

namespace {

using namespace attn;

}  // namespace

TEST_CASE("table: a class has one record, and a rejected class has a reason") {
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

TEST_CASE("table: symbols name a variable, then a letter for each of its dimensions") {
  for (const keras::Family family : keras::layer_classes().families()) {
    for (const keras::ClassInfo& info : family) {
      CAPTURE(info.name);
      if (info.symbols.empty()) continue;
      for (const std::string& part : split(info.symbols, ';')) {
        CAPTURE(part);
        const auto colon = part.find(": ");
        REQUIRE(colon != std::string::npos);
        for (const std::string& symbol : split(part.substr(colon + 2), ' ')) {
          CAPTURE(symbol);
          for (const std::string& one : split(symbol, '|')) CHECK((one == "-" || !keras::meaning_of(one).empty()));
        }
      }
    }
  }
}

TEST_CASE("table: every record is listed, supported classes before rejected ones") {
  for (const bool operation : {false, true}) {
    const auto listed = operation ? keras::known_operations() : keras::known_layers();
    std::size_t records = 0;
    for (const keras::Family family : (operation ? keras::operation_classes() : keras::layer_classes()).families())
      records += family.size();
    CHECK(listed.size() == records);
    CHECK(std::is_sorted(listed.begin(), listed.end(), [](const auto& a, const auto& b) {
      return std::tuple(!a.refused.empty(), a.name) < std::tuple(!b.refused.empty(), b.name);
    }));
  }
}
