#include "attn/report/classes_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

constexpr std::size_t kWidth = 110, kIndent = 2;

/// Groups of names with their headings.
using Groups = std::vector<std::pair<std::string, std::vector<std::string_view>>>;

std::vector<std::string_view>& group(Groups& groups, const std::string& heading) {
  for (auto& [known, names] : groups)
    if (known == heading) return names;
  return groups.emplace_back(heading, std::vector<std::string_view>()).second;
}

std::string text_of(const Groups& groups) {
  std::string out;
  for (const auto& [heading, names] : groups) {
    out += heading + "\n";
    std::string line;
    for (const std::string_view name : names) {
      const bool full = !line.empty() && kIndent + line.size() + 2 + name.size() > kWidth;
      if (full) {
        out += fmt::format("{:{}}{},\n", "", kIndent, line);
        line.clear();
      }
      line += (line.empty() ? "" : ", ") + std::string(name);
    }
    out += fmt::format("{:{}}{}\n", "", kIndent, line);
  }
  return out;
}

std::string classes_text(const std::vector<keras::KnownClass>& classes) {
  std::map<keras::Version, std::vector<std::string_view>> versions;
  std::vector<std::string_view> keras_hub;
  Groups refused;
  for (const keras::KnownClass& known : classes) {
    if (!known.refused.empty()) {
      group(refused, fmt::format("refused: {}", known.refused)).push_back(known.name);
    } else if (known.package == "keras_hub") {
      keras_hub.push_back(known.name);
    } else {
      versions[known.since].push_back(known.name);
    }
  }
  Groups groups;
  for (const auto& [version, names] : versions) groups.emplace_back("Keras " + keras::version_text(version), names);
  if (!keras_hub.empty()) groups.emplace_back("KerasHub", keras_hub);
  groups.insert(groups.end(), refused.begin(), refused.end());
  return text_of(groups);
}

std::string listed(const std::vector<std::string_view>& names) {
  return names.empty() ? "-" : join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

/// Returns the names of a family's tasks without the beginning that they share with a backbone: "CausalLM".
std::vector<std::string_view> short_tasks(const keras::KnownFamily& family) {
  std::vector<std::string_view> out;
  for (std::string_view task : family.tasks) {
    std::size_t longest = 0;
    for (std::string_view stem : family.backbones) {
      stem.remove_suffix(std::string_view("Backbone").size());
      if (task.starts_with(stem)) longest = std::max(longest, stem.size());
    }
    task.remove_prefix(longest);
    if (std::ranges::find(out, task) == out.end()) out.push_back(task);
  }
  return out;
}

std::string families_text(const std::vector<keras::KnownFamily>& families) {
  Table table{{{"Family"}, {"Backbones"}, {"Tasks"}, {"Hugging Face folders"}}, {}};
  for (const keras::KnownFamily& family : families)
    table.rows.push_back(
        {std::string(family.name), listed(family.backbones), listed(short_tasks(family)), listed(family.model_types)});
  return plain_table(table);
}

std::string families_json(const std::vector<keras::KnownFamily>& families) {
  Json json;
  json["schema"] = "attn.families/1";
  json["families"] = Json::array();
  for (const keras::KnownFamily& family : families) {
    Json row;
    row["name"] = family.name;
    row["backbones"] = family.backbones;
    row["tasks"] = family.tasks;
    row["tokenizers"] = family.tokenizers;
    row["model_types"] = family.model_types;
    json["families"].push_back(std::move(row));
  }
  return json_document(json);
}

std::string classes_json(const std::vector<keras::KnownClass>& classes) {
  Json json;
  json["schema"] = "attn.classes/1";
  json["classes"] = Json::array();
  for (const keras::KnownClass& known : classes) {
    Json row;
    row["name"] = known.name;
    row["module"] = known.module;
    row["package"] = known.package.empty() ? Json() : Json(known.package);
    row["since"] = known.package.empty() ? Json(keras::version_text(known.since)) : Json();
    row["refused"] = known.refused.empty() ? Json() : Json(known.refused);
    json["classes"].push_back(std::move(row));
  }
  return json_document(json);
}

}  // namespace

std::string render(Format format, const KnownClasses& known) {
  switch (format) {
    case Format::table:
      return classes_text(known.classes);
    case Format::json:
      return classes_json(known.classes);
    default:
      refuse(format);
  }
}

std::string render(Format format, const KnownFamilies& known) {
  switch (format) {
    case Format::table:
      return families_text(known.families);
    case Format::json:
      return families_json(known.families);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
