import { type Ask, isEqualAsk, pendingAsks, type Reply } from '@reply/core'
import { cleanLine } from '../format/sanitize.ts'
import { clip, type Line, line, span } from '../format/styled-line.ts'
import type { Focus, Keyboard } from '../terminal/keyboard.ts'
import { type Entry, emptyEntry, press, resetAfterChange, withSendFailure } from './answer-entry.ts'
import { type Answer, contentOf, summaryOf } from './ask.ts'
import { askLines, inputLines } from './panel.ts'

/** Where answers go. The result of `connect()` fits. */
export interface AskPort {
  /** Answers a question, or allows a permission. A rejection is shown below the ask. */
  answer(ask: Ask, answer: readonly (readonly string[])[] | 'once' | 'always'): Promise<unknown>
  /** Rejects an ask. Only permissions take a message. */
  reject(ask: Ask, message?: string): Promise<unknown>
}

/** The ask on the screen, split so that the question can scroll away on a low screen. */
export interface AskRows {
  /** Changes with anything that the question shows. */
  readonly key: string
  readonly question: readonly Line[]
  readonly input: readonly Line[]
}

/** The asks of one reply, which are shown and answered one after another. */
export interface Asking {
  /**
   * Switches to the oldest pending ask whose answer isn't being sent, and drops a closed one. Queues for the keys while there
   * is an ask to answer. New content of the ask empties the entry, except for a typed rejection.
   */
  update(reply: Reply): void
  /**
   * Returns the rows of the current ask. Undefined without one. Without a keyboard or a client, they have no input. While
   * another ask has the keys, one row says that this ask is next.
   */
  lines(reply: Reply, width: number): AskRows | undefined
  /** Reports that the whole question with this key is on the screen or in its scrollback, so it can be answered. */
  offer(key: string): void
  /** Forgets the current ask, and gives the keys back. */
  stop(): void
}

/** Shows asks one after another, and keeps the unfinished answer. Without a keyboard or a port, asks are only shown. */
export function createAsking(options: {
  keyboard: Keyboard | undefined
  client: AskPort | undefined
  allowUnseen: boolean
  redraw: () => void
}): Asking {
  const { keyboard, client, allowUnseen, redraw } = options
  let current: Ask | undefined
  let entry: Entry | undefined
  let focus: Focus | undefined
  let newest: Reply | undefined
  let keyOnScreen: string | undefined
  /** How often the content of a shown ask has changed. */
  let changes = 0
  /** The ids of asks with the same content as one whose answer is in flight. The client answers them too. */
  const twinIDsInFlight = new Set<string>()

  /** Applies a key to the current ask. A permission ignores Enter until all of it was on the screen. */
  function onKey(key: Parameters<typeof press>[1]): void {
    if (current === undefined || entry === undefined) return
    // Only a permission that was on the screen can be allowed.
    if (key.type === 'enter' && current.type === 'permission' && keyOnScreen !== screenKeyOf(current, entry))
      return redraw()
    const pressed = press(entry, key, { ask: current, allowUnseen })
    entry = pressed.entry
    if (pressed.answer !== undefined) void sendAnswer(current, pressed.answer)
    redraw()
  }

  /**
   * Sends an answer. Skips asks with the same content meanwhile, because the client answers them too. A failure reopens the
   * entry with a note.
   */
  async function sendAnswer(ask: Ask, answer: Answer): Promise<void> {
    const reply = newest
    const twins = reply?.asks.filter((other) => isOtherPending(other, ask) && isEqualAsk(ask, other)) ?? []
    for (const { requestID } of twins) twinIDsInFlight.add(requestID)
    try {
      await answerOrReject(ask, answer)
    } catch (error) {
      if (entry?.requestID !== ask.requestID) return
      const reason = error instanceof Error ? error.message : String(error)
      entry = withSendFailure(entry, `not sent: ${cleanLine(reason)}`)
      redraw()
    } finally {
      for (const { requestID } of twins) twinIDsInFlight.delete(requestID)
      if (newest !== undefined && twins.length > 0) {
        update(newest)
        redraw()
      }
    }
  }

  /** Sends an answer or a rejection. Returns undefined without a client. */
  function answerOrReject(ask: Ask, answer: Answer): Promise<unknown> | undefined {
    if (answer.type === 'reject') return client?.reject(ask, answer.message)
    return client?.answer(ask, answer.type === 'answers' ? answer.answers : answer.reply)
  }

  /**
   * Switches to the oldest pending ask, unless it is answered along with an equal one, and drops a closed one. Queues for
   * the keys while there is an ask to answer. New content of the ask empties the entry, except for a typed rejection.
   */
  function update(reply: Reply): void {
    newest = reply
    const asks = reply.phase === 'settled' ? [] : pendingAsks(reply)
    const next = asks.find(({ requestID }) => !twinIDsInFlight.has(requestID))
    if (next === undefined) {
      focus?.leave()
      focus = undefined
      entry = undefined
    } else if (entry?.requestID !== next.requestID) {
      entry = emptyEntry(next)
    } else if (current !== undefined && contentOf(current) !== contentOf(next)) {
      changes += 1
      entry = entry.sent ? entry : resetAfterChange(next, entry, 'the request changed: read it again')
    }
    current = next
    if (next !== undefined && client !== undefined) focus ??= keyboard?.focus({ onKey, onFocus: redraw })
  }

  /** Returns a key that changes with the current question and with the ask's content. */
  function screenKeyOf(ask: Ask, { answers }: Entry): string {
    return `ask:${ask.requestID}:full:${answers.length}:${changes}`
  }

  return {
    update,
    offer(key) {
      keyOnScreen = key
    },
    lines(reply, width) {
      if (current === undefined || entry === undefined) return undefined
      if (focus === undefined) {
        const question = askLines(current, { width, reply, allowUnseen })
        return { key: `ask:${current.requestID}:full:${changes}`, question, input: [] }
      }
      if (!focus.hasKeys()) {
        const waiting = [span('? ', 'yellow'), ...line(`${summaryOf(current)} (next in line)`, 'dim')]
        return { key: `ask:${current.requestID}:waiting`, question: [], input: [clip(waiting, width)] }
      }
      return {
        key: screenKeyOf(current, entry),
        question: askLines(current, { width, reply, entry, allowUnseen }),
        input: inputLines(current, entry, { width, allowUnseen }),
      }
    },
    stop() {
      newest = undefined
      focus?.leave()
      focus = undefined
      current = undefined
      entry = undefined
    },
  }
}

/** Whether `other` is pending and not the same ask. */
function isOtherPending(other: Ask, ask: Ask): boolean {
  return other.status === 'pending' && other.requestID !== ask.requestID
}
