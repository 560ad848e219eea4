#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <heed/core/node.h>
#include <heed/core/tape_ledger.h>

namespace heed {

// Guarded by `books_mutex`: nodes leave on whatever thread drops them.
struct TapeLedger::Book {
  struct Entry {
    std::size_t row;
    std::int64_t bytes;
    std::vector<const Storage*> storages;
  };
  struct Uses {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };

  std::uint32_t number = 0;
  LedgerCounts counts;
  bool at_peak = true;  // saved_at_peak of the rows is yet to be copied from saved_now
  std::map<std::pair<std::string_view, const ScopeName*>, std::size_t> row_of;
  std::unordered_map<const Node*, Entry> nodes;
  std::unordered_map<const Storage*, Uses> storages;

  std::size_t row_for(const Node& node) {
    const auto [at, added] = row_of.try_emplace({node.op(), node.scope()}, counts.rows.size());
    if (added) {
      LedgerRow row;
      row.op = node.op();
      if (node.scope() != nullptr) row.module = node.scope()->path();
      counts.rows.push_back(std::move(row));
    }
    return at->second;
  }

  // A peak is noted when the total first falls again, not at each node on the way up.
  void settle_peak() {
    if (!at_peak) return;
    counts.saved_at_peak = counts.saved_now;
    counts.unique_at_peak = counts.unique_now;
    for (LedgerRow& row : counts.rows) row.saved_at_peak = row.saved_now;
    at_peak = false;
  }

  void add(const Node& node, std::vector<const Storage*> saved) {
    const std::size_t row = row_for(node);
    const std::int64_t bytes = node.saved_bytes();
    ++counts.rows[row].nodes;
    counts.rows[row].saved_now += bytes;
    counts.saved_now += bytes;
    for (const Storage* storage : saved) {
      Uses& uses = storages[storage];
      if (uses.count++ == 0) {
        uses.bytes = static_cast<std::int64_t>(storage->bytes());
        counts.unique_now += uses.bytes;
      }
    }
    if (counts.saved_now > counts.saved_at_peak) at_peak = true;
    nodes.emplace(&node, Entry{row, bytes, std::move(saved)});
  }

  void remove(const Node& node) {
    const auto at = nodes.find(&node);
    if (at == nodes.end()) return;
    settle_peak();
    counts.rows[at->second.row].saved_now -= at->second.bytes;
    counts.saved_now -= at->second.bytes;
    for (const Storage* storage : at->second.storages) {
      const auto uses = storages.find(storage);
      if (--uses->second.count > 0) continue;
      counts.unique_now -= uses->second.bytes;
      storages.erase(uses);
    }
    nodes.erase(at);
  }
};

namespace {

std::mutex& books_mutex() {
  static auto* mutex = new std::mutex;  // nodes may outlive static destruction
  return *mutex;
}
std::uint32_t last_number = 0;

}  // namespace

// The books that are open, by number. Guarded by `books_mutex`.
std::map<std::uint32_t, TapeLedger::Book*>& TapeLedger::open_books() {
  static auto* books = new std::map<std::uint32_t, Book*>;
  return *books;
}

TapeLedger::TapeLedger() : TapeObserver("ledger"), book_(std::make_unique<Book>()) {
  const std::lock_guard lock(books_mutex());
  book_->number = ++last_number;
  open_books().emplace(book_->number, book_.get());
}

TapeLedger::~TapeLedger() {
  const std::lock_guard lock(books_mutex());
  open_books().erase(book_->number);
}

LedgerCounts TapeLedger::counts() const {
  const std::lock_guard lock(books_mutex());
  book_->settle_peak();
  return book_->counts;
}

void TapeLedger::before_saving() { noted_.clear(); }

void TapeLedger::on_saved(const Tensor& x) { noted_.push_back(x.storage().get()); }

void TapeLedger::on_recorded(const RecordedOperation& operation) {
  const std::lock_guard lock(books_mutex());
  book_->add(operation.node, std::exchange(noted_, {}));
  operation.node.set_ledger(book_->number);
}

void TapeLedger::remove(std::uint32_t ledger, const Node& node) noexcept {
  const std::lock_guard lock(books_mutex());
  const auto at = open_books().find(ledger);
  if (at != open_books().end()) at->second->remove(node);
}

}  // namespace heed
