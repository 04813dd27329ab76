import type { PortError } from '@reply/sink/channel'
import { escapeInvisible, withoutHalf } from '@reply/sink/internal'
import type { DiscordRest } from './api.ts'
import { responseOf, toPortError } from './failure.ts'
import { threadNameLength } from './limits.ts'

/** A thread's parent message and name. The thread's id is the message's. */
export interface DiscordThread {
  /** The message that the thread is created from. */
  readonly messageId: string
  /** Plain text; clipped to 100 UTF-16 units. A blank name becomes "OpenCode". */
  readonly name: string
  /**
   * Called before each call with the id that messages go to: the thread's, or the channel's where threads are
   * impossible.
   */
  readonly onTarget?: ((channelId: string) => void) | undefined
  /** Called once if the bot may not create threads: messages go to the channel. */
  readonly onDenied?: ((error: PortError) => void) | undefined
}

export interface TargetOptions {
  readonly rest: DiscordRest
  readonly channelId: string
  readonly thread?: DiscordThread | undefined
}

/** Discord's error codes: the message already has a thread; this channel type has no threads; missing permissions. */
const [exists, impossible, denied] = [160004, 50024, 50013]

/**
 * The channel that messages go to: the thread, created with the first call, or the parent channel where threads are
 * impossible.
 */
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
    const body = { name: nameOf(name) || 'OpenCode' }
    try {
      await rest.post(`/channels/${channelId}/messages/${messageId}/threads`, { body, signal })
    } catch (error) {
      const code = responseOf(error)?.code
      if (code === denied) thread?.onDenied?.(toPortError(error, `thread in chat ${channelId}`))
      if (code === impossible || code === denied) return channelId
      if (code !== exists) throw error
    }
    return messageId
  }
}

/** Visible, and never cut inside a surrogate pair: Discord refuses a name with half of one. */
function nameOf(name: string): string {
  const line = escapeInvisible(name.replace(/\s+/g, ' ').trim())
  return line.length <= threadNameLength ? line : withoutHalf(line.slice(0, threadNameLength))
}
