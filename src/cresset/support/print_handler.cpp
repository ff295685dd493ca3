// The one place where a script's output leaves the library.
#include "cresset/support/print_handler.h"

#include <atomic>
#include <iostream>

namespace cresset {

namespace {
std::atomic<PrintHandler> current_handler{nullptr};
}  // namespace

PrintHandler setPrintHandler(PrintHandler handler) {
  return current_handler.exchange(handler);
}

void printText(const std::string& text) {
  if (PrintHandler handler = current_handler.load()) {
    handler(text);
  } else {
    std::cout << text;
  }
}

}  // namespace cresset
