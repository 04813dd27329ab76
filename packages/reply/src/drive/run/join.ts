import { ReplyError } from '../../error.ts'
import type { Part } from '../../part.ts'
import type { Place } from '../../place.ts'
import type { Reply } from '../../reply.ts'
import { type Clock, pause } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import type { LiveReply } from '../store/replies.ts'

/** How a run got its reply. */
export interface Start {
  /** The first state that the run receives. */
  readonly reply: Reply
  /** Whether the reply was already running. */
  readonly joined: boolean
}

export interface JoinOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly place: Place
  /** What the person said, if the server keeps it verbatim; it wraps a command's text in other words. */
  readonly text?: string | undefined
  /** The id of the prompt's message, if the server accepts one; then the id alone identifies the prompt. */
  readonly messageID?: string | undefined
  readonly over: AbortSignal
  readonly post: () => Promise<void>
  readonly refresh: (place: Place) => Promise<void>
  readonly said: (place: Place, messageID: string) => Promise<string | undefined>
  /** Registers a listener that is called once the reply must be aborted, possibly at once. */
  readonly onUnwanted: (listener: () => void) => void
  /** The reply that took the prompt. */
  readonly found: (live: LiveReply, start: Start) => void
}

/** The checks for a prompt without events: half a minute in all. */
const lookMs = 1000
const maxLooks = 5

/** A message is announced before its text is stored. */
const storedMs = 100
const maxStored = 5

/**
 * Posts into a busy session. The running reply takes the prompt in, or ends before that; then the next reply is ours.
 * Others may prompt the session at the same moment, so ours is recognized by its id or its text. Rejects if nothing ran
 * for it.
 */
export async function join(options: JoinOptions): Promise<void> {
  const { engine, clock, place, messageID, over } = options
  const { sessionID } = place
  const current = engine.replies.newest(sessionID)
  const known = new Set(current?.reply().promptIDs)
  let isFound = false
  let isUnwanted = false
  let checks: Promise<void> | undefined
  const stops: ((() => void) | undefined)[] = [
    engine.replies.onOpened((opened, reply) => {
      if (opened.sessionID !== sessionID) return
      if (messageID !== undefined) return void stops.push(opened.follow((step) => lookIn(opened, step.reply)))
      if (!checks) return found(opened, { reply, joined: false })
      void checks.then(() => found(opened, { reply: opened.reply(), joined: false }))
    }),
    current?.follow(({ reply }) => {
      if (messageID !== undefined) return lookIn(current, reply)
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
    if (!isUncertain(error)) {
      release()
      throw error
    }
  }
  options.onUnwanted(() => {
    isUnwanted = true
    // Aborts the current reply, whether it contains our prompt already or ours follows it.
    if (current && current.reply().phase !== 'settled') found(current, { reply: current.reply(), joined: true })
  })
  for (let look = 0; look < maxLooks && !isFound && !over.aborted; look++) {
    await pause(clock, lookMs * 2 ** look, over)
    if (!isFound && !over.aborted) await options.refresh(place)
    await checks
    if (isUnwanted) break
  }
  release()
  if (!isFound && !isUnwanted)
    throw new ReplyError('refused', 'The server accepted the prompt, but no run started for it.')

  function lookIn(live: LiveReply, reply: Reply): void {
    const at = messageID === undefined ? -1 : reply.promptIDs.indexOf(messageID)
    if (at !== -1) found(live, { reply, joined: live === current || at > 0 })
  }

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

/** Whether the failure of a post leaves open if the server took it. */
export function isUncertain(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'unreachable'
}

/** What a person typed, without the server's additions. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : [])).join('\n\n')
}
