import type { TestClock } from '../clock.ts'
import type { Fields } from '../fields.ts'
import { type Budget, createBudget } from '../platform/budget.ts'
import { createPlaces } from '../platform/fake.ts'
import {
  type Channel,
  createChannel,
  type FakeSlackChannelOptions,
  type Post,
  type SlackFileSent,
  type SlackWhisper,
} from './chat.ts'
import { createDelivery, type EventDelivery } from './delivery.ts'
import { posts, tiers } from './limits.ts'
import { requiredText } from './payload.ts'
import { Limited, Refusal } from './refusal.ts'
import type { SlackOptions } from './start.ts'
import type { SlackView } from './view.ts'

/** The features of this workspace. Calls of a missing one fail as they do at Slack. */
export interface SlackFeatures {
  /** `chat.startStream` and related methods. Default true. */
  readonly streams?: boolean
  /** The status in a thread's head: `assistant.threads.setStatus`. Default true. */
  readonly statuses?: boolean
  /** Sessions of agents, with their Stop button. Default true. */
  readonly sessions?: boolean
  /** The scopes to read messages: `channels:history` and the like. Default true. */
  readonly history?: boolean
}

/** The state of the fake. */
export interface SlackState {
  readonly clock: TestClock
  readonly features: Required<SlackFeatures>
  readonly team: string
  readonly bot: string
  readonly budget: Budget
  readonly files: Map<string, SlackFileSent>
  readonly uploads: Map<string, { readonly name: string; readonly length: number; bytes?: Uint8Array }>
  readonly views: Map<string, SlackView>
  /** Triggers of views, with the person and when they expire. */
  readonly triggers: Map<string, { readonly user: string; readonly until: number }>
  readonly whispers: SlackWhisper[]
  /** The bot's texts that would have notified someone by name. */
  readonly mentions: string[]
  readonly delivery: EventDelivery
  /** The server's own address. */
  readonly addressOf: () => string
  /** Undefined if it doesn't exist. */
  channel(id: string): Channel | undefined
  /** A new message's id, from the clock. */
  nextTs(): string
  /** A new id that begins with this prefix. */
  nextId(prefix: string): string
  /** Notifies observers that a person in the channel now sees something else. */
  changed(channel: Channel): void
  /** The messages that show a file. */
  sharesOf(file: string): readonly { readonly channel: string; readonly ts: string }[]
}

/**
 * Returns the workspace and its channels without messages. If no channels are listed, each id of Slack's form is one.
 * `onChange` gets the id of each channel that now looks different.
 */
export function createState(
  { channels, features }: Pick<SlackOptions, 'channels' | 'features'>,
  clock: TestClock,
  addressOf: () => string,
  onChange: (channel: string) => void,
): SlackState {
  const places = createPlaces<string, FakeSlackChannelOptions, Channel>(channels, createChannel, (id) =>
    /^[CDG][A-Z0-9]+$/.test(id),
  )
  let count = 0
  return {
    clock,
    features: { streams: true, statuses: true, sessions: true, history: true, ...features },
    team: 'T0FAKE',
    bot: 'U0BOT',
    budget: createBudget(clock),
    addressOf,
    files: new Map(),
    uploads: new Map(),
    views: new Map(),
    triggers: new Map(),
    whispers: [],
    mentions: [],
    delivery: createDelivery(clock),
    channel: places.get,
    // Unique even while the clock stands still.
    nextTs: () => `${Math.floor(clock.now() / 1000)}.${String(++count).padStart(6, '0')}`,
    nextId: (kind) => `${kind}${String(++count).padStart(8, '0')}`,
    changed: ({ id }) => onChange(id),
    sharesOf: (file) =>
      [...places.all.values()].flatMap(({ id, posts }) =>
        [...posts.values()].flatMap(({ ts, files = [] }) =>
          files.some((one) => one.id === file) ? [{ channel: id, ts }] : [],
        ),
      ),
  }
}

/**
 * Returns the channel that a call names. Throws a `Refusal` if it doesn't exist, if the bot isn't a member, or if it
 * is archived.
 */
export function channelIn(state: SlackState, payload: Fields, name = 'channel'): Channel {
  const channel = state.channel(requiredText(payload, name))
  if (!channel) throw new Refusal('channel_not_found')
  if (channel.isForeign) throw new Refusal('not_in_channel')
  if (channel.isArchived) throw new Refusal('is_archived')
  return channel
}

/**
 * Returns the bot's own message that a call names. Throws a `Refusal` for any other, with this error if it is a
 * person's.
 */
export function ownPost({ posts }: Channel, payload: Fields, error = 'cant_update_message'): Post {
  const post = posts.get(requiredText(payload, 'ts'))
  if (!post) throw new Refusal('message_not_found')
  if (post.from !== 'bot') throw new Refusal(error)
  return post
}

/**
 * Takes a call from its budget. Throws `Limited` if the budget is used up. Does nothing for a method without a limit.
 */
export function spend({ budget }: SlackState, method: string, channel: string | undefined): void {
  const allowance = method === 'chat.postMessage' ? posts : tiers[method]
  if (!allowance) return
  const scope = { name: scopeNameOf(method, channel), allowances: [allowance] }
  budget.spend([scope], (waitS) => new Limited(waitS))
}

/** Refuses the calls that share this call's budget for this many seconds. */
export function freeze({ budget }: SlackState, method: string, channel: string | undefined, seconds: number): void {
  budget.freeze(scopeNameOf(method, channel), seconds)
}

/** The name of a call's budget: its channel's for a post, else its method's. */
function scopeNameOf(method: string, channel: string | undefined): string {
  return method === 'chat.postMessage' ? `posts in ${channel ?? ''}` : method
}

/**
 * Adds a message under a new `ts`, and notifies observers. The bot's ends the status of its thread, and notifies in a
 * thread or direct message, unless it is streamed.
 */
export function addPost(
  state: SlackState,
  channel: Channel,
  post: Omit<Post, 'ts' | 'editedTimes' | 'reactions'>,
): Post {
  const put: Post = { ...post, ts: state.nextTs(), editedTimes: 0, reactions: [] }
  channel.posts.set(put.ts, put)
  if (put.from === 'bot') {
    // An answer ends the status above it.
    if (put.threadTs !== undefined) channel.statuses.delete(put.threadTs)
    if (!put.stream && (channel.isDirect || put.threadTs !== undefined)) channel.notifications += 1
  }
  state.changed(channel)
  return put
}

/** Replaces the message with the same `ts`, and notifies observers. */
export function replacePost(state: SlackState, channel: Channel, post: Post): void {
  channel.posts.set(post.ts, post)
  state.changed(channel)
}
