#include "training/callback_options.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/train/epoch_callbacks.h"

namespace attn::cli {
namespace {

/// The KEY=VALUE arguments of a callback. Each may be taken once.
class Arguments {
 public:
  Arguments(const char* option, const std::string& text) : option_(option) {
    for (const std::string& part : split(text, ',')) {
      const auto equals = part.find('=');
      const std::string key = part.substr(0, equals);
      if (equals == std::string::npos && key != "restore_best_weights")
        throw bad_usage("{} '{}': expected KEY=VALUE, as in patience=3", option_, printable(part));
      given_[key] = equals == std::string::npos ? "true" : part.substr(equals + 1);
    }
  }

  void take(const char* key, std::string& value) {
    if (const auto text = find(key)) value = *text;
  }
  void take(const char* key, double& value) {
    if (const auto text = find(key)) value = number(key, *text);
  }
  void take(const char* key, std::optional<double>& value) {
    if (const auto text = find(key)) value = number(key, *text);
  }
  void take(const char* key, std::int64_t& value) {
    const auto text = find(key);
    if (!text) return;
    const auto number = parse_number<std::int64_t>(*text);
    if (!number || *number < 0)
      throw bad_usage("{}: {} '{}': expected an integer from 0", option_, key, printable(*text));
    value = *number;
  }
  void take(const char* key, bool& value) {
    const auto text = find(key);
    if (!text) return;
    value = *text == "true" || *text == "True" || *text == "1";
    if (!value && *text != "false" && *text != "False" && *text != "0")
      throw bad_usage("{}: {} '{}': expected true or false", option_, key, printable(*text));
  }

  void check_all_taken() const {
    for (const auto& [key, value] : given_)
      if (std::ranges::count(known_, key) == 0)
        throw bad_usage("{}: unknown key '{}'{}; expected {}", option_, printable(key),
                        did_you_mean(key, std::span<const std::string>(known_)), join(known_, ", "));
  }

 private:
  std::optional<std::string> find(const char* key) {
    known_.emplace_back(key);
    const auto found = given_.find(key);
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] double number(const char* key, const std::string& text) const {
    const auto value = parse_number<double>(text);
    if (!value) throw bad_usage("{}: {} '{}': expected a number", option_, key, printable(text));
    return *value;
  }

  const char* option_;
  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
};

template <typename Callback>
void take_monitor(Arguments& arguments, train::UnresolvedCallback<Callback>& unresolved) {
  arguments.take("monitor", unresolved.callback.watched.monitor);
  arguments.take("min_delta", unresolved.callback.watched.min_delta);
  arguments.take("patience", unresolved.callback.patience);
  arguments.take("mode", unresolved.mode);
  if (unresolved.mode != "auto" && unresolved.mode != "min" && unresolved.mode != "max")
    throw bad_usage("unknown mode '{}'; expected auto, min or max", printable(unresolved.mode));
}

}  // namespace

train::UnresolvedCallback<train::EarlyStopping> early_stopping_of(const std::string& text) {
  train::UnresolvedCallback<train::EarlyStopping> out;
  Arguments arguments("--early-stopping", text);
  take_monitor(arguments, out);
  arguments.take("baseline", out.callback.baseline);
  arguments.take("restore_best_weights", out.callback.restore_best_weights);
  arguments.take("start_from_epoch", out.callback.start_from_epoch);
  arguments.check_all_taken();
  return out;
}

train::UnresolvedCallback<train::ReduceLROnPlateau> reduce_lr_of(const std::string& text) {
  train::UnresolvedCallback<train::ReduceLROnPlateau> out;
  Arguments arguments("--reduce-lr", text);
  take_monitor(arguments, out);
  arguments.take("factor", out.callback.factor);
  arguments.take("cooldown", out.callback.cooldown);
  arguments.take("min_lr", out.callback.min_lr);
  arguments.check_all_taken();
  if (!(out.callback.factor > 0.0 && out.callback.factor < 1.0))
    throw bad_usage("--reduce-lr: factor {}: expected a number between 0 and 1", out.callback.factor);
  return out;
}

SaveEvery save_every_of(const std::optional<std::string>& text) {
  SaveEvery out;
  if (!text) return out;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const std::string unit(end, text->data() + text->size());
  const bool steps = unit == "steps" || unit == "step", epochs = unit.empty() || unit == "epochs" || unit == "epoch";
  if (error != std::errc() || number < 1 || (!steps && !epochs))
    throw bad_usage("--save-every '{}': expected a number of epochs, as in 5, or of steps, as in 100steps",
                    printable(*text));
  (steps ? out.steps : out.epochs) = number;
  return out;
}

double time_span(const std::string& text) {
  double seconds = 0.0;
  const char *at = text.data(), *const end = text.data() + text.size();
  bool is_right = at != end;
  while (is_right && at != end) {
    double number = 0.0;
    const auto [next, error] = std::from_chars(at, end, number);
    const char unit = next == end ? 's' : *next;
    const double each = unit == 's' ? 1.0 : unit == 'm' ? 60.0 : unit == 'h' ? 3600.0 : 0.0;
    is_right = error == std::errc() && number >= 0.0 && each > 0.0;
    seconds += number * each;
    at = next == end ? end : next + 1;
  }
  constexpr double kMost = 100'000 * 3600.0;
  if (!is_right || !(seconds <= kMost))
    throw bad_usage("--time-limit '{}': expected a time up to 100000h, as in 90s, 30m or 1h30m", printable(text));
  return seconds;
}

}  // namespace attn::cli
