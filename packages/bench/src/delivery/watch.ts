import { type FakeTelegram, startTelegram } from '@reply/testing'
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

export const token = '1:bench'
export const chatID = 1001

/** Shows a timeline by some means in a chat of its own and watches what a person sees of it. */
export async function watchDelivery(
  { texts }: Timeline,
  deliver: (telegram: FakeTelegram) => Promise<void>,
): Promise<Watched> {
  const telegram = await startTelegram({ token })
  const start = performance.now()
  const final = bare(texts.at(-1)?.text ?? '')
  const sentences = sentencesOf(texts)
  const seenAt = sentences.map((): number | undefined => undefined)
  let wholeAt: number | undefined
  const look = (): void => {
    const now = performance.now() - start
    const seen = bare(screenOf(telegram))
    for (const [index, { text }] of sentences.entries())
      if (seenAt[index] === undefined && seen.includes(text)) seenAt[index] = now
    if (seen.includes(final)) wholeAt ??= now
  }
  const stop = telegram.observe(look)
  try {
    await deliver(telegram)
    look()
    const endMs = texts.at(-1)?.atMs ?? 0
    const late = sentences.map(({ atMs }, index) => (seenAt[index] ?? Number.POSITIVE_INFINITY) - atMs)
    const calls: Record<string, number> = {}
    for (const { method } of telegram.calls) calls[method] = (calls[method] ?? 0) + 1
    return {
      ...compared(bare(screenOf(telegram)), final),
      invisibleMs: Math.max(0, ...late),
      calls,
      writes: telegram.calls.filter(({ payload }) => isAnswer(payload, final)).length,
      rateLimited: telegram.calls.filter(({ status }) => status === 429).length,
      notifications: telegram.notifications(chatID),
      finalMs: wholeAt === undefined ? undefined : Math.max(0, wholeAt - endMs),
    }
  } finally {
    stop()
    await telegram.close()
  }
}

/** Lists and statuses are none of it. */
function isAnswer({ text, rich_message: rich }: Readonly<Record<string, unknown>>, final: string): boolean {
  const said = text ?? (typeof rich === 'object' && rich !== null && 'markdown' in rich ? rich.markdown : undefined)
  return typeof said === 'string' && final.includes(bare(said).slice(0, 12))
}

function screenOf(telegram: FakeTelegram): string {
  return telegram
    .screen(chatID)
    .filter(({ from }) => from === 'bot')
    .map(({ text }) => text)
    .join('\n')
}

/** The letters and digits alone: markup is each one's own affair. */
function bare(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '')
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

/** By the longest run of letters in their order: what of the answer is lacking, and what is there beside it. */
function compared(seen: string, final: string): { missing: number; doubled: number } {
  let at = 0
  let kept = 0
  for (let index = 0; index < seen.length && at < final.length; index++) {
    if (seen[index] !== final[at]) continue
    at += 1
    kept += 1
  }
  const isWhole = at === final.length
  const doubled = isWhole ? Math.max(0, seen.split(final.slice(0, 40)).length - 2) * 40 : 0
  return { missing: final.length - kept, doubled }
}
