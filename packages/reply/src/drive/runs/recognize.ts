import { pause } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import type { RunServer } from './run-server.ts'

/** The reply that a run was found in. */
export interface FoundReply {
  /** The reply's state at that moment. */
  readonly reply: Reply
  /** Whether the reply was already running. */
  readonly joined: boolean
  /** The id of the prompt's message. Absent if the reply was found without it. */
  readonly messageID?: string | undefined
}

/** The session in which a prompt's reply is looked for. */
export interface PromptSearch {
  readonly server: RunServer
  readonly place: SessionRef
  /** Aborts when the stream has ended. */
  readonly over: AbortSignal
  /** Called when a reply includes the prompt, within the step that shows it. May be called again. */
  readonly onFound: (live: LiveReply, foundReply: FoundReply) => void
  /** Prompts of the running reply that are known to be others. Default: all that it has. */
  readonly others?: readonly string[] | undefined
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
  let isStopped = false
  const stops = [replies.onOpened(followReply)]
  if (current) followReply(current)
  // A read may have shown it together with the prompt that came first.
  queueMicrotask(() => !isStopped && current && compareIDs(current, current.reply()))
  return { whenCompared: async () => {}, stop: stopSearch }

  /** Ends the search. */
  function stopSearch(): void {
    isStopped = true
    callAll(stops)
  }

  /** Compares the reply's prompts with each of its steps from now on. Does nothing if it belongs to another session. */
  function followReply(live: LiveReply): void {
    if (live.sessionID === place.sessionID) stops.push(live.follow(({ reply }) => compareIDs(live, reply)))
  }

  /**
   * Calls `onFound` if the reply includes the prompt's id, or a step that names it. `joined` if the reply was running
   * before, or began with another prompt.
   */
  function compareIDs(live: LiveReply, reply: Reply): void {
    const at = reply.promptIDs.indexOf(messageID)
    if (at !== -1 || reply.messages.some(({ parentID }) => parentID === messageID))
      onFound(live, { reply, joined: live === current || at > 0, messageID })
  }
}

/**
 * The delay before the text is read again, in ms, doubling each time. A message is announced before its text is stored.
 */
const storedMs = 100
const maxLooks = 5
/** The delay after a failed read, in ms, doubling each time. */
const failedMs = 500

/**
 * Calls `onFound` with the running reply, or one that opens later, once a new prompt in it has the text. For servers
 * that make the ids. Without a text, any new prompt of the running reply counts, and any reply that opens later. So does
 * a later reply that shows no prompt. The prompts' texts are read from the server, one after the other.
 */
export function recognizeByText(options: PromptSearch, text: string | undefined): Recognizer {
  const { server, place, over, onFound } = options
  const { replies } = server.engine
  const current = replies.newest(place.sessionID)
  const known = new Set(options.others ?? current?.reply().promptIDs)
  let comparing: Promise<void> | undefined
  let isStopped = false
  const stops = [replies.onOpened(foundOnceCompared)]
  if (current) {
    stops.push(current.follow(({ reply }) => compareNewPrompts(current, reply)))
    compareNewPrompts(current, current.reply())
  }
  return { whenCompared: async () => await comparing, stop: stopSearch }

  /**
   * Calls `onFound` with a reply that opened in the session, at once if there is no text to compare. Otherwise compares
   * its prompts, and those that its steps name. If it has none of either although something runs, or it has failed, there is
   * nothing to compare. Waits until the
   * prompts seen so far have been compared, so that one of the running reply is found first. Does nothing for another
   * session.
   */
  function foundOnceCompared(opened: LiveReply, first: Reply): void {
    if (opened.sessionID !== place.sessionID) return
    const compare = ({ reply }: { readonly reply: Reply }): void => {
      const { promptIDs, messages, phase, outcome } = reply
      const isNamed = promptIDs.length > 0 || messages.some(({ parentID }) => parentID !== undefined)
      if (text !== undefined && isNamed) return compareNewPrompts(opened, reply)
      // The stream missed a run that completed without a message. A read will show it.
      if (text !== undefined && messages.length === 0 && (phase !== 'settled' || outcome === 'completed')) return
      if (!comparing) return onFound(opened, { reply, joined: false })
      void comparing.then(() => isStopped || onFound(opened, { reply: opened.reply(), joined: false }))
    }
    stops.push(opened.follow(compare))
    compare({ reply: first })
  }

  /**
   * Compares each prompt that the reply didn't have before. The comparison reads its text later. Without a text to
   * compare, calls `onFound` at once.
   */
  function compareNewPrompts(live: LiveReply, reply: Reply): void {
    // The stream may have missed a prompt whose answer it tells.
    const parentIDs = reply.messages.flatMap(({ parentID }) => (parentID === undefined ? [] : [parentID]))
    for (const id of [...reply.promptIDs, ...parentIDs]) {
      if (known.has(id)) continue
      known.add(id)
      if (text === undefined) onFound(live, { reply, joined: true, messageID: id })
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
    if (isStopped || !(await hasText(id, text.trim()))) return
    const reply = live.reply()
    onFound(live, { reply, joined: live === current || reply.promptIDs.indexOf(id) > 0, messageID: id })
  }

  /**
   * Reads a prompt until its text is stored, up to five times, and resolves with whether it contains the text. True if nothing
   * of it is stored after that, or the source doesn't show it. False for one without a text, such as a picture or a shell
   * command. Reads again after failures. After five, resolves with false, because another client's run must not be taken
   * for this prompt's.
   */
  async function hasText(id: string, text: string): Promise<boolean> {
    let failures = 0
    let isStored = false
    for (let look = 0; look < maxLooks && !over.aborted; ) {
      try {
        const written = await server.sessions.readWrittenText(place, id)
        if (written === undefined) return true
        if (written.text !== '') return written.text.includes(text)
        isStored = written.isStored
        look += 1
      } catch (error) {
        const reported = toReplyError(error)
        if (reported.type === 'gone') look += 1
        else {
          failures += 1
          server.onError(reported)
        }
        if (failures === maxLooks) return false
      }
      await pause(server.clock, failures > 0 ? failedMs * 2 ** failures : storedMs * 2 ** look, over)
    }
    return !over.aborted && !isStored
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
