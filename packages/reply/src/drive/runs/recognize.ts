import { pause } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { LiveReply } from '../replies.ts'
import type { RunServer } from './run-server.ts'

/** The reply that a run was found in. */
export interface FoundReply {
  /** The reply's state at that moment. */
  readonly reply: Reply
  /** Whether the reply was already running. */
  readonly joined: boolean
}

/** The session in which a prompt's reply is looked for. */
export interface PromptSearch {
  readonly server: RunServer
  readonly place: SessionRef
  /** Aborts when the stream has ended. */
  readonly over: AbortSignal
  /** Called when a reply includes the prompt, within the step that shows it. May be called again. */
  readonly onFound: (live: LiveReply, foundReply: FoundReply) => void
}

/** A search for the reply that includes a prompt, in a session's running reply and later ones. */
export interface Recognizer {
  /** Resolves when the prompts seen so far have been compared. */
  whenCompared(): Promise<void>
  /** Ends the search. */
  stop(): void
}

/**
 * Calls `onFound` with each step of a reply that includes the prompt's id, until stopped. For servers that keep the id
 * that a prompt was posted with.
 */
export function recognizeByID({ server, place, onFound }: PromptSearch, messageID: string): Recognizer {
  const { replies } = server.engine
  const current = replies.newest(place.sessionID)
  const stops = [replies.onOpened(followReply)]
  if (current) followReply(current)
  return { whenCompared: async () => {}, stop: () => callAll(stops) }

  /** Compares the reply's prompts with each of its steps from now on. Does nothing if it belongs to another session. */
  function followReply(live: LiveReply): void {
    if (live.sessionID === place.sessionID) stops.push(live.follow(({ reply }) => compareIDs(live, reply)))
  }

  /**
   * Calls `onFound` if the reply includes the prompt's id. `joined` if the reply was running before, or began with
   * another prompt.
   */
  function compareIDs(live: LiveReply, reply: Reply): void {
    const at = reply.promptIDs.indexOf(messageID)
    if (at !== -1) onFound(live, { reply, joined: live === current || at > 0 })
  }
}

/**
 * The delay before the text is read again, in ms, doubling each time. A message is announced before its text is stored.
 */
const storedMs = 100
const maxLooks = 5

/**
 * Calls `onFound` with the running reply once a new prompt in it has the text, and with each reply that opens later.
 * For servers that make the ids. Without a text, any new prompt of the running reply counts. The prompts' texts are
 * read from the server, one after the other, and a reply that opens waits for that.
 */
export function recognizeByText(options: PromptSearch, text: string | undefined): Recognizer {
  const { server, place, over, onFound } = options
  const { replies } = server.engine
  const current = replies.newest(place.sessionID)
  const known = new Set(current?.reply().promptIDs)
  let comparing: Promise<void> | undefined
  let isStopped = false
  const stops = [replies.onOpened(foundOnceCompared)]
  if (current) stops.push(current.follow(({ reply }) => compareNewPrompts(current, reply)))
  return { whenCompared: async () => await comparing, stop: stopSearch }

  /**
   * Calls `onFound` with a reply that opened in the session. Waits until the prompts seen so far have been compared, so
   * that one of the running reply is found first. Does nothing for another session.
   */
  function foundOnceCompared(opened: LiveReply, reply: Reply): void {
    if (opened.sessionID !== place.sessionID) return
    if (!comparing) return onFound(opened, { reply, joined: false })
    void comparing.then(() => onFound(opened, { reply: opened.reply(), joined: false }))
  }

  /**
   * Compares each prompt that the reply didn't have before. The comparison reads its text later. Without a text to
   * compare, calls `onFound` at once.
   */
  function compareNewPrompts(live: LiveReply, reply: Reply): void {
    for (const id of reply.promptIDs) {
      if (known.has(id)) continue
      known.add(id)
      if (text === undefined) onFound(live, { reply, joined: true })
      else comparing = compareInOrder(live, id, text, comparing)
    }
  }

  /**
   * Waits for the comparison before, then calls `onFound` if the prompt has the text. Skips the comparison if the
   * search was stopped before it begins.
   */
  async function compareInOrder(
    live: LiveReply,
    id: string,
    text: string,
    previous: Promise<void> | undefined,
  ): Promise<void> {
    await previous
    if (!isStopped && (await hasText(id, text.trim()))) onFound(live, { reply: live.reply(), joined: true })
  }

  /**
   * Reads a prompt, up to five times until its text is stored. Resolves with whether it contains the text. True if it
   * can't be read, or isn't stored after that.
   */
  async function hasText(id: string, text: string): Promise<boolean> {
    for (let look = 0; look < maxLooks && !over.aborted; look++) {
      const stored = await server.sessions.readWrittenText(place, id)
      if (stored === undefined) return true
      if (stored !== '') return stored.includes(text)
      await pause(server.clock, storedMs * 2 ** look, over)
    }
    return true
  }

  /** Ends the search. Comparisons that have not begun are skipped. */
  function stopSearch(): void {
    isStopped = true
    callAll(stops)
  }
}

function callAll(stops: readonly (() => void)[]): void {
  for (const stop of stops) stop()
}
