import { pause } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { LiveReply } from '../replies.ts'
import type { RunServer } from './run-server.ts'

/** The reply that a run was found in. */
export interface Start {
  /** The reply's state at that moment. */
  readonly reply: Reply
  /** Whether the reply was already running. */
  readonly joined: boolean
}

export interface RecognizeOptions {
  readonly server: RunServer
  readonly place: SessionRef
  readonly over: AbortSignal
  /** Called when a reply includes the prompt, within the step that shows it. May be called again. */
  readonly found: (live: LiveReply, start: Start) => void
}

/** Watches a session's running reply and later ones for the reply that includes a prompt. */
export interface Recognizer {
  /** Resolves when the prompts seen so far have been compared. */
  settled(): Promise<void>
  stop(): void
}

/** Recognizes a prompt by its id alone, because the server keeps the id that it was posted with. */
export function recognizeByID({ server, place, found }: RecognizeOptions, messageID: string): Recognizer {
  const { replies } = server.engine
  const current = replies.newest(place.sessionID)
  const stops = [replies.onOpened(watch)]
  if (current) watch(current)
  return { settled: async () => {}, stop: () => stopAll(stops) }

  function watch(live: LiveReply): void {
    if (live.sessionID === place.sessionID) stops.push(live.follow(({ reply }) => look(live, reply)))
  }

  function look(live: LiveReply, reply: Reply): void {
    const at = reply.promptIDs.indexOf(messageID)
    if (at !== -1) found(live, { reply, joined: live === current || at > 0 })
  }
}

/**
 * The delay before the text is read again, in ms, doubling each time. A message is announced before its text is stored.
 */
const storedMs = 100
const maxLooks = 5

/**
 * Recognizes a prompt by its text, for servers that make the ids. Compares each new prompt of the running reply, one
 * after the other. Without a text, the first one is ours. A reply that opens is ours unless the running one includes
 * our prompt.
 */
export function recognizeByText(options: RecognizeOptions, text: string | undefined): Recognizer {
  const { server, place, over, found } = options
  const { replies } = server.engine
  const current = replies.newest(place.sessionID)
  const known = new Set(current?.reply().promptIDs)
  let comparing: Promise<void> | undefined
  let isStopped = false
  const stops = [replies.onOpened(onOpened)]
  if (current) stops.push(current.follow(({ reply }) => look(current, reply)))
  return { settled: async () => await comparing, stop }

  function onOpened(opened: LiveReply, reply: Reply): void {
    if (opened.sessionID !== place.sessionID) return
    if (!comparing) return found(opened, { reply, joined: false })
    void comparing.then(() => found(opened, { reply: opened.reply(), joined: false }))
  }

  function look(live: LiveReply, reply: Reply): void {
    for (const id of reply.promptIDs) {
      if (known.has(id)) continue
      known.add(id)
      if (text === undefined) found(live, { reply, joined: true })
      else comparing = compare(live, { id, text, before: comparing })
    }
  }

  async function compare(live: LiveReply, { id, text, before }: Comparison): Promise<void> {
    await before
    if (!isStopped && (await hasText(id, text.trim()))) found(live, { reply: live.reply(), joined: true })
  }

  /** Also true if the text can't be read, so an unreadable prompt counts as ours. */
  async function hasText(id: string, text: string): Promise<boolean> {
    for (let look = 0; look < maxLooks && !over.aborted; look++) {
      const stored = await server.sessions.textOf(place, id)
      if (stored === undefined) return true
      if (stored !== '') return stored.includes(text)
      await pause(server.clock, storedMs * 2 ** look, over)
    }
    return true
  }

  function stop(): void {
    isStopped = true
    stopAll(stops)
  }
}

interface Comparison {
  readonly id: string
  readonly text: string
  readonly before: Promise<void> | undefined
}

function stopAll(stops: readonly (() => void)[]): void {
  for (const stop of stops) stop()
}
