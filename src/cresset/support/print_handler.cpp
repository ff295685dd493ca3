// The one place where a script's output leaves the library.
#include "cresset/support/print_handler.h"

#include <atomic>
#include <iostream>
#include <utility>

#include "cresset/support/source.h"

namespace cresset {

namespace {
std::atomic<PrintHandler> print_handler{nullptr};
std::atomic<WarningHandler> warning_handler{nullptr};
}  // namespace

PrintHandler setPrintHandler(PrintHandler handler) {
  return print_handler.exchange(handler);
}

void printText(const std::string& text) {
  if (PrintHandler handler = print_handler.load()) {
    handler(text);
  } else {
    std::cout << text;
  }
}

WarningHandler setWarningHandler(WarningHandler handler) {
  return warning_handler.exchange(handler);
}

ScriptWarning warningAt(std::string message, const SourceRange& range) {
  ScriptWarning warning{.message = std::move(message)};
  if (range) {
    warning.file = range.source->name();
    warning.line = range.source->lineNumber(range.begin);
  }
  return warning;
}

void warn(const ScriptWarning& warning) {
  if (WarningHandler handler = warning_handler.load()) {
    handler(warning);
    return;
  }
  std::string text;  // written at once, so that lines of several threads don't mix
  if (!warning.file.empty() || warning.line) {
    text = (warning.file.empty() ? "<string>" : warning.file) + ":" + std::to_string(warning.line) + ": ";
  }
  std::cerr << text + "UserWarning: " + warning.message + "\n";
}

}  // namespace cresset
