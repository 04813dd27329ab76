import { type OpenedChat, type Platform, type PlatformCall, telegram } from './platforms.ts'
import { recordedTimeline, type Timeline } from './timeline.ts'

/** How a person in the chat saw a reply, and the calls it took. */
export interface Watched {
  /** Letters of the answer that are missing on the final screen, and letters shown too often. */
  readonly missing: number
  readonly doubled: number
  /** The longest time that a finished sentence was not visible, in ms. */
  readonly invisibleMs: number
  readonly calls: Readonly<Record<string, number>>
  /** Posts and edits that show part of the answer, or a placeholder for it. */
  readonly writes: number
  readonly rateLimited: number
  readonly notifications: number
  /** From the reply's end until the whole answer was on the screen, in ms. Undefined: never. */
  readonly finalMs: number | undefined
}

/** How soon after a change the screen is read, in ms. */
const lookMs = 50

/**
 * Shows a timeline in a new chat, and resolves with what a person saw of it. `refuseLast` rate-limits the first call
 * after the reply's end.
 */
export async function watchDelivery(
  platform: Platform,
  side: 'ours' | 'peer',
  timeline: Timeline,
  refuseLast = false,
): Promise<Watched> {
  const { texts } = timeline
  const opened = await platform.open()
  const beganAtMs = performance.now()
  const final = lettersOf(texts.at(-1)?.text ?? '')
  const endMs = texts.at(-1)?.atMs ?? 0
  const sentences = sentencesOf(texts)
  const seenAtMs = sentences.map((): number | undefined => undefined)
  let wholeAtMs: number | undefined
  let lookTimer: ReturnType<typeof setTimeout> | undefined
  /** Reads the screen, and notes when each sentence and the whole answer are first there. */
  const look = (): void => {
    lookTimer = undefined
    const now = performance.now() - beganAtMs
    const seen = lettersOf(opened.screen())
    for (const [index, { text }] of sentences.entries())
      if (seenAtMs[index] === undefined && seen.includes(text)) seenAtMs[index] = now
    if (wholeAtMs === undefined && isSubsequence(final, seen)) wholeAtMs = now
  }
  // Reading a screen takes CPU time, which would delay all sides.
  const stop = opened.observe(() => {
    lookTimer ??= setTimeout(look, lookMs)
  })
  // Set just before, because the reply's last state causes its last call.
  const timer = refuseLast ? setTimeout(opened.refuseNext, endMs - 100) : undefined
  try {
    await opened[side](timeline, beganAtMs)
    look()
    const late = sentences.map(({ atMs }, index) => (seenAtMs[index] ?? Number.POSITIVE_INFINITY) - atMs)
    return {
      ...compareLetters(lettersOf(opened.screen()), final),
      ...countCalls(opened, final),
      invisibleMs: Math.max(0, ...late),
      finalMs: wholeAtMs === undefined ? undefined : Math.max(0, wholeAtMs - endMs),
    }
  } finally {
    clearTimeout(timer)
    stop()
    clearTimeout(lookTimer)
    await opened.close()
  }
}

/** Counts the calls by name and by what they did, and the notifications. */
function countCalls(
  opened: OpenedChat,
  final: string,
): Pick<Watched, 'calls' | 'writes' | 'rateLimited' | 'notifications'> {
  const all = opened.calls()
  const calls: Record<string, number> = {}
  for (const { name } of all) calls[name] = (calls[name] ?? 0) + 1
  return {
    calls,
    writes: all.filter((call) => isAnswer(call, final)).length,
    rateLimited: all.filter(({ isRateLimited }) => isRateLimited).length,
    notifications: opened.notifications(),
  }
}

/**
 * Whether the call writes a part of the answer and not a list or a status: its first 12 letters and digits are in the
 * final text. False for a text without letters and digits.
 */
function isAnswer({ text }: PlatformCall, final: string): boolean {
  const start = lettersOf(text ?? '').slice(0, 12)
  return start !== '' && final.includes(start)
}

/** Returns only letters and digits, because each side writes markup and code languages differently. */
function lettersOf(text: string): string {
  return withoutHiddenParts(text.replace(/```\w*/g, '')).replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns a text without the addresses of links and the marks of checkboxes, because a chat shows neither. */
function withoutHiddenParts(text: string): string {
  return text.replace(/\]\([^)\s]*\)|\[[ x]\]/g, ' ')
}

/** Returns the letters of each sentence of at least 13 characters, once, and when it was first finished. */
function sentencesOf(texts: Timeline['texts']): readonly { readonly text: string; readonly atMs: number }[] {
  const found = new Map<string, number>()
  for (const { atMs, text } of texts) {
    for (const [sentence] of withoutHiddenParts(text).matchAll(/[^.!?\n]{12,}[.!?](?=\s)/g)) {
      const key = lettersOf(sentence)
      if (!found.has(key)) found.set(key, atMs)
    }
  }
  return [...found].map(([text, atMs]) => ({ text, atMs }))
}

/** Length of the pieces that are compared to find missing and repeated text. */
const pieceLetters = 40

/**
 * Returns how many letters of the answer are missing on the screen, and how many are shown too often, counted in
 * pieces. None are missing if all letters are there in order.
 */
function compareLetters(seen: string, final: string): { missing: number; doubled: number } {
  let missing = 0
  let doubled = 0
  const isWhole = isSubsequence(final, seen)
  for (let at = 0; at < final.length; at += pieceLetters) {
    const piece = final.slice(at, at + pieceLetters)
    const wanted = countIn(final, piece)
    const found = countIn(seen, piece)
    // A piece split by a label isn't missing.
    if (!isWhole && found === 0) missing += piece.length
    if (found > wanted) doubled += (found - wanted) * piece.length
  }
  return { missing, doubled }
}

/** How often a piece occurs in a text, without overlaps. */
function countIn(text: string, piece: string): number {
  return text.split(piece).length - 1
}

/** Whether all letters of `inner` are in `outer`, in order. True if `inner` is empty. */
function isSubsequence(inner: string, outer: string): boolean {
  let at = 0
  for (let index = 0; index < outer.length && at < inner.length; index++) if (outer[index] === inner[at]) at += 1
  return at === inner.length
}

/** A long answer, one with tools and a checklist, and one with a sub-agent. */
const scenarios = ['long-markdown', 'tools-todos', 'subagent']

/**
 * Shows the recorded replies in a Telegram chat, through our sink or through Chat SDK, and measures what a person sees.
 * Each reply has a fake Telegram of its own.
 */
export function watchRecordedReplies(side: 'ours' | 'peer'): Promise<readonly Watched[]> {
  return Promise.all(scenarios.map(async (scenario) => watchDelivery(telegram, side, await recordedTimeline(scenario))))
}
