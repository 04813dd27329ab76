import type { PermissionAsk } from '../../ask.ts'
import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { askIndexOf } from '../../reduce/ask-list.ts'
import type { Source } from '../../source/port.ts'
import type { Drive } from '../drive.ts'

/**
 * How long to wait before the first read, in ms. Servers up to 1.2 send the call's part some milliseconds after the
 * ask, and then nothing has to be read.
 */
export const unseenMs = 1000

/** Each further read waits twice as long, up to this many ms. */
const maxWaitMs = 30_000

/**
 * From now on, reads and applies the call of each pending permission whose input the stream has not sent, because what
 * it would run is unknown until then. Repeats the read while the permission is pending. Skips permissions that name no
 * message or call. Returns a function that stops all reads.
 */
export function readUnseenInputs(
  { engine, clock, onError }: Pick<Drive, 'engine' | 'onError'> & { readonly clock: Clock },
  source: Pick<Source, 'message'>,
  isLive: () => boolean,
): () => void {
  const stops = new Map<string, () => void>()
  let isStopped = false
  engine.onStep(({ changes }) => {
    for (const change of changes) {
      if (change.type === 'permissionAsked' && isUnseen(change.ask)) scheduleRead(change.ask, unseenMs)
    }
  })
  return () => {
    isStopped = true
    for (const stop of stops.values()) stop()
    stops.clear()
  }

  /** Sets the timer of the permission's next read, in place of an earlier one. Does nothing once stopped. */
  function scheduleRead(ask: PermissionAsk, waitMs: number): void {
    if (isStopped) return
    stops.get(ask.requestID)?.()
    stops.set(
      ask.requestID,
      clock.after(waitMs, () => void readWhileUnseen(ask, waitMs)),
    )
  }

  /**
   * Reads and applies the call, and schedules the next read after twice the wait if its input is still unknown. Doesn't
   * read while the connection is down. Never rejects: reports a failure of the first read, unless the message is
   * `gone`.
   */
  async function readWhileUnseen(ask: PermissionAsk, waitMs: number): Promise<void> {
    if (isStillUnseen(ask) && isLive()) {
      try {
        engine.apply(await readCall(ask))
      } catch (error) {
        // Tries again if the message is not stored yet. Reports any other error once.
        if (waitMs === unseenMs && !(error instanceof ReplyError && error.type === 'gone'))
          onError(unreadError(ask, error))
      }
    }
    stops.delete(ask.requestID)
    if (isStillUnseen(ask)) scheduleRead(ask, Math.min(2 * waitMs, maxWaitMs))
  }

  /**
   * Reads the ask's message and resolves with its head and the call as events to apply. Empty if the message is
   * malformed or doesn't have the call. Rejects if it can't be read.
   */
  async function readCall(ask: PermissionAsk): Promise<readonly ReplyEvent[]> {
    const { sessionID, messageID, callID } = ask
    if (messageID === undefined) return []
    const read = await source.message(ask, messageID)
    // Takes all of them. If the id repeats, `reduce` decides whether the ask can be about only one.
    const parts = read?.parts.filter((other) => other.type === 'tool' && other.callID === callID) ?? []
    if (!read || parts.length === 0) return []
    const at = clock.now()
    const order = read.parts.map(({ id }) => id)
    return [
      { type: 'message', sessionID, message: read.head, at },
      ...parts.map((part): ReplyEvent => ({ type: 'part', sessionID, part, order, at })),
    ]
  }

  /**
   * Whether the permission is pending with an unseen call in the root's open reply, because the passed copy may be
   * outdated. False if there is no open reply.
   */
  function isStillUnseen({ requestID, path }: PermissionAsk): boolean {
    const asks = engine.openReply(path[0] ?? '')?.asks ?? []
    const ask = asks[askIndexOf(asks, requestID)]
    return ask?.type === 'permission' && isUnseen(ask)
  }
}

/** Whether the permission is pending, and its call isn't known but can be read. */
function isUnseen({ status, call, callID, messageID }: PermissionAsk): boolean {
  return status === 'pending' && call === undefined && callID !== undefined && messageID !== undefined
}

/** Creates an error with the cause's type, or `malformed` if the cause isn't a `ReplyError`. */
function unreadError({ requestID, sessionID, messageID }: PermissionAsk, cause: unknown): ReplyError {
  const type = cause instanceof ReplyError ? cause.type : 'malformed'
  const problem = `Could not read what permission ${requestID} would run from message ${messageID} of session ${sessionID}`
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ReplyError(type, `${problem}: ${reason} The read is retried while the permission is pending.`, { cause })
}
