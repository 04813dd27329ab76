import type { Actor, Chat, InboundFile, MessageRef } from '@reply/sink'
import type { ChannelActor } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Tried } from './tried.ts'

/** How long an album waits for its next message, in ms, unless its channel says another time. */
const defaultGapMs = 1000

/** A message of a person, as it is stored before the platform gets its acknowledgement. */
export interface QueuedPrompt extends ChatPlace, Tried {
  /** The message's id on the platform: unique in its chat. */
  readonly id: string
  readonly chat: Chat
  readonly actor: Actor
  /** Other people who edited the queued text. The prompt requires the rights of all of them. */
  readonly editors?: readonly ChannelActor[] | undefined
  /** Without the mention of the bot. */
  readonly text: string
  readonly files: readonly InboundFile[]
  readonly isCommand: boolean
  readonly isForwarded?: true | undefined
  /** The message, with the platform's time if it has one. */
  readonly messageRef: MessageRef
  /** The message that the person chose to reply to. */
  readonly replyTo?: MessageRef | undefined
  /** The same for all messages of an album. */
  readonly albumID?: string | undefined
  /** How far apart the messages of the album may have been sent, in ms, if the platform doesn't tell which are of one. */
  readonly albumSpreadMs?: number | undefined
  /** How long the album waits for its next message, in ms. */
  readonly albumGapMs?: number | undefined
  /** When the message, or the last one of its album, was received, in ms since the epoch. */
  readonly receivedAt: number
  /** Set if the message was backlog when it was received. */
  readonly isOld?: true | undefined
  /** Set before it is sent to the server as an answer to an ask. It must then not run as a prompt. */
  readonly isAnswer?: true | undefined
  /**
   * Set while no process has begun to handle it: a member that does not own its chat received it, or its owner stopped before
   * its turn. It then has no `tries`.
   */
  readonly isUnbegun?: true | undefined
  /** Set once its voice notes were transcribed: its text, or a part of it, was spoken. It never is a command. */
  readonly isSpoken?: true | undefined
  /** The message that quotes what was spoken. `due`: it is not posted yet. */
  readonly quote?: MessageRef | 'due' | undefined
  /** Set if it was spoken while a request waited: it runs once that is answered, because it was told not to be the answer. */
  readonly isAfterAsks?: true | undefined
  /** Set if it steers the running turn instead of waiting for its end. */
  readonly isSteer?: true | undefined
  /** Set if it is backlog that the policy did not run. `listed`: the chat has a list with it, so people can choose it. */
  readonly left?: 'decided' | 'listed' | undefined
}

/** Returns the names of the author and the editors, separated by commas. */
export function authorNames({ actor, editors = [] }: Pick<QueuedPrompt, 'actor' | 'editors'>): string {
  return [actor, ...editors.map((editor) => editor.actor)].map(({ name }) => name).join(', ')
}

/**
 * Returns how long to wait for more messages of an album, in ms, if its last one has been known for that long. 0 without an
 * album.
 */
export function albumWaitMs({ albumID, albumGapMs = defaultGapMs }: QueuedPrompt, knownForMs: number): number {
  return albumID === undefined ? 0 : Math.max(0, albumGapMs - knownForMs)
}

/** Returns the queued prompt of an album with another message of it. The one that expects no further message decides how long it waits. */
export function withAlbumPart(album: QueuedPrompt, part: QueuedPrompt): QueuedPrompt {
  const text = [album.text, part.text].filter((one) => one !== '').join('\n')
  const albumGapMs = Math.min(album.albumGapMs ?? defaultGapMs, part.albumGapMs ?? defaultGapMs)
  return { ...album, receivedAt: part.receivedAt, text, files: [...album.files, ...part.files], albumGapMs }
}

/** Whether a message belongs to the album of a queued prompt. */
export function isOfAlbum(queued: QueuedPrompt, { albumID, albumSpreadMs, messageRef }: QueuedPrompt): boolean {
  if (albumID === undefined || queued.albumID !== albumID) return false
  const [first, later] = [queued.messageRef.postedAt, messageRef.postedAt]
  // Members of earlier versions don't store it.
  const mostMs = albumSpreadMs ?? queued.albumSpreadMs
  return mostMs === undefined || first === undefined || later === undefined || Math.abs(later - first) <= mostMs
}

/**
 * Whether a message is a part of the album of a prompt that has begun without it, and no request of its own. Where the platform doesn't
 * tell its albums, one with a text may be another request.
 */
export function isLatePart(begun: QueuedPrompt, entry: QueuedPrompt): boolean {
  const isSameAuthor = begun.channel === entry.channel && begun.actor.id === entry.actor.id
  const isRequest = entry.albumSpreadMs !== undefined && entry.text !== ''
  return isSameAuthor && !isRequest && isOfAlbum(begun, entry)
}

/** How much the times of platforms, which are whole seconds, and of other machines may differ from this computer's, in ms. */
const clockToleranceMs = 2000

/**
 * Whether a prompt was surely sent more than `ageMs` before `now`, and so before a run that it must not steer: by the
 * platform's time, with `clockToleranceMs` to spare. False if the platform told no time.
 */
export function isSurelyOlder({ messageRef: { postedAt } }: QueuedPrompt, ageMs: number, now: number): boolean {
  return postedAt !== undefined && now - postedAt > ageMs + clockToleranceMs
}

/** Returns the message as its owner stores it before it begins to handle it for the first time. */
export function begun({ isUnbegun: _, ...entry }: QueuedPrompt): QueuedPrompt {
  return entry
}

/**
 * Whether a message was surely sent before another one of its chat, by the order that the platform tells: that of their ids if
 * both are numbers, otherwise that of their times. False if that does not tell.
 *
 * Ids that are decimal numbers grow within a chat, but with gaps, because other people's and the bot's own messages have
 * numbers, too. So nothing tells that a message in between is still missing, and no message waits for one:
 *
 * - Telegram: `message_id`. Its server sends a chat's next update only once the previous one was acknowledged, whatever
 *   `max_connections` is: `drop_event` of
 *   https://github.com/tdlib/telegram-bot-api/blob/01a3679c0bbf9bbba03d1d3e20f621fa4becddcc/telegram-bot-api/WebhookActor.cpp
 *   puts the queue of a chat back only then.
 * - Slack: `ts`, a time with a counter. https://docs.slack.dev/messaging/retrieving-messages
 * - Discord: a snowflake, which begins with a time. https://discord.com/developers/docs/reference#snowflakes
 * - WhatsApp: no number, and a time in whole seconds.
 *   https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages
 */
export function wasSentBefore(one: Pick<QueuedPrompt, 'messageRef'>, other: Pick<QueuedPrompt, 'messageRef'>): boolean {
  const order = compareNumbers(one.messageRef.id, other.messageRef.id)
  if (order !== undefined) return order < 0
  const { postedAt: oneAt } = one.messageRef
  const { postedAt: otherAt } = other.messageRef
  return oneAt !== undefined && otherAt !== undefined && oneAt < otherAt
}

/** Compares two decimal numbers, which may have more digits than a double. Undefined if one of them is not such a number. */
function compareNumbers(one: string, other: string): number | undefined {
  const [a, b] = [one, other].map((text) => /^0*(\d+)(?:\.(\d+))?$/.exec(text))
  if (!a || !b) return undefined
  const [, whole = '', fraction = ''] = a
  const [, otherWhole = '', otherFraction = ''] = b
  if (whole.length !== otherWhole.length) return whole.length - otherWhole.length
  const [left, right] = [`${whole}.${fraction}`, `${otherWhole}.${otherFraction}`]
  return left === right ? 0 : left < right ? -1 : 1
}
