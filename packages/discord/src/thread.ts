import type { DiscordRest } from './api.ts'
import { refusalOf } from './failure.ts'
import { threadNameLength } from './limits.ts'

/** Where a thread hangs, and what it is called. Its id is the message's. */
export interface DiscordThread {
  readonly messageId: string
  readonly name: string
}

/** Where messages go. */
export interface Target {
  readonly channelId: string
  /** It is the channel that the message that asked is in. */
  readonly isParent: boolean
}

export interface TargetOptions {
  readonly rest: DiscordRest
  readonly channelId: string
  readonly thread?: DiscordThread | undefined
}

/** Discord's: a thread hangs on that message already; this kind of channel has none. */
const [exists, impossible] = [160004, 50024]

/** Makes the thread when the first message is to go there, once. Where there can be none, it is the channel itself. */
export function createTarget({ rest, channelId, thread }: TargetOptions): (signal: AbortSignal) => Promise<Target> {
  const parent = { channelId, isParent: true }
  let known = thread ? undefined : Promise.resolve<Target>(parent)
  return async (signal) => {
    known ??= open(signal)
    try {
      return await known
    } catch (error) {
      known = undefined
      throw error
    }
  }

  async function open(signal: AbortSignal): Promise<Target> {
    const { messageId, name = '' } = thread ?? { messageId: '' }
    const body = { name: name.replace(/\s+/g, ' ').trim().slice(0, threadNameLength) || 'OpenCode' }
    try {
      await rest.post(`/channels/${channelId}/messages/${messageId}/threads`, { body, signal })
    } catch (error) {
      const code = refusalOf(error)?.code
      if (code === impossible) return parent
      if (code !== exists) throw error
    }
    return { channelId: messageId, isParent: false }
  }
}
