import { startTelegram } from '@reply/testing/telegram'
import { startScripted } from './scripted-opencode.ts'

/** Messages from the fakes: their addresses, then the result of each load. */
export type FakesMessage =
  | { readonly type: 'ready'; readonly telegram: string; readonly opencode: string }
  | {
      readonly type: 'done'
      readonly finalsMs: number
      readonly limited: number
      /** The posts and edits that the bot made. */
      readonly shown: number
      readonly latenciesMs: readonly number[]
      /** From an answer's first piece, a sentence, to the chat that shows it, in ms. */
      readonly firstsMs: readonly number[]
      /** From an answer's end to the chat that shows all of it, in ms. */
      readonly lastsMs: readonly number[]
    }
  | { readonly type: 'stuck'; readonly why: string }

/** A load for the fakes: this many chats write one message each, all at once or one after the other. */
export interface Load {
  readonly chats: number
  readonly everyMs: number
  /** The number of the first chat. */
  readonly firstChat: number
}

const token = '1:bench'
/** After how long a load fails if no further chat shows its whole answer, in ms. */
const stuckMs = 60_000

/**
 * A fake Telegram and a scripted OpenCode in a process of their own, so that they take neither time nor memory of the
 * bridge. `fakes.js PIECES EVERY_MS PARAGRAPHS` is forked.
 */
const [pieces = 1, everyMs = 1, paragraphs = 1] = process.argv.slice(2).map(Number)
const paragraph = `${'The agent writes a sentence, and then another one. '.repeat(20)}\n`
const endOf = (chat: string): string => `This is the end of ${chat}.`
const writtenAt = new Map<string, number>()
let latenciesMs: number[] = []
let firstsMs: number[] = []
let lastsMs: number[] = []
let endedAt = 0
const telegram = await startTelegram({ token })
const server = await startScripted({
  answer: (prompt) => paragraph.repeat(paragraphs) + endOf(prompt),
  pieces,
  everyMs,
  onPrompt: (prompt) => latenciesMs.push(performance.now() - (writtenAt.get(prompt) ?? 0)),
  onFirst: (prompt) => recordShown(prompt, 'The agent', firstsMs),
  onEnd: (prompt) => {
    endedAt = performance.now()
    recordShown(prompt, endOf(prompt), lastsMs)
  },
})

process.on('message', (load: Load) => {
  playLoad(load).then(sendToParent, (error: unknown) =>
    sendToParent({ type: 'stuck', why: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
sendToParent({ type: 'ready', telegram: telegram.url, opencode: server.url })

/** Lets the chats write, and resolves with the times once each shows its whole answer. Rejects as `waitUntilShown`. */
async function playLoad({ chats, everyMs: pauseMs, firstChat }: Load): Promise<FakesMessage> {
  latenciesMs = []
  firstsMs = []
  lastsMs = []
  const shownBefore = countShown()
  const waiting = new Set(Array.from({ length: chats }, (_, index) => firstChat + index))
  const shown = waitUntilShown(waiting)
  // It may reject before the last message is written.
  shown.catch(() => {})
  for (const chat of [...waiting]) {
    writtenAt.set(`chat ${chat}`, performance.now())
    telegram.say(chat, `chat ${chat}`)
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  const finalsMs = (await shown) - endedAt
  const limited = telegram.calls.filter(({ status }) => status === 429).length
  return { type: 'done', finalsMs, limited, shown: countShown() - shownBefore, latenciesMs, firstsMs, lastsMs }
}

/** Returns how many posts and edits the bot has made. */
function countShown(): number {
  return telegram.count('sendMessage') + telegram.count('sendRichMessage') + telegram.count('editMessageText')
}

/**
 * Looks every 2 ms until the chat of a prompt shows a text, and then adds the time since the call to `times`, in ms.
 */
function recordShown(prompt: string, shown: string, times: number[]): void {
  const chat = Number(prompt.slice('chat '.length))
  const since = performance.now()
  const timer = setInterval(() => {
    if (!telegram.screen(chat).some(({ text }) => text.includes(shown))) return
    clearInterval(timer)
    times.push(performance.now() - since)
  }, 2)
}

/**
 * Resolves with the time at which the last of the chats showed its whole answer, looked up every 100 ms, and empties
 * the set. Rejects if no further chat does within a minute.
 */
async function waitUntilShown(waiting: Set<number>): Promise<number> {
  for (let changedAt = performance.now(); ; ) {
    const before = waiting.size
    for (const chat of waiting) {
      if (telegram.screen(chat).some(({ text }) => text.includes(endOf(`chat ${chat}`)))) waiting.delete(chat)
    }
    const now = performance.now()
    if (waiting.size === 0) return now
    if (waiting.size < before) changedAt = now
    if (now - changedAt > stuckMs) throw new Error(stuckText([...waiting]))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The error for chats that never showed their whole answer, with the last message of the first. */
function stuckText(chats: readonly number[]): string {
  const [chat = 0] = chats
  const last = telegram.screen(chat).at(-1)?.text ?? ''
  return `${chats.length} chats never showed their whole answer. The last message of chat ${chat}: ${JSON.stringify(last)}.`
}

/** Reports to the process that forked this one. Does nothing if none did. */
function sendToParent(message: FakesMessage): void {
  process.send?.(message)
}
