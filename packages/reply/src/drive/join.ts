import { ReplyError } from '../error.ts'
import type { Part } from '../part.ts'
import type { Place } from '../place.ts'
import type { Reply } from '../reply.ts'
import { type Clock, pause } from './clock.ts'
import type { Engine } from './engine.ts'
import type { LiveReply } from './replies.ts'

/** How a run got its reply. */
export interface Start {
  /** Its first state that the run is told of. */
  readonly reply: Reply
  /** It was under way. */
  readonly joined: boolean
}

export interface JoinOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly place: Place
  /** What the person said, where the server keeps it as it is: a command's words it puts in others. */
  readonly text?: string | undefined
  readonly noReply?: boolean | undefined
  readonly over: AbortSignal
  readonly post: () => Promise<void>
  /** The failure leaves open whether the server took it. */
  readonly isUncertain: (error: unknown) => boolean
  readonly refresh: (place: Place) => Promise<void>
  readonly said: (place: Place, messageID: string) => Promise<string | undefined>
  /** Calls once somebody wants to have the reply aborted, which may be now. */
  readonly onUnwanted: (listener: () => void) => void
  /** The reply that took the prompt. */
  readonly found: (live: LiveReply, start: Start) => void
}

/** The looks for a prompt of which nothing is told: half a minute in all. */
const lookMs = 1000
const maxLooks = 5

/** A message is told before its words are stored. */
const storedMs = 100
const maxStored = 5

/**
 * Posts into a busy session. The reply that is under way takes the prompt in, or ends before it comes to that: then the
 * next one is ours. Others may prompt it at the same moment: ours is told by its words. Rejects when nothing ran for it.
 */
export async function join(options: JoinOptions): Promise<void> {
  const { engine, clock, place, over } = options
  const { sessionID } = place
  const current = engine.replies.newest(sessionID)
  const known = new Set(current?.reply().promptIDs)
  let isFound = false
  let isUnwanted = false
  let checks: Promise<void> | undefined
  const stops = [
    engine.replies.onOpened((opened, reply) => {
      if (opened.sessionID !== sessionID) return
      if (!checks) return found(opened, { reply, joined: false })
      void checks.then(() => found(opened, { reply: opened.reply(), joined: false }))
    }),
    current?.follow(({ reply }) => {
      const fresh = reply.promptIDs.filter((id) => !known.has(id))
      for (const id of fresh) {
        known.add(id)
        if (options.text === undefined) found(current, { reply, joined: true })
        else checks = check(current, id, checks)
      }
    }),
  ]
  try {
    await options.post()
  } catch (error) {
    if (!options.isUncertain(error)) {
      release()
      throw error
    }
  }
  if (options.noReply && current) found(current, { reply: current.reply(), joined: true })
  options.onUnwanted(() => {
    isUnwanted = true
    // Whether ours is in it already or follows on it: it must not go on.
    if (current && current.reply().phase !== 'settled') found(current, { reply: current.reply(), joined: true })
  })
  for (let look = 0; look < maxLooks && !isFound && !over.aborted; look++) {
    await pause(clock, lookMs * 2 ** look, over)
    if (!isFound && !over.aborted) await options.refresh(place)
    await checks
    if (isUnwanted) break
  }
  release()
  if (!isFound && !isUnwanted) throw new ReplyError('refused', 'The server took the prompt, but nothing ran for it.')

  async function check(live: LiveReply, id: string, before: Promise<void> | undefined): Promise<void> {
    await before
    if (isFound || !(await isOurs(id))) return
    found(live, { reply: live.reply(), joined: true })
  }

  async function isOurs(id: string): Promise<boolean> {
    for (let look = 0; look < maxStored && !over.aborted; look++) {
      const said = await options.said(place, id)
      if (said === undefined) return true
      if (said !== '') return said.includes(options.text?.trim() ?? '')
      await pause(clock, storedMs * 2 ** look, over)
    }
    return true
  }

  function found(live: LiveReply, start: Start): void {
    release()
    if (isFound) return
    isFound = true
    options.found(live, start)
  }

  function release(): void {
    for (const stop of stops) stop?.()
  }
}

/** What a person typed, without what the server added to it. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : [])).join('\n\n')
}
