import type { Hearing } from '@reply/sink/channel'
import type { BridgeObserver } from './events/emit.ts'

/** Which channels get what people write. */
export interface HearingStates {
  /** Notes what a channel says of itself. */
  told(channel: string, hearing: Hearing): void
  /** A channel began to listen: it hears until it says otherwise. */
  began(channel: string): void
  /** By the channels' names. */
  all(): Readonly<Record<string, Hearing>>
}

export function createHearingStates(options: {
  readonly emit: BridgeObserver
  readonly onNotice: (notice: string) => void
  /** In ms since the epoch. */
  readonly wallNow: () => number
}): HearingStates {
  const { emit, onNotice, wallNow } = options
  const states = new Map<string, Hearing>()
  return { told, began, all: () => Object.fromEntries(states) }

  function told(channel: string, hearing: Hearing): void {
    const before = states.get(channel)
    states.set(channel, hearing)
    if (hearing.status === 'deaf') {
      onNotice(`${channel} hears nothing, and tries again: ${hearing.reason}`)
      emit({ type: 'channel', at: wallNow(), channel, status: 'deaf', reason: hearing.reason })
      return
    }
    if (before?.status === 'hearing') return
    if (before) onNotice(`${channel} hears its chats again.`)
    emit({ type: 'channel', at: wallNow(), channel, status: 'hearing' })
  }

  function began(channel: string): void {
    if (!states.has(channel)) told(channel, { status: 'hearing' })
  }
}

/** Since when a channel hears nothing, and why. */
export function deafWords(channel: string, { since, reason }: Extract<Hearing, { status: 'deaf' }>): string {
  return `${channel} hears nothing since ${new Date(since).toISOString()}: ${reason}`
}
