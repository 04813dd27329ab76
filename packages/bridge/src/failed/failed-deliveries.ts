import { type Clock, type Reply, textOf } from '@reply/core'
import type { Delivery, MessageRef } from '@reply/sink'
import { backOffMs } from '@reply/sink/internal'
import type { Channels, ChatMessage } from '../chats/channels.ts'
import { isRefusal, refusedMs } from '../chats/channels.ts'
import { BridgeError, isTakenOver, messageOf } from '../error.ts'
import type { BridgeObserver } from '../events/emit.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { FailedDelivery, UnreadableRow } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import type { Registry } from '../state/registry.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { deliveriesOf, failedPrefix, failureKey, failuresIn, keepFailure, unknownPrefix } from './failure-rows.ts'

/** Answers that did not reach their chat for certain: kept, told there once it answers, and posted again on demand. */
export interface FailedDeliveries {
  /** What the places are missing of a reply that people wait for. */
  of(execution: Execution, reply: Reply, delivered: readonly Delivered[]): readonly FailedDelivery[]
  /** The words that end a run without an answer: a failed delivery, until `say` has them in the chat. */
  owed(execution: Pick<Execution, 'id' | 'prompt' | 'server' | 'sessionID'>, text: string): FailedDelivery
  /** The writes that keep it. Call `kept` once they are made. */
  keep(failed: readonly FailedDelivery[]): readonly Write[]
  /**
   * Posts what is owed, after the writes of `keep` are made, and has `onPosted` make those that end it. What the chat does
   * not take stays kept. Rejects if the bridge stops meanwhile, so that the next process tells of it.
   */
  say(
    owed: FailedDelivery,
    note: Omit<ChatMessage, 'text'>,
    onPosted: (writes: readonly Write[]) => Promise<void>,
  ): Promise<void>
  /** The same as a reply to a message, with those writes at its end. Never rejects. */
  tell(owed: FailedDelivery, replyTo: MessageRef, more?: readonly Write[]): Promise<void>
  /** Reports it, and tells each chat as soon as it answers. */
  kept(failed: readonly FailedDelivery[]): void
  /** A row was put aside. If it was a message that waited, its chat is told that it was not run. */
  rowPutAside(row: UnreadableRow): void
  /** A person wrote in that place, so its platform answers. */
  placeAnswered(place: ChatPlace): void
  /** Posts the answers of a place again, oldest first. Rejects with what failed; those before it are posted. */
  resend(place: ChatPlace): Promise<number>
  /** Tells what an earlier process could not tell. */
  restore(): Promise<void>
  /** Counts what failed, and tells the observers unless it is what they were told last. */
  count(): Promise<void>
  stop(): void
}

/** What a sink left in a place. */
export interface Delivered {
  readonly place: ChatPlace
  readonly delivery: Delivery
}

export function createFailedDeliveries(options: {
  readonly state: State
  readonly registry: Registry
  readonly channels: Channels
  /** As in `ChatMigrations`. */
  readonly former: (place: ChatPlace) => ChatPlace
  readonly clock: Clock
  readonly emit: BridgeObserver
  readonly onError: (error: Error) => void
}): FailedDeliveries {
  const { state, registry, channels, former, clock, emit, onError } = options
  /** By place, as it was called first: ends the pause before the next try to tell it. */
  const telling = new Map<string, () => void>()
  const asked = new Set<string>()
  /** The keys of what is on its way, so that nothing failed yet. */
  const saying = new Set<string>()
  let counted = ''
  let isStopped = false
  return {
    of,
    owed,
    say,
    tell: tellOwed,
    keep: (failed) => failed.map(keepFailure),
    kept,
    rowPutAside,
    placeAnswered: (place) => telling.get(placeKey(former(place)))?.(),
    resend,
    restore,
    count,
    stop,
  }

  function of(...[execution, reply, delivered]: Parameters<FailedDeliveries['of']>): readonly FailedDelivery[] {
    const { id, server, sessionID, reason: ending = '' } = execution
    const text = [textOf(reply), ending].filter((one) => one.trim() !== '').join('\n\n')
    return delivered.flatMap(({ place: { channel, chat }, delivery }): readonly FailedDelivery[] => {
      const missing = delivery.undelivered.filter(({ card }) => card === 'answer' || card === 'ending')
      const [first] = missing
      if (!first || text === '') return []
      const why = { missing: missing.length, reason: first.reason, at: clock.now() }
      return [{ type: 'delivery', id, channel, chat, server, sessionID, text, ...why }]
    })
  }

  function owed(
    { id, prompt, server, sessionID }: Parameters<FailedDeliveries['owed']>[0],
    text: string,
  ): FailedDelivery {
    const { channel, chat } = prompt
    const why = { missing: 1, reason: 'The bridge stopped before the chat confirmed it.', at: clock.now() }
    return { type: 'delivery', id, channel, chat, server, sessionID, text, ...why }
  }

  async function say(...[owed, note, onPosted]: Parameters<FailedDeliveries['say']>): Promise<void> {
    const key = failureKey(owed)
    saying.add(key)
    try {
      await channels.post(owed, { ...note, text: owed.text }, sessionOf(owed))
    } catch (cause) {
      if (isTakenOver(cause) || isStopped) throw cause
      const unsaid = { ...owed, reason: messageOf(cause) }
      await state.persist(() => state.commit([keepFailure(unsaid)]))
      saying.delete(key)
      return kept([unsaid])
    }
    await onPosted([{ type: 'remove', key }])
    saying.delete(key)
  }

  async function tellOwed(...[owed, replyTo, more = []]: Parameters<FailedDeliveries['tell']>): Promise<void> {
    try {
      await say(owed, { replyTo }, async (writes) => {
        await state.persist(() => state.commit([...writes, ...more]))
      })
    } catch (error) {
      if (!isStopped && !isTakenOver(error)) onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  function kept(failed: readonly FailedDelivery[]): void {
    for (const one of failed) {
      const what = `The answer of run ${one.id} may be missing in ${one.channel}:${one.chat.id}: ${one.reason}`
      onError(
        new BridgeError('delivery', `${what} "reply bridge failed" lists it, and /resend in that chat posts it again.`),
      )
      void tell(one)
    }
    if (failed.length > 0) void count().catch(onError)
  }

  async function deliveriesIn(prefix: string): Promise<readonly FailedDelivery[]> {
    const all = failuresIn(await state.list(prefix))
    return all.flatMap((one) => (one.type === 'delivery' && !saying.has(failureKey(one)) ? [one] : []))
  }

  /** Those of a place, also from before its chat got another id. */
  async function missingIn(place: ChatPlace): Promise<readonly FailedDelivery[]> {
    const prefixes = new Set([former(place), place].map(deliveriesOf))
    const all: FailedDelivery[] = []
    for (const prefix of prefixes) all.push(...(await state.persist(() => deliveriesIn(prefix))))
    return all
  }

  function rowPutAside({ key, id }: UnreadableRow): void {
    void count().catch(onError)
    const place = id === undefined ? undefined : placeIn(key)
    if (place && channels.has(place.channel)) void channels.notify(place, { text: texts.unreadable })
  }

  /** Tries until the chat has taken it: whatever kept the answer from it may last. */
  async function tell(place: ChatPlace): Promise<void> {
    const key = placeKey(former(place))
    // It looks again before it ends.
    const isTelling = telling.has(key)
    asked.add(key)
    if (isTelling) return
    telling.set(key, () => {})
    try {
      for (let failures = 0; !isStopped && channels.has(place.channel); failures++) {
        asked.delete(key)
        const failed = (await missingIn(place)).filter(({ isTold }) => !isTold)
        const [first] = failed
        if (!first && asked.has(key)) continue
        if (!first) return
        try {
          await channels.post(place, { text: texts.undelivered(failed.map(({ id }) => id)) }, sessionOf(first))
          for (const one of failed) await markTold(one)
        } catch (error) {
          if (isTakenOver(error)) return
          if (failures === 0) onError(error instanceof Error ? error : new Error(String(error)))
          await untilLater(key, isRefusal(error) ? refusedMs : backOffMs(failures))
        }
      }
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    } finally {
      telling.delete(key)
    }
  }

  /** Unless a person had it posted again meanwhile. */
  async function markTold(failed: FailedDelivery): Promise<void> {
    const key = failureKey(failed)
    const expected = await state.read(key)
    if (expected === undefined) return
    const { value, expiresAt } = keepFailure({ ...failed, isTold: true })
    await state.commit([{ type: 'compare-and-set', key, expected, value, expiresAt }])
  }

  function untilLater(key: string, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = clock.after(delayMs, resolve)
      telling.set(key, () => {
        stopTimer()
        resolve()
      })
    })
  }

  async function resend(place: ChatPlace): Promise<number> {
    const failed = await missingIn(place)
    for (const one of failed) {
      await channels.post(place, { text: `${texts.resent(one.id)}\n\n${one.text}` }, sessionOf(one))
      // It is posted: what fails now must not have it posted once more.
      await state.persist(async () => {
        const execution = await registry.find(place, one.id)
        const done = execution?.phase === 'undelivered' ? [registry.write({ ...execution, phase: 'done' })] : []
        await state.commit([{ type: 'remove', key: failureKey(one) }, ...done])
      })
    }
    if (failed.length > 0) void count().catch(onError)
    return failed.length
  }

  async function restore(): Promise<void> {
    const left = (await deliveriesIn(`${failedPrefix}delivery/`)).filter(({ isTold }) => !isTold)
    for (const one of new Map(left.map((failed) => [placeKey(former(failed)), failed])).values()) void tell(one)
    await count()
  }

  async function count(): Promise<void> {
    const failures = failuresIn(await state.list(failedPrefix)).filter((one) => !saying.has(failureKey(one)))
    const deliveries = failures.filter(({ type }) => type === 'delivery').length
    const rows = failures.length - deliveries
    const prompts = (await state.list(unknownPrefix)).length
    const now = [deliveries, prompts, rows].join()
    if (now === counted) return
    counted = now
    emit({ type: 'failures', at: clock.now(), deliveries, prompts, rows })
  }

  function stop(): void {
    isStopped = true
    for (const end of telling.values()) end()
  }
}

/** The place that the name of a queue ends with, as `placeKey` wrote it. */
function placeIn(queue: string): ChatPlace | undefined {
  const [, channel, id, thread] = queue.split('/').map(decodeURIComponent)
  if (channel === undefined || id === undefined) return undefined
  return { channel, chat: { id, ...(thread !== undefined && thread !== '' && { thread }) } }
}

function sessionOf({ server, sessionID }: FailedDelivery): { server: string; sessionID: string } | undefined {
  return sessionID === undefined ? undefined : { server, sessionID }
}
