import { visible } from '@reply/sink'
import type { DiscordRest } from './api.ts'
import { refusalOf } from './failure.ts'
import { threadNameLength } from './limits.ts'

/** Where a thread hangs, and what it is called. Its id is the message's. */
export interface DiscordThread {
  readonly messageId: string
  readonly name: string
  /** Told where messages go, before each that is posted or edited: the thread's id, or the channel's where there can be no thread. */
  readonly onTarget?: ((channelId: string) => void) | undefined
}

export interface TargetOptions {
  readonly rest: DiscordRest
  readonly channelId: string
  readonly thread?: DiscordThread | undefined
}

/** Discord's: a thread hangs on that message already; this kind of channel has none. */
const [exists, impossible] = [160004, 50024]

/** The channel that messages go to: the thread, made when the first is to go there. Where there can be none, what it would hang in. */
export function createTarget({ rest, channelId, thread }: TargetOptions): (signal: AbortSignal) => Promise<string> {
  let known = thread ? undefined : Promise.resolve(channelId)
  return async (signal) => {
    known ??= open(signal)
    try {
      const target = await known
      thread?.onTarget?.(target)
      return target
    } catch (error) {
      known = undefined
      throw error
    }
  }

  async function open(signal: AbortSignal): Promise<string> {
    const { messageId, name = '' } = thread ?? { messageId: '' }
    const body = { name: visible(name.replace(/\s+/g, ' ').trim()).slice(0, threadNameLength) || 'OpenCode' }
    try {
      await rest.post(`/channels/${channelId}/messages/${messageId}/threads`, { body, signal })
    } catch (error) {
      const code = refusalOf(error)?.code
      if (code === impossible) return channelId
      if (code !== exists) throw error
    }
    return messageId
  }
}
