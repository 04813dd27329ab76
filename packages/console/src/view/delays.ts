import { type Part, partsOf, type Reply } from '@reply/core'
import { duration } from '@reply/core/show'
import { texts } from '@reply/sink'
import { retryText } from '@reply/sink/internal'
import { cleanLine } from '../format/sanitize.ts'
import { line } from '../format/styled-line.ts'
import type { Block } from './blocks.ts'

/** Something that delayed the reply for a while. */
export interface Delay {
  readonly key: string
  readonly text: string
  readonly tone: 'yellow' | 'green'
  /** A terminal's status line shows it while it lasts, so only a log keeps it. */
  readonly passing: boolean
  /** Text above it continues below it, so the note doesn't wait for that text. In a log, notes never wait. */
  readonly ahead: boolean
  /** The part that precedes it. Absent before the first one. */
  readonly afterPartID: string | undefined
}

/**
 * The delays of a reply in order. It sees every change, so even a delay that ends before the next repaint is kept,
 * with the time at which it was seen.
 */
export interface Delays {
  /** Adds each new delay of this state, once: retries, a stalled model, a lost and a restored connection. */
  record(reply: Reply, now: number): void
  /** Returns the delays so far. A reconnect is added once it is certain what was missed. */
  list(now: number): readonly Delay[]
  /** How long until the list changes without a new event, in ms. Absent if it won't. */
  msUntilChange(now: number): number | undefined
}

// The core checks again two seconds after a reconnect, and a second apart while work has no end.
const SURE_MS = 3_500

/** Collects what delayed a reply, for example retries and outages, for notes at the places where that occurred. */
export function createDelays(): Delays {
  const delays = new Map<string, Delay>()
  let lostAt: number | undefined
  let outages = 0
  /** The connection is back, but it is not yet certain whether something was missed. */
  let reconnect: { readonly at: number; readonly lasted: string; readonly afterPartID: string | undefined } | undefined

  /** Adds the delay. Does nothing if its key is known. */
  function addOnce(delay: Delay): void {
    if (!delays.has(delay.key)) delays.set(delay.key, delay)
  }

  /** Adds each new delay of this state, once: retries, a stalled model, a lost and a restored connection. */
  function record(reply: Reply, now: number): void {
    const afterPartID = reply.messages.findLast(({ parts }) => parts.length > 0)?.parts.at(-1)?.id
    const added = { tone: 'yellow', ahead: false, afterPartID } as const
    if (reply.retry !== undefined) {
      const { attempt, message, nextAt } = reply.retry
      const key = `retry:${afterPartID ?? ''}:${attempt ?? nextAt ?? message}`
      addOnce({ ...added, key, text: `↻ ${cleanLine(retryText(reply.retry, { now, texts }))}`, passing: false })
    }
    if (reply.stalled) {
      addOnce({ ...added, key: `stalled:${reply.messages.length}`, text: `! ${texts.stalled}`, passing: true })
    }
    if (reply.connection === 'lost' && lostAt === undefined && reply.phase !== 'settled') {
      addRestored('')
      lostAt = now
      outages++
      addOnce({ ...added, key: `lost:${outages}`, text: `! ${texts.lostConnection}`, passing: true })
    } else if (lostAt !== undefined && isReconnected(reply)) {
      reconnect = { at: now, lasted: duration(now - lostAt), afterPartID }
      lostAt = undefined
      if (hasHole(reply)) addRestored(TEXT_FOLLOWS, true)
    }
    if (reply.phase === 'settled') addRestored(reply.outcome === 'lost' ? '' : NOTHING_MISSED)
  }

  /**
   * Adds the pending note about the reconnect, with what was missed. Does nothing without one. With `ahead`, it doesn't wait
   * for the text above it.
   */
  function addRestored(missed: string, ahead = false): void {
    if (reconnect === undefined) return
    const text = `✓ connection restored after ${reconnect.lasted}${missed}`
    addOnce({ key: `back:${outages}`, text, tone: 'green', passing: false, ahead, afterPartID: reconnect.afterPartID })
    reconnect = undefined
  }

  /** Returns how long until the list changes without a new event, in ms. Undefined if only an event can change it. */
  function msUntilChange(now: number): number | undefined {
    return reconnect === undefined ? undefined : Math.max(0, reconnect.at + SURE_MS - now)
  }

  return {
    record,
    msUntilChange,
    list(now) {
      if (msUntilChange(now) === 0) addRestored(NOTHING_MISSED)
      return [...delays.values()]
    },
  }
}

export const NOTHING_MISSED = ', nothing missed'
export const TEXT_FOLLOWS = ', missed text follows when its part ends'

/** Returns the note of a delay. It is committed at once in a log, and in a terminal if it is `ahead`. */
export function delayBlock({ key, text, tone, ahead }: Delay, live: boolean): Block {
  const note: Block = { key, final: true, gap: 'between', kind: 'note', lines: [line(text, tone)] }
  return live && !ahead ? note : { ...note, urgent: true }
}

/**
 * Whether the connection is back: it is `live`, or the outcome comes from the server, so that it was back even if the reply
 * never saw `live`.
 */
function isReconnected({ connection, outcome }: Reply): boolean {
  return connection === 'live' || outcome === 'completed' || outcome === 'stopped'
}

/** Whether the reply or a sub-agent has an open text with a hole from the outage. */
export function hasHole(reply: Reply): boolean {
  const isHole = (part: Part): boolean => part.holes !== undefined && part.status === 'open'
  return partsOf(reply).some(isHole) || reply.children.some((child) => hasHole(child.reply))
}
