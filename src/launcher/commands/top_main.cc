// SPDX-License-Identifier: Apache-2.0
// `muster top`: the same launch again and again, as a table that stays on the
// terminal, or as lines of a file. The launcher does not know of it: all is in
// the files of its run directory.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/decimal.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/runtime_dir.h"
#include "base/text.h"
#include "launcher/commands/status_main.h"
#include "launcher/model/phase_clock.h"

namespace muster {

namespace {

// How the end is noticed: the launcher's pod may be gone soon after.
constexpr Milliseconds kEndPace{100};
// A pipe has no width; a wide terminal has that one.
constexpr size_t kPlainColumns = 160;

struct Options {
  bool json = false;
  bool text = false;
  Milliseconds interval{2'000};
  std::string record;
};

// Nothing, if the text is none, or out of range.
std::optional<Milliseconds> interval_of(const std::string& text) {
  const auto number = leading_decimal(text);
  if (!number || number->length != text.size() || number->value < 0.5 ||
      number->value > 60) {
    return {};
  }
  return Milliseconds{static_cast<int64_t>(number->value * 1000)};
}

// Says what is wrong.
std::optional<Options> parse(const std::vector<std::string>& args) {
  Options out;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string name = args[i];
    std::optional<std::string> value;
    const size_t equals = name.find('=');
    if (name.starts_with("--") && equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < args.size()) {
      value = args[i + 1];
    }
    const bool known =
        name == "-o" || name == "--interval" || name == "--record";
    if (!known) {
      std::fprintf(stderr,
                   "muster top: cannot read '%s'. See `muster top --help`.\n",
                   args[i].c_str());
      return {};
    }
    if (args[i] == name) ++i;  // the value is a word of its own
    if (name == "-o" && (value == "json" || value == "text")) {
      (*value == "json" ? out.json : out.text) = true;
    } else if (name == "-o") {
      std::fprintf(stderr, "muster top: -o is text or json\n");
      return {};
    } else if (name == "--interval") {
      const auto interval = interval_of(value.value_or(""));
      if (!interval) {
        std::fprintf(stderr,
                     "muster top: --interval is 0.5 to 60 seconds, not '%s'\n",
                     value.value_or("").c_str());
        return {};
      }
      out.interval = *interval;
    } else if (!value || value->empty()) {
      std::fprintf(stderr, "muster top: --record names a file\n");
      return {};
    } else {
      out.record = *value;
    }
  }
  return out;
}

// A launch that is looked at until it ends. Its last word is in a file that is
// open from the beginning, so that it can be read when the directory is gone.
class Watched {
 public:
  explicit Watched(RunningLaunch launch)
      : directory_(std::move(launch.directory)),
        last_(std::move(launch.status)),
        end_(::open((directory_ + "/end.json").c_str(),
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

  [[nodiscard]] const JobStatus& last() const { return last_; }
  // False: it has ended, or is gone.
  bool look() {
    if (ended()) return false;
    if (auto now = status_in(directory_)) last_ = std::move(*now);
    if (last_.ended) return false;
    gone_ = is_gone() && !ended();
    return !gone_ && !last_.ended;
  }
  bool ended() {
    if (last_.ended) return true;
    const std::string text = end_text();
    if (text.empty()) return false;
    auto status = job_status_from_json(text);  // not, if half is written
    if (!status || !status->ended) return false;
    last_ = std::move(*status);
    return true;
  }
  // It ended without a last word.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  // Not one that is only slow, or stopped.
  [[nodiscard]] bool is_gone() const {
    struct stat directory {};
    return ::lstat(directory_.c_str(), &directory) != 0 ||
           abandoned(directory_);
  }
  [[nodiscard]] std::string end_text() const {
    constexpr size_t kMost = 64 << 20;
    std::string out;
    char bytes[16 * 1024];
    while (out.size() < kMost) {
      const ssize_t n = ::pread(end_.get(), bytes, sizeof bytes,
                                static_cast<off_t>(out.size()));
      if (n <= 0) break;
      out.append(bytes, static_cast<size_t>(n));
    }
    return out;
  }

  std::string directory_;
  JobStatus last_;
  UniqueFd end_;
  bool gone_ = false;
};

std::string end_sentence(const Watched& watched) {
  const JobStatus& last = watched.last();
  if (!last.ended) {
    return "launch " + last.launch_id +
           " ended without a verdict: its launcher was killed, or could not "
           "write it. See `kubectl describe pod POD -n NAMESPACE` of the "
           "launcher's pod";
  }
  return "The job ended with exit code " +
         std::to_string(last.ended->exit_code) +
         (last.ended->text.empty() ? "" : ": " + last.ended->text);
}

int tell_end(const Watched& watched) {
  const bool gone = !watched.last().ended;
  std::fprintf(gone ? stderr : stdout, "%s%s\n", gone ? "muster top: " : "",
               end_sentence(watched).c_str());
  return gone ? 1 : 0;
}

std::string variable(const char* name) {
  const char* const value = ::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_dumb() {
  const std::string terminal = variable("TERM");
  return terminal.empty() || terminal == "dumb";
}

void put(const std::string& text) {
  static_cast<void>(write_all(STDOUT_FILENO, text));
}

// The terminal as a screen of its own, whose keys come one by one. It is put
// back however this ends, except by SIGKILL.
class Screen {
 public:
  Screen() {
    known_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (known_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      known_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
    put("\x1b[?1049h\x1b[?25l\x1b[?7l");
  }
  ~Screen() {
    put("\x1b[?7h\x1b[?25h\x1b[?1049l");
    if (known_) static_cast<void>(::tcsetattr(STDIN_FILENO, TCSANOW, &before_));
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // In one write, line by line, so that it does not flicker.
  static void draw(const std::string& text) {
    std::string out = "\x1b[H";
    for (const char c : text) {
      if (c == '\n') out += "\x1b[K\r";
      out += c;
    }
    // The last newline would scroll a full screen.
    if (out.ends_with('\n')) out.resize(out.size() - 2);
    put(out + "\x1b[J");
  }

 private:
  termios before_{};
  bool known_ = false;
};

// The launcher writes at least every 2 s.
std::string silence(const JobStatus& status) {
  const int64_t age_ms = steady_ms() - status.written_at_ms;
  return age_ms < 6'000
             ? ""
             : "  (no news of the launcher for " + human_seconds(age_ms) + ")";
}

void take_size(TopView& view) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    view.columns = size.ws_col;
    view.rows = size.ws_row;
  }
}

// Calls `look` every interval, and at once when the launch ends, until it does
// or a signal or key ends it. `key` may be empty: then keys are not read.
class Watch {
 public:
  Watch(Watched& watched, Milliseconds interval, std::function<bool()> look)
      : watched_(watched),
        interval_(interval),
        look_(std::move(look)),
        signals_(loop_, {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP},
                 [this](const signalfd_siginfo& info) {
                   on_signal(static_cast<int>(info.ssi_signo));
                 }),
        timer_(loop_),
        end_timer_(loop_) {}

  void read_keys(std::function<void(char)> key) {
    key_ = std::move(key);
    keys_ = std::make_unique<FdWatch>(loop_, STDIN_FILENO);
    keys_->on_readable([this] {
      char bytes[64];
      const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (n <= 0) return loop_.stop();
      for (ssize_t i = 0; i < n; ++i) key_(bytes[i]);
    });
  }
  void on_resize(std::function<void()> resized) {
    resized_ = std::move(resized);
  }
  void stop() { loop_.stop(); }
  // False: a signal or a key ended it.
  bool run() {
    step();
    watch_end();
    loop_.run();
    return over_;
  }

 private:
  void step() {
    over_ = !watched_.look();
    if (!look_() || over_) return loop_.stop();
    timer_.start(interval_, [this] { step(); });
  }
  void watch_end() {
    if (!over_ && watched_.ended()) return step();
    end_timer_.start(kEndPace, [this] { watch_end(); });
  }
  void on_signal(int signal) {
    if (signal == SIGWINCH) {
      if (resized_) resized_();
    } else if (signal != SIGTSTP) {
      loop_.stop();
    }
  }

  Watched& watched_;
  Milliseconds interval_;
  std::function<bool()> look_;
  std::function<void(char)> key_;
  std::function<void()> resized_;
  Loop loop_;
  SignalWatch signals_;
  Timer timer_;
  Timer end_timer_;
  std::unique_ptr<FdWatch> keys_;
  bool over_ = false;
};

int show_live(Watched& watched, const Options& options,
              const std::string& note) {
  TopView view;
  view.color = variable("NO_COLOR").empty();
  const bool dumb = is_dumb();
  std::unique_ptr<Screen> screen;
  if (!dumb) screen = std::make_unique<Screen>();
  const auto draw = [&] {
    take_size(view);
    if (dumb) {
      view.rows = 0;
      view.color = false;
      put(top_text(watched.last(), view) + "\n");
      return;
    }
    view.note = "q quit  p by pod  r by rank" + note + silence(watched.last());
    Screen::draw(top_text(watched.last(), view));
  };
  Watch watch(watched, options.interval, [&] {
    draw();
    return true;
  });
  if (!dumb) {
    watch.on_resize(draw);
    if (::isatty(STDIN_FILENO) == 1)
      watch.read_keys([&](char key) {
        if (key == 'q' || key == 'Q' || key == '\x03') return watch.stop();
        if (key != 'p' && key != 'r') return;
        view.by_rank = key == 'r';
        draw();
      });
  }
  const bool over = watch.run();
  screen.reset();
  if (!over) return 0;
  view.note.clear();
  if (!dumb) put(top_text(watched.last(), view));
  return tell_end(watched);
}

int record(Watched& watched, const Options& options) {
  const UniqueFd file(::open(options.record.c_str(),
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    std::fprintf(stderr, "muster top: cannot write %s: %s\n",
                 options.record.c_str(), std::strerror(errno));
    return 1;
  }
  std::string problem;
  Watch watch(watched, options.interval, [&] {
    if (watched.gone()) return false;  // nothing is new in it
    const auto written = write_all(file.get(), to_json(watched.last()));
    if (!written) problem = written.error().text();
    return problem.empty();
  });
  const bool over = watch.run();
  if (!problem.empty()) {
    std::fprintf(stderr, "muster top: cannot write %s: %s\n",
                 options.record.c_str(), problem.c_str());
    return 1;
  }
  return over ? tell_end(watched) : 0;
}

int show_once(const JobStatus& status, const Options& options) {
  TopView view;
  view.columns = kPlainColumns;
  if (const auto columns = parse_integer(variable("COLUMNS"))) {
    if (*columns > 0) view.columns = static_cast<size_t>(*columns);
  }
  put(options.json ? to_json(status) : top_text(status, view));
  return 0;
}

}  // namespace

int top_main(const std::vector<std::string>& args) {
  const auto options = parse(args);
  if (!options) return 2;
  auto launches = running_launches();
  if (launches.empty()) {
    std::fprintf(stderr, "muster top: %s\n", no_launch_sentence().c_str());
    return 1;
  }
  const auto newest = std::max_element(
      launches.begin(), launches.end(), [](const auto& a, const auto& b) {
        return a.status.started_ns < b.status.started_ns;
      });
  const std::string note = launches.size() == 1
                               ? ""
                               : "  (the newest of " +
                                     std::to_string(launches.size()) +
                                     " launches here)";
  Watched watched(std::move(*newest));
  if (!options->record.empty()) return record(watched, *options);
  const bool live =
      !options->json && !options->text && ::isatty(STDOUT_FILENO) == 1;
  return live ? show_live(watched, *options, note)
              : show_once(watched.last(), *options);
}

}  // namespace muster
