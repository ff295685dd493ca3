// Values to pickles, in the form that torch.jit and Python read.
//
// Shared values stay shared: lists, dicts, tuples, objects and tensors are memoized by identity, strings by content.
// Lists and dicts say their types (restore_type_tag), since Python's have none. A pickle depends on the values alone:
// not on who else refers to them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/archive/code_names.h"

namespace cresset {

/// The storages that pickles refer to, each once: they become records named by their number.
class StorageTable {
 public:
  size_t number(const c10::Storage& storage);
  const std::vector<c10::Storage>& storages() const { return storages_; }

 private:
  std::unordered_map<const c10::StorageImpl*, size_t> numbers_;
  std::vector<c10::Storage> storages_;
};

/// Opcodes of protocol 2, with a memo. What is pushed follows what was pushed before.
class PickleWriter {
 public:
  PickleWriter();
  void none() { op('N'); }
  void boolean(bool value) { op(value ? 0x88 : 0x89); }
  void integer(int64_t value);
  void number(double value);
  void string(std::string_view text);
  void global(const std::string& module, const std::string& name);
  void mark() { op('('); }
  /// Of what stands above the last mark.
  void tuple() { op('t'); }
  void emptyTuple() { op(')'); }
  void emptyList() { op(']'); }
  void emptyDict() { op('}'); }
  void appends() { op('e'); }
  void setItems() { op('u'); }
  void reduce() { op('R'); }
  void newObject() { op(0x81); }
  void build() { op('b'); }
  void persistentId() { op('Q'); }
  /// Remembers what was pushed last; get() pushes it again.
  uint32_t put();
  void get(uint32_t number);
  std::string finish() {
    op('.');
    return std::move(bytes_);
  }

 private:
  void op(int code) { bytes_ += static_cast<char>(code); }
  template <typename T>
  void raw(T value);

  std::string bytes_;
  uint32_t next_ = 0;
  std::unordered_map<std::string, uint32_t> strings_, globals_;
};

class Pickler {
 public:
  /// How a pickle refers to a tensor. Null: by its storage, see StorageTable.
  using TensorWriter = std::function<void(PickleWriter&, const at::Tensor&)>;

  Pickler(StorageTable& storages, CodeNames& names) : storages_(storages), names_(names) {}
  void setTensorWriter(TensorWriter writer) { tensor_writer_ = std::move(writer); }
  /// The older layout names types by their structure, and has no tags for lists but those of ints.
  void setTypeTags(bool on) { type_tags_ = on; }

  /// Throws UserError, naming the attribute, if a value has no pickled form.
  void push(const c10::IValue& value);
  PickleWriter& writer() { return out_; }
  std::string finish() { return out_.finish(); }

 private:
  void pushShared(const c10::IValue& value);
  void pushTensor(const at::Tensor& tensor);
  void pushStrided(const at::Tensor& tensor);
  void pushQuantized(const at::Tensor& tensor);
  void pushSparse(const at::Tensor& tensor);
  void pushStorage(const at::Tensor& tensor);
  void pushGeometry(const at::Tensor& tensor);
  void pushNoHooks();
  void pushList(const c10::IValue& value);
  void pushDict(const c10::IValue& value);
  void pushObject(const c10::IValue& value);
  void pushType(const c10::TypePtr& type);
  [[noreturn]] void fail(const std::string& what) const;

  StorageTable& storages_;
  CodeNames& names_;
  TensorWriter tensor_writer_;
  bool type_tags_ = true;
  PickleWriter out_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<std::string, uint32_t> storage_memo_;
  std::unordered_set<const void*> open_;  // being pushed
  std::vector<c10::IValue> kept_;         // values made on the way; identities must not be used twice
  std::vector<std::string> path_;         // attributes down to here, for errors
};

}  // namespace cresset
