import { type Part, partsOf, type Reply } from '@reply/core'
import { line } from './line.ts'
import { duration } from './phrase.ts'
import type { Block } from './shown.ts'
import { RECONNECTING, retryText } from './status.ts'

/** Something that held the reply up for a while. */
export interface Trouble {
  readonly key: string
  readonly text: string
  readonly tone: 'yellow' | 'green'
  /** A terminal's status line says it while it lasts: only a log keeps it. */
  readonly passing: boolean
  /** What is open above it goes on after it, so it doesn't wait for that. In a log none waits. */
  readonly ahead: boolean
  /** The part after which it came; absent before the first one. */
  readonly after: string | undefined
}

/**
 * The troubles of a reply in their order. Told of every change: one that is over before the next picture is kept, too,
 * and what is kept says the time that it was told at.
 */
export interface Troubles {
  see(reply: Reply, now: number): void
  list(): readonly Trouble[]
}

export function createTroubles(): Troubles {
  const troubles = new Map<string, Trouble>()
  let lostAt: number | undefined
  let outages = 0

  function add(trouble: Omit<Trouble, 'after'>, after: string | undefined): void {
    if (!troubles.has(trouble.key)) troubles.set(trouble.key, { ...trouble, after })
  }

  function see(reply: Reply, now: number): void {
    const after = reply.messages.findLast(({ parts }) => parts.length > 0)?.parts.at(-1)?.id
    if (reply.retry !== undefined) {
      const { attempt, message, nextAt } = reply.retry
      const key = `retry:${after ?? ''}:${attempt ?? nextAt ?? message}`
      add({ key, text: `↻ ${retryText(reply, now)}`, tone: 'yellow', passing: false, ahead: false }, after)
    }
    if (reply.stalled) {
      const key = `stalled:${reply.messages.length}`
      add({ key, text: '! no progress for a while', tone: 'yellow', passing: true, ahead: false }, after)
    }
    if (reply.connection === 'lost' && lostAt === undefined && reply.phase !== 'settled') {
      lostAt = now
      outages++
      add({ key: `lost:${outages}`, text: `! ${RECONNECTING}`, tone: 'yellow', passing: true, ahead: false }, after)
    } else if (lostAt !== undefined && isBack(reply)) {
      const text = `✓ connection restored after ${duration(now - lostAt)}${missedText(reply)}`
      add({ key: `back:${outages}`, text, tone: 'green', passing: false, ahead: true }, after)
      lostAt = undefined
    }
  }

  return { see, list: () => [...troubles.values()] }
}

/** The note of a trouble, to stand where it came. */
export function troubleBlock({ key, text, tone, ahead }: Trouble, live: boolean): Block {
  const note: Block = { key, final: true, gap: 'between', kind: 'note', lines: [line(text, tone)] }
  return live && !ahead ? note : { ...note, urgent: true }
}

/** Only the server can have told of these ends, also where the reply never heard that it is connected again. */
function isBack({ connection, outcome }: Reply): boolean {
  return connection === 'live' || outcome === 'completed' || outcome === 'stopped'
}

function missedText(reply: Reply): string {
  return hasHole(reply) ? '; text that was missed follows when its part ends' : ', nothing missed'
}

function hasHole(reply: Reply): boolean {
  const isHole = (part: Part): boolean => part.hole === true && part.status === 'open'
  return partsOf(reply).some(isHole) || reply.children.some((child) => hasHole(child.reply))
}
