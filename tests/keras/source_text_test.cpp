#include "config/source_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace attn::keras {
namespace {

TEST_CASE("source text: a JSON pointer resolves to its value or key, or to the nearest existing part") {
  const std::string json = R"({"a": [1, {"b/c": "x\"]", "": null}, []], "\u0064~e": {"f": -1.5e3}, "g": "}"})";
  struct Case {
    std::string pointer, found;
    std::string at, key_at;  // the text that follows there
  };
  const std::vector<Case> cases = {
      {"", "", R"({"a":)", R"({"a":)"},
      {"/a", "/a", "[1, {", R"("a": [)"},
      {"/a/0", "/a/0", "1, {", "1, {"},
      {"/a/1/b~1c", "/a/1/b~1c", R"("x\"]")", R"("b/c")"},
      {"/a/1/", "/a/1/", "null", R"("": null)"},
      {"/a/2", "/a/2", "[]]", "[]]"},
      {"/a/3", "/a", "[1, {", R"("a": [)"},
      {"/a/01", "/a", "[1, {", R"("a": [)"},
      {"/a/x/y", "/a", "[1, {", R"("a": [)"},
      {"/d~0e/f", "/d~0e/f", "-1.5e3}", R"("f":)"},
      {"/d~0e/f/g", "/d~0e/f", "-1.5e3}", R"("f":)"},
      {"/g", "/g", R"("}"})", R"("g":)"},
      {"/nothing", "", R"({"a":)", R"({"a":)"},
  };
  for (const std::string mark : {"", "\xEF\xBB\xBF", " \n"}) {
    const SourceText text(mark + json);
    for (const Case& item : cases) {
      CAPTURE(item.pointer);
      std::string pointer = item.pointer;
      CHECK(text.text().substr(text.find(pointer, false)).starts_with(item.at));
      CHECK(pointer == item.found);
      CHECK(text.text().substr(text.find(pointer, true)).starts_with(item.key_at));
    }
  }
}

TEST_CASE("source text: positions count lines and bytes from 1, in any order of requests") {
  const SourceText text("ab\n\ncd\n");
  const std::vector<Position> all = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 2}, {3, 3}, {4, 1}};
  const auto check = [&](std::size_t offset) {
    const Position position = text.position(offset);
    CHECK(position.line == all[std::min(offset, all.size() - 1)].line);
    CHECK(position.column == all[std::min(offset, all.size() - 1)].column);
  };
  for (std::size_t offset = 0; offset < 10; ++offset) check(offset);
  for (const std::size_t offset : {7, 0, 5, 5, 2, 6, 3}) check(offset);
}

}  // namespace
}  // namespace attn::keras
