import type { TestClock } from '../clock.ts'
import { limits } from './limits.ts'
import { badRequest } from './refusal.ts'

/** A button that a person pressed. It changes as the bot answers, or doesn't. */
export interface TelegramPress {
  /** The callback query's id. */
  readonly id: string
  /** The button's data. */
  readonly data: string
  /** While "waiting", the person sees a spinner on the button. */
  readonly status: 'waiting' | 'answered' | 'expired'
  /** The notice in the bot's answer. Empty if the answer has none, undefined until there is an answer. */
  readonly text: string | undefined
  /** Whether the notice must be dismissed. */
  readonly isAlert: boolean
  /** Resolves when it is answered or expired. */
  readonly settled: Promise<TelegramPress>
}

export interface Presses {
  /** A new press that waits for an answer. It expires after 15 s. */
  begin(data: string): TelegramPress
  /** Settles a press with a notice, which may be empty. Throws a `Refusal` if no such press waits. */
  answer(id: string, text: string, isAlert: boolean): void
  /** Expires all presses that wait. */
  close(): void
}

interface Waiting {
  readonly answer: (text: string, isAlert: boolean) => void
  readonly expire: () => void
}

/** Returns the callback queries of a bot, none at first. Each can be answered once, within 15 s. */
export function createPresses(clock: TestClock): Presses {
  const waiting = new Map<string, Waiting>()
  let opened = 0
  return {
    begin,
    answer: (id, text, isAlert) => {
      const found = waiting.get(id)
      if (!found) throw badRequest('query is too old and response timeout expired or query ID is invalid')
      found.answer(text, isAlert)
    },
    close: () => {
      for (const each of waiting.values()) each.expire()
    },
  }

  /** Returns a press that changes in place when it is answered, or after 15 s. */
  function begin(data: string): TelegramPress {
    opened += 1
    const id = `${7_000_000_000 + opened}`
    let status: TelegramPress['status'] = 'waiting'
    let notice: string | undefined
    let isAlert = false
    let settle = (_: TelegramPress): void => {}
    const settled = new Promise<TelegramPress>((resolve) => {
      settle = resolve
    })
    const press: TelegramPress = {
      id,
      data,
      get status() {
        return status
      },
      get text() {
        return notice
      },
      get isAlert() {
        return isAlert
      },
      settled,
    }
    /** Ends the waiting with this status, and resolves `settled`. */
    const settleAs = (how: 'answered' | 'expired'): void => {
      stop()
      waiting.delete(id)
      status = how
      settle(press)
    }
    const stop = clock.after(limits.pressMs, () => settleAs('expired'))
    waiting.set(id, {
      answer: (text, alert) => {
        notice = text
        isAlert = alert
        settleAs('answered')
      },
      expire: () => settleAs('expired'),
    })
    return press
  }
}
