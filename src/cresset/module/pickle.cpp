// See pickle.h.
#include "cresset/module/pickle.h"

#include <sstream>

#include "cresset/archive/archive.h"
#include "cresset/archive/save.h"

namespace cresset {

std::vector<char> pickle_save(const c10::IValue& value) {
  std::ostringstream out(std::ios::binary);
  saveValue(value, out);
  const std::string_view bytes = out.view();
  return {bytes.begin(), bytes.end()};
}

c10::IValue pickle_load(const std::vector<char>& data) {
  auto copy = std::make_shared<std::vector<char>>(data);
  return loadValue(copy->data(), copy->size(), copy);
}

}  // namespace cresset
