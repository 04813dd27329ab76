import { createPacer, type Limits, type Pacer } from '@reply/sink/channel'
import { slackLimits } from '@reply/slack/internal'
import { telegramLimits } from '@reply/telegram/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import type { Chat } from './chats.ts'

/** An answer of an agent, whose text grows all the time. Times are in ms. */
export interface WrittenAnswer {
  readonly from: number
  readonly to: number
  /** Whether its pauses count. */
  readonly isLive: boolean
}

/** How an answer is written in a chat. */
export interface Writing {
  readonly pace: ReturnType<Pacer['chat']>
  readonly platform: Platform
  readonly clock: HandClock
  /** When its text is complete, by the clock. */
  readonly until: number
  /** Whether the chat shows a beginning of it, which another process wrote. */
  readonly isBegun: boolean
  /** Called after each call, with whether it was the last one. */
  readonly onShown: (isOver: boolean) => void
}

type CallKind = keyof NonNullable<Limits['perKind']>

/** The limits of a platform, and by which calls a text is begun, goes on and ends. `whole`: one that ends before it is begun. */
export interface Platform {
  readonly limits: Limits
  readonly calls: Readonly<Record<'first' | 'next' | 'last' | 'whole', CallKind>>
}

/** The platforms of the chats. */
export const platforms: Readonly<Record<Chat['channel'], Platform>> = {
  tg: {
    limits: telegramLimits('private', true),
    calls: { first: 'post', next: 'edit', last: 'edit', whole: 'post' },
  },
  slack: { limits: slackLimits, calls: { first: 'open', next: 'append', last: 'close', whole: 'post' } },
}

/** How long a call takes, in ms. */
export const callMs = 20
/** How long texts may take that are complete before their last call may be made, in ms: a window of any limit. */
const lastCallsMs = 70_000

/**
 * Returns the longest pause of a live answer, in ms, if one bridge that runs on has the whole limits of a platform. It makes the calls
 * of the real pacer by a clock that takes no time. No bridges can do better at that load.
 */
export async function pauseWithOneBridge(platform: Platform, answers: readonly WrittenAnswer[]): Promise<number> {
  const began = Math.min(...answers.map(({ from }) => from))
  const clock = createHandClock(began)
  const pacer = createPacer({ clock })
  pacer.sharedBudgets(platform.limits)
  const pauses: number[] = []
  for (const [index, { from, to, isLive }] of answers.entries()) {
    let shownAt = from
    clock.after(from - began, () => {
      writeAnswer({
        ...{ pace: pacer.chat({ id: `${index}` }, platform.limits), platform, clock, until: to, isBegun: false },
        onShown: (isOver) => {
          if (isLive && !isOver) pauses.push(clock.now() - shownAt)
          shownAt = clock.now()
        },
      })
    })
  }
  await clock.advance(Math.max(...answers.map(({ to }) => to)) - began + lastCallsMs)
  return Math.max(0, ...pauses)
}

/** Writes an answer as a sink does. Returns a function that stops it after the current call. */
export function writeAnswer({ pace, platform, clock, until, isBegun, onShown }: Writing): () => void {
  const { limits, calls } = platform
  const owner = {}
  let isShown = isBegun
  let isStopped = false
  let writtenAt = Number.NEGATIVE_INFINITY
  let stopTimer = (): void => {}
  look()
  return () => {
    isStopped = true
    stopTimer()
    pace.endGrowingText(owner, 'stopped')
  }

  function look(): void {
    const now = clock.now()
    const isOver = now >= until
    const kind = kindOf(isOver)
    if (isOver) pace.endGrowingText(owner, 'settled')
    else pace.setGrowingText(owner, kind)
    const at = isOver ? pace.readyAt('final', kind) : growsAt(kind)
    if (at > now) {
      const isOverBefore = !isOver && until < at
      stopTimer = clock.after((isOverBefore ? until : at) - now, look)
      return
    }
    const end = pace.startCall(kind)
    stopTimer = (): void => {}
    clock.after(callMs, () => {
      end?.()
      isShown = true
      writtenAt = clock.now()
      onShown(isOver)
      if (!isOver && !isStopped) look()
    })
  }

  /** Returns by which call the text is shown. */
  function kindOf(isOver: boolean): CallKind {
    if (isOver) return isShown ? calls.last : calls.whole
    return isShown ? calls.next : calls.first
  }

  /** Returns when the growing text may be written. */
  function growsAt(kind: CallKind): number {
    const spacedAt = Math.max(writtenAt + limits.editIntervalMs, pace.spacedAt(owner, kind, writtenAt))
    return Math.max(pace.readyAt('text', kind), spacedAt)
  }
}
