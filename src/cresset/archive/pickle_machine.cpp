// The opcodes. See pickle_machine.h.
#include "cresset/archive/pickle_machine.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

namespace cresset {

namespace {

enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNoneOp = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
};

const char* nameOfForbidden(uint8_t op) {
  switch (op) {
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 'P':
      return "PERSID";
    case 'I':
      return "INT";
    case 'F':
      return "FLOAT";
    case 'L':
      return "LONG";
    case 'S':
      return "STRING";
    case 'V':
      return "UNICODE";
    case 'g':
      return "GET";
    case 'p':
      return "PUT";
    case 'B':
      return "BINBYTES";
    case 'C':
      return "SHORT_BINBYTES";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 0x8d:
      return "BINUNICODE8";
    case 0x8e:
      return "BINBYTES8";
    case 0x8f:
      return "EMPTY_SET";
    case 0x90:
      return "ADDITEMS";
    case 0x91:
      return "FROZENSET";
    case 0x92:
      return "NEWOBJ_EX";
    case 0x93:
      return "STACK_GLOBAL";
    case 0x94:
      return "MEMOIZE";
    case 0x95:
      return "FRAME";
    default:
      return nullptr;
  }
}

}  // namespace

constexpr const char* kEmptyStack = "the pickle pops an empty stack";

constexpr const char* kLongInt = "an int does not fit 64 bits";

class Pickle::Machine {
 public:
  Machine(Pickle& pickle, const Allow& allow) : p_(pickle), bytes_(pickle.bytes_), allow_(allow) {}

  void run() {
    if (bytes_.size() >= std::numeric_limits<uint32_t>::max()) fail("the pickle is larger than 4 GiB");
    if (bytes_.empty()) fail("the pickle is empty");
    constexpr size_t kStepsPerCheck = 64;
    for (size_t steps = 0; step(); ++steps) {
      if (steps % kStepsPerCheck == 0) checkTimeLimit();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { p_.site_.at(op_).fail(reason); }

  // Appends to a table, and charges its growth; while it moves, the old copy and the new one both exist.
  template <typename T>
  void grow(std::vector<T>& table, const T& value) {
    if (table.size() == table.capacity()) {
      size_t old = table.capacity(), more = old == 0 ? 64 : old;
      p_.budget_.charge((old + more) * sizeof(T), p_.site_.at(op_), "reading this pickle");
      table.reserve(old + more);
      p_.budget_.release(old * sizeof(T));
      p_.charged_ += more * sizeof(T);
    }
    table.push_back(value);
  }

  std::string_view take(size_t count) {
    if (count > bytes_.size() - at_) fail("the pickle ends in the middle of an opcode");
    std::string_view result = bytes_.substr(at_, count);
    at_ += count;
    return result;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));  // pickles and these machines are little-endian
    return value;
  }
  std::string_view line() {
    size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("the pickle ends in the middle of a name");
    std::string_view result = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }

  uint32_t node(PickleNode::Kind kind, uint32_t a = 0, uint32_t b = 0) {
    PickleNode n;
    n.kind = kind;
    n.offset = static_cast<uint32_t>(op_);
    n.p = {a, b};
    grow(p_.nodes_, n);
    return static_cast<uint32_t>(p_.nodes_.size() - 1);
  }
  void pushInt(PickleNode::Kind kind, int64_t value) {
    uint32_t n = node(kind);
    p_.nodes_[n].i = value;
    push(n);
  }
  void push(uint32_t n) { grow(stack_, n); }
  uint32_t pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail(kEmptyStack);
    uint32_t n = stack_.back();
    stack_.pop_back();
    return n;
  }
  uint32_t top() {
    uint32_t n = pop();
    stack_.push_back(n);
    return n;
  }
  size_t popMark() {
    if (marks_.empty()) fail("the pickle pops a mark that it has not set");
    size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  void pushString(size_t size) {
    std::string_view text = take(size);
    push(node(PickleNode::String, static_cast<uint32_t>(text.data() - bytes_.data()), static_cast<uint32_t>(size)));
  }
  // The top `count` values of the stack become a tuple.
  void pushTuple(size_t count) {
    if (stack_.size() - (marks_.empty() ? 0 : marks_.back()) < count) fail(kEmptyStack);
    uint32_t first = static_cast<uint32_t>(p_.pool_.size());
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) grow(p_.pool_, stack_[i]);
    stack_.resize(stack_.size() - count);
    push(node(PickleNode::Tuple, first, static_cast<uint32_t>(count)));
  }
  // Everything above `mark` goes to the end of the container below it.
  void extend(PickleNode::Kind kind, size_t mark) {
    size_t count = stack_.size() - mark;
    if (mark == 0 || (!marks_.empty() && mark <= marks_.back())) fail("the pickle extends a container that it lacks");
    uint32_t n = stack_[mark - 1];
    if (p_.nodes_[n].kind != kind)
      fail(
          kind == PickleNode::List ? "the pickle appends to something that is no list"
                                   : "the pickle sets items of something that is no dict");
    if (kind == PickleNode::Dict && count % 2 != 0) fail("a dict has a key without a value");
    if (count != 0) {
      uint32_t chunk = static_cast<uint32_t>(p_.chunks_.size());
      grow(p_.chunks_, Chunk{static_cast<uint32_t>(p_.pool_.size()), static_cast<uint32_t>(count), kNone});
      for (size_t i = mark; i < stack_.size(); ++i) grow(p_.pool_, stack_[i]);
      auto& pair = p_.nodes_[n].p;
      if (pair.a == kNone)
        pair.a = chunk;
      else
        p_.chunks_[pair.b].next = chunk;
      pair.b = chunk;
    }
    stack_.resize(mark);
  }
  void putMemo(size_t index) {
    // Writers number the memo from 0; each entry costs them at least two bytes.
    if (index >= bytes_.size()) fail("memo number " + std::to_string(index) + " is out of all proportion");
    uint32_t n = top();
    p_.nodes_[n].shared = true;
    while (memo_.size() <= index) grow(memo_, kNone);
    memo_[index] = n;
  }
  void getMemo(size_t index) {
    if (index >= memo_.size() || memo_[index] == kNone) fail("memo number " + std::to_string(index) + " was never set");
    push(memo_[index]);
  }
  void global() {
    std::string_view module = line(), name = line();
    PickleGlobal g{module, name, 0};
    g.kind = allow_(module, name, p_.site_.at(op_));
    grow(p_.globals_, g);
    push(node(PickleNode::Global, static_cast<uint32_t>(p_.globals_.size() - 1)));
  }
  void reduce() {
    uint32_t argument = pop(), callable = pop();
    if (p_.nodes_[callable].kind != PickleNode::Global) fail("the pickle calls something that is no global name");
    const PickleGlobal& g = p_.global(p_.nodes_[callable]);
    // An ordered dict is filled after it was made, as a plain one is.
    if (g.module == "collections" && g.name == "OrderedDict") {
      if (p_.nodes_[argument].kind != PickleNode::Tuple || p_.nodes_[argument].p.b != 0)
        fail("OrderedDict with arguments is not supported");
      push(node(PickleNode::Dict, kNone, kNone));
    } else {
      push(node(PickleNode::Call, callable, argument));
    }
  }
  void newObject() {
    uint32_t arguments = pop(), type = pop();
    if (p_.nodes_[type].kind != PickleNode::Global) fail("the pickle makes an object of something that is no class");
    if (p_.nodes_[arguments].kind != PickleNode::Tuple || p_.nodes_[arguments].p.b != 0)
      fail("objects made with arguments are not supported");
    push(node(PickleNode::Object, type, kNone));
  }
  void build() {
    uint32_t state = pop(), object = top();
    PickleNode& n = p_.nodes_[object];
    if (n.kind == PickleNode::Dict) return;  // attributes of a Python dict (state_dict's _metadata): not a value
    if (n.kind != PickleNode::Object) fail("the pickle sets the state of something that is no object");
    if (n.p.b != kNone) fail("the pickle sets an object's state twice");
    n.p.b = state;
  }
  void pushLong(size_t size) {
    std::string_view digits = take(size);
    // Little-endian two's complement; what needs more than 64 bits has no place in TorchScript.
    uint8_t sign = !digits.empty() && (digits.back() & 0x80) ? 0xff : 0;
    uint64_t value = sign ? ~uint64_t(0) : 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      uint8_t byte = static_cast<uint8_t>(digits[i]);
      if (i < 8)
        value = (value & ~(uint64_t(0xff) << (8 * i))) | uint64_t(byte) << (8 * i);
      else if (byte != sign)
        fail(kLongInt);
    }
    if (digits.size() > 8 && (value >> 63 != 0) != (sign != 0)) fail(kLongInt);
    pushInt(PickleNode::Int, static_cast<int64_t>(value));
  }

  /// Whether the opcode was one of those that push a value of their own.
  bool pushLiteral(uint8_t op) {
    switch (op) {
      case kNoneOp:
        push(node(PickleNode::None));
        break;
      case kNewTrue:
        pushInt(PickleNode::Bool, 1);
        break;
      case kNewFalse:
        pushInt(PickleNode::Bool, 0);
        break;
      case kBinInt:
        pushInt(PickleNode::Int, number<int32_t>());
        break;
      case kBinInt1:
        pushInt(PickleNode::Int, number<uint8_t>());
        break;
      case kBinInt2:
        pushInt(PickleNode::Int, number<uint16_t>());
        break;
      case kLong1:
        pushLong(number<uint8_t>());
        break;
      case kLong4:
        pushLong(number<uint32_t>());
        break;
      case kBinFloat: {
        uint32_t n = node(PickleNode::Float);
        p_.nodes_[n].f = std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()));  // the one big-endian opcode
        push(n);
        break;
      }
      case kBinUnicode:
      case kBinString:
        pushString(number<uint32_t>());
        break;
      case kShortBinString:
      case kShortBinUnicode:
        pushString(number<uint8_t>());
        break;
      default:
        return false;
    }
    return true;
  }

  /// Whether it was one of those that make or extend lists, dicts and tuples.
  bool makeContainer(uint8_t op) {
    switch (op) {
      case kEmptyList:
        push(node(PickleNode::List, kNone, kNone));
        break;
      case kEmptyDict:
        push(node(PickleNode::Dict, kNone, kNone));
        break;
      case kEmptyTuple:
        pushTuple(0);
        break;
      case kTuple1:
        pushTuple(1);
        break;
      case kTuple2:
        pushTuple(2);
        break;
      case kTuple3:
        pushTuple(3);
        break;
      case kTuple: {
        size_t mark = popMark();
        pushTuple(stack_.size() - mark);
        break;
      }
      case kList:
      case kDict: {
        auto kind = op == kList ? PickleNode::List : PickleNode::Dict;
        size_t mark = popMark();
        uint32_t n = node(kind, kNone, kNone);
        push(n);  // then move it below the elements
        for (size_t i = stack_.size() - 1; i > mark; --i) stack_[i] = stack_[i - 1];
        stack_[mark] = n;
        extend(kind, mark + 1);
        break;
      }
      case kAppend:
      case kSetItem: {
        size_t count = op == kAppend ? 1 : 2;
        if (stack_.size() < count) fail(kEmptyStack);
        extend(op == kAppend ? PickleNode::List : PickleNode::Dict, stack_.size() - count);
        break;
      }
      case kAppends:
        extend(PickleNode::List, popMark());
        break;
      case kSetItems:
        extend(PickleNode::Dict, popMark());
        break;
      default:
        return false;
    }
    return true;
  }

  /// Whether there is more.
  bool step() {
    op_ = at_;
    if (at_ >= bytes_.size()) fail("the pickle has no end");
    uint8_t op = static_cast<uint8_t>(bytes_[at_++]);
    if (pushLiteral(op) || makeContainer(op)) return true;
    switch (op) {
      case kProto: {
        uint8_t version = number<uint8_t>();
        if (version != 2) fail("pickle protocol " + std::to_string(version) + " is not supported (archives use 2)");
        break;
      }
      case kMark:
        grow(marks_, stack_.size());
        break;
      case kPop:
        pop();
        break;
      case kPopMark:
        stack_.resize(popMark());
        break;
      case kDup:
        p_.nodes_[top()].shared = true;
        push(top());
        break;
      case kBinPut:
        putMemo(number<uint8_t>());
        break;
      case kLongBinPut:
        putMemo(number<uint32_t>());
        break;
      case kBinGet:
        getMemo(number<uint8_t>());
        break;
      case kLongBinGet:
        getMemo(number<uint32_t>());
        break;
      case kGlobal:
        global();
        break;
      case kReduce:
        reduce();
        break;
      case kNewObj:
        newObject();
        break;
      case kBuild:
        build();
        break;
      case kBinPersId: {
        uint32_t id = pop();
        push(node(PickleNode::Persistent, id));
        break;
      }
      case kStop:
        p_.root_ = pop();
        if (!stack_.empty()) fail("the pickle ends with more than one value");
        return false;
      default: {
        const char* name = nameOfForbidden(op);
        fail(
            name ? std::string("pickle opcode ") + name + " is not allowed in archives"
                 : "byte " + std::to_string(op) + " is no pickle opcode");
      }
    }
    return true;
  }

  Pickle& p_;
  std::string_view bytes_;
  const Allow& allow_;
  size_t at_ = 0, op_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::vector<uint32_t> memo_;
};

Pickle::Pickle(std::string_view bytes, ArchiveSite site, LoadBudget& budget, const Allow& allow)
    : bytes_(bytes), site_(site), budget_(budget) {
  Machine(*this, allow).run();
}

Pickle::~Pickle() {
  budget_.release(charged_);
}

size_t Pickle::numElements(const PickleNode& node) const {
  if (node.kind == PickleNode::Tuple) return node.p.b;
  if (node.kind != PickleNode::List && node.kind != PickleNode::Dict) return 0;
  size_t count = 0;
  for (uint32_t c = node.p.a; c != kNone; c = chunks_[c].next) count += chunks_[c].count;
  return count;
}

std::vector<uint32_t> Pickle::elements(const PickleNode& node, size_t at_most) const {
  std::vector<uint32_t> result;
  auto take = [&](size_t first, size_t count) {
    const auto begin = pool_.begin() + static_cast<std::ptrdiff_t>(first);
    count = std::min(count, at_most - result.size());
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  if (node.kind == PickleNode::Tuple) {
    take(node.p.a, node.p.b);
    return result;
  }
  if (node.kind != PickleNode::List && node.kind != PickleNode::Dict) return result;
  if (at_most == kAll) result.reserve(numElements(node));
  for (uint32_t c = node.p.a; c != kNone && result.size() < at_most; c = chunks_[c].next)
    take(chunks_[c].first, chunks_[c].count);
  return result;
}

}  // namespace cresset
