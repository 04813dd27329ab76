import type { SteadyClock } from '@reply/core/source'
import type { InboundStatus } from '@reply/sink/channel'
import type { BridgeObserver } from '../events/emit.ts'

/** Whether a channel receives messages. `elsewhere`: only one process can listen to it, and that is another one. */
export type ChannelStatus = InboundStatus | { readonly status: 'elsewhere' }

/** The status of each channel: whether it receives messages. */
export interface ChannelStatuses {
  /** Stores the status that a channel reported. Emits an event and a notice, unless the channel was receiving and still is. */
  setStatus(channel: string, status: InboundStatus): void
  /** Call it when a channel started. It counts as receiving until it reports otherwise. */
  markStarted(channel: string): void
  /** Call it when another process is to listen to a channel. What the channel reported before no longer counts. */
  markElsewhere(channel: string): void
  /** Returns the status of each channel that started, by its name. */
  all(): Readonly<Record<string, ChannelStatus>>
}

/** Keeps the statuses in memory, with the times of the computer's clock in events. */
export function createChannelStatuses(options: {
  readonly emit: BridgeObserver
  readonly onNotice: (notice: string) => void
  readonly clock: Pick<SteadyClock, 'wall'>
}): ChannelStatuses {
  const { emit, onNotice, clock } = options
  const states = new Map<string, ChannelStatus>()
  return { setStatus, markStarted, markElsewhere, all: () => Object.fromEntries(states) }

  /**
   * Stores the status, and emits an event and a notice. Only stores it if the channel was receiving and still is. The first
   * status of a channel makes no notice if it is receiving.
   */
  function setStatus(channel: string, status: InboundStatus): void {
    const before = states.get(channel)
    states.set(channel, status)
    if (status.status === 'disconnected') {
      onNotice(`${channel} receives nothing, and retries: ${status.reason}`)
      emit({ type: 'channel', at: clock.wall(), channel, status: 'disconnected', reason: status.reason })
      return
    }
    if (before?.status === 'receiving') return
    if (before?.status === 'disconnected') onNotice(`${channel} receives messages again.`)
    if (before?.status === 'elsewhere') onNotice(`This process listens to ${channel}.`)
    emit({ type: 'channel', at: clock.wall(), channel, status: 'receiving' })
  }

  /** Sets the status to `receiving`, with an event. Does nothing if the channel already reported a status. */
  function markStarted(channel: string): void {
    const { status = 'elsewhere' } = states.get(channel) ?? {}
    if (status === 'elsewhere') setStatus(channel, { status: 'receiving' })
  }

  /** Sets the status to `elsewhere`, with an event and a notice. Does nothing if it is that. */
  function markElsewhere(channel: string): void {
    if (states.get(channel)?.status === 'elsewhere') return
    states.set(channel, { status: 'elsewhere' })
    onNotice(`Another process listens to ${channel}.`)
    emit({ type: 'channel', at: clock.wall(), channel, status: 'elsewhere' })
  }
}

/** Returns a sentence with the time since when a channel has received nothing, and the reason. */
export function disconnectedMessage(
  channel: string,
  { since, reason }: Extract<InboundStatus, { status: 'disconnected' }>,
): string {
  return `${channel} has received nothing since ${new Date(since).toISOString()}: ${reason}`
}
