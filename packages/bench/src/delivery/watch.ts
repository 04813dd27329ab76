import type { Call, Opened, Platform } from './platform.ts'
import type { Timeline } from './timeline.ts'

/** What a person in the chat got of a reply, and what it took. */
export interface Watched {
  /** Letters of the answer that are not on the screen at the end, and letters that are there too often. */
  readonly missing: number
  readonly doubled: number
  /** The longest time that a finished sentence was not to be seen, in ms. */
  readonly invisibleMs: number
  readonly calls: Readonly<Record<string, number>>
  /** Posts and edits that show some of the answer, or hold its place. */
  readonly writes: number
  readonly rateLimited: number
  readonly notifications: number
  /** From the end of the reply until all of it was on the screen, in ms. Undefined: never. */
  readonly finalMs: number | undefined
}

export interface Watching {
  readonly platform: Platform
  readonly side: 'ours' | 'peer'
  readonly timeline: Timeline
  /** The first call after the reply's end is refused for its rate. */
  readonly refuseLast?: boolean | undefined
}

/** How soon after a change the screen is looked at. */
const lookMs = 50

/** Shows a timeline by some means in a chat of its own and watches what a person sees of it. */
export async function watchDelivery({ platform, side, timeline, refuseLast }: Watching): Promise<Watched> {
  const { texts } = timeline
  const opened = await platform.open()
  const start = performance.now()
  const final = bare(texts.at(-1)?.text ?? '')
  const endMs = texts.at(-1)?.atMs ?? 0
  const sentences = sentencesOf(texts)
  const seenAt = sentences.map((): number | undefined => undefined)
  let wholeAt: number | undefined
  let timerOfLook: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    timerOfLook = undefined
    const now = performance.now() - start
    const seen = bare(opened.screen())
    for (const [index, { text }] of sentences.entries())
      if (seenAt[index] === undefined && seen.includes(text)) seenAt[index] = now
    if (wholeAt === undefined && isWithin(final, seen)) wholeAt = now
  }
  // Reading a screen is work, which would make all sides late.
  const stop = opened.observe(() => {
    timerOfLook ??= setTimeout(look, lookMs)
  })
  // Just before: the last state of a reply is what makes its last call.
  const timer = refuseLast ? setTimeout(opened.refuseNext, endMs - 100) : undefined
  try {
    await opened[side](timeline, start)
    look()
    const late = sentences.map(({ atMs }, index) => (seenAt[index] ?? Number.POSITIVE_INFINITY) - atMs)
    return {
      ...compared(bare(opened.screen()), final),
      ...counted(opened, final),
      invisibleMs: Math.max(0, ...late),
      finalMs: wholeAt === undefined ? undefined : Math.max(0, wholeAt - endMs),
    }
  } finally {
    clearTimeout(timer)
    stop()
    clearTimeout(timerOfLook)
    await opened.close()
  }
}

function counted(opened: Opened, final: string): Pick<Watched, 'calls' | 'writes' | 'rateLimited' | 'notifications'> {
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

/** Lists and statuses are none of it. */
function isAnswer({ text }: Call, final: string): boolean {
  return text !== undefined && final.includes(bare(text).slice(0, 12))
}

/** The letters and digits alone: markup is each one's own affair, and so is the language of code. */
function bare(text: string): string {
  return text.replace(/```\w*/g, '').replace(/[^\p{L}\p{N}]/gu, '')
}

/** Sentences that have come to their end, and when. */
function sentencesOf(texts: Timeline['texts']): readonly { readonly text: string; readonly atMs: number }[] {
  const found = new Map<string, number>()
  for (const { atMs, text } of texts) {
    for (const [sentence] of text.matchAll(/[^.!?\n]{12,}[.!?](?=\s)/g)) {
      const key = bare(sentence)
      if (!found.has(key)) found.set(key, atMs)
    }
  }
  return [...found].map(([text, atMs]) => ({ text, atMs }))
}

/** Pieces of so many letters tell what is lacking, and what is there too often. */
const pieceLetters = 40

function compared(seen: string, final: string): { missing: number; doubled: number } {
  let [missing, doubled] = [0, 0]
  const isWhole = isWithin(final, seen)
  for (let at = 0; at < final.length; at += pieceLetters) {
    const piece = final.slice(at, at + pieceLetters)
    const [wanted, found] = [timesIn(final, piece), timesIn(seen, piece)]
    // What a label stands in the middle of is there, too.
    if (!isWhole && found === 0) missing += piece.length
    if (found > wanted) doubled += (found - wanted) * piece.length
  }
  return { missing, doubled }
}

function timesIn(text: string, piece: string): number {
  return text.split(piece).length - 1
}

/** All letters of the one are in the other, in their order. */
function isWithin(inner: string, outer: string): boolean {
  let at = 0
  for (let index = 0; index < outer.length && at < inner.length; index++) if (outer[index] === inner[at]) at += 1
  return at === inner.length
}
