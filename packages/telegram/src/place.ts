import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import { callPlatform, type EditOptions, PortError, type PostOptions } from '@reply/sink/channel'
import { type TelegramApi, type TelegramSignal, toChatId } from './api.ts'
import { movedToIn, toPortError } from './failure.ts'
import { featuresOf } from './features.ts'

/** A group became a supergroup. */
export interface TelegramMove {
  /** The group's id. Calls with it fail. */
  readonly from: string
  /** The supergroup's id. */
  readonly to: string
}

export interface PlaceOptions {
  readonly api: TelegramApi
  readonly chatId: number | string
  readonly onMoved?: ((move: TelegramMove) => void) | undefined
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
}

/** What ends a call before its deadline. */
export type Aborting = Pick<EditOptions, 'signal'>

/** A chat, also after it has become a supergroup: that has another id, and its messages have other ids. */
export interface Place {
  /** Makes a call. `make` may run twice: a call with the group's old id does nothing. */
  call<T>(verb: string, aborting: Aborting, make: (signal: TelegramSignal) => Promise<T>): Promise<T>
  /** The chat's id. */
  to(): number | string
  /** Takes note of a message that was posted. */
  made(ref: MessageRef): MessageRef
  /** Throws `gone` for a message that stayed in the group: people can't see it any more. */
  idOf(ref: MessageRef): number
  /** The same, without a reply to a message that stayed in the group. */
  here(posting: PostOptions): PostOptions
}

export function createPlace({ api, onMoved, timeoutMs, clock, ...options }: PlaceOptions): Place {
  const { moved } = featuresOf(api)
  const chatId = toChatId(options.chatId)
  /** Posted in the supergroup. */
  const newIds = new Set<string>()
  return { call, to, made, idOf, here }

  async function call<T>(
    verb: string,
    { signal: aborted }: Aborting,
    make: (signal: TelegramSignal) => Promise<T>,
  ): Promise<T> {
    const making = { what: `${verb} in chat ${chatId}`, signal: aborted, timeoutMs, clock, toPortError }
    const one = async (): Promise<T> => await callPlatform(async (signal) => await make(signal), making)
    const before = to()
    try {
      return await one()
    } catch (error) {
      const movedTo = movedToIn(error)
      if (movedTo === undefined || movedTo === before) throw error
      const isNew = to() === before
      moved.set(String(chatId), movedTo)
      if (isNew) onMoved?.({ from: String(chatId), to: String(movedTo) })
    }
    return await one()
  }

  function to(): number | string {
    return moved.get(String(chatId)) ?? chatId
  }

  function made(ref: MessageRef): MessageRef {
    if (to() !== chatId) newIds.add(ref.id)
    return ref
  }

  function isHere(id: string): boolean {
    return to() === chatId || newIds.has(id)
  }

  function idOf({ id }: MessageRef): number {
    if (isHere(id)) return Number(id)
    throw new PortError('gone', `Message ${id} stayed in group ${chatId}, which became supergroup ${to()}.`)
  }

  function here(posting: PostOptions): PostOptions {
    return isHere(posting.replyTo?.id ?? '') ? posting : { ...posting, replyTo: undefined }
  }
}
