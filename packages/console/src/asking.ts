import { type Ask, pendingAsks, type Reply } from '@reply/core'
import { type Answer, askTitle } from './ask.ts'
import { type Entry, emptyEntry, failed, press } from './entry.ts'
import type { Focus, Keyboard } from './keyboard.ts'
import { clip, type Line, line, span } from './line.ts'
import { askLines, inputLines } from './panel.ts'
import { cleanLine } from './sanitize.ts'

/** Where answers go. What `connect()` returns fits. */
export interface AskPort {
  answer(ask: Ask, answer: readonly (readonly string[])[] | 'once' | 'always'): Promise<unknown>
  reject(ask: Ask, message?: string): Promise<unknown>
}

/** The ask that is on the screen, split so that a screen that is too low can let the question scroll away. */
export interface Asked {
  readonly key: string
  readonly question: readonly Line[]
  readonly input: readonly Line[]
}

export interface Asking {
  /** Takes up the oldest pending ask, lets go of one that is over. */
  update(reply: Reply): void
  lines(reply: Reply, width: number): Asked | undefined
  stop(): void
}

/** Asks one after another, with what was typed so far. Without a keyboard or a port it only shows them. */
export function createAsking(options: {
  keyboard: Keyboard | undefined
  opencode: AskPort | undefined
  redraw: () => void
}): Asking {
  const { keyboard, opencode, redraw } = options
  let current: Ask | undefined
  let entry: Entry | undefined
  let focus: Focus | undefined

  function onKey(key: Parameters<typeof press>[2]): void {
    if (current === undefined || entry === undefined) return
    const pressed = press(current, entry, key)
    entry = pressed.entry
    if (pressed.answer !== undefined) void send(current, pressed.answer)
    redraw()
  }

  async function send(ask: Ask, answer: Answer): Promise<void> {
    try {
      await deliver(ask, answer)
    } catch (error) {
      if (entry?.requestID !== ask.requestID) return
      const reason = error instanceof Error ? error.message : String(error)
      entry = failed(entry, `not sent: ${cleanLine(reason)}`)
      redraw()
    }
  }

  function deliver(ask: Ask, answer: Answer): Promise<unknown> | undefined {
    if (answer.type === 'reject') return opencode?.reject(ask, answer.message)
    return opencode?.answer(ask, answer.type === 'answers' ? answer.answers : answer.reply)
  }

  return {
    update(reply) {
      const [next] = reply.phase === 'settled' ? [] : pendingAsks(reply)
      if (next === undefined) {
        focus?.leave()
        focus = undefined
        entry = undefined
      } else if (entry?.requestID !== next.requestID) {
        entry = emptyEntry(next)
      }
      current = next
      if (next !== undefined && opencode !== undefined) focus ??= keyboard?.focus({ onKey, onFocus: redraw })
    },
    lines(reply, width) {
      if (current === undefined || entry === undefined) return undefined
      if (focus === undefined) {
        const question = askLines(current, { width, reply })
        return { key: `ask:${current.requestID}:full`, question, input: [] }
      }
      if (!focus.has()) {
        const waiting = [span('? ', 'yellow'), ...line(`${askTitle(current)} (next in line)`, 'dim')]
        return { key: `ask:${current.requestID}:waiting`, question: [], input: [clip(waiting, width)] }
      }
      return {
        key: `ask:${current.requestID}:full:${entry.answers.length}`,
        question: askLines(current, { width, reply, entry }),
        input: inputLines(current, entry, width),
      }
    },
    stop() {
      focus?.leave()
      focus = undefined
      current = undefined
      entry = undefined
    },
  }
}
