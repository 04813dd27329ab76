import { pause } from '@reply/core/internal'
import type { SteadyClock } from '@reply/core/source'
import { type Notice, type NoticeConnection, type NoticeFields, PortError } from '@reply/sink/channel'
import { backOffMs, withLease } from '@reply/sink/internal'
import { BridgeError, isTakenOver, messageOf, toError } from '../error.ts'
import { type BridgeObserver, eventPlace } from '../events/emit.ts'
import type { NoticeEvent } from '../events/event.ts'
import type { HeldLease } from '../members/membership.ts'
import { placeKey } from '../place.ts'
import { type StoredNotice, toStoredNotice } from '../state/decode.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { newAbortController } from '../timers.ts'

/** A channel for notices, which all shards of a process share. */
export interface NoticeTarget {
  readonly connection: NoticeConnection
  readonly fields: NoticeFields
  /** Until when nothing is sent, in ms by the clock: after a rate limit, which is for all notices. */
  pausedUntil: number
}

/** Sends stored notices, in the background. */
export interface Outbox {
  /** Returns the write that stores a notice, for the same commit as its cause. Call `send` after the commit. */
  write(notice: StoredNotice): Write
  /** Begins to send what is stored and not being sent or held. Never rejects. */
  send(): Promise<void>
  /** Drops the notices of asks that are not confirmed and whose ask has ended. Never rejects. */
  withdraw(): Promise<void>
  /** Whether there may be notices that are held. */
  isHolding(): boolean
  /** Begins no more calls. One in flight goes on, so that it is not in doubt, unless this process ends before its answer. */
  stop(): void
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>
}

/** The prefix of the keys of all stored notices. */
export const noticePrefix = 'notice/'
/** How long a notice is worth sending, in ms. */
export const noticeMs = 3_600_000
/** How often a call without a result is made: once more, like any other post. */
const mostDoubtful = 2

/** Returns the key that tells for a day that a channel got a notice of an ask. */
export function rangKey(requestID: string, to: string): string {
  return `rang/${[requestID, to].map(encodeURIComponent).join('/')}`
}

/** Creates the outbox of a shard. It does nothing before `send`. */
export function createOutbox({
  state,
  lease,
  targets,
  askStateOf,
  clock,
  emit,
  onError,
}: {
  readonly state: State
  readonly lease: Pick<HeldLease, 'whenHeld'>
  /** Returns the state of the ask that a notice is about. While it is `unknown`, the notice is held: an earlier process stored it. */
  readonly askStateOf: (notice: StoredNotice & { readonly requestID: string }) => 'unknown' | 'waiting' | 'ended'
  readonly targets: ReadonlyMap<string, NoticeTarget>
  readonly clock: SteadyClock
  readonly emit: BridgeObserver
  readonly onError: (error: Error) => void
}): Outbox {
  const stopping = newAbortController()
  /** The notices that are being sent, by their keys. */
  const sending = new Map<string, Promise<void>>()
  let isHolding = true
  return {
    write,
    send,
    withdraw,
    isHolding: () => isHolding,
    stop: () => stopping.abort(),
    idle: async () => void (await Promise.all(sending.values())),
  }

  /** Returns the write that stores a notice until it is too old. */
  function write(notice: StoredNotice): Write {
    return { type: 'put', key: keyOf(notice), value: JSON.stringify(notice), expiresInMs: leftMs(notice) }
  }

  /** Returns how much longer a notice is worth sending, in ms. At least 1. */
  function leftMs({ at }: StoredNotice): number {
    return Math.min(noticeMs, Math.max(1, at + noticeMs - clock.now()))
  }

  /** Lists the stored notices, and sends each that is not held in the background. Reports errors. */
  async function send(): Promise<void> {
    try {
      const stored = await state.withRetries(() => state.list(noticePrefix))
      isHolding = stored.some(({ value }) => stateOf(value) === 'unknown')
      for (const { key, value } of stored) {
        if (sending.has(key) || stopping.signal.aborted || stateOf(value) !== 'waiting') continue
        const sent = sendNotice(key, value)
          .catch((error: unknown) => {
            // The next owner of the shard sends it.
            if (!isTakenOver(error) && !stopping.signal.aborted) onError(toError(error))
          })
          .finally(() => sending.delete(key))
        sending.set(key, sent)
      }
    } catch (error) {
      if (!isTakenOver(error) && !stopping.signal.aborted) onError(toError(error))
    }
  }

  /**
   * Sends a notice until it is confirmed or given up, and removes it from the store. Before each call, stores that it begins: a
   * process that finds such a notice counts the call as one without a result. Returns early if the notice was withdrawn, or this
   * process stops.
   */
  async function sendNotice(key: string, value: string): Promise<void> {
    const found = toStoredNotice(value)
    const { id, kind, title, text, link } = found
    const shown: Notice = { id, kind, title, text, ...(link !== undefined && { link }) }
    const target = targets.get(found.to)
    let stored = value
    let notice = found.isBegun ? withDoubt(found) : found
    let failures = 0
    for (;;) {
      if (notice.doubtful >= mostDoubtful) return await end(key, notice, 'unconfirmed')
      if (!target) return await end(key, notice, 'refused', 'the config has no such channel any more')
      // A limit may last longer than the notice is worth.
      await pause(clock, Math.max(0, Math.min(target.pausedUntil - clock.now(), leftMs(notice))), stopping.signal)
      if (stopping.signal.aborted) return
      if (clock.now() - notice.at >= noticeMs) return await end(key, notice, 'expired')
      const begun = await replace(key, stored, { ...notice, isBegun: true })
      if (begun === undefined) return
      try {
        await withLease(lease.whenHeld, undefined, async (signal) => await target.connection.send(shown, signal))
        return await end(key, notice, 'sent')
      } catch (error) {
        if (!(error instanceof PortError)) throw error
        const { type, retryAfterMs = 0 } = error
        if (type === 'ambiguous') notice = withDoubt(notice)
        else if (type !== 'rate-limited' && type !== 'unreachable')
          return await end(key, notice, 'refused', messageOf(error))
        if (type === 'rate-limited') target.pausedUntil = Math.max(target.pausedUntil, clock.now() + retryAfterMs)
        else if (failures === 0) onError(error)
        const waiting = await replace(key, begun, notice)
        if (waiting === undefined) return
        stored = waiting
        await pause(clock, type === 'rate-limited' ? 0 : backOffMs(failures++), stopping.signal)
      }
    }
  }

  /** Replaces a stored notice, and resolves with its new row. Undefined if it was withdrawn. Retries while the store fails. */
  async function replace(key: string, expected: string, next: StoredNotice): Promise<string | undefined> {
    const value = JSON.stringify(next)
    const write = { type: 'compare-and-set', key, expected, value, expiresInMs: leftMs(next) } as const
    return (await state.withRetries(() => state.commit([write]))) ? value : undefined
  }

  /** Removes a notice from the store, and tells what became of it. An error tells the operator why it was not sent. */
  async function end(
    key: string,
    notice: StoredNotice,
    result: NoticeEvent['result'],
    why = 'no call was confirmed',
  ): Promise<void> {
    const { to, kind, executionID, doubtful } = notice
    await state.withRetries(() => state.commit([{ type: 'remove', key }]))
    emit({ type: 'notice', ...eventPlace(notice, clock.now()), kind, to, executionID, result, doubtful })
    if (result === 'refused' || result === 'unconfirmed')
      onError(new BridgeError('channel', `The notice of run ${executionID} may not have reached ${to}: ${why}.`))
  }

  /** Returns the state of the ask of a stored notice. That of the end of a run is sent at once, like that of an ask that waits. */
  function stateOf(value: string): ReturnType<typeof askStateOf> {
    const notice = toStoredNotice(value)
    const { requestID } = notice
    return requestID === undefined ? 'waiting' : askStateOf({ ...notice, requestID })
  }

  /** Removes the notices of asks that have ended from the store. One that is being sent is not sent again. Reports errors. */
  async function withdraw(): Promise<void> {
    try {
      const stored = await state.withRetries(() => state.list(noticePrefix))
      const ended = stored.filter(({ value }) => stateOf(value) === 'ended')
      if (ended.length === 0) return
      const keys = ended.flatMap(({ key, value }) => [key, ...keysOfUnsent(toStoredNotice(value))])
      await state.withRetries(() => state.commit(keys.map((key) => ({ type: 'remove', key }) as const)))
    } catch (error) {
      if (!isTakenOver(error) && !stopping.signal.aborted) onError(toError(error))
    }
  }
}

/** Returns the `rangKey` of a notice that did not ring. Its ask may turn out to be waiting after all, and rings then. */
function keysOfUnsent({ to, requestID, isBegun, doubtful }: StoredNotice): readonly string[] {
  return requestID === undefined || isBegun || doubtful > 0 ? [] : [rangKey(requestID, to)]
}

/** Returns the notice after one more call without a result. */
function withDoubt({ isBegun: _, ...notice }: StoredNotice): StoredNotice {
  return { ...notice, doubtful: notice.doubtful + 1 }
}

/** Returns the key of a notice, with the chat that it is about. */
function keyOf(notice: StoredNotice): string {
  return `${noticePrefix}${placeKey(notice)}/${notice.id}`
}
