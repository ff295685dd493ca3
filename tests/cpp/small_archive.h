// An archive with a bit of most things: submodules, methods, functions, constants, tensors, strings and containers.
#pragma once

#include <string>

#include "archive_builder.h"

namespace archive_builder {

inline const char* const kSmallCode =
    "class M(Module):\n"
    "  __parameters__ = [\"w\", ]\n"
    "  __buffers__ = []\n"
    "  w : Tensor\n"
    "  n : int\n"
    "  name : str\n"
    "  table : Dict[str, List[int]]\n"
    "  maybe : Optional[Tensor]\n"
    "  sub : __torch__.Sub\n"
    "  def forward(self: __torch__.M,\n"
    "    x: Tensor) -> Tensor:\n"
    "    sub = self.sub\n"
    "    y = (sub).forward(torch.add(x, self.w), self.n, )\n"
    "    if torch.gt(self.n, 3):\n"
    "      z = torch.mul(y, 2)\n"
    "    else:\n"
    "      z = __torch__.helper(y, [1, 2], )\n"
    "    return z\n"
    "class Sub(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  scale : float\n"
    "  def forward(self: __torch__.Sub,\n"
    "    x: Tensor,\n"
    "    n: int) -> Tensor:\n"
    "    y = x\n"
    "    for i in range(n):\n"
    "      y = torch.mul(y, self.scale)\n"
    "    return torch.add(y, CONSTANTS.c0)\n"
    "def helper(x: Tensor,\n"
    "    sizes: List[int]) -> Tensor:\n"
    "  if torch.eq(torch.len(sizes), 2):\n"
    "    _0 = torch.reshape(x, [-1])\n"
    "  else:\n"
    "    ops.prim.RaiseException(\"bad\", \"builtins.ValueError\")\n"
    "    _0 = x\n"
    "  return _0\n";

/// The bytes of the archive: forward(x) adds w, then calls `sub` and maybe `helper`. `code` may stand in for the text
/// above; its classes must have the same attributes.
inline std::string smallArchive(const std::string& code = kSmallCode) {
  std::string floats(16, '\0');
  std::string table = "}(" + text("a") + "](" + integer(1) + "K\x02" + "eu";
  std::string sub = "c__torch__\nSub\n)\x81}(" + text("scale") + "G?\xf0" + std::string(6, '\0') + "ub";
  std::string attributes = text("w") + tensor("0", 4, {2, 2}, {2, 1}) + text("n") + integer(5) + text("name") +
                           text("quiet") + text("table") + table + text("maybe") + "N" + text("sub") + sub;
  return writeZip(
      {{"a/data.pkl", object(attributes)},
       {"a/code/__torch__.py", code},
       {"a/data/0", floats},
       {"a/constants/0", floats},
       {"a/constants.pkl", "\x80\x02(" + tensor("0", 4, {2, 2}, {2, 1}) + "t."},
       {"a/version", "10\n"},
       {"a/byteorder", "little"}});
}

}  // namespace archive_builder
