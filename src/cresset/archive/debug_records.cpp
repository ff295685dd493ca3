// Reading debug records. See debug_records.h.
//
// The pickle is ("FORMAT_WITH_STRING_TABLE", (string, …), (record, …)), a record (offset, (source, begin, end)[, tag]),
// a source ([numbers of lines in the table], number of the file's name, first line). Archives before PyTorch 1.10 have
// the records alone, with sources (text, file name or None, first line).
#include "cresset/archive/debug_records.h"

#include <algorithm>
#include <unordered_map>

#include "cresset/archive/pickle_machine.h"
#include "cresset/archive/pickle_names.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr std::string_view kFormatWithStringTable = "FORMAT_WITH_STRING_TABLE";

class RecordReader {
 public:
  RecordReader(const Pickle& pickle, LoadBudget& budget) : p_(pickle), budget_(budget) {}

  template <typename Add>
  void read(const Add& add) {
    Items items = elements(p_.root(), Pickle::kAll);
    if (items.size() == 3 && p_[items[0]].kind == PickleNode::String && text(items[0]) == kFormatWithStringTable) {
      strings_ = elements(items[1], Pickle::kAll);
      has_table_ = true;
      items = elements(items[2], Pickle::kAll);
    }
    for (uint32_t n : items) {
      Items record = elements(n, 2);
      if (record.size() < 2) fail(n);
      if (p_[record[1]].kind == PickleNode::None) continue;
      Items range = elements(record[1], 3);
      if (range.size() < 3) fail(n);
      std::shared_ptr<const Source> source = sourceOf(range[0]);
      if (!source) continue;
      int64_t begin = number(range[1]), end = number(range[2]);
      auto size = static_cast<int64_t>(source->text().size());
      if (begin < 0 || end < begin || end > size) continue;
      add(static_cast<size_t>(number(record[0])), source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
    }
  }

 private:
  using Items = std::vector<uint32_t>;

  [[noreturn]] void fail(uint32_t n) const { p_.site(p_[n]).fail("the debug record is damaged"); }
  Items elements(uint32_t n, size_t at_most) const {
    if (p_[n].kind != PickleNode::Tuple && p_[n].kind != PickleNode::List) fail(n);
    return p_.elements(p_[n], at_most);
  }
  void charge(uint32_t n, size_t bytes) const { budget_.charge(bytes, p_.site(p_[n]), "the original source text"); }
  int64_t number(uint32_t n) const {
    if (p_[n].kind != PickleNode::Int || p_[n].i < 0) fail(n);
    return p_[n].i;
  }
  std::string_view text(uint32_t n) const {
    if (p_[n].kind != PickleNode::String) fail(n);
    return p_.string(p_[n]);
  }
  std::string_view fromTable(uint32_t n) const {
    auto i = static_cast<size_t>(number(n));
    if (i >= strings_.size()) fail(n);
    return text(strings_[i]);
  }

  // With what the table of its lines takes.
  void chargeText(uint32_t n, std::string_view text) const {
    charge(n, text.size() + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) * 2 * sizeof(uint32_t));
  }
  std::shared_ptr<const Source> sourceOf(uint32_t n) {
    auto it = sources_.find(n);
    if (it != sources_.end()) return it->second;
    std::shared_ptr<const Source> source;
    Items items = elements(n, 3);
    if (items.size() < 3) fail(n);
    charge(n, sizeof(Source) + 128);
    auto first_line = static_cast<size_t>(std::max<int64_t>(1, number(items[2])));
    std::string body, file;
    if (has_table_) {
      uint32_t lines = items[0];
      // build_intlist([…])
      if (p_[lines].kind == PickleNode::Call) {
        Items args = elements(p_[lines].p.b, 2);
        if (args.size() != 1) fail(lines);
        lines = args[0];
      }
      charge(lines, p_.numElements(p_[lines]) * sizeof(uint32_t));
      for (uint32_t line : elements(lines, Pickle::kAll)) {
        std::string_view s = fromTable(line);
        chargeText(line, s);
        body += s;
      }
      file = fromTable(items[1]);
      charge(items[1], file.size());
    } else {
      chargeText(items[0], text(items[0]));
      body = text(items[0]);
      if (p_[items[1]].kind == PickleNode::String) {
        charge(items[1], text(items[1]).size());
        file = text(items[1]);
      }
    }
    if (!body.empty()) source = std::make_shared<Source>(std::move(body), std::move(file), first_line);
    sources_.emplace(n, source);
    return source;
  }

  const Pickle& p_;
  LoadBudget& budget_;
  Items strings_;
  bool has_table_ = false;
  std::unordered_map<uint32_t, std::shared_ptr<const Source>> sources_;
};

}  // namespace

void DebugRecords::readWithin(LoadBudget& budget) const {
  const ZipEntry* entry = zip_->find(record_);
  if (!entry) return;
  {
    Record record = zip_->read(*entry, budget);
    const ArchiveSite site{zip_->file(), record_, 0};
    Pickle pickle(record.bytes(), site, budget, judgePickleName);
    RecordReader(pickle, budget)
        .read([&](size_t offset, std::shared_ptr<const Source> source, uint32_t begin, uint32_t end) {
          if (mappings_.size() == mappings_.capacity()) {
            const size_t old = mappings_.capacity(), more = old == 0 ? 64 : old;
            budget.charge((old + more) * sizeof(Mapping), site, "the positions of this code");
            mappings_.reserve(old + more);
            budget.release(old * sizeof(Mapping));
          }
          mappings_.push_back({offset, std::move(source), begin, end});
        });
  }
  if (entry->compressed()) budget.release(entry->size);
}

void DebugRecords::read() const {
  std::lock_guard lock(budget_->mutex);
  LoadBudget& budget = budget_->budget;
  const size_t before = budget.used();
  try {
    readWithin(budget);
  } catch (const ArchiveError&) {
    // Positions in the code file itself still stand.
    mappings_ = {};
    budget.release(budget.used() - before);
  }
  std::stable_sort(
      mappings_.begin(), mappings_.end(), [](const Mapping& a, const Mapping& b) { return a.offset < b.offset; });
}

std::optional<SourceRange> DebugRecords::find(size_t offset) const {
  std::call_once(once_, [this] { read(); });
  auto it = std::upper_bound(mappings_.begin(), mappings_.end(), offset, [](size_t at, const Mapping& mapping) {
    return at < mapping.offset;
  });
  if (it == mappings_.begin()) return std::nullopt;
  --it;
  return SourceRange{it->source, it->begin, it->end};
}

}  // namespace cresset
