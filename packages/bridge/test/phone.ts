import { type Notice, type NoticeChannel, noticeFields, PortError } from '@reply/sink/channel'
import * as z from 'zod'

/** A person's phone: what rang, and what its server answers to the next calls. */
export interface Phone {
  /** The package of its type. */
  readonly channel: NoticeChannel
  readonly rang: Notice[]
  /**
   * Each call takes the first: `lost` rings without an answer, `silent` never answers, an error is the answer, and a promise delays
   * the answer.
   */
  readonly faults: ('lost' | 'silent' | PortError | Promise<void>)[]
  calls: number
  /** Whether its server can't be reached. */
  isOff: boolean
  /** Returns the package as a process has it that may die: `untilAlive` never resolves from then on. */
  channelOf(untilAlive: () => Promise<void>): NoticeChannel
}

export function createPhone(): Phone {
  const phone: Phone = { channel: channelOf(async () => {}), rang: [], faults: [], calls: 0, isOff: false, channelOf }
  return phone

  function channelOf(untilAlive: () => Promise<void>): NoticeChannel {
    return {
      isNoticeChannel: true,
      type: 'phone',
      schema: z.strictObject({ type: z.literal('phone'), ...noticeFields }),
      check: async () => ({ account: 'a phone' }),
      create: async () => ({
        send: async (notice, signal) => {
          await untilAlive()
          try {
            await take(notice, signal)
          } finally {
            await untilAlive()
          }
        },
      }),
    }
  }

  async function take(notice: Notice, signal: AbortSignal | undefined): Promise<void> {
    phone.calls += 1
    const fault = phone.isOff ? new PortError('unreachable', 'no network') : phone.faults.shift()
    if (fault instanceof PortError) throw fault
    if (fault === 'silent') await new Promise((_, reject) => signal?.addEventListener('abort', reject))
    phone.rang.push(notice)
    // It ends with its signal, as a request does.
    if (fault instanceof Promise)
      await Promise.race([fault, new Promise((_, reject) => signal?.addEventListener('abort', reject))])
    if (fault === 'lost') throw new PortError('ambiguous', 'no answer')
  }
}
