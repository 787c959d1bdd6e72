#include "attn/report/transcript_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/table.h"
#include "drawing/page.h"

namespace attn::report {
namespace {

/// Returns "00:01:02,345", with the separator before the milliseconds.
std::string clock_time(double seconds, char separator) {
  const std::int64_t all = std::llround(seconds * 1000.0);
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", all / 3'600'000, all / 60'000 % 60, all / 1000 % 60, separator,
                     all % 1000);
}

/// Returns the text without white space at its ends, in one line.
std::string line_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// A line with its times.
struct Timed {
  double start, end;
  std::string text;
};

/// Returns the segments of a transcript, or its words.
std::vector<Timed> timed_lines(const transcribe::Transcript& transcript, bool words) {
  std::vector<Timed> out;
  for (const transcribe::Segment& segment : transcript.segments) {
    if (!words) out.push_back({segment.start, segment.end, line_of(segment.text)});
    for (const transcribe::Word& word : segment.words)
      if (words) out.push_back({word.start, word.end, line_of(word.text)});
  }
  return out;
}

std::string text_of(const TranscriptReport& report) {
  std::string out;
  for (std::size_t i = 0; i < report.transcripts.size(); ++i) {
    if (report.transcripts.size() > 1) out += fmt::format("{}{}:\n", i == 0 ? "" : "\n", report.files[i]);
    if (!report.has_times) {
      out += line_of(report.transcripts[i].text) + "\n";
      continue;
    }
    for (const auto& [start, end, text] : timed_lines(report.transcripts[i], report.has_words))
      out += fmt::format("[{} --> {}] {}\n", clock_time(start, '.'), clock_time(end, '.'), text);
  }
  return out;
}

Json json_of(const transcribe::Transcript& transcript, bool has_words) {
  Json segments = Json::array();
  for (const transcribe::Segment& segment : transcript.segments) {
    Json one{{"start", segment.start},
             {"end", segment.end},
             {"text", json_text(segment.text)},
             {"token_ids", segment.tokens}};
    if (has_words) one["words"] = Json::array();
    for (const transcribe::Word& word : segment.words)
      one["words"].push_back({{"start", word.start}, {"end", word.end}, {"text", json_text(word.text)}});
    segments.push_back(std::move(one));
  }
  return {{"seconds", transcript.seconds},
          {"language", transcript.language ? json_text(*transcript.language) : Json()},
          {"language_is_detected", transcript.detected},
          {"text", json_text(transcript.text)},
          {"segments", std::move(segments)}};
}

std::string document(const TranscriptReport& report) {
  Json root;
  root["schema"] = "attn.transcribe/1";
  root["model"] = {{"path", json_text(report.path)},
                   {"weights", json_text(report.weights)},
                   {"class_name", json_text(report.class_name)},
                   {"tokenizer", json_text(report.tokenizer)}};
  root["task"] = report.translated ? "translate" : "transcribe";
  Json results = Json::array();
  for (std::size_t i = 0; i < report.transcripts.size(); ++i) {
    Json result{{"file", json_text(report.files[i])}};
    result.update(json_of(report.transcripts[i], report.has_words));
    results.push_back(std::move(result));
  }
  root["results"] = std::move(results);
  return json_document(root);
}

/// Returns a row for each segment of a transcript, or for each word.
Table table_of(const transcribe::Transcript& transcript, bool words) {
  Table out{{{"Start", Align::right}, {"End", Align::right}, {words ? "Word" : "Text"}}, {}};
  for (const auto& [start, end, text] : timed_lines(transcript, words))
    out.rows.push_back({clock_time(start, '.'), clock_time(end, '.'), text});
  return out;
}

std::string page(const TranscriptReport& report) {
  Page out;
  out.title = "Transcript";
  out.about = {fmt::format("{} with the weights of {}", report.class_name, report.weights)};
  for (std::size_t i = 0; i < report.transcripts.size(); ++i) {
    const transcribe::Transcript& transcript = report.transcripts[i];
    std::vector<std::pair<std::string, std::string>> facts = {{"length", fmt::format("{:.2f} s", transcript.seconds)}};
    if (transcript.language)
      facts.emplace_back("language", *transcript.language + (transcript.detected ? " (detected)" : ""));
    facts.emplace_back("text", line_of(transcript.text));
    out.sections.push_back(facts_section(report.files[i], facts));
    out.sections.push_back(
        table_section(report.has_words ? "Words" : "Segments", table_of(transcript, report.has_words)));
  }
  return html(out);
}

}  // namespace

std::string subtitles(const transcribe::Transcript& transcript) {
  std::string out;
  int number = 0;
  const bool words = std::ranges::any_of(transcript.segments, [](const auto& one) { return !one.words.empty(); });
  for (const auto& [start, end, text] : timed_lines(transcript, words)) {
    if (text.empty()) continue;
    out += fmt::format("{}{}\n{} --> {}\n{}\n", number == 0 ? "" : "\n", number + 1, clock_time(start, ','),
                       clock_time(end, ','), text);
    ++number;
  }
  return out;
}

std::string render(Format format, const TranscriptReport& report) {
  switch (format) {
    case Format::text:
      return text_of(report);
    case Format::json:
      return document(report);
    case Format::html:
      return page(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
