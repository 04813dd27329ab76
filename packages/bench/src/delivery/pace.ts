import { emptyReply, type Reply } from '@reply/core'
import type { Sink } from '@reply/sink'
import { createHandClock, type HandClock } from '@reply/testing'
import { type PacedChat, type PacedPlatform, pacedPlatforms } from './paced-platforms.ts'

/** How texts that grow in several chats of one bot at once appear to people. All times in ms. */
export interface Paced {
  readonly platform: string
  readonly chats: number
  /** The longest time that a chat did not change while its text grew. */
  readonly freezeMs: number
  /** How long a piece of text stayed unseen, on average over all pieces and chats. */
  readonly lateMs: number
  /** From a reply's end until all of it was on the screen, of the chat that was last. */
  readonly finalMs: number
  readonly rateLimited: number
  /** The shortest time between two texts of a chat that the platform's own budget allows, for that many chats. */
  readonly budgetMs: number
}

/** A piece arrives every 100 ms for 30 s. */
const pieceMs = 100
const pieces = 300

/** The longest that a final text may take, in ms. */
const patienceMs = 120_000

/** Sentences of a paragraph. */
const perParagraph = 30

/** A numbered word that no other contains, and some text. */
const word = (index: number): string => `n${index}e so`

const endings = Array.from({ length: pieces + 1 }, (_, count) =>
  Array.from({ length: count }, (_unused, index) => word(index) + (index % perParagraph === 29 ? '.\n\n' : ' ')).join(
    '',
  ),
)

/**
 * Shows growing texts in this many chats, by a clock that only moves once all calls are over, so the machine's load
 * doesn't count. Text that never appears counts as infinitely late.
 */
export async function measurePace(platform: PacedPlatform, chats: number): Promise<Paced> {
  const clock = createHandClock()
  const opened = await platform.open(clock, chats)
  try {
    const watched = opened.chats.map((chat) => watchChat(chat))
    await growTexts(watched, clock, opened.untilIdle)
    return {
      platform: platform.name,
      chats,
      freezeMs: Math.max(...watched.map(({ freezeMs }) => freezeMs())),
      lateMs: mean(watched.flatMap(({ lateMs }) => lateMs())),
      finalMs: Math.max(...watched.map(({ finalMs }) => finalMs())),
      rateLimited: opened.rateLimited(),
      budgetMs: platform.budgetMs(chats),
    }
  } finally {
    await opened.close()
  }
}

interface WatchedChat {
  readonly sink: Sink
  /** Records what is new on the screen. */
  recordSeen(now: number): void
  /** Records that the text has this many pieces. */
  recordArrived(count: number, now: number): void
  /** Whether the screen has shown every piece. */
  isWhole(): boolean
  freezeMs(): number
  lateMs(): readonly number[]
  finalMs(): number
}

/**
 * Returns a watcher of a chat, which notes when each piece of text arrived, and when it was first on the screen. What
 * never appears counts as infinitely late.
 */
function watchChat({ sink, screen }: PacedChat): WatchedChat {
  const arrivedAt: number[] = []
  const seenAt: number[] = []
  const gapsMs: number[] = []
  let changedAt: number | undefined
  return {
    sink,
    recordSeen: (now) => {
      const text = screen()
      const before = seenAt.length
      while (seenAt.length < arrivedAt.length && text.includes(`n${seenAt.length}e`)) seenAt.push(now)
      if (seenAt.length === before) return
      const until = arrivedAt.length === pieces ? Math.min(now, arrivedAt.at(-1) ?? now) : now
      gapsMs.push(until - (changedAt ?? until))
      changedAt = now
    },
    recordArrived: (count, now) => {
      changedAt ??= now
      while (arrivedAt.length < count) arrivedAt.push(now)
    },
    isWhole: () => seenAt.length === pieces,
    freezeMs: () => Math.max(...gapsMs),
    lateMs: () => arrivedAt.map((at, index) => (seenAt[index] ?? Number.POSITIVE_INFINITY) - at),
    finalMs: () => (seenAt.at(-1) ?? Number.POSITIVE_INFINITY) - (arrivedAt.at(-1) ?? 0),
  }
}

/** Grows all texts at once. Then waits until each is shown whole, for at most `patienceMs`. */
async function growTexts(
  chats: readonly WatchedChat[],
  clock: HandClock,
  untilIdle: () => Promise<void>,
): Promise<void> {
  const startedAt = clock.now()
  /** Records what is new on each screen. */
  const recordAllSeen = (): void => {
    for (const chat of chats) chat.recordSeen(clock.now())
  }
  /** Waits until no call is in flight, and then records what is new on each screen. */
  const recordWhenIdle = async (): Promise<void> => {
    await untilIdle()
    recordAllSeen()
  }
  for (let count = 1; count <= pieces + 1; count++) {
    await clock.advance(pieceMs, recordWhenIdle)
    for (const [index, chat] of chats.entries()) {
      chat.recordArrived(Math.min(count, pieces), clock.now())
      showState(chat.sink, replyAt(index, count, startedAt, clock.now()), count === 1)
    }
    await recordWhenIdle()
  }
  for (let waited = 0; waited < patienceMs && !chats.every((chat) => chat.isWhole()); waited += pieceMs)
    await clock.advance(pieceMs, recordWhenIdle)
}

/** Passes a state of a reply to the sink, as its start or as a change. */
function showState(sink: Sink, reply: Reply, isNew: boolean): void {
  if (isNew) sink.replyStarted?.({ type: 'replyStarted', reply })
  else sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: 'working', reply })
}

/** Returns a chat's reply whose text has this many pieces. With more than `pieces`, it is whole and has ended now. */
function replyAt(chatIndex: number, pieceCount: number, startedAt: number, now: number): Reply {
  const isOver = pieceCount > pieces
  const status = isOver ? 'sealed' : 'open'
  const text = endings[Math.min(pieceCount, pieces)] ?? ''
  const part = {
    id: `prt_${chatIndex}`,
    messageID: `msg_${chatIndex}`,
    raw: undefined,
    type: 'text',
    status,
    text,
  } as const
  const messages = [{ id: `msg_${chatIndex}`, parts: [part], raw: undefined }]
  const reply: Reply = { ...emptyReply(`ses_${chatIndex}`), promptIDs: [`msg_0_${chatIndex}`], startedAt, messages }
  if (!isOver) return { ...reply, phase: 'working' }
  return { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop', settledAt: now }
}

/** The mean of the numbers. NaN without any. */
function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

/** Measures all platforms with one chat and with ten, one after the other. */
export async function allPaces(): Promise<readonly Paced[]> {
  const all: Paced[] = []
  for (const platform of pacedPlatforms) for (const chats of [1, 10]) all.push(await measurePace(platform, chats))
  return all
}
