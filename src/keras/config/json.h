// Guarded JSON: checks the contents of config files, and provides references to values that know their locations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/shape.h"
#include "attn/keras/problem.h"
#include "config/quantization.h"
#include "config/source_text.h"

namespace attn::keras {

class ClassTable;

/// The quantization of the layers inside a layer, by their keys in .weights.h5 relative to it ("query_dense"). It is
/// derived from a weight file if the config does not state it.
using StoredQuantization = std::map<std::string, Quantization, std::less<>>;

/// Keeps the order of keys, which Python prints.
using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonTokens = 2'000'000;
inline constexpr std::size_t kMaxJsonKey = std::size_t{1} << 10;
inline constexpr std::size_t kMaxJsonKeys = 10'000;  // maximum number of keys of one object
inline constexpr std::size_t kMaxJsonString = std::size_t{1} << 20;
inline constexpr std::size_t kMostDimensions = 64;  // maximum rank of a shape, as in NumPy

/// The maximum number of collected problems.
inline constexpr std::size_t kMostProblems = 1000;

/// Maps JSON pointers of a translated config to those in the file. The entries are prefixes; the longest matching
/// prefix counts.
using Origins = std::map<std::string, std::string>;

/// A config in Keras 3's form, with the origins of its parts in the file.
struct Translation {
  Json root;
  Origins origins;
};

/// Thrown to end the reading of a part whose problems are already collected.
class Collected : public Error {
 public:
  Collected() : Error(ExitCode::bad_input, "the config has problems") {}
};

/// Adds a problem. Throws Collected if the list is then full.
inline void add_problem(Problem problem, std::vector<Problem>& problems) {
  problems.push_back(std::move(problem));
  if (problems.size() >= kMostProblems) throw Collected();
}

/// A parsed config with its source text.
class Document {
 public:
  /// Parses `content`. Throws Error (bad_input) with `source:line:column` for content that is not allowed. That is
  /// invalid JSON, duplicate keys, nesting over 64 levels, integers beyond 64 bits, invalid UTF-8, NaN, trailing text,
  /// and anything above the limits. `layers` has the classes that the config may name, and must outlive the document;
  /// it is null if the config names none.
  Document(const std::string& source, std::string content, const ClassTable* layers = nullptr);
  /// Makes a document without a file: the config of a layer that another layer creates.
  Document(std::string source, Json root, const ClassTable* layers = nullptr)
      : source_(std::move(source)), root_(std::move(root)), layers_(layers) {}
  /// Makes the document of a config that was translated from Keras 2 or from a short config. Messages still have
  /// locations in the original.
  Document(const Document& original, Json translated, Origins origins, bool keras2)
      : source_(original.source_),
        text_(original.text_),
        root_(std::move(translated)),
        layers_(original.layers_),
        origins_(std::move(origins)),
        keras2_(keras2),
        keras_version_(original.keras_version_),
        stored_(original.stored_),
        asked_(original.asked_),
        problems_(original.problems_) {}

  [[nodiscard]] const Json& root() const noexcept { return root_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// Returns the classes that the config may name. Throws Error (internal) if there are none.
  [[nodiscard]] const ClassTable& layers() const;
  /// Returns whether Keras 2 wrote the config, so that Keras 2's mask rules apply.
  [[nodiscard]] bool is_keras2() const noexcept { return keras2_; }
  /// Returns the Keras version that wrote the config, as 100·major + minor; 0: unknown.
  [[nodiscard]] int keras_version() const noexcept { return keras_version_; }
  void set_keras_version(int version) noexcept { keras_version_ = version; }

  /// Returns the quantization of the layers inside the layer at `pointer`; null unless a weight file shows one.
  [[nodiscard]] std::shared_ptr<const StoredQuantization> stored_at(const std::string& pointer) const;
  void set_stored(std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> stored) {
    stored_ = std::move(stored);
  }
  /// Returns the requested quantization of all layers that support it and are not yet quantized.
  [[nodiscard]] const Quantization* asked() const noexcept { return asked_.get(); }
  void ask(std::shared_ptr<const Quantization> how) noexcept { asked_ = std::move(how); }

  /// Records a key that was ignored because it belongs to another Keras version. Called while reading, from a single
  /// thread.
  void note_foreign_key(const std::string& pointer) const { foreign_keys_.push_back(pointer); }
  void forget_foreign_keys() const { foreign_keys_.clear(); }
  [[nodiscard]] const std::vector<std::string>& foreign_key_pointers() const noexcept { return foreign_keys_; }
  /// Returns one sentence with the ignored keys and their locations, or "".
  [[nodiscard]] std::string foreign_keys() const;
  /// Returns the error "source:line:column: pointer: message". The location is that of the value, or of its key with
  /// `at_key`.
  [[nodiscard]] ConfigError error(const std::string& pointer, bool at_key, const std::string& message) const {
    return ConfigError(problem(pointer, at_key, message));
  }
  /// Returns `message` with the location of the value, or of its key with `at_key`.
  [[nodiscard]] Problem problem(const std::string& pointer, bool at_key, std::string message) const;

  /// Makes attempt() append problems to `problems`, which must live as long as the document is read; null ends the
  /// collection.
  void collect(std::vector<Problem>* problems) const noexcept { problems_ = problems; }
  [[nodiscard]] bool collects() const noexcept { return problems_ != nullptr; }
  [[nodiscard]] std::vector<Problem>* collected() const noexcept { return problems_; }
  /// Returns the number of problems collected so far.
  [[nodiscard]] std::size_t problem_count() const noexcept { return problems_ == nullptr ? 0 : problems_->size(); }
  /// Runs `read` for a part that no other part depends on. While problems are collected, an Error (bad_input) is
  /// recorded and the result is false. Throws Collected if the list is full.
  template <typename Read>
  bool attempt(Read&& read) const {
    if (problems_ == nullptr) {
      read();
      return true;
    }
    try {
      read();
      return true;
    } catch (const Collected&) {
      if (problem_count() >= kMostProblems) throw;
      return false;
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input) throw;
      add_problem(problem_of(error), *problems_);
      return false;
    }
  }
  /// Throws Collected if problems were added since the count was `before`.
  void stop_after_problems(std::size_t before) const {
    if (problem_count() > before) throw Collected();
  }

 private:
  std::string source_;
  std::shared_ptr<const SourceText> text_;  // null for a document without a file
  Json root_;
  const ClassTable* layers_ = nullptr;
  Origins origins_;
  bool keras2_ = false;
  int keras_version_ = 0;
  std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> stored_;  // keys are JSON pointers
  std::shared_ptr<const Quantization> asked_;
  mutable std::vector<std::string> foreign_keys_;  // JSON pointers
  mutable std::vector<Problem>* problems_ = nullptr;
};

/// While it exists, the document's problems are thrown instead of collected, so that a caller can catch them.
class ThrowGuard {
 public:
  explicit ThrowGuard(const Document& document) : document_(document), problems_(document.collected()) {
    document.collect(nullptr);
  }
  ~ThrowGuard() { document_.collect(problems_); }
  ThrowGuard(const ThrowGuard&) = delete;
  ThrowGuard& operator=(const ThrowGuard&) = delete;

 private:
  const Document& document_;
  std::vector<Problem>* problems_;
};

/// A reference to a value in a Document, with typed getters. They throw an error with the location if the type is
/// wrong. Valid during the lifetime of the document.
class Ref {
 public:
  explicit Ref(const Document& document) : document_(&document), json_(&document.root()) {}

  [[nodiscard]] const Json& json() const noexcept { return *json_; }
  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }

  [[nodiscard]] bool is_null() const { return json_->is_null(); }
  [[nodiscard]] bool is_object() const { return json_->is_object(); }
  [[nodiscard]] bool is_array() const { return json_->is_array(); }
  [[nodiscard]] bool is_string() const { return json_->is_string(); }
  [[nodiscard]] bool is_bool() const { return json_->is_boolean(); }
  [[nodiscard]] bool is_integer() const { return json_->is_number_integer(); }
  [[nodiscard]] bool is_number() const { return json_->is_number(); }
  [[nodiscard]] std::size_t size() const { return json_->size(); }

  /// Returns a required member of an object.
  [[nodiscard]] Ref operator[](std::string_view key) const;
  /// Returns a member of an object; empty if it is missing.
  [[nodiscard]] std::optional<Ref> find(std::string_view key) const;
  /// Returns an element of an array.
  [[nodiscard]] Ref operator[](std::size_t index) const;
  [[nodiscard]] std::vector<Ref> elements() const;
  [[nodiscard]] std::vector<std::pair<std::string, Ref>> members() const;

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  /// Returns an integer from `lowest` to kMaxSize.
  [[nodiscard]] std::int64_t integer_from(std::int64_t lowest) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;
  /// Returns a list of dimensions as a shape; null is an unknown dimension.
  [[nodiscard]] Shape shape() const;
  /// Throws Error (bad_input) unless the value is a list of at most kMostDimensions.
  void expect_dimensions() const;
  /// Throws Error (bad_input) if the value has another type.
  void expect_object() const;
  void expect_array() const;

  /// Throws Error (bad_input) with the location of this value, or of its key.
  [[noreturn]] void fail(const std::string& message) const { throw document_->error(pointer_, false, message); }
  [[noreturn]] void fail_key(const std::string& message) const { throw document_->error(pointer_, true, message); }
  /// Describes the value for messages: "an integer", "the string \"8\"".
  [[nodiscard]] std::string kind() const;
  [[nodiscard]] const Document& document() const noexcept { return *document_; }

 private:
  Ref(const Document* document, const Json* json, std::string pointer)
      : document_(document), json_(json), pointer_(std::move(pointer)) {}

  const Document* document_;
  const Json* json_;
  std::string pointer_;  // RFC 6901
};

/// Formats the value as Python's json.dumps does (", " and ": ", \uXXXX for non-ASCII); `indent` > 0 adds newlines.
[[nodiscard]] std::string to_json_text(const Json& json, int indent = 0);
/// Formats the value as Python's print does: None, True, 'text', (1, 2) for a `python_tuple`.
[[nodiscard]] std::string to_python_text(const Json& json);
/// Marks a list as a Python tuple, for to_python_text. to_json_text writes it as a list.
[[nodiscard]] Json python_tuple(Json list);
/// Returns an empty object with capacity for this number of members. Without it, ordered_json copies all members
/// recursively whenever it grows.
[[nodiscard]] Json object_with_room(std::size_t members);

}  // namespace attn::keras
