#include "attn/report/format.h"

#include "attn/base/error.h"

namespace attn::report {

std::string_view name_of(Format format) {
  switch (format) {
    case Format::table:
      return "table";
    case Format::text:
      return "text";
    case Format::ids:
      return "ids";
    case Format::json:
      return "json";
    case Format::jsonl:
      return "jsonl";
    case Format::markdown:
      return "markdown";
    case Format::csv:
      return "csv";
    case Format::html:
      return "html";
    case Format::svg:
      return "svg";
    case Format::png:
      return "png";
    case Format::dot:
      return "dot";
    case Format::mermaid:
      return "mermaid";
    case Format::latex:
      return "latex";
    case Format::python:
      return "python";
  }
  return "?";
}

void refuse(Format format) { throw internal_error("nothing writes this result as {}", name_of(format)); }

}  // namespace attn::report
