// See io_model.h.
#include "io_model.h"

#include <sys/stat.h>

#include <algorithm>

namespace fuzz {

int Model::free_slot() const {
  for (int i = 0; i < kSlots; ++i)
    if (slots[i].file < 0) return i;
  return -1;
}

int Model::free_slots() const {
  return static_cast<int>(
      std::count_if(slots, slots + kSlots, [](const Slot& s) { return s.file < 0; }));
}

int Model::put(int fd, int file) {
  int slot = free_slot();
  if (fd < 0 || slot < 0) return -1;
  slots[slot] = Slot{fd, file, 0};
  File& f = files[static_cast<size_t>(file)];
  ++f.slots;
  struct stat s;
  if (fstat(fd, &s) == 0) f.identity[0] = s.st_dev, f.identity[1] = s.st_ino;
  return slot;
}

void Model::close_slot(int slot) {
  int gone = slots[slot].file;
  slots[slot] = Slot{};
  if (waits_anywhere(gone)) files[static_cast<size_t>(gone)].begins_otherwise = true;
  if (--files[static_cast<size_t>(gone)].slots != 0) return;
  for (File& f : files)
    if (f.kind == Kind::Epoll && !waits_anywhere(gone))
      std::erase_if(f.entries, [gone](const Entry& e) { return e.file == gone; });
}

bool Model::is(int slot, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), file(slot).kind) != kinds.end();
}

int Model::pick(const std::function<bool(int)>& pleases) {
  std::vector<int> all, awaited;
  for (int i = 0; i < kSlots; ++i) {
    if (slots[i].file < 0 || !pleases(i)) continue;
    all.push_back(i);
    int p = file(i).peer, self = slots[i].file;
    if ((p >= 0 && waits_anywhere(p)) || (p < 0 && waits_anywhere(self))) awaited.push_back(i);
  }
  bool prefer = !random.one_in(3);
  const std::vector<int>& of = prefer && !awaited.empty() ? awaited : all;
  if (of.empty()) return -1;
  return of[random.below(static_cast<uint32_t>(of.size()))];
}

int Model::pick_kind(std::initializer_list<Kind> kinds, const std::function<bool(int)>& pleases) {
  return pick([&](int slot) { return is(slot, kinds) && pleases(slot); });
}

void Model::members(int epoll, std::vector<int>* out) const {
  for (const Entry& e : files[static_cast<size_t>(epoll)].entries) {
    out->push_back(e.file);
    if (files[static_cast<size_t>(e.file)].kind == Kind::Epoll && out->size() < 200)
      members(e.file, out);
  }
}

bool Model::watched(int file) const {
  if (files[static_cast<size_t>(file)].watch != 0) return true;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].kind != Kind::Epoll || files[i].watch == 0) continue;
    std::vector<int> in;
    members(static_cast<int>(i), &in);
    if (std::find(in.begin(), in.end(), file) != in.end()) return true;
  }
  return false;
}

bool Model::may_watch(std::vector<int> wanted) const {
  for (size_t i = 0, n = wanted.size(); i < n; ++i)
    if (files[static_cast<size_t>(wanted[i])].kind == Kind::Epoll) members(wanted[i], &wanted);
  std::sort(wanted.begin(), wanted.end());
  if (std::adjacent_find(wanted.begin(), wanted.end()) != wanted.end()) return false;
  for (int w : wanted) {
    const File& f = files[static_cast<size_t>(w)];
    if (f.kind == Kind::Child && files[static_cast<size_t>(waits)].in != 0) return false;
    // Who reads or writes there might be quicker; an edge goes to one of two.
    if (f.in != 0 || f.out != 0 || watched(w)) return false;
    if (f.peer >= 0 && std::binary_search(wanted.begin(), wanted.end(), f.peer)) return false;
  }
  return true;
}

bool Model::may_wait_in(int slot) {
  const File& f = file(slot);
  return f.in == 0 && !watched(slots[slot].file) && (f.peer < 0 || !peer(slot)->choked);
}

bool Model::may_wait_out(int slot) {
  const File& f = file(slot);
  return f.out == 0 && !f.choked && f.loaded < kLoad && !watched(slots[slot].file);
}

bool Model::wakes_one(int slot) {
  auto waiters = [this](int i) {
    const File& f = files[static_cast<size_t>(i)];
    return (f.in != 0) + f.out + (watched(i) ? 1 : 0);
  };
  int own = waiters(slots[slot].file), p = file(slot).peer;
  return own <= 1 && (p < 0 || waiters(p) <= 1);
}

void Model::take(const std::vector<Hold>& holds, int by) {
  for (const Hold& h : holds) {
    if (h.use == Use::Number) {
      slots[h.which].pinned += by;
      continue;
    }
    File& f = files[static_cast<size_t>(h.which)];
    (h.use == Use::In ? f.in : h.use == Use::Out ? f.out : f.watch) += by;
  }
}

Op held(Model& m, Op op) {
  for (const Hold& h : op.holds) {
    if (h.use == Use::Number) continue;
    const File& f = m.files[static_cast<size_t>(h.which)];
    if ((h.use == Use::In && f.ends_in) || (h.use == Use::Out && f.ends_out)) op.ends = true;
  }
  m.take(op.holds, 1);
  if (op.begins) op.begins();
  op.after = [&m, holds = op.holds, then = std::move(op.after)] {
    m.take(holds, -1);
    if (then) then();
  };
  return op;
}

}  // namespace fuzz
