// A follower of a file (queue_follower) is suspended when it has read everything, until the
// server's timer or followed_ended() wakes it to check again.

#include "net/http_files.h"

#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/files.h"

namespace proffer::http {
namespace {

constexpr size_t kHoleMarkBytesMax = 64;
constexpr int64_t kLongAnswerBytes = int64_t{1} << 20;  // smaller ones are short answers

struct Follower {
  ExchangePtr exchange;
  Fd fd;
  int64_t offset = 0;
  std::function<bool()> is_growing;
  bool is_output = false;
  std::string hole_mark = {};  // the client's word for a hole; empty: people read the note
};

// The beginning of the first line after this offset, if it is near; otherwise the offset itself.
off_t line_after(const Fd& file, off_t offset) {
  constexpr size_t kLineBytesMax = 64 * 1024;
  std::vector<char> bytes(kLineBytesMax);
  const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), offset);
  if (got <= 0) return offset;
  const std::string_view part(bytes.data(), static_cast<size_t>(got));
  const size_t end = part.find('\n');
  return end == std::string_view::npos ? offset : offset + static_cast<off_t>(end) + 1;
}

// Writes a note in place of the dropped part of a task's output; 0: nothing is missing here. The
// output goes on with a whole line.
size_t pass_over_hole(Follower& follower, char* out, size_t max) {
  const off_t data = lseek(follower.fd.get(), follower.offset, SEEK_DATA);
  if (data <= follower.offset) return 0;
  const off_t next = line_after(follower.fd, data);
  const off_t missing = next - follower.offset;
  const std::string note = follower.hole_mark.empty()
                               ? text("\n[", missing, " bytes of this output are not kept]\n")
                               : text(follower.hole_mark, missing, "\n");
  if (note.size() > max) return 0;
  follower.offset = next;
  return note.copy(out, max);
}

ssize_t read_follower(void* owner, uint64_t, char* out, size_t max) {
  Follower& follower = *static_cast<Follower*>(owner);
  const auto read_more = [&] {
    const ssize_t count = pread(follower.fd.get(), out, max, follower.offset);
    if (count > 0) follower.offset += count;
    return count;
  };
  if (follower.is_output) {
    if (const size_t noted = pass_over_hole(follower, out, max); noted > 0) {
      return static_cast<ssize_t>(noted);
    }
    struct stat status {};
    if (fstat(follower.fd.get(), &status) == 0 && status.st_size < follower.offset) {
      follower.offset = 0;
    }
  }
  ssize_t count = read_more();
  if (count == 0 && !(follower.is_growing && follower.is_growing())) {
    count = read_more();  // bytes appended between the two checks
    if (count == 0) return MHD_CONTENT_READER_END_OF_STREAM;
  }
  if (count < 0) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (count > 0) return count;
  const std::lock_guard lock(follower.exchange->shared->mutex);
  if (has_hung_up(follower.exchange->connection)) return MHD_CONTENT_READER_END_WITH_ERROR;
  // Checked again, so that followed_ended() either finds it suspended or is not needed.
  if (!follower.is_growing()) {
    count = read_more();
    return count > 0    ? count
           : count == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                        : MHD_CONTENT_READER_END_WITH_ERROR;
  }
  return suspend(*follower.exchange, Exchange::Sleep::kForFile) ? 0
                                                                : MHD_CONTENT_READER_END_WITH_ERROR;
}

MHD_Result queue_follower(const ExchangePtr& exchange, OpenFile file, ServedPath served) {
  int64_t offset = 0;
  if (const auto given = exchange->request.param("offset")) {
    const Result<int64_t> parsed = parse_whole("offset", *given, 0, int64_t{1} << 50);
    if (!parsed) return queue_text(exchange->connection, 400, parsed.error().message());
    offset = *parsed;
  }
  const std::string hole_mark(exchange->request.param("hole").value_or(""));
  if (hole_mark.size() > kHoleMarkBytesMax) {
    return queue_text(
        exchange->connection, 400,
        text("hole has ", hole_mark.size(), " bytes; at most ", kHoleMarkBytesMax, " are allowed"));
  }
  if (!begin_long(*exchange)) return queue_no_room(exchange->connection);
  if (served.is_growing && !served.name.empty()) {
    const std::lock_guard lock(exchange->shared->mutex);
    exchange->followed = std::move(served.name);
    exchange->shared->followers.emplace(exchange->followed, exchange.get());
  }
  auto* follower =
      new Follower{exchange,         std::move(file.fd), offset, std::move(served.is_growing),
                   served.is_output, hole_mark};
  MHD_Response* response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlockBytes, &read_follower, follower,
                                        [](void* owner) { delete static_cast<Follower*>(owner); });
  if (response == nullptr) return MHD_NO;
  add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, kTextType);
  return queue(exchange->connection, MHD_HTTP_OK, response);
}

// Names that a browser should show instead of download.
bool is_text_name(std::string_view relative) {
  const std::string_view name = relative.substr(relative.rfind('/') + 1);
  return name == "stdout" || name == "stderr" || name.ends_with(".txt") || name.ends_with(".log");
}

MHD_Result queue_file(const ExchangePtr& exchange, OpenFile file, std::string_view relative) {
  MHD_Connection* connection = exchange->connection;
  const ByteRange range =
      parse_byte_range(exchange->request.header("range").value_or(""), file.bytes);
  if (range.count < kLongAnswerBytes) {
    begin_short(*exchange);
  } else if (!begin_long(*exchange)) {
    return queue_no_room(connection);
  }
  if (range.kind == ByteRange::Kind::kUnsatisfiable) {
    MHD_Response* response =
        MHD_create_response_from_buffer(0, const_cast<char*>(""), MHD_RESPMEM_PERSISTENT);
    if (response == nullptr) return MHD_NO;
    add_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, text("bytes */", file.bytes));
    return queue(connection, MHD_HTTP_RANGE_NOT_SATISFIABLE, response);
  }
  MHD_Response* response = MHD_create_response_from_fd_at_offset64(
      static_cast<uint64_t>(range.count), file.fd.get(), static_cast<uint64_t>(range.first));
  if (response == nullptr) return MHD_NO;
  file.fd.release();  // the response closes it
  add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
             is_text_name(relative) ? kTextType : "application/octet-stream");
  add_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
  if (range.kind == ByteRange::Kind::kWhole) return queue(connection, MHD_HTTP_OK, response);
  add_header(response, MHD_HTTP_HEADER_CONTENT_RANGE,
             text("bytes ", range.first, "-", range.first + range.count - 1, "/", file.bytes));
  return queue(connection, MHD_HTTP_PARTIAL_CONTENT, response);
}

}  // namespace

MHD_Result serve_file(const ExchangePtr& exchange) {
  const FilesRoute& route = exchange->shared->options.files;
  const HttpRequest& request = exchange->request;
  MHD_Connection* connection = exchange->connection;
  const auto refuse = [&](const Error& error) {
    begin_short(*exchange);
    return queue_text(
        connection, http_status(error.code()),
        error.hint().empty() ? error.message() : text(error.message(), "\n  hint: ", error.hint()));
  };
  if (request.method == "POST") {
    begin_short(*exchange);
    return queue_body(connection, 405, kTextType, "files can only be read\n",
                      {{MHD_HTTP_HEADER_ALLOW, "GET, HEAD"}});
  }
  Result<ServedPath> served =
      route.resolve(std::string_view(request.path).substr(route.prefix.size()), request.principal);
  if (!served) return refuse(served.error());
  Result<OpenFile> file = open_confined(served->root, served->relative, served->user);
  if (!file) return refuse(file.error());
  if (file->is_directory) {
    const Result<std::vector<DirEntry>> entries = list_directory(*file);
    if (!entries) return refuse(entries.error());
    begin_short(*exchange);
    if (!route.encode_directory) return queue_text(connection, 404, "this is a directory");
    return queue_body(connection, 200, "application/json", route.encode_directory(*entries));
  }
  const std::optional<std::string_view> follow = request.param("follow");
  if (follow && *follow != "0")
    return queue_follower(exchange, *std::move(file), *std::move(served));
  const bool has_hole =
      served->is_output && !request.header("range") && lseek(file->fd.get(), 0, SEEK_DATA) > 0;
  if (has_hole) {
    served->is_growing = {};
    return queue_follower(exchange, *std::move(file), *std::move(served));
  }
  return queue_file(exchange, *std::move(file), served->relative);
}

void followed_ended(Shared& shared, std::string_view name) {
  const std::lock_guard lock(shared.mutex);
  const auto [begin, end] = shared.followers.equal_range(std::string(name));
  for (auto at = begin; at != end; ++at) {
    if (at->second->sleep == Exchange::Sleep::kForFile) wake(*at->second);
  }
}

}  // namespace proffer::http
