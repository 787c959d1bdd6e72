// JSON behind a guard: what a config file may hold, and a reference into it that can say where it stands.
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
#include "config/source_text.h"

namespace attn::keras {

class ClassTable;
struct Quantization;

/// How layers inside a layer are quantized, by where .weights.h5 keeps them behind its own place ("query_dense"): what
/// a file shows of layers whose config does not tell.
using StoredQuantization = std::map<std::string, Quantization, std::less<>>;

/// Keeps the order of keys, which Python prints.
using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonTokens = 2'000'000;
inline constexpr std::size_t kMaxJsonKey = std::size_t{1} << 10;
inline constexpr std::size_t kMaxJsonKeys = 10'000;  // in one object
inline constexpr std::size_t kMaxJsonString = std::size_t{1} << 20;
inline constexpr std::size_t kMostDimensions = 64;  // in a shape, as in NumPy

/// What is found wrong is collected up to this many: the rest says little, and takes long to tell.
inline constexpr std::size_t kMostProblems = 1000;

/// JSON pointers of a config that was translated, and where that stood in the file: prefixes, the longest wins.
using Origins = std::map<std::string, std::string>;

/// A config in Keras 3's form, and where its parts stand in the file where that is another place.
struct Translation {
  Json root;
  Origins origins;
};

/// Ends the reading of something whose problems were collected already.
class Collected : public Error {
 public:
  Collected() : Error(ExitCode::bad_input, "the config has problems") {}
};

/// Throws Collected where the list is full with it.
inline void add_problem(Problem problem, std::vector<Problem>& problems) {
  problems.push_back(std::move(problem));
  if (problems.size() >= kMostProblems) throw Collected();
}

/// A parsed config with the text it came from.
class Document {
 public:
  /// Parses `content` and refuses, as Error (bad_input) with `source:line:column`, what JSON or a config does not
  /// allow: duplicate keys, depth over 64, integers that no 64-bit number holds, invalid UTF-8, NaN, trailing text, and
  /// more than the limits above. `layers` are the classes that it may name, and outlive it; null for what names none.
  Document(const std::string& source, std::string content, const ClassTable* layers = nullptr);
  /// A document that no file holds: the config of a layer that another layer makes.
  Document(std::string source, Json root, const ClassTable* layers = nullptr)
      : source_(std::move(source)), root_(std::move(root)), layers_(layers) {}
  /// What a config of Keras 2 or a short one became: messages still tell places in the original.
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
  /// The layers that it may name. Throws Error (internal) where it was made without.
  [[nodiscard]] const ClassTable& layers() const;
  /// Did Keras 2 write it, so that masks go by its rules?
  [[nodiscard]] bool is_keras2() const noexcept { return keras2_; }
  /// The Keras that wrote it, as 100·major + minor; 0: nobody says.
  [[nodiscard]] int keras_version() const noexcept { return keras_version_; }
  void set_keras_version(int version) noexcept { keras_version_ = version; }

  /// How layers inside of the layer whose config stands there are quantized, where a file of weights shows it.
  [[nodiscard]] std::shared_ptr<const StoredQuantization> stored_at(const std::string& pointer) const;
  void set_stored(std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> stored) {
    stored_ = std::move(stored);
  }
  /// How all layers are to be quantized that can be and are not.
  [[nodiscard]] const Quantization* asked() const noexcept { return asked_.get(); }
  void ask(std::shared_ptr<const Quantization> how) noexcept { asked_ = std::move(how); }

  /// Keys that were read over because they are other versions' of Keras. Reading notes them; there is one document and
  /// one reader.
  void note_foreign_key(const std::string& pointer) const { foreign_keys_.push_back(pointer); }
  void forget_foreign_keys() const { foreign_keys_.clear(); }
  [[nodiscard]] const std::vector<std::string>& foreign_key_pointers() const noexcept { return foreign_keys_; }
  /// One sentence that names them and where they stand, or "".
  [[nodiscard]] std::string foreign_keys() const;
  /// "source:line:column: pointer: message"; the position is that of the value, or of its key where `at_key`.
  [[nodiscard]] ConfigError error(const std::string& pointer, bool at_key, const std::string& message) const {
    return ConfigError(problem(pointer, at_key, message));
  }
  /// The same without an exception.
  [[nodiscard]] Problem problem(const std::string& pointer, bool at_key, std::string message) const;

  /// From here on what attempt() meets goes to the end of `problems`, which must live as long as it is read; null:
  /// no more.
  void collect(std::vector<Problem>* problems) const noexcept { problems_ = problems; }
  [[nodiscard]] bool collects() const noexcept { return problems_ != nullptr; }
  [[nodiscard]] std::vector<Problem>* collected() const noexcept { return problems_; }
  /// How many problems were collected so far.
  [[nodiscard]] std::size_t problem_count() const noexcept { return problems_ == nullptr ? 0 : problems_->size(); }
  /// Reads a part that others do not depend on. Where problems are collected, an Error (bad_input) in it is noted, and
  /// the answer is false, or Collected where that are enough.
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
  /// Ends what is being read, where problems were collected since there were `before`.
  void stop_after_problems(std::size_t before) const {
    if (problem_count() > before) throw Collected();
  }

 private:
  std::string source_;
  std::shared_ptr<const SourceText> text_;  // null where no file was read
  Json root_;
  const ClassTable* layers_ = nullptr;
  Origins origins_;
  bool keras2_ = false;
  int keras_version_ = 0;
  std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> stored_;  // by pointer
  std::shared_ptr<const Quantization> asked_;
  mutable std::vector<std::string> foreign_keys_;  // pointers
  mutable std::vector<Problem>* problems_ = nullptr;
};

/// While it lives, a document's problems are thrown, so that what is tried may fail.
class NotCollecting {
 public:
  explicit NotCollecting(const Document& document) : document_(document), problems_(document.collected()) {
    document.collect(nullptr);
  }
  ~NotCollecting() { document_.collect(problems_); }
  NotCollecting(const NotCollecting&) = delete;
  NotCollecting& operator=(const NotCollecting&) = delete;

 private:
  const Document& document_;
  std::vector<Problem>* problems_;
};

/// A value inside a Document: typed getters that refuse the wrong type with the place. Valid while the document lives.
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

  /// The member, which must be there; this must be an object.
  [[nodiscard]] Ref operator[](std::string_view key) const;
  /// The member, or nothing where it is missing.
  [[nodiscard]] std::optional<Ref> find(std::string_view key) const;
  /// The element of an array.
  [[nodiscard]] Ref operator[](std::size_t index) const;
  [[nodiscard]] std::vector<Ref> elements() const;
  [[nodiscard]] std::vector<std::pair<std::string, Ref>> members() const;

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  /// An integer from `lowest` up to kMaxSize.
  [[nodiscard]] std::int64_t integer_from(std::int64_t lowest) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;
  /// A list of dimensions, null for an unknown one.
  [[nodiscard]] Shape shape() const;
  /// Fails unless it is a list of no more than kMostDimensions.
  void expect_dimensions() const;
  /// Checks the type, else refuses.
  void expect_object() const;
  void expect_array() const;

  /// Throws Error (bad_input) about this value, or about its key.
  [[noreturn]] void fail(const std::string& message) const { throw document_->error(pointer_, false, message); }
  [[noreturn]] void fail_key(const std::string& message) const { throw document_->error(pointer_, true, message); }
  /// "an integer", "the string \"8\"", …: what stands here, for messages.
  [[nodiscard]] std::string kind() const;
  [[nodiscard]] const Document& document() const noexcept { return *document_; }

 private:
  Ref(const Document* document, const Json* json, std::string pointer)
      : document_(document), json_(json), pointer_(std::move(pointer)) {}

  const Document* document_;
  const Json* json_;
  std::string pointer_;  // RFC 6901
};

/// The text that Python's json.dumps writes (", " and ": ", \uXXXX for non-ASCII); `indent` > 0 puts it on lines.
[[nodiscard]] std::string to_json_text(const Json& json, int indent = 0);
/// The text that Python prints for the object: None, True, 'text', (1, 2) for what `python_tuple` made.
[[nodiscard]] std::string to_python_text(const Json& json);
/// A list that Python holds as a tuple; to_json_text writes it as a list.
[[nodiscard]] Json python_tuple(Json list);
/// An empty object that takes so many members without growing: to grow, ordered_json copies every member it has, and
/// all that is in it.
[[nodiscard]] Json object_with_room(std::size_t members);

}  // namespace attn::keras
