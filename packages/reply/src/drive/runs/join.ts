import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { Reply } from '../../reply.ts'
import { replyOfPrompt } from '../connection/newest-run.ts'
import type { LeftPrompt } from '../inbox.ts'
import { wasNeverSent } from '../never-sent.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import { findOnlyPrompt, findPosted, storedMs } from './find-posted.ts'
import { type FoundReply, recognizeByID, recognizeByText } from './recognize.ts'
import type { RunServer } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'

/** A prompt for a busy session. */
export interface PromptToJoin {
  readonly server: RunServer
  readonly place: PreparedPlace
  /** The id of the prompt's message, if the server accepts one. */
  readonly messageID: string | undefined
  /** The prompt's text, if the server keeps it verbatim. Absent for a command, because servers wrap its text. */
  readonly text: string | undefined
  readonly post: () => Promise<void>
  /** Prompts of the running reply that are known to be others. Default: all that it has. */
  readonly others?: readonly string[] | undefined
  /** Aborts when the run must end, even if its reply was not found yet. A waiting prompt is withdrawn instead. */
  readonly mustEnd: AbortSignal
  /** Aborts when only the prompt must be withdrawn if it still waits. A run that it joined goes on. */
  readonly dropped: AbortSignal
  /** Aborts when the stream has ended, so the search can stop. */
  readonly over: AbortSignal
  /** Called once with the reply that includes the prompt, within the step that shows it. */
  readonly onFound: (live: LiveReply, foundReply: FoundReply) => void
  /**
   * Called once instead if the stream missed the prompt's run, with its settled reply. Absent for a note, which has no
   * run.
   */
  readonly onEnded?: ((reply: Reply) => void) | undefined
}

/**
 * The delay before the first check of a prompt without events, in ms, doubling each time. Half a minute in all, except
 * that a waiting prompt is checked without end, and checks that the server didn't answer don't count.
 */
const lookMs = 1000
const maxLooks = 5
/** How many checks in a row may fail while the connection is up. Four and a half minutes in all, if each fails at once. */
const maxFailures = 20

/** How long a prompt that must end is looked for, in ms. */
export const stopMs = 30_000

/**
 * Posts into a busy session and calls `onFound` with the reply that includes the prompt: the running one, or the next
 * if that ends first. Resolves with undefined once that is found, and with `withdrawn` or `parked` if the prompt waited
 * and doesn't run. Calls `onEnded` instead if the stream missed the prompt's run. Rejects if the post fails, with
 * `refused` if nothing ran for the prompt in half a minute or `over` aborts before, and with the last error if the
 * session can't be read. Once the prompt must end, resolves with undefined if nothing runs for it, and with
 * `not-stopped` if something may: the server doesn't tell in time, or the prompt still waits. Recognizes the prompt by
 * its id or its text, because others may prompt the session at the same time.
 */
export async function postAndFindReply(options: PromptToJoin): Promise<LeftPrompt['how'] | 'not-stopped' | undefined> {
  const { server, place, messageID, mustEnd, dropped, over } = options
  const { inbox } = server
  const current = server.engine.replies.newest(place.sessionID)
  /** If the stream loses the prompt's run, a read shows it as missed since then. */
  const since = server.engine.newestAt() ?? 0
  let outcome: 'found' | LeftPrompt['how'] | undefined
  /** When the server answered the post, as a duration. Undefined if it has not. */
  let acceptedAt: number | undefined
  /** Whether the newest check showed that nothing runs for the prompt, and nothing will. */
  let isAbsent = false
  /** Long ago, so that a prompt is looked for only once each time. */
  const postedAt = 0
  /** Aborts when the search has ended. */
  const done = new AbortController()
  const search = { server, place, over, onFound: found, others: options.others }
  const recognizer = messageID === undefined ? recognizeByText(search, options.text) : recognizeByID(search, messageID)
  const stopInbox = inbox.onLeft((left) => {
    if (left.messageID === messageID) endWithoutReply(left.how)
  })
  over.addEventListener('abort', endSearch, { once: true })
  try {
    await post()
    if (mustEnd.aborted) void withdrawOrAttach()
    else mustEnd.addEventListener('abort', withdrawOrAttach, { once: true })
    if (dropped.aborted) void withdraw()
    else dropped.addEventListener('abort', withdraw, { once: true })
    // A check may last longer than the search.
    await Promise.race([refreshUntilEnded(), whenAborted(done.signal)])
  } finally {
    over.removeEventListener('abort', endSearch)
    mustEnd.removeEventListener('abort', withdrawOrAttach)
    dropped.removeEventListener('abort', withdraw)
    stopInbox()
    recognizer.stop()
  }
  if (outcome !== undefined) return outcome === 'found' ? undefined : outcome
  if (!mustEnd.aborted) throw new ReplyError('refused', 'The server accepted the prompt, but no run started for it.')
  return isAbsent ? undefined : 'not-stopped'

  /** Posts the prompt. Rejects with the post's error, unless the server may have taken it. */
  async function post(): Promise<void> {
    try {
      await options.post()
      acceptedAt = server.clock.monotonic()
    } catch (error) {
      if (!mayHaveReachedServer(error)) throw error
    }
  }

  /**
   * Reads and applies the session, with growing pauses, until the search ends or half a minute has passed. Ends the
   * search as `withdrawn` if the server lost a prompt that it had taken, and as `parked` if two checks found it so. A
   * waiting prompt has no limit, and is withdrawn again if a stop failed to do so. Rejects with the error if more than
   * `maxFailures` reads in a row fail.
   */
  async function refreshUntilEnded(): Promise<void> {
    /** Whether the server says where the prompt is until it runs. */
    const isQueued = messageID !== undefined && server.info.current().queuesPrompts
    let wasParked = false
    let failures = 0
    for (let look = 0; look < maxLooks && !hasEnded(); ) {
      await pause(server.clock, lookMs * 2 ** Math.min(look + failures, maxLooks - 1), done.signal)
      if (hasEnded()) return
      isAbsent = false
      const lookedAt = server.clock.monotonic()
      const where = messageID === undefined ? undefined : await inbox.whereIs(place, messageID)
      const error = hasEnded() ? undefined : await server.sessions.refresh(place, since)
      await recognizer.whenCompared()
      if (hasEnded()) return
      failures = error ? countFailure(server, failures) : 0
      if (failures > maxFailures) throw error
      if (error) continue
      if (where === undefined && (await hasMissedRun())) return
      const isOnly = where === undefined ? await isOnlyPrompt() : false
      if (hasEnded()) return
      const isStored = acceptedAt !== undefined && lookedAt - acceptedAt >= storedMs
      // The server may also have lost this prompt, and the run is then another client's.
      if (current && isOnly && isStored && !mustEnd.aborted)
        return found(current, { reply: current.reply(), joined: true, messageID: options.others?.[0] })
      isAbsent = isQueued ? where === 'gone' : isOnly === false
      if (where === 'gone' && acceptedAt !== undefined) return endWithoutReply('withdrawn')
      if (where === 'waiting' && (mustEnd.aborted || dropped.aborted)) await withdraw()
      if (hasEnded()) return
      // Checks twice, because a run may be about to begin.
      if (where === 'parked' && wasParked) return endWithoutReply('parked')
      wasParked = where === 'parked'
      look = where === 'waiting' ? Math.min(look + 1, maxLooks - 1) : look + 1
    }
  }

  /**
   * Reads back to the prompt, and calls `onEnded` with its reply if its run has ended, which other runs may follow.
   * Resolves with whether it has. False without an id or a text, and if the session can't be read, which is reported.
   */
  async function hasMissedRun(): Promise<boolean> {
    const { onEnded, text } = options
    const { canRead, keepsPromptIDs, namesNewestPrompt } = server.info.current()
    if ((messageID ?? text) === undefined || !onEnded || !canRead || keepsPromptIDs === false) return false
    let reply: Reply | undefined
    try {
      const { sessionID, directory, newestMessageID: after } = place
      const found = await findPosted(server, { sessionID, directory, messageID, after, text, at: postedAt }, over)
      if (found === 'unclear' || !found?.read) return false
      reply = replyOfPrompt(found.read, found.messageID, namesNewestPrompt)
    } catch (error) {
      server.onError(toReplyError(error))
    }
    if (hasEnded() || reply?.phase !== 'settled') return false
    outcome = 'found'
    endSearch()
    onEnded(reply)
    return true
  }

  /**
   * Whether the session got no prompt except the running reply's, which has another text: a plugin may have rewritten
   * it, or the server hasn't stored this one yet. Undefined if the session can't be read, which is reported.
   */
  async function isOnlyPrompt(): Promise<boolean | undefined> {
    const [other] = options.others ?? []
    if (messageID !== undefined || other === undefined) return false
    try {
      return (await findOnlyPrompt(server, { ...place, after: place.newestMessageID })) === other
    } catch (error) {
      server.onError(toReplyError(error))
      return undefined
    }
  }

  /**
   * Withdraws the prompt if it waits. `onLeft` then ends the search. Does nothing without an id, or once the search has
   * ended.
   */
  async function withdraw(): Promise<void> {
    if (messageID !== undefined && !hasEnded()) await inbox.withdraw(place, messageID)
  }

  /**
   * Withdraws the prompt, because its run must end. If it no longer waits, attaches to the reply that was running,
   * whether it already includes the prompt or the prompt follows it, and its run is aborted. If that has settled, or is
   * known to be another client's, or the prompt still waits, goes on with the search, for `stopMs` at most.
   */
  async function withdrawOrAttach(): Promise<void> {
    const stays = messageID !== undefined && !hasEnded() && (await inbox.staysAfterWithdrawal(place, messageID))
    const reply = current?.reply()
    const isOpen = reply !== undefined && reply.phase !== 'settled'
    if (current && isOpen && !stays && !options.others) return found(current, { reply, joined: true })
    await pause(server.clock, stopMs, done.signal)
    endSearch()
  }

  /** Ends the search and calls `options.onFound`. Does nothing once the search has ended. */
  function found(live: LiveReply, foundReply: FoundReply): void {
    if (hasEnded()) return
    outcome = 'found'
    endSearch()
    recognizer.stop()
    options.onFound(live, foundReply)
  }

  /** Ends the search, because nothing runs for the prompt. Does nothing once it has ended. */
  function endWithoutReply(how: LeftPrompt['how']): void {
    if (hasEnded()) return
    outcome = how
    endSearch()
  }

  function endSearch(): void {
    done.abort()
  }

  /** Whether the search has ended, or the stream. */
  function hasEnded(): boolean {
    return done.signal.aborted || over.aborted
  }
}

/**
 * Returns how many reads in a row count as failed after one more. While the connection is down, only one does: an outage may
 * last, and the connection is tried again without end.
 */
export function countFailure({ readiness }: Pick<RunServer, 'readiness'>, failures: number): number {
  return readiness.isLive() ? failures + 1 : 1
}

/** Resolves when the signal aborts, or at once if it has. */
function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Whether the server may have taken a post that failed with this error: `unreachable`, but not before it was sent. */
export function mayHaveReachedServer(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'unreachable' && !wasNeverSent(error)
}
