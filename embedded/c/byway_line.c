/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* One end of Byway's line protocol: byway_line.h, and docs/wire-protocol.md for the sections that comments name. */
#include "byway_line_inner.h"

#include <string.h>

/* The check of a body: sealed from kind 0x40 on. */
static uint32_t check_of(const line_t *l, const uint8_t *body, size_t count) {
  return ~byway_crc(body[0] >= ACK ? l->seal : 0xFFFFFFFF, body, count);
}

/* Takes the session's name, for the seal and the sync word. */
static void set_seal(line_t *l) {
  uint8_t name[8];
  put32(put32(name, l->session), l->incarnation);
  l->seal = byway_crc(0xFFFFFFFF, name, 8);
}

/* ---- Timers (section 6) ---- */

static void arm(line_t *l, enum byway_line_timer timer, uint32_t time) {
  l->timers[timer] = time;
  l->armed |= (uint16_t)(1u << timer);
}

static void disarm(line_t *l, enum byway_line_timer timer) { l->armed &= (uint16_t)~(1u << timer); }

static int armed(const line_t *l, enum byway_line_timer timer) { return l->armed >> timer & 1; }

/* The time of so many bytes on a paced line, 0 on any other. */
static uint32_t bytes_time(const line_t *l, uint32_t count) { return (count * l->byte_time + 0xFFFF) >> 16; }

/* *wire* of section 6: when the line will have sent all that it was given. */
static uint32_t wire(const line_t *l, uint32_t now) { return due(l->wire_end, now) ? now : l->wire_end; }

/* Counts bytes that are given to the driver. */
static void occupy(line_t *l, uint32_t count, uint32_t now) {
  uint32_t part;
  if (due(l->wire_end, now)) {
    l->wire_end = now;
    l->wire_part = 0;
  }
  part = count * l->byte_time + l->wire_part;
  l->wire_end += part >> 16;
  l->wire_part = (uint16_t)part;
}

static int opening(const line_t *l) { return l->state == BYWAY_LINE_ASKING || l->state == BYWAY_LINE_OPENING; }

/* Sent units that are not acknowledged. */
static int unacknowledged(const line_t *l) { return l->send_first != l->send_sent; }

static void start_question(line_t *l, uint32_t now) {
  unsigned n = l->questions > 1 ? l->questions - 1u : 0;
  uint32_t both = ACK_DELAY + bytes_time(l, opening(l) ? 15 + 21 + 2 * 33 : 12 + 13);
  uint32_t limit = (opening(l) ? OPENING_LIMIT : QUESTION_LIMIT) + both;
  uint32_t wait = (l->trip + both) << (n > 5 ? 5 : n);
  if (wait > limit) wait = limit;
  if (l->byte_time) wait += LONG_FRAME;
  arm(l, BYWAY_LINE_T_QUESTION, wire(l, now) + wait);
}

/* Starts the timer over, or stops it if there is nothing to ask. */
static void restart_question(line_t *l, uint32_t now) {
  if (unacknowledged(l) || l->unanswered) {
    start_question(l, now);
  } else {
    disarm(l, BYWAY_LINE_T_QUESTION);
  }
}

/* A question is due: POLL, or OPEN until the session is confirmed. */
static void ask(line_t *l, uint32_t now) {
  l->owed |= opening(l) ? OWE_OPEN : OWE_POLL;
  disarm(l, BYWAY_LINE_T_QUESTION);
  if (!armed(l, BYWAY_LINE_T_PATIENCE)) {
    arm(l, BYWAY_LINE_T_PATIENCE, now + (opening(l) ? PATIENCE_OPENING : PATIENCE));
  }
}

/* ---- The session's beginning and end (section 3) ---- */

static void remember(line_t *l, uint8_t reason) {
  l->over[l->over_next] = l->session;
  l->over_reason[l->over_next] = reason;
  l->over_next = (l->over_next + 1) & 15;
  if (l->over_count < 16) l->over_count++;
}

/* Why a session was over, or UNKNOWN. */
static uint8_t reason_of(const line_t *l, uint32_t session) {
  unsigned i;
  for (i = 1; i <= l->over_count; i++) {
    unsigned k = (l->over_next - i) & 15;
    if (l->over[k] == session) return l->over_reason[k];
  }
  return BYWAY_LINE_UNKNOWN;
}

/* Owes a RESET. If more wait than there is room for, the first are sent (section 10). */
static void owe_reset(line_t *l, uint32_t session, uint8_t reason) {
  if (l->resets == 2) return;
  l->owed |= OWE_RESET;
  l->reset_session[l->resets] = session;
  l->reset_reason[l->resets++] = reason;
}

/* The session is over. told is what a later POLL of it gets as reason. */
static void end(line_t *l, uint8_t reason, uint8_t told) {
  remember(l, told);
  l->state = BYWAY_LINE_NONE;
  l->reason = reason;
  l->owed &= OWE_RESET | OWE_HELLO | OWE_HELLO_COPY;
  l->armed &= 1u << BYWAY_LINE_T_PARTIAL;
  l->questions = l->unanswered = 0;
  l->send_first = l->send_sent = l->send_end;
  if (l->role == BYWAY_LINE_DIAL && (reason == BYWAY_LINE_SILENCE || reason == BYWAY_LINE_GONE)) l->incarnation = 0;
}

/* The session is over, and the peer is told. */
static void end_with_reset(line_t *l, uint8_t reason) {
  owe_reset(l, l->session, reason);
  end(l, reason, reason);
}

/* The first round trip that is assumed (section 6, r). */
static void assume_trip(line_t *l) {
  uint32_t longest = 60 + bytes_time(l, BYWAY_LINE_RUN + 1);
  l->smoothed = 0;
  l->trip = (uint16_t)(l->byte_time && longest < 300 ? longest : 300);
}

/* Everything but the name of a new session. */
static void begin(line_t *l, uint32_t session, uint32_t now) {
  l->session = session;
  l->sessions++;
  l->questions = l->unanswered = l->held = l->leaving = 0;
  memset(l->polls, 0, sizeof l->polls);
  l->send_first = l->send_sent = l->send_end = 0;
  l->send_edge = FIRST_WINDOW;
  l->first_window = 1;
  l->finishing = l->last_added = l->streak = 0;
  l->payload = 64;
  l->take_read = l->take_next = l->take_high = 0;
  l->take_edge = BYWAY_LINE_RECEIVE_UNITS;
  l->take_offset = l->take_last = l->take_told = l->take_frames = 0;
  memset(l->take_length, 0, sizeof l->take_length);
  assume_trip(l);
#if BYWAY_LINE_CORRECTION
  l->noise_bytes = 256;
  l->noise_wrong = l->noise_clean = 0;
  l->noise_told = l->noise_acks = l->noise_failed = l->noise_fixed = 0;
  l->peer_noise = l->peer_told = 0;
  l->trial = l->byte_time ? 6 : 0;
  l->heard_time = now;
#else
  (void)now;
#endif
}

/* Takes the limits that a peer announces in HELLO and OPEN. */
static void take_limits(line_t *l, unsigned payload, const uint8_t *correction, const uint8_t *limit) {
  l->peer_payload = (uint16_t)(payload < 64 ? 64 : payload);
  l->peer_correction = correction < limit ? (*correction > 12 ? 12 : *correction) : 0;
}

#if BYWAY_LINE_STREAMS
/* Takes the streams that a peer announces: a dialer in OPEN, a listener in HELLO (section 13). */
static void take_streams(line_t *l, const uint8_t *fields, const uint8_t *limit) {
  l->streams = l->peer_credit = 0;
  if (fields + 1 >= limit || fields[0] == 0) return;
  l->streams = fields[0] < BYWAY_LINE_STREAMS ? fields[0] : BYWAY_LINE_STREAMS;
  l->peer_credit = fields[1] ? fields[1] : 1;
}
#endif

/* ---- Acknowledging (section 4) ---- */

static int take_done(const line_t *l) { return l->take_last && l->take_next == l->take_end; }

static int send_done(const line_t *l) { return l->last_added && l->send_first == l->send_end; }

static void owe_ack(line_t *l) {
  l->owed |= OWE_ACK;
  disarm(l, BYWAY_LINE_T_ACK);
}

static void owe_ack_soon(line_t *l, uint32_t now) {
  if (!(l->owed & OWE_ACK) && !armed(l, BYWAY_LINE_T_ACK)) arm(l, BYWAY_LINE_T_ACK, now + ACK_DELAY);
}

static uint16_t room_edge(const line_t *l) { return (uint16_t)(l->take_read + BYWAY_LINE_RECEIVE_UNITS); }

/* Whether a new window must be offered. */
static int window_owed(const line_t *l) {
  int left = ahead(l->take_edge, l->take_next);
  int more = ahead(room_edge(l), l->take_edge);
  return !l->take_last && left < BYWAY_LINE_RECEIVE_UNITS / 2 && more >= BYWAY_LINE_RECEIVE_UNITS / 4;
}

static unsigned run_size(unsigned run) { return run < 128 ? 1 : 2; }

static uint8_t *put_run(uint8_t *b, unsigned run) {
  if (run >= 128) *b++ = (uint8_t)(0x80 | run >> 8);
  *b++ = (uint8_t)run;
  return b;
}

/* The run of units from number on that have arrived, or that have not. */
static unsigned run_at(const line_t *l, uint16_t number, int arrived) {
  unsigned n = 0;
  while (number != l->take_high && (l->take_length[number & TAKE_MASK] & ARRIVED ? 1 : 0) == arrived) {
    n++;
    number++;
  }
  return n;
}

/* next, window and runs of ACK and ANSWER, with a new offer. */
static uint8_t *put_acknowledgement(line_t *l, uint8_t *b) {
  const uint8_t *limit;
  uint16_t at = l->take_next;
  l->take_edge = room_edge(l);
  b = put16(put16(b, at), (uint16_t)(l->take_edge - at));
  limit = b + MOST_RUNS;
  while (at != l->take_high) {
    unsigned missing = run_at(l, at, 0);
    unsigned arrived = run_at(l, (uint16_t)(at + missing), 1);
    unsigned after = run_at(l, (uint16_t)(at + missing + arrived), 0);
    b = put_run(b, missing);
    if (b + run_size(arrived) + (after ? run_size(after) : 0) > limit) break;
    b = put_run(b, arrived);
    at = (uint16_t)(at + missing + arrived);
  }
  return b;
}

/* The session is over if both directions are. */
static void end_if_done(line_t *l) {
  if (l->take_told && send_done(l)) end(l, BYWAY_LINE_FINISHED, BYWAY_LINE_FINISHED);
}

/* An acknowledgement is handed to the driver. */
static void acknowledged(line_t *l) {
  l->owed &= (uint8_t)~OWE_ACK;
  disarm(l, BYWAY_LINE_T_ACK);
  l->take_frames = 0;
  l->take_told = (uint8_t)take_done(l);
  end_if_done(l);
}

/* ---- Receiving DATA (sections 4 and 10) ---- */

/* Whether DATA from number to stop is within the window and the end. */
static int acceptable(const line_t *l, uint16_t number, uint16_t stop, int last) {
  if (ahead(stop, l->take_edge) > 0 || ahead(number, l->take_next) < -LARGEST_WINDOW) return 0;
  if (l->take_last) return last ? stop == l->take_end : ahead(stop, l->take_end) <= 0;
  return !last || ahead(stop, l->take_high) >= 0;
}

/* Keeps the units that are not here yet, and returns how many. */
static int keep(line_t *l, uint16_t number, const uint8_t *payload, size_t count) {
  int kept = 0;
  do {
    uint8_t length = (uint8_t)(count < 16 ? count : 16);
    uint8_t *slot = &l->take_length[number & TAKE_MASK];
    if (ahead(number, l->take_next) >= 0 && !(*slot & ARRIVED)) {
      memcpy(l->take_data[number & TAKE_MASK], payload, length);
      *slot = ARRIVED | length;
      kept++;
    }
    number++;
    payload += length;
    count -= length;
  } while (count);
  return kept;
}

/* Moves take_next over what has arrived. */
static void deliver(line_t *l) {
  while (l->take_next != l->take_high && l->take_length[l->take_next & TAKE_MASK] & ARRIVED) l->take_next++;
}

static void take_data(line_t *l, uint16_t number, const uint8_t *payload, size_t count, int last, uint32_t now) {
  uint16_t stop = (uint16_t)(number + (count ? (count + 15) / 16 : 1));
  int gap;
  if (!l->take_last) arm(l, BYWAY_LINE_T_SILENCE, now + SILENT_TRANSFER);
  owe_ack_soon(l, now);
  if ((count == 0 && !last) || !acceptable(l, number, stop, last)) return;
  gap = ahead(number, l->take_high) > 0;
  if (ahead(stop, l->take_high) > 0) l->take_high = stop;
  if (keep(l, number, payload, count) == 0) return;
  if (last) {
    l->take_last = 1;
    l->take_end = stop;
  }
  deliver(l);
  if (gap || last || ++l->take_frames >= 2 || window_owed(l)) owe_ack(l);
  if (take_done(l)) disarm(l, BYWAY_LINE_T_SILENCE);
}

/* Frees units that are read, and empty ones; all if the owner wants nothing more. */
static void advance_read(line_t *l) {
  while (l->take_read != l->take_next) {
    uint8_t *slot = &l->take_length[l->take_read & TAKE_MASK];
    if (!l->leaving && l->take_offset < (*slot & LENGTH)) break;
    *slot = 0;
    l->take_read++;
    l->take_offset = 0;
  }
}

size_t byway_line_read(struct byway_line *l, void *bytes, size_t room) {
  size_t copied = 0;
  advance_read(l);
  while (copied < room && l->take_read != l->take_next) {
    unsigned slot = l->take_read & TAKE_MASK;
    size_t count = (size_t)((l->take_length[slot] & LENGTH) - l->take_offset);
    if (count > room - copied) count = room - copied;
    memcpy((uint8_t *)bytes + copied, l->take_data[slot] + l->take_offset, count);
    l->take_offset = (uint8_t)(l->take_offset + count);
    copied += count;
    advance_read(l);
  }
  if (confirmed(l) && window_owed(l)) owe_ack(l);
  return copied;
}

int byway_line_ended(const struct byway_line *l) { return take_done(l) && l->take_read == l->take_next; }

/* ---- Sending DATA (section 5) ---- */

/* The last unit that was written, if it was never sent; otherwise a new one if there is room; otherwise NULL. */
static uint8_t *last_unit(line_t *l) {
  if (l->send_end == l->send_sent || (l->send_length[(l->send_end - 1) & SEND_MASK] & LENGTH) == 16) {
    if ((uint16_t)(l->send_end - l->send_first) == BYWAY_LINE_SEND_UNITS) return NULL;
    l->send_length[l->send_end++ & SEND_MASK] = 0;
  }
  return &l->send_length[(l->send_end - 1) & SEND_MASK];
}

size_t byway_line_write(struct byway_line *l, const void *bytes, size_t count) {
  size_t written = 0;
  if (l->state == BYWAY_LINE_NONE || l->finishing) return 0;
  while (written < count) {
    uint8_t *length = last_unit(l);
    size_t part;
    if (!length) break;
    part = (size_t)(16 - *length);
    if (part > count - written) part = count - written;
    memcpy(l->send_data[(l->send_end - 1) & SEND_MASK] + *length, (const uint8_t *)bytes + written, part);
    *length = (uint8_t)(*length + part);
    written += part;
  }
  return written;
}

size_t byway_line_room(const struct byway_line *l) {
  size_t units = (size_t)(BYWAY_LINE_SEND_UNITS - (uint16_t)(l->send_end - l->send_first));
  size_t rest = l->send_end == l->send_sent ? 0 : 16u - (l->send_length[(l->send_end - 1) & SEND_MASK] & LENGTH);
  return l->state == BYWAY_LINE_NONE || l->finishing ? 0 : 16 * units + rest;
}

/* Marks the last unit, which is an empty one if all were sent. */
static void add_last(line_t *l) {
  if (!l->finishing || l->last_added) return;
  if (l->send_end == l->send_sent) {
    if ((uint16_t)(l->send_end - l->send_first) == BYWAY_LINE_SEND_UNITS) return;
    l->send_length[l->send_end++ & SEND_MASK] = 0;
  }
  l->last_added = 1;
}

void byway_line_finish(struct byway_line *l) {
  if (l->state == BYWAY_LINE_NONE) return;
  l->finishing = 1;
  add_last(l);
}

void byway_line_leave(struct byway_line *l, uint32_t now) {
  if (l->state == BYWAY_LINE_NONE || l->leaving) return;
  l->leaving = 1;
  byway_line_finish(l);
  arm(l, BYWAY_LINE_T_CLOSING, now + CLOSING);
}

void byway_line_abort(struct byway_line *l) {
  if (l->state != BYWAY_LINE_NONE) end_with_reset(l, BYWAY_LINE_ABORTED);
}

/* Units from send_first on that the window allows to send. */
static uint16_t sendable(const line_t *l) {
  int window = ahead(l->send_edge, l->send_first);
  uint16_t written = (uint16_t)(l->send_end - l->send_first);
  return window <= 0 ? 0 : window < written ? (uint16_t)window : written;
}

/* How far behind send_first the first unit to send is; -1 if there is none. */
static int first_to_send(const line_t *l) {
  uint16_t count = sendable(l), i;
  for (i = 0; i < count; i++) {
    if (!(l->send_length[(l->send_first + i) & SEND_MASK] & (ON_THE_WAY | ACKNOWLEDGED))) return i;
  }
  return -1;
}

static int may_send(const line_t *l) {
  return l->state >= BYWAY_LINE_OPENING && l->questions < HOLD && !l->held && !l->gone;
}

/* Puts units from first on as a payload, and marks them as sent. Sets the number behind them. */
static uint8_t *put_units(line_t *l, uint8_t *b, uint16_t first, unsigned room, uint16_t *stop) {
  uint16_t at = first, limit = (uint16_t)(l->send_first + sendable(l));
  unsigned length;
  do {
    uint8_t *slot = &l->send_length[at & SEND_MASK];
    length = *slot & LENGTH;
    if (length > room) break;
    memcpy(b, l->send_data[at & SEND_MASK], length);
    b += length;
    room -= length;
    *slot |= ON_THE_WAY;
    l->send_order[at & SEND_MASK] = l->order;
    at++;
  } while (length == 16 && at != limit && !(l->send_length[at & SEND_MASK] & (ON_THE_WAY | ACKNOWLEDGED)));
  l->order++;
  if (ahead(at, l->send_sent) > 0) l->send_sent = at;
  *stop = at;
  return b;
}

/* Whether an acknowledgement can go on DATA (section 4). */
static int ack_fits_data(const line_t *l) {
  return (l->owed & OWE_ACK || armed(l, BYWAY_LINE_T_ACK)) && confirmed(l) && l->take_high == l->take_next && !l->take_last &&
         !window_owed(l);
}

/* The window that was assumed was larger than that of the first acknowledgement: what is beyond it was not taken (section 3). */
static void reopen_beyond(line_t *l) {
  uint16_t at;
  for (at = l->send_first; at != l->send_sent; at++) {
    if (ahead(at, l->send_edge) >= 0) l->send_length[at & SEND_MASK] &= (uint8_t)~ON_THE_WAY;
  }
}

/* Larger frames after frames without a loss, smaller ones after a loss. */
static void adapt(line_t *l, int losses) {
  if (losses) {
    l->streak = 0;
    l->payload = l->payload < 128 ? 64 : l->payload / 32 * 16;
  } else if (++l->streak >= 16) {
    l->streak = 0;
    if (l->payload + 16 <= BYWAY_LINE_PAYLOAD) l->payload += 16;
  }
}

/* Marks count units as acknowledged. Raises *latest to their transmissions, and returns whether one is new. */
static int mark(line_t *l, uint16_t at, unsigned count, uint16_t *latest, int *known) {
  int news = 0;
  for (; count; count--, at++) {
    uint8_t *slot = &l->send_length[at & SEND_MASK];
    uint16_t order = l->send_order[at & SEND_MASK];
    if (*slot & ACKNOWLEDGED) continue;
    *slot |= ACKNOWLEDGED;
    if (!*known || ahead(order, *latest) > 0) *latest = order;
    *known = 1;
    news = 1;
  }
  return news;
}

/* Finds the units that are lost: sent before the latest transmission that arrived, and not arrived (section 5). */
static void find_losses(line_t *l, uint16_t stop, uint16_t latest) {
  uint16_t at;
  int losses = 0;
  for (at = l->send_first; at != stop; at++) {
    uint8_t *slot = &l->send_length[at & SEND_MASK];
    if ((*slot & (ON_THE_WAY | ACKNOWLEDGED)) != ON_THE_WAY) continue;
    if (ahead(latest, l->send_order[at & SEND_MASK]) <= 0) continue;
    *slot &= (uint8_t)~ON_THE_WAY;
    losses = 1;
  }
  adapt(l, losses);
}

static unsigned get_run(const uint8_t **runs) {
  unsigned run = *(*runs)++;
  if (run & 0x80) run = (run & 0x7F) << 8 | *(*runs)++;
  return run;
}

/* The units of a list of runs, -1 if it is malformed. */
static int32_t runs_length(const uint8_t *runs, const uint8_t *limit) {
  int32_t length = 0;
  if (limit - runs > MOST_RUNS) return -1;
  while (runs < limit) {
    unsigned run;
    if (*runs & 0x80 && limit - runs < 2) return -1;
    run = get_run(&runs);
    if (run == 0) return -1;
    length += (int32_t)run;
  }
  return length;
}

/* New units are acknowledged: timers start over (section 6). */
static void progress(line_t *l, uint32_t now) {
  restart_question(l, now);
  if (armed(l, BYWAY_LINE_T_CLOSING)) arm(l, BYWAY_LINE_T_CLOSING, now + CLOSING);
}

/* The window that an ACK offers. */
static void take_window(line_t *l, uint16_t next, unsigned window) {
  uint16_t edge = (uint16_t)(next + (window > LARGEST_WINDOW ? LARGEST_WINDOW : window));
  if (l->first_window) {
    l->send_edge = edge;
    l->first_window = 0;
    reopen_beyond(l);
  } else if (ahead(edge, l->send_edge) > 0) {
    l->send_edge = edge;
  }
}

/*
 * Takes an acknowledgement. window is -1 on DATA. poll is the answered POLL or NULL. The runs are well-formed.
 * Returns 0 if it acknowledges what was never sent: the session is over then (section 10).
 */
static int take_ack(line_t *l, uint16_t next, int32_t window, const uint8_t *runs, const uint8_t *limit,
                    const struct byway_line_poll *poll, uint32_t now) {
  uint16_t sent = (uint16_t)(l->send_sent - l->send_first), at = next, latest = poll ? poll->order : 0, stop;
  int known = poll != NULL, news, arrived = 0;
  if (ahead(next, l->send_first) < 0) return 1;
  if ((uint16_t)(next - l->send_first) + runs_length(runs, limit) > sent) {
    end_with_reset(l, BYWAY_LINE_ABORTED);
    return 0;
  }
  news = mark(l, l->send_first, (uint16_t)(next - l->send_first), &latest, &known);
  stop = l->send_sent;
  while (runs < limit) {
    unsigned run = get_run(&runs);
    if (arrived) news |= mark(l, at, run, &latest, &known);
    at = (uint16_t)(at + run);
    arrived = !arrived;
    stop = arrived ? at : l->send_sent;
  }
  l->send_first = next;
  if (known) find_losses(l, stop, latest);
  if (window >= 0) take_window(l, next, (unsigned)window);
  if (ahead(next, l->send_edge) > 0) l->send_edge = next;
  add_last(l);
  if (news) progress(l, now);
  end_if_done(l);
  return 1;
}

/* ---- Round trip (section 6, r) ---- */

static void take_sample(line_t *l, const struct byway_line_poll *poll, uint8_t delay, uint32_t now) {
  int32_t sample = (int32_t)(now - poll->sent - bytes_time(l, 13) - delay / 2), difference;
  if (delay == 255) return;
  if (sample < 0) sample = 0;
  if (sample > 2000) sample = 2000;
  if (l->smoothed == 0) {
    l->smoothed = (uint16_t)(sample * 8 + 1);
    l->variation = (uint16_t)(sample * 2);
  } else {
    difference = sample - l->smoothed / 8;
    l->smoothed = (uint16_t)(l->smoothed + difference);
    if (difference < 0) difference = -difference;
    l->variation = (uint16_t)(l->variation + difference - l->variation / 4);
  }
  l->trip = (uint16_t)(l->smoothed / 8 + (l->variation > 10 ? l->variation : 10));
}

/* The awaited POLL with this token, or NULL. */
static struct byway_line_poll *find_poll(line_t *l, uint8_t token) {
  struct byway_line_poll *poll = &l->polls[token & 3];
  return poll->waiting && poll->token == token ? poll : NULL;
}

/* ---- Received frames (section 8) ---- */

/* Something of the session was received. */
static void heard(line_t *l, uint8_t kind, uint32_t now) {
  l->state = BYWAY_LINE_OPEN;
  l->questions = l->unanswered = l->held = 0;
  disarm(l, BYWAY_LINE_T_PATIENCE);
  if (!l->leaving) disarm(l, BYWAY_LINE_T_CLOSING);
  if (!unacknowledged(l)) disarm(l, BYWAY_LINE_T_QUESTION);
  arm(l, BYWAY_LINE_T_KEEPALIVE, now + (l->role == BYWAY_LINE_DIAL ? KEEPALIVE_DIAL : KEEPALIVE_LISTEN));
  if (kind == POLL || kind == ANSWER) {
    disarm(l, BYWAY_LINE_T_SILENCE);
  } else if (armed(l, BYWAY_LINE_T_SILENCE)) {
    arm(l, BYWAY_LINE_T_SILENCE, now + SILENT_TRANSFER);
  }
#if BYWAY_LINE_CORRECTION
  l->heard_time = now;
#endif
}

static void take_hello(line_t *l, const uint8_t *b, const uint8_t *limit) {
  uint32_t incarnation;
  if (l->role == BYWAY_LINE_LISTEN) return;
  if (b[1] != PROTOCOL) {
    if (l->state != BYWAY_LINE_NONE) {
      end(l, BYWAY_LINE_VERSION, BYWAY_LINE_ABORTED);
      l->incarnation = 0;
    }
    return;
  }
  incarnation = get32(b + 2);
  if (incarnation == 0 || (l->state >= BYWAY_LINE_OPENING && incarnation == l->incarnation)) return;
  if (l->state >= BYWAY_LINE_OPENING) end(l, BYWAY_LINE_RESTARTED, BYWAY_LINE_ABORTED);
  l->incarnation = incarnation;
  take_limits(l, get16(b + 6), b + 8, limit);
#if BYWAY_LINE_STREAMS
  take_streams(l, b + 9, limit);
#endif
  if (l->state == BYWAY_LINE_ASKING) {
    l->state = BYWAY_LINE_OPENING;
    set_seal(l);
    l->owed |= OWE_OPEN;
  }
}

/* An OPEN at a listener begins a session (section 3, rule 5). */
static void accept(line_t *l, const uint8_t *b, const uint8_t *limit, uint32_t now) {
  unsigned window = get16(b + 12);
  if (l->state != BYWAY_LINE_NONE) end(l, BYWAY_LINE_REPLACED, BYWAY_LINE_ABORTED);
  begin(l, get32(b + 2), now);
  set_seal(l);
  take_limits(l, get16(b + 10), b + 14, limit);
#if BYWAY_LINE_STREAMS
  take_streams(l, b + 15, limit);
#endif
  l->send_edge = (uint16_t)(window > LARGEST_WINDOW ? LARGEST_WINDOW : window);
  l->first_window = 0;
  heard(l, OPEN, now);
  owe_ack(l);
}

static void take_open(line_t *l, const uint8_t *b, const uint8_t *limit, uint32_t now) {
  uint32_t session = get32(b + 2);
  uint8_t reason = reason_of(l, session);
  if (l->role == BYWAY_LINE_DIAL) {
    if (opening(l)) end(l, BYWAY_LINE_BOTH_DIAL, BYWAY_LINE_BOTH_DIAL);
    owe_reset(l, session, BYWAY_LINE_BOTH_DIAL);
  } else if (b[1] != PROTOCOL) {
    owe_reset(l, session, BYWAY_LINE_VERSION);
  } else if (get32(b + 6) != l->incarnation) {
    l->owed |= OWE_HELLO | OWE_HELLO_COPY;
    take_limits(l, get16(b + 10), b + 14, limit);
  } else if (confirmed(l) && session == l->session) {
    heard(l, OPEN, now);
    owe_ack(l);
  } else if (reason != BYWAY_LINE_UNKNOWN) {
    owe_reset(l, session, reason);
  } else {
    accept(l, b, limit, now);
  }
}

static void take_reset(line_t *l, const uint8_t *b) {
  uint8_t reason = b[5] > BYWAY_LINE_BOTH_DIAL ? BYWAY_LINE_ABORTED : b[5];
  if (l->state == BYWAY_LINE_NONE || get32(b + 1) != l->session) return;
  if (reason == BYWAY_LINE_UNKNOWN && opening(l)) {
    l->owed |= OWE_OPEN;
    return;
  }
  if (reason == BYWAY_LINE_FINISHED && !(take_done(l) && l->last_added && l->send_sent == l->send_end)) {
    reason = BYWAY_LINE_ABORTED;
  }
  end(l, reason, reason == BYWAY_LINE_FINISHED ? BYWAY_LINE_FINISHED : BYWAY_LINE_ABORTED);
}

static void take_poll(line_t *l, const uint8_t *b, uint32_t now) {
  uint32_t session = get32(b + 1);
  if (l->state == BYWAY_LINE_NONE || session != l->session) {
    owe_reset(l, session, reason_of(l, session));
  } else if (l->state >= BYWAY_LINE_OPENING) {
    heard(l, POLL, now);
    l->owed |= OWE_ANSWER;
    l->poll_token = b[5];
    l->poll_time = now;
  }
}

static void take_answer(line_t *l, const uint8_t *b, const uint8_t *limit, uint32_t now) {
  struct byway_line_poll *poll = find_poll(l, b[1]);
  if (poll) {
    take_sample(l, poll, b[2], now);
    poll->waiting = 0;
  }
  if (take_ack(l, get16(b + 3), get16(b + 5), b + 7, limit, poll, now) && confirmed(l)) restart_question(l, now);
}

/* The fields of each kind, with the kind; 0 for unknown kinds. */
static unsigned least_length(uint8_t kind) {
  static const uint8_t plain[] = {0, 8, 14, 6, 6};
  if (kind < sizeof plain) return plain[kind];
  if (kind >= DATA && kind <= (DATA_ACK | LAST)) return kind & 1 ? 5 : 3;
  return kind == ACK ? 5 : kind == ANSWER ? 7 : kind == NOISE ? 2 : 0;
}

static void take_sealed(line_t *l, const uint8_t *b, const uint8_t *limit, uint32_t now) {
  uint8_t kind = b[0];
  uint16_t number = kind >= DATA ? get16(b + 1) : 0;
  if ((kind == ACK && runs_length(b + 5, limit) < 0) || (kind == ANSWER && runs_length(b + 7, limit) < 0)) return;
  heard(l, kind, now);
  if (kind == ACK) {
    take_ack(l, get16(b + 1), get16(b + 3), b + 5, limit, NULL, now);
  } else if (kind == ANSWER) {
    take_answer(l, b, limit, now);
  } else if (kind >= DATA) {
    if (kind & 1 && !take_ack(l, get16(b + 3), -1, limit, limit, NULL, now)) return;
    b += kind & 1 ? 5 : 3;
    take_data(l, number, b, (size_t)(limit - b), kind & LAST, now);
  }
#if BYWAY_LINE_CORRECTION
  else {
    l->peer_noise = b[1];
    l->peer_told = 1;
  }
#endif
}

/*
 * Takes what may be body and check. strength is PLAIN, or that with which it came; copy is 1 for copies of HELLO and OPEN.
 * Returns 0 if it is not a frame.
 */
static int take_frame(line_t *l, const uint8_t *b, size_t count, int strength, int copy, uint32_t now) {
  const uint8_t *limit;
  uint32_t check;
  if (count < 5) return 0;
  limit = b + count - 4;
  if (b[0] >= ACK && l->state < BYWAY_LINE_OPENING) return 0;
  check = get32(limit);
  if (check_of(l, b, count - 4) != check) return 0;
  if (copy && check == l->last_check) return 1;
  l->last_check = copy || strength == PLAIN ? check : 0;
  if (least_length(b[0]) == 0 || least_length(b[0]) > count - 4) return 1;
  if (strength != PLAIN && copy != (b[0] == HELLO || b[0] == OPEN)) return 1;
  if (b[0] >= ACK) {
    take_sealed(l, b, limit, now);
  } else if (b[0] == HELLO) {
    take_hello(l, b, limit);
  } else if (b[0] == OPEN) {
    take_open(l, b, limit, now);
  } else if (b[0] == POLL) {
    take_poll(l, b, now);
  } else if (strength == PLAIN) {
    take_reset(l, b);
  }
  return 1;
}

#if BYWAY_LINE_CORRECTION

/* ---- Frames with correction, received (section 7) ---- */

static unsigned wrong_bits(uint32_t a) {
  unsigned count = 0;
  for (; a; a &= a - 1) count++;
  return count;
}

/* Copies are looked for while the peer may send one. */
static int awaits_copy(const line_t *l, uint32_t now) {
  if (BYWAY_LINE_CORRECTION < 4) return 0;
  if (l->role == BYWAY_LINE_DIAL) return opening(l);
  return l->state == BYWAY_LINE_NONE || l->after_open || now - l->heard_time >= 1000;
}

/* Whether a frame with correction begins with the last nine bytes; then it is awaited. */
static int find_frame(line_t *l, uint32_t now) {
  uint8_t header[6];
  struct change changes[2];
  struct word w;
  uint32_t sync = (uint32_t)get16(l->head) << 8 | l->head[2];
  int copy, wrong;
  unsigned strength, length;
  if (l->head_length < sizeof l->head) return 0;
  copy = awaits_copy(l, now) && wrong_bits(sync ^ 0x8C28B2) <= 2;
  if (!copy && (l->state < BYWAY_LINE_OPENING || wrong_bits(sync ^ (~l->seal >> 8)) > 2)) return 0;
  memcpy(header, l->head + 3, 6);
  w = byway_word_at(header, 2, 1, 0, 2);
  wrong = byway_correct(&w, changes);
  strength = header[0] >> 4;
  length = get16(header) & 0xFFF;
  if (wrong < 0 || length < 5 || length > (copy ? 32 : BYWAY_LINE_BODY)) return 0;
  if (copy ? strength != COPY : strength >= BYWAY_LINE_CORRECTION) return 0;
  l->frame_strength = (uint8_t)strength;
  l->frame_copy = (uint8_t)copy;
  l->frame_body = (uint16_t)length;
  l->frame_need = (uint16_t)(length + 2 * byway_wrong_of[strength] * byway_words_for(length, byway_wrong_of[strength]));
  l->frame_length = 0;
  arm(l, BYWAY_LINE_T_PARTIAL, now + PARTIAL);
  byway_age_run(l, 1);
  byway_count_noise(l, 9, (unsigned)wrong);
  return 1;
}

static void take_byte(line_t *l, uint8_t byte, int find, uint32_t now);

/* Reads the bytes of what is not a frame with correction once more. In the last 16 of them another may begin. */
static void read_again(line_t *l, uint32_t now) {
  unsigned count = l->frame_length, i;
  l->frame_need = 0;
  disarm(l, BYWAY_LINE_T_PARTIAL);
  l->head_length = (uint8_t)(count >= 16 ? 0 : count > 8 ? 16 - count : 8);
  for (i = 0; i < count; i++) take_byte(l, l->frame[i], count - i <= 16, now);
}

/* Corrects the frame. Returns how many bytes were wrong, or -1; then it is as it came. */
static int correct_frame(line_t *l, struct change *changes) {
  unsigned wrong = byway_wrong_of[l->frame_strength], words = byway_words_for(l->frame_body, wrong), i, count = 0;
  for (i = 0; i < words; i++) {
    struct word w = byway_word_at(l->frame, l->frame_body, words, i, wrong);
    int fixed = byway_correct(&w, changes + count);
    if (fixed < 0) {
      while (count--) *changes[count].byte ^= changes[count].value;
      byway_count_noise(l, l->frame_need, wrong + 1);
      return -1;
    }
    count += (unsigned)fixed;
  }
  return (int)count;
}

/* The frame has all its bytes. Returns 0 if they are none. */
static int complete_frame(line_t *l, uint32_t now) {
  struct change changes[BYWAY_LINE_MOST_WRONG * BYWAY_LINE_WORDS];
  int fixed = correct_frame(l, changes), i;
  unsigned length = l->frame_need, copy = l->frame_copy;
  if (fixed >= 0) {
    l->frame_need = 0;
    if (take_frame(l, l->frame, l->frame_body, l->frame_strength, (int)copy, now)) {
      disarm(l, BYWAY_LINE_T_PARTIAL);
      l->run_length = 0;
      l->head_length = 0;
      l->after_open = 0;
      byway_count_frame(l, fixed);
      byway_count_noise(l, length, (unsigned)fixed);
      return 1;
    }
    for (i = 0; i < fixed; i++) *changes[i].byte ^= changes[i].value;
  }
  if (!copy) byway_count_frame(l, -1);
  return 0;
}

/* One byte of a frame with correction, if there is one, or of its head. Returns 1 if it is not part of a run. */
static int take_frame_byte(line_t *l, uint8_t byte, uint32_t now) {
  if (!l->frame_need) {
    memmove(l->head, l->head + 1, sizeof l->head - 1);
    l->head[sizeof l->head - 1] = byte;
    if (l->head_length < sizeof l->head) l->head_length++;
    byway_age_run(l, 0);
    return 0;
  }
  l->frame[l->frame_length++] = byte;
  if (l->frame_length == l->frame_need) {
    /* Not within complete_frame, which needs much of the stack. */
    if (!complete_frame(l, now)) read_again(l, now);
  } else {
    arm(l, BYWAY_LINE_T_PARTIAL, now + PARTIAL);
  }
  return 1;
}

#endif

/* ---- Receiving bytes (section 1) ---- */

/* A zero ends a run, which may be a frame. */
static void end_run(line_t *l, uint32_t now) {
  unsigned length = l->run_length;
  int count = length <= BYWAY_LINE_RUN ? byway_cobs_decode(l->run, length) : -1;
  int taken;
  l->run_length = 0;
  if (length == 0) return;
  taken = count >= 0 && take_frame(l, l->run, (size_t)count, PLAIN, 0, now);
#if BYWAY_LINE_CORRECTION
  l->after_open = taken && l->run[0] == OPEN;
  byway_count_noise(l, length + 1, 0);
  if (!taken && l->bad_run == 0) l->bad_run = 1;
#else
  (void)taken;
#endif
}

static void take_byte(line_t *l, uint8_t byte, int find, uint32_t now) {
#if BYWAY_LINE_CORRECTION
  if (take_frame_byte(l, byte, now)) return;
#endif
  if (byte == 0) {
    end_run(l, now);
  } else if (l->run_length <= BYWAY_LINE_RUN) {
    if (l->run_length < BYWAY_LINE_RUN) l->run[l->run_length] = byte;
    l->run_length++;
  }
#if BYWAY_LINE_CORRECTION
  if (find) find_frame(l, now);
#else
  (void)find;
#endif
}

void byway_line_receive(struct byway_line *l, const uint8_t *bytes, size_t count, uint32_t now) {
  byway_line_run(l, now);
  while (count--) take_byte(l, *bytes++, 1, now);
}

/* ---- Frames to send ---- */

/* Adds the check and COBS to the body, and the zeros. Returns the length, from *start on. */
static unsigned wrap(line_t *l, unsigned count, const uint8_t **start, uint32_t now) {
  uint8_t *body = l->out + BYWAY_LINE_LEAD, *to;
  unsigned length;
  put32(body + count, check_of(l, body, count));
  count += 4;
  to = body - 1 - count / 254;
  length = byway_cobs_encode(to, body, count);
  to[length++] = 0;
  if (l->fresh || now - l->wire_end >= QUIET) {
    *--to = 0;
    length++;
  }
  l->fresh = 0;
  *start = to;
  return length;
}

#if BYWAY_LINE_CORRECTION
/* Adds the check, sync word, header and parity to the body. */
static unsigned wrap_corrected(line_t *l, unsigned count, unsigned strength, int copy, const uint8_t **start) {
  uint8_t *body = l->out + BYWAY_LINE_LEAD, *head = body - 9;
  uint32_t sync = copy ? 0x8C28B2 : ~l->seal >> 8;
  unsigned words, i, wrong = byway_wrong_of[strength];
  struct word w;
  put32(body + count, check_of(l, body, count));
  count += 4;
  words = byway_words_for(count, wrong);
  for (i = 0; i < words; i++) {
    w = byway_word_at(body, count, words, i, wrong);
    byway_add_parity(&w);
  }
  put16(head + 1, sync & 0xFFFF);
  head[0] = (uint8_t)(sync >> 16);
  put16(head + 3, strength << 12 | count);
  w = byway_word_at(head + 3, 2, 1, 0, 2);
  byway_add_parity(&w);
  l->fresh = 1;
  *start = head;
  return 9 + count + 2 * wrong * words;
}
#endif

/* The body of HELLO or OPEN. */
static uint8_t *put_opening(const line_t *l, uint8_t *b, uint8_t kind) {
  *b++ = kind;
  *b++ = PROTOCOL;
  if (kind == OPEN) b = put32(b, l->session);
  b = put32(b, l->state == BYWAY_LINE_ASKING ? 0 : l->incarnation);
  b = put16(b, BYWAY_LINE_PAYLOAD);
  if (kind == OPEN) b = put16(b, BYWAY_LINE_RECEIVE_UNITS);
#if BYWAY_LINE_CORRECTION || BYWAY_LINE_STREAMS
  *b++ = BYWAY_LINE_CORRECTION;
#endif
#if BYWAY_LINE_STREAMS
  if (kind == HELLO || (l->streams && l->state != BYWAY_LINE_ASKING)) {
    *b++ = BYWAY_LINE_STREAMS;
    *b++ = kind == HELLO ? BYWAY_LINE_CREDIT : BYWAY_LINE_DIAL_CREDIT;
  }
#endif
  return b;
}

static uint8_t *put_answer(line_t *l, uint8_t *b, uint32_t now) {
  uint32_t delay = wire(l, now) - l->poll_time;
  *b++ = ANSWER;
  *b++ = l->poll_token;
  *b++ = (uint8_t)(delay >= 128 ? 255 : delay * 2);
  l->owed &= (uint8_t)~OWE_ANSWER;
  return put_acknowledgement(l, b);
}

static uint8_t *put_reset(line_t *l, uint8_t *b) {
  *b++ = RESET;
  b = put32(b, l->reset_session[0]);
  *b++ = l->reset_reason[0];
  l->reset_session[0] = l->reset_session[1];
  l->reset_reason[0] = l->reset_reason[1];
  if (--l->resets == 0) l->owed &= (uint8_t)~OWE_RESET;
  return b;
}

/* A question is handed over. */
static void asked(line_t *l) {
  if (l->questions < 200) l->questions++;
  l->unanswered = 1;
  disarm(l, BYWAY_LINE_T_QUESTION);
}

static uint8_t *put_poll(line_t *l, uint8_t *b) {
  struct byway_line_poll *poll = &l->polls[++l->token & 3];
  poll->order = l->order++;
  poll->token = l->token;
  poll->waiting = 1;
  l->owed &= (uint8_t)~OWE_POLL;
  asked(l);
  *b++ = POLL;
  b = put32(b, l->session);
  *b++ = l->token;
  return b;
}

static uint8_t *put_data(line_t *l, uint8_t *b) {
  uint16_t first = (uint16_t)(l->send_first + first_to_send(l)), stop;
  unsigned room = l->payload < l->peer_payload ? l->payload : l->peer_payload;
  uint8_t *kind = b;
  *kind = DATA;
  b = put16(b + 1, first);
  if (ack_fits_data(l)) {
    *kind = DATA_ACK;
    b = put16(b, l->take_next);
    acknowledged(l);
  }
  b = put_units(l, b, first, room, &stop);
  if (l->last_added && stop == l->send_end) *kind |= LAST;
#if BYWAY_LINE_CORRECTION
  if (l->trial) l->trial--;
#endif
  return b;
}

/* Puts what is owed first (appendix A, order) into the body. Returns its end, or NULL if nothing is. */
static uint8_t *put_owed(line_t *l, uint8_t *b, uint32_t now) {
  int data = may_send(l) && first_to_send(l) >= 0;
  if (l->owed & OWE_RESET) return put_reset(l, b);
  if (l->owed & OWE_HELLO) {
    l->copy = l->owed & OWE_HELLO_COPY ? HELLO : 0;
    l->owed &= (uint8_t) ~(OWE_HELLO | OWE_HELLO_COPY);
    return put_opening(l, b, HELLO);
  }
  if (l->owed & OWE_OPEN) {
    l->copy = OPEN;
    l->owed &= (uint8_t)~OWE_OPEN;
    asked(l);
    return put_opening(l, b, OPEN);
  }
  if (l->owed & OWE_ANSWER) return put_answer(l, b, now);
  if (l->owed & OWE_ACK && !(data && ack_fits_data(l))) {
    *b = ACK;
    return put_acknowledgement(l, b + 1);
  }
#if BYWAY_LINE_CORRECTION
  if (l->owed & OWE_NOISE) {
    l->owed &= (uint8_t)~OWE_NOISE;
    *b++ = NOISE;
    *b++ = l->noise_told = byway_noise_level(l);
    return b;
  }
#endif
  if (l->owed & OWE_POLL) return put_poll(l, b);
  return data ? put_data(l, b) : NULL;
}

/* Starts the timers of a frame that is handed to the driver. */
static void handed_over(line_t *l, uint8_t kind, uint32_t now) {
  if (kind == POLL) l->polls[l->token & 3].sent = wire(l, now);
  if ((kind == POLL || kind == OPEN || kind >= DATA) && !armed(l, BYWAY_LINE_T_QUESTION)) start_question(l, now);
#if BYWAY_LINE_CORRECTION
  if (l->noise_told && (kind == ANSWER || (kind == ACK && (++l->noise_acks & 7) == 0))) l->owed |= OWE_NOISE;
#endif
  if (kind == ACK || kind == ANSWER) acknowledged(l);
}

/* With which correction a frame is sent. */
static int strength_of(const line_t *l, uint8_t kind, unsigned count) {
#if BYWAY_LINE_CORRECTION
  if (l->state < BYWAY_LINE_OPENING || (kind < ACK && kind != POLL)) return PLAIN;
  if (kind == POLL && l->questions > 1 && !(l->questions & 1)) return PLAIN;
  return byway_strength_for(l, count + 4, kind);
#else
  (void)l, (void)kind, (void)count;
  return PLAIN;
#endif
}

/* The copy of HELLO or OPEN that follows it, or 0. */
static unsigned put_copy(line_t *l, const uint8_t **start) {
  unsigned length = 0;
#if BYWAY_LINE_CORRECTION >= 4
  int told = l->copy == HELLO || l->state == BYWAY_LINE_OPENING;
  if (l->copy && !(told && l->peer_correction < 4)) {
    uint8_t *body = l->out + BYWAY_LINE_LEAD;
    length = wrap_corrected(l, (unsigned)(put_opening(l, body, l->copy) - body), COPY, 1, start);
  }
#else
  (void)start;
#endif
  l->copy = 0;
  return length;
}

size_t byway_line_output(struct byway_line *l, uint32_t now, const uint8_t **bytes) {
  uint8_t *body = l->out + BYWAY_LINE_LEAD, *stop;
  unsigned length, count;
  int strength;
  byway_line_run(l, now);
  if (l->gone || wire(l, now) - now >= WAITING) return 0;
  length = put_copy(l, bytes);
  if (length == 0) {
    stop = put_owed(l, body, now);
    if (!stop) return 0;
    count = (unsigned)(stop - body);
    strength = strength_of(l, body[0], count);
#if BYWAY_LINE_CORRECTION
    if (strength != PLAIN) {
      length = wrap_corrected(l, count, (unsigned)strength, 0, bytes);
    }
#endif
    if (strength == PLAIN) length = wrap(l, count, bytes, now);
    occupy(l, length, now);
    handed_over(l, l->out[BYWAY_LINE_LEAD], now);
    return length;
  }
  occupy(l, length, now);
  return length;
}

/* ---- Timers ---- */

/* Closing (section 6): its second case is an empty last frame whose acknowledgement is missing. */
static void update_closing(line_t *l, uint32_t now) {
  uint16_t last = (uint16_t)(l->send_end - 1);
  if (armed(l, BYWAY_LINE_T_CLOSING) || !l->unanswered || !l->take_told || !l->last_added) return;
  if (l->send_first != last || l->send_sent != l->send_end || l->send_length[last & SEND_MASK] & LENGTH) return;
  arm(l, BYWAY_LINE_T_CLOSING, now + CLOSING);
}

/* The closing time is over. */
static void close(line_t *l, uint32_t now) {
  if (take_done(l) && send_done(l)) {
    arm(l, BYWAY_LINE_T_CLOSING, now + CLOSING);
  } else if (l->take_told && (uint16_t)(l->send_end - l->send_first) == 1 && l->send_sent == l->send_end &&
             !(l->send_length[l->send_first & SEND_MASK] & LENGTH)) {
    end(l, BYWAY_LINE_FINISHED, BYWAY_LINE_FINISHED);
  } else {
    end_with_reset(l, BYWAY_LINE_ABORTED);
  }
}

/* POLL each second while the window is closed. */
static void update_closed_window(line_t *l, uint32_t now) {
  int closed = confirmed(l) && !unacknowledged(l) && l->send_end != l->send_first && sendable(l) == 0 && !l->unanswered;
  if (!closed) {
    disarm(l, BYWAY_LINE_T_CLOSED);
  } else if (!armed(l, BYWAY_LINE_T_CLOSED)) {
    arm(l, BYWAY_LINE_T_CLOSED, now + CLOSED_WINDOW);
  }
}

static void fire(line_t *l, enum byway_line_timer timer, uint32_t now) {
  disarm(l, timer);
  switch (timer) {
  case BYWAY_LINE_T_ACK:
    l->owed |= OWE_ACK;
    break;
  case BYWAY_LINE_T_SILENCE:
    if (!armed(l, BYWAY_LINE_T_QUESTION)) ask(l, now);
    break;
  case BYWAY_LINE_T_PATIENCE:
    end_with_reset(l, BYWAY_LINE_SILENCE);
    break;
  case BYWAY_LINE_T_CLOSING:
    close(l, now);
    break;
  case BYWAY_LINE_T_GRACE:
    end(l, BYWAY_LINE_GONE, BYWAY_LINE_ABORTED);
    break;
#if BYWAY_LINE_CORRECTION
  case BYWAY_LINE_T_PARTIAL:
    read_again(l, now);
    break;
#endif
  default: /* QUESTION, CLOSED and KEEPALIVE */
    ask(l, now);
  }
}

void byway_line_run(struct byway_line *l, uint32_t now) {
  unsigned timer;
  /* The clock may wrap before the next frame. */
  if (due(l->wire_end + QUIET, now)) l->fresh = 1;
  for (timer = 0; timer < BYWAY_LINE_TIMERS; timer++) {
    if (armed(l, timer) && due(l->timers[timer], now)) fire(l, timer, now);
  }
  if (l->leaving) advance_read(l);
  update_closed_window(l, now);
  update_closing(l, now);
}

uint32_t byway_line_deadline(const struct byway_line *l, uint32_t now) {
  uint32_t least = BYWAY_LINE_NEVER;
  unsigned timer;
  if (!l->gone && (l->owed || l->copy || (may_send(l) && first_to_send(l) >= 0))) {
    uint32_t waiting = wire(l, now) - now;
    least = waiting < WAITING ? 0 : waiting - WAITING + 1;
  }
  for (timer = 0; timer < BYWAY_LINE_TIMERS; timer++) {
    uint32_t time = due(l->timers[timer], now) ? 0 : l->timers[timer] - now;
    if (armed(l, timer) && time < least) least = time;
  }
  return least;
}

/* ---- The line ---- */

void byway_line_start(struct byway_line *l, enum byway_line_role role, uint32_t random, uint32_t baud, uint32_t now) {
  memset(l, 0, sizeof *l);
  l->role = (uint8_t)role;
  l->wire_end = now;
  l->byte_time = baud ? 655360000u / baud : 0;
  l->fresh = 1;
  if (role == BYWAY_LINE_LISTEN) {
    l->incarnation = random ? random : 1;
    l->owed = OWE_HELLO;
  }
#if BYWAY_LINE_CORRECTION
  l->noise_bytes = 256;
#endif
}

int byway_line_open(struct byway_line *l, uint32_t random, uint32_t now) {
  if (l->role != BYWAY_LINE_DIAL || l->state != BYWAY_LINE_NONE) return 0;
  begin(l, random, now);
  l->state = l->incarnation ? BYWAY_LINE_OPENING : BYWAY_LINE_ASKING;
  set_seal(l);
  ask(l, now);
  return 1;
}

void byway_line_lost(struct byway_line *l, uint32_t now) {
  if (l->gone) return;
  l->gone = 1;
  l->run_length = 0;
  l->owed &= (uint8_t) ~(OWE_HELLO | OWE_RESET | OWE_HELLO_COPY);
  l->copy = l->resets = 0;
#if BYWAY_LINE_CORRECTION
  l->frame_need = 0;
  l->head_length = 0;
  disarm(l, BYWAY_LINE_T_PARTIAL);
#endif
  if (l->state == BYWAY_LINE_NONE) return;
  l->held = 1;
  arm(l, BYWAY_LINE_T_GRACE, now + GRACE);
  disarm(l, BYWAY_LINE_T_QUESTION);
  if (unacknowledged(l) || !confirmed(l)) {
    disarm(l, BYWAY_LINE_T_PATIENCE);
    disarm(l, BYWAY_LINE_T_CLOSING);
  }
}

void byway_line_back(struct byway_line *l, uint32_t now) {
  if (!l->gone) return;
  l->gone = 0;
  l->fresh = 1;
  l->wire_end = now;
  disarm(l, BYWAY_LINE_T_GRACE);
  if (l->state != BYWAY_LINE_NONE) {
    disarm(l, BYWAY_LINE_T_PATIENCE);
    if (l->leaving) arm(l, BYWAY_LINE_T_CLOSING, now + CLOSING);
    ask(l, now);
  } else if (l->role == BYWAY_LINE_LISTEN) {
    l->owed |= OWE_HELLO;
  }
}
