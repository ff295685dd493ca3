// A libFuzzer target: the bytes are the pickle of an archive whose classes have attributes of most types, and then that
// of a file of torch.save's.
#include "archive_builder.h"
#include "archive_checks.h"
#include "cresset/archive/archive.h"
#include "cresset/support/error.h"
#include "fuzz_target.h"

using namespace fuzz_target;

namespace {

/// What corpus.py's class Attributes is saved as, without its methods.
constexpr const char* kCode =
    "class Attributes(Module):\n"
    "  __parameters__ = [\"weight\", ]\n"
    "  __buffers__ = [\"sparse\", \"quantized\", ]\n"
    "  weight : Tensor\n"
    "  sparse : Tensor\n"
    "  quantized : Tensor\n"
    "  training : bool\n"
    "  _is_full_backward_hook : NoneType\n"
    "  i : int\n"
    "  f : float\n"
    "  c : complex\n"
    "  s : str\n"
    "  device : Device\n"
    "  ints : List[int]\n"
    "  floats : List[float]\n"
    "  bools : List[bool]\n"
    "  tensors : List[Tensor]\n"
    "  lists : List[List[str]]\n"
    "  by_name : Dict[str, Tensor]\n"
    "  by_number : Dict[int, List[int]]\n"
    "  maybe : Optional[Tensor]\n"
    "  either : Union[int, str]\n"
    "  pair : Tuple[int, Tuple[str, float]]\n"
    "  point : __torch__.Point\n"
    "  color : __torch__.Color\n"
    "  part : __torch__.Part\n"
    "  again : __torch__.Part\n"
    "class Point(NamedTuple):\n"
    "  x : int\n"
    "  y : Tensor\n"
    "class Color(Enum):\n"
    "  RED = 1\n"
    "  GREEN = 2\n"
    "class Part(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  training : bool\n"
    "  _is_full_backward_hook : NoneType\n"
    "  scale : float\n";

std::string archiveOf(const std::string& pickle) {
  archive_builder::Items items;
  // Of the sizes that the pickle of corpus.py wants.
  for (const size_t size : {16, 32, 8, 2, 8, 0, 4, 12})
    items.push_back({"a/data/" + std::to_string(items.size()), std::string(size, '\1')});
  items.push_back({"a/data.pkl", pickle});
  items.push_back({"a/code/__torch__.py", kCode});
  items.push_back({"a/constants.pkl", "\x80\x02)."});
  items.push_back({"a/version", "10\n"});
  items.push_back({"a/byteorder", "little"});
  return archive_builder::writeZip(items);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string archive = archiveOf(toString(data, size));
  std::mt19937_64 random;
  const auto outcome = archive_checks::check(archive, random, {.call = false});
  if (!outcome.failures.empty()) fail(outcome.failures.front());
  try {
    cresset::loadValue(archive.data(), archive.size(), nullptr);
  } catch (const cresset::ArchiveError&) {
  } catch (const std::exception& error) {
    fail(std::string("loading a value threw something else than ArchiveError: ") + error.what());
  }
  return 0;
}
