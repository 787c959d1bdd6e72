#include "attn/train/state.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"

namespace attn::train {
namespace {

using Stored = nlohmann::json;
using Written = nlohmann::ordered_json;

constexpr int kStateVersion = 3;

Written json_of(const CallbackState& watched) {
  return {{"wait", watched.wait},
          {"cooldown", watched.cooldown},
          {"best_epoch", watched.best_epoch},
          {"best", watched.best ? Written(*watched.best) : Written()}};
}

/// An object of the text with its members. Errors name what was expected.
class StateObject {
 public:
  StateObject(const Stored& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) fail("an object");
  }

  [[nodiscard]] bool has(const char* key) const { return value_.contains(key) && !value_[key].is_null(); }
  [[nodiscard]] const Stored& at(const std::string& key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) throw bad_input("{}: the key '{}' is missing", place_, printable(key));
    return *found;
  }
  [[nodiscard]] std::string place_of(const std::string& key) const {
    return fmt::format("{}/{}", place_, printable(key));
  }
  [[nodiscard]] StateObject object(const std::string& key) const { return {at(key), place_of(key)}; }
  [[nodiscard]] std::int64_t count(const std::string& key, std::int64_t least = 0) const {
    return count_in(at(key), place_of(key), least);
  }
  [[nodiscard]] std::int64_t count_or_0(const char* key) const { return has(key) ? count(key) : 0; }
  [[nodiscard]] bool boolean(const std::string& key) const {
    if (!at(key).is_boolean()) StateObject::fail(place_of(key), "true or false");
    return at(key).get<bool>();
  }
  [[nodiscard]] std::string text(const std::string& key) const { return text_in(at(key), place_of(key)); }
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& [key, each] : value_.items()) out.push_back(key);
    return out;
  }
  /// Reads the elements of a list, each by `read(element, place)`.
  template <typename Read>
  [[nodiscard]] auto list(const std::string& key, Read read) const {
    const std::string place = place_of(key);
    if (!at(key).is_array()) fail(place, "a list");
    std::vector<decltype(read(at(key), place))> out;
    for (const Stored& each : at(key)) out.push_back(read(each, fmt::format("{}/{}", place, out.size())));
    return out;
  }

  [[noreturn]] static void fail(const std::string& place, std::string_view expected) {
    throw bad_input("{}: expected {}; train without `resume`", place, expected);
  }
  static std::int64_t count_in(const Stored& value, const std::string& place, std::int64_t least = 0) {
    const bool fits = value.is_number_integer() && value >= least && value <= kMostCounted;
    if (!fits) fail(place, fmt::format("an integer from {} to 2^53", least));
    return value.get<std::int64_t>();
  }
  static std::string text_in(const Stored& value, const std::string& place) {
    if (!value.is_string()) fail(place, "a text");
    return value.get<std::string>();
  }
  /// JSON has no NaN; null represents it.
  static double number_in(const Stored& value, const std::string& place) {
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) fail(place, "a number");
    return value.get<double>();
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const { fail(place_, expected); }

  const Stored& value_;
  std::string place_;
};

CallbackState watched_of(const StateObject& from) {
  CallbackState out{from.count("wait"), from.count("cooldown"), from.count("best_epoch"), std::nullopt};
  if (from.has("best")) out.best = StateObject::number_in(from.at("best"), from.place_of("best"));
  return out;
}

Running running_of(const StateObject& from, const std::string& place) {
  Running out;
  out.total = from.list("total", StateObject::number_in);
  out.count = from.list("count", StateObject::number_in);
  if (out.total.empty() || (!out.count.empty() && out.total.size() != out.count.size()))
    StateObject::fail(place, "as many numbers in total as in count");
  return out;
}

LossScaling scaling_of(const StateObject& from) {
  try {
    return loss_scaling_of(from.text("loss_scale"));
  } catch (const Error&) {
    StateObject::fail(from.place_of("loss_scale"), "a loss scale");
  }
}

}  // namespace

std::string text_of(const State& state) {
  Written json;
  json["version"] = kStateVersion;
  json["epoch"] = state.position.epoch;
  json["batch"] = state.position.batch;
  json["step"] = state.position.step;
  json["seed"] = state.seed;
  json["batch_size"] = state.batch_size;
  json["shuffle"] = state.shuffle;
  json["shuffled_block"] = state.shuffled_block;
  json["steps_per_epoch"] = state.steps_per_epoch;
  json["loss_scale"] = state.loss_scale ? Written(text_of(*state.loss_scale)) : Written();
  json["kept"] = state.kept;
  json["data"] = state.data;
  json["frozen"] = state.frozen;
  json["running"] = Written::object();
  for (const auto& [name, value] : state.position.running)
    json["running"][name] = {{"total", value.total}, {"count", value.count}};
  json["draws"] = state.draws;
  json["early_stopping"] = json_of(state.early_stopping);
  json["reduce_lr"] = json_of(state.reduce_lr);
  json["save_best"] = json_of(state.save_best);
  return json.dump(1);
}

State parse_state(std::string_view text, const std::string& place) {
  const Stored parsed = io::parse_json(text, place);
  const StateObject from(parsed, place);
  if (from.count("version") != kStateVersion) throw bad_input("{} is of another version of attn", place);
  State out;
  out.position.epoch = from.count("epoch");
  out.position.batch = from.count("batch");
  out.position.step = from.count("step");
  if (!from.at("seed").is_number_unsigned()) StateObject::fail(from.place_of("seed"), "an integer from 0 on");
  out.seed = from.at("seed").get<std::uint64_t>();
  out.batch_size = from.count("batch_size", 1);
  out.shuffle = from.boolean("shuffle");
  out.shuffled_block = from.count_or_0("shuffled_block");
  out.steps_per_epoch = from.count_or_0("steps_per_epoch");
  if (from.has("loss_scale")) out.loss_scale = scaling_of(from);
  if (from.has("kept"))
    out.kept =
        from.list("kept", [](const Stored& each, const std::string& at) { return StateObject::count_in(each, at); });
  const StateObject data = from.object("data"), running = from.object("running"), draws = from.object("draws");
  for (const std::string& name : data.keys()) out.data[name] = data.text(name);
  out.frozen = from.list("frozen", StateObject::text_in);
  for (const std::string& name : running.keys())
    out.position.running[name] = running_of(running.object(name), running.place_of(name));
  for (const std::string& layer : draws.keys()) out.draws[layer] = draws.count(layer);
  out.early_stopping = watched_of(from.object("early_stopping"));
  out.reduce_lr = watched_of(from.object("reduce_lr"));
  out.save_best = watched_of(from.object("save_best"));
  return out;
}

}  // namespace attn::train
