/* Sessions of docs/wire-protocol.md: how they open, resume and end, for the model checker spin. `check` runs it.
 *
 * Two ends, a line that loses, duplicates and damages frames, cuts of the line, and restarts of either end. A damaged frame fails
 * its check, which is the same as a loss. A line does not reorder. Each end sends UNITS units and then an empty last frame.
 *
 * A DATA frame carries its unit's number and, as a ghost, the session that it was made for. The model leaves out window and
 * selective acknowledgement (section 4), error correction (section 7), and the length of time. A timer fires when nothing else can
 * happen, so questions come before keep-alive, and frames on their way before both.
 *
 * -DLOSSES=n         frames that may be lost; without it any frame may be, which is for safety only
 * -DDUPLICATES=n, -DCUTS=n, -DRESTARTS=n   how often each may happen; restarts are counted for each end
 * -DEARLY=n          questions that a dialer asks although an answer is on its way
 * -DABORTS=n         sessions that the listener's owner gives up
 * -DSEED_…           a seeded error, which the model must find
 */
#ifndef UNITS
#define UNITS 1
#endif
#ifndef SESSIONS
#define SESSIONS 2
#endif
#ifndef DUPLICATES
#define DUPLICATES 1
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef ABORTS
#define ABORTS 0
#endif

#define LAST UNITS          /* the number of the empty last frame */
#define ALL (UNITS + 1)
#define NONE 255
#define PATIENCE 3          /* unanswered questions, after which a session ends in silence */
#define HOLD 2              /* unanswered questions, after which no DATA is sent */

mtype = { HELLO, OPEN, RESET, POLL, ACK, ANSWER, DATA };
mtype = { FINISHED, UNKNOWN, ABORTED };
mtype = { IDLE, ASKING, OPENING, CONFIRMED };

/* kind, session, incarnation (named or sealed), number (DATA) or next (ACK, ANSWER), reason (RESET) */
chan toListener = [3] of { mtype, byte, byte, byte, mtype };
chan toDialer = [3] of { mtype, byte, byte, byte, mtype };

/* An end: its session, how far it has sent, what is acknowledged, what it has received, and its questions. */
typedef End {
  mtype phase = IDLE;
  byte session = NONE;
  byte sent;
  byte acknowledged;
  byte received;
  byte unanswered;
  bool isLineUp = true;
}
End d, l;

byte incarnation = 1;               /* of the listener */
byte known;                         /* the incarnation that the dialer knows; 0: none */
byte begun;                         /* sessions that the dialer has begun */
mtype dialerReason[SESSIONS];       /* the reasons of remembered ended sessions; 0: not remembered */
mtype listenerReason[SESSIONS];

/* Ghosts. */
bool acted[SESSIONS * UNITS];       /* the listener's user has acted on this unit of that session, ever */
bool heard[SESSIONS * UNITS];       /* the dialer's user has received this unit of that session */
byte duplicates = DUPLICATES;
byte cuts = CUTS;
byte early = EARLY;
byte aborts = ABORTS;
byte dialerRestarts = RESTARTS;
byte listenerRestarts = RESTARTS;
#ifdef LOSSES
byte losses = LOSSES;
#define MAY_LOSE (losses > 0)
#define LOSE losses--
#else
#define MAY_LOSE true
#define LOSE skip
#endif

#define isComplete(e) (e.sent == ALL && e.acknowledged == ALL && e.received == ALL)
#define isEnding(e) (e.sent == ALL && e.received == ALL)
#define isLingering(e) (isEnding(e) && e.acknowledged >= UNITS)
#define isCurious(e) (e.phase != IDLE && e.isLineUp && (e.phase != CONFIRMED || e.sent != e.acknowledged || e.unanswered > 0))
#define maySend(e) (e.isLineUp && (e.phase == OPENING || e.phase == CONFIRMED) && e.sent < ALL && e.unanswered < HOLD)

/* If the line is full, a frame is lost, as in a driver that overruns. */
#define say(LINE, E, KIND, S, I, N, WHY) \
  if \
  :: E.isLineUp && nfull(LINE) -> LINE!KIND, S, I, N, WHY \
  :: else -> skip \
  fi

#define begin(e, s, start) \
  e.phase = start; e.session = s; e.sent = 0; e.acknowledged = 0; e.received = 0; e.unanswered = 0

#define over(e) \
  e.phase = IDLE; e.session = NONE; e.sent = 0; e.acknowledged = 0; e.received = 0; e.unanswered = 0

#define dialerOver(why) \
  if \
  :: d.phase != ASKING -> dialerReason[d.session] = why \
  :: else -> skip \
  fi; \
  if \
  :: why == FINISHED -> assert(heard[d.session * UNITS + UNITS - 1] && acted[d.session * UNITS + UNITS - 1]) \
  :: else -> skip \
  fi; \
  over(d)

#ifdef SEED_FORGETS_SESSIONS
#define REMEMBER(why) skip
#else
#define REMEMBER(why) listenerReason[l.session] = why
#endif

#define listenerOver(why) \
REMEMBER(why); \
  if \
  :: why == FINISHED -> assert(heard[l.session * UNITS + UNITS - 1] && acted[l.session * UNITS + UNITS - 1]) \
  :: else -> skip \
  fi; \
  over(l)

/* ACK or ANSWER: after an answer, everything unacknowledged counts as lost and is sent again. */
#define acknowledge(e, next, isAnswer) \
  e.unanswered = 0; \
  if \
  :: next > e.acknowledged && next <= e.sent -> e.acknowledged = next \
  :: else -> skip \
  fi; \
  if \
  :: isAnswer -> e.sent = e.acknowledged \
  :: else -> skip \
  fi

/* The seal: a frame of another session or incarnation fails its check. */
#ifdef SEED_IGNORES_INCARNATION
#define isOwn(e, s, i, own) (e.session == s)
#else
#define isOwn(e, s, i, own) (e.session == s && i == own)
#endif

proctype Dialer() {
  mtype kind, why; byte s, i, n;
  do
  /* Its owner opens the next session. */
  :: atomic { d.phase == IDLE && d.isLineUp && begun < SESSIONS ->
      if
      :: known == 0 -> begin(d, begun, ASKING)
      :: else -> begin(d, begun, OPENING)
      fi;
      begun++; say(toListener, d, OPEN, d.session, known, 0, 0) }
  :: atomic { maySend(d) && nfull(toListener) -> toListener!DATA, d.session, known, d.sent, 0; d.sent++ }
  /* Losses and duplicates of frames on their way to this end. */
  :: atomic { d.isLineUp && nempty(toDialer) && MAY_LOSE -> toDialer?kind, s, i, n, why; LOSE }
  :: atomic { d.isLineUp && toDialer?[kind, s, i, n, why] ->
      if
      :: toDialer?kind, s, i, n, why
      :: duplicates > 0 -> duplicates--; toDialer?<kind, s, i, n, why>
      fi;
      if
      :: kind == HELLO ->
          if
          :: d.phase == ASKING ->
              known = i; d.phase = OPENING; d.unanswered = 0; say(toListener, d, OPEN, d.session, known, 0, 0)
          :: (d.phase == OPENING || d.phase == CONFIRMED) && i != known ->
#ifdef SEED_KEEPS_SESSION
              known = i; d.phase = OPENING; d.sent = d.acknowledged; say(toListener, d, OPEN, d.session, known, 0, 0)
#else
              dialerOver(ABORTED); known = i
#endif
          :: else -> known = i
          fi
      :: kind == RESET && s == d.session ->
          if
          :: why == UNKNOWN && d.phase != CONFIRMED -> say(toListener, d, OPEN, d.session, known, 0, 0)
          :: why == FINISHED && isEnding(d) -> dialerOver(FINISHED)
          :: else -> dialerOver(ABORTED)
          fi
      :: kind == POLL && s == d.session && d.phase != ASKING ->
          d.phase = CONFIRMED; d.unanswered = 0; say(toListener, d, ANSWER, d.session, known, d.received, 0)
      :: kind == POLL && s != d.session ->
          if
          :: s < SESSIONS && dialerReason[s] != 0 -> say(toListener, d, RESET, s, 0, 0, dialerReason[s])
          :: else -> say(toListener, d, RESET, s, 0, 0, UNKNOWN)
          fi
      :: (kind == ACK || kind == ANSWER) && d.phase != ASKING && isOwn(d, s, i, known) ->
          d.phase = CONFIRMED; acknowledge(d, n, kind == ANSWER)
      :: kind == DATA && d.phase != ASKING && isOwn(d, s, i, known) ->
          d.phase = CONFIRMED; d.unanswered = 0;
          if
          :: n == d.received ->
              if
              :: n < UNITS -> assert(s == d.session && !heard[s * UNITS + n]); heard[s * UNITS + n] = true
              :: else -> skip
              fi;
              d.received++
          :: else -> skip
          fi;
          say(toListener, d, ACK, d.session, known, d.received, 0)
      :: else -> skip
      fi;
      if
      :: d.phase != IDLE && isComplete(d) -> dialerOver(FINISHED)
      :: else -> skip
      fi }
  /* Timers: the next question, or patience. */
  :: atomic { (timeout || early > 0) && isCurious(d) ->
      if
      :: early > 0 -> early--
      :: else -> skip
      fi;
      if
      :: d.unanswered >= PATIENCE && isLingering(d) -> dialerOver(FINISHED)
      :: d.unanswered >= PATIENCE && !isLingering(d) ->
          say(toListener, d, RESET, d.session, 0, 0, ABORTED); dialerOver(ABORTED); known = 0
      :: d.unanswered < PATIENCE && d.phase == CONFIRMED -> d.unanswered++; say(toListener, d, POLL, d.session, 0, 0, 0)
      :: d.unanswered < PATIENCE && d.phase != CONFIRMED ->
          d.unanswered++; d.sent = 0; say(toListener, d, OPEN, d.session, known, 0, 0)
      fi }
#ifndef SEED_NO_KEEP_ALIVE
  /* Keep-alive. */
  :: atomic { timeout && d.phase == CONFIRMED && d.isLineUp && !isCurious(d) && !isCurious(l) ->
      d.unanswered++; say(toListener, d, POLL, d.session, 0, 0, 0) }
#endif
  /* The line is gone for longer than the grace period. */
  :: atomic { !d.isLineUp && d.phase != IDLE -> dialerOver(ABORTED); known = 0 }
  :: atomic { dialerRestarts > 0 && begun > 0 -> dialerRestarts--;
      over(d); known = 0; n = 0;
      do
      :: n < SESSIONS -> dialerReason[n] = 0; n++
      :: else -> break
      od; n = 0 }
  :: timeout && d.phase == IDLE && l.phase == IDLE && begun == SESSIONS && d.isLineUp && l.isLineUp -> break
  od
}

proctype Listener() {
  mtype kind, why; byte s, i, n;
  say(toDialer, l, HELLO, 0, incarnation, 0, 0);
  do
  :: atomic { maySend(l) && nfull(toDialer) -> toDialer!DATA, l.session, incarnation, l.sent, 0; l.sent++ }
  :: atomic { l.isLineUp && nempty(toListener) && MAY_LOSE -> toListener?kind, s, i, n, why; LOSE }
  :: atomic { l.isLineUp && toListener?[kind, s, i, n, why] ->
      if
      :: toListener?kind, s, i, n, why
      :: duplicates > 0 -> duplicates--; toListener?<kind, s, i, n, why>
      fi;
      if
#ifdef SEED_IGNORES_INCARNATION
      :: kind == OPEN && i == 0 -> say(toDialer, l, HELLO, 0, incarnation, 0, 0)
      :: kind == OPEN && i != 0 ->
#else
      :: kind == OPEN && i != incarnation -> say(toDialer, l, HELLO, 0, incarnation, 0, 0)
      :: kind == OPEN && i == incarnation ->
#endif
          if
          :: s == l.session -> say(toDialer, l, ACK, l.session, incarnation, l.received, 0)
          :: s != l.session && listenerReason[s] != 0 -> say(toDialer, l, RESET, s, 0, 0, listenerReason[s])
          :: s != l.session && listenerReason[s] == 0 ->
              if
              :: l.phase != IDLE -> listenerOver(ABORTED)
              :: else -> skip
              fi;
              begin(l, s, CONFIRMED); say(toDialer, l, ACK, l.session, incarnation, 0, 0)
          fi
      :: kind == RESET && s == l.session ->
          if
          :: why == FINISHED && isEnding(l) -> listenerOver(FINISHED)
          :: else -> listenerOver(ABORTED)
          fi
      :: kind == POLL && s == l.session -> l.unanswered = 0; say(toDialer, l, ANSWER, l.session, incarnation, l.received, 0)
      :: kind == POLL && s != l.session ->
          if
          :: listenerReason[s] != 0 -> say(toDialer, l, RESET, s, 0, 0, listenerReason[s])
          :: else -> say(toDialer, l, RESET, s, 0, 0, UNKNOWN)
          fi
      :: (kind == ACK || kind == ANSWER) && isOwn(l, s, i, incarnation) -> acknowledge(l, n, kind == ANSWER)
      :: kind == DATA && isOwn(l, s, i, incarnation) ->
          l.unanswered = 0;
          if
          :: n == l.received ->
              if
              :: n < UNITS -> assert(!acted[s * UNITS + n]); acted[s * UNITS + n] = true
              :: else -> skip
              fi;
              l.received++
          :: else -> skip
          fi;
          say(toDialer, l, ACK, l.session, incarnation, l.received, 0)
      :: else -> skip
      fi;
      if
      :: l.phase != IDLE && isComplete(l) -> listenerOver(FINISHED)
      :: else -> skip
      fi }
  :: atomic { timeout && isCurious(l) ->
      if
      :: l.unanswered >= PATIENCE && isLingering(l) -> listenerOver(FINISHED)
      :: l.unanswered >= PATIENCE && !isLingering(l) ->
          say(toDialer, l, RESET, l.session, 0, 0, ABORTED); listenerOver(ABORTED)
      :: l.unanswered < PATIENCE -> l.unanswered++; say(toDialer, l, POLL, l.session, 0, 0, 0)
      fi }
#ifndef SEED_NO_KEEP_ALIVE
  :: atomic { timeout && l.phase == CONFIRMED && l.isLineUp && !isCurious(l) && !isCurious(d) ->
      l.unanswered++; say(toDialer, l, POLL, l.session, 0, 0, 0) }
#endif
  :: atomic { aborts > 0 && l.phase == CONFIRMED -> aborts--;
      say(toDialer, l, RESET, l.session, 0, 0, ABORTED); listenerOver(ABORTED) }
  :: atomic { !l.isLineUp && l.phase != IDLE -> listenerOver(ABORTED) }
  /* A new program with a new incarnation; the bytes in the drivers' buffers stay. */
  :: atomic { listenerRestarts > 0 && begun > 0 -> listenerRestarts--;
      over(l); incarnation++; n = 0;
      do
      :: n < SESSIONS -> listenerReason[n] = 0; n++
      :: else -> break
      od; n = 0;
      say(toDialer, l, HELLO, 0, incarnation, 0, 0) }
  :: timeout && d.phase == IDLE && l.phase == IDLE && begun == SESSIONS && d.isLineUp && l.isLineUp -> break
  od
}

/* Unplugs the line, and plugs it in again: each end notices by itself, and frames on their way arrive or not. */
proctype Cable() {
  mtype kind, why; byte s, i, n;
  do
  :: atomic { cuts > 0 && d.isLineUp && l.isLineUp && d.phase != IDLE -> cuts--; d.isLineUp = false; l.isLineUp = false;
      if
      :: do
         :: nempty(toListener) -> toListener?kind, s, i, n, why
         :: empty(toListener) -> break
         od
      :: skip
      fi;
      if
      :: do
         :: nempty(toDialer) -> toDialer?kind, s, i, n, why
         :: empty(toDialer) -> break
         od
      :: skip
      fi; kind = 0; why = 0; s = 0; i = 0; n = 0 }
  :: atomic { !d.isLineUp -> d.isLineUp = true;
      if
      :: d.phase == CONFIRMED -> d.unanswered = HOLD; say(toListener, d, POLL, d.session, 0, 0, 0)
      :: d.phase == ASKING || d.phase == OPENING -> d.unanswered = HOLD; d.sent = 0; say(toListener, d, OPEN, d.session, known, 0, 0)
      :: else -> skip
      fi }
  :: atomic { !l.isLineUp -> l.isLineUp = true;
      if
      :: l.phase == CONFIRMED -> l.unanswered = HOLD; say(toDialer, l, POLL, l.session, 0, 0, 0)
      :: else -> say(toDialer, l, HELLO, 0, incarnation, 0, 0)
      fi }
  :: cuts == 0 && d.isLineUp && l.isLineUp -> break
  :: timeout && d.phase == IDLE && l.phase == IDLE && begun == SESSIONS && d.isLineUp && l.isLineUp -> break
  od
}

init { atomic { run Dialer(); run Listener(); run Cable() } }
