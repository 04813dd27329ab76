import type { Clock } from '@reply/core'
import type { Actor, MessageRef } from '@reply/sink'
import { createRecent } from '@reply/sink/internal'
import { type ChatServers, serverOfChat } from '../config/chat-server.ts'
import type { Mirrors } from '../config/mirrors.ts'
import { type ChatPlace, chatKey, placeKey } from '../place.ts'
import {
  type Route,
  type SessionRef,
  toRoute,
  toSessionChat,
  toUsedSession,
  type UsedSession,
} from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { sessionOfMessage } from './our-messages.ts'

/** The server and session of each place, and the session of each message. */
export interface Routes {
  /** Returns the route of a place. Undefined if the config has no server for it. */
  routeOf(place: ChatPlace): Promise<Route | undefined>
  /** Like `routeOf`, and remembers what was stored, for `writeRoute`. */
  findRoute(place: ChatPlace): Promise<FoundRoute>
  /** Returns the route of a prompt in a place with this route. A reply to a message of the bot continues that message's session. */
  routeOfPrompt(prompt: ChatPlace & Pick<QueuedPrompt, 'replyTo'>, placeRoute: Route): Promise<Route>
  /**
   * Returns the writes that replace the route of a place, for a year. Its thread then counts as one that the bot works in. With `found`,
   * they conflict if the route has changed since it was found.
   */
  writeRoute(place: ChatPlace, route: Route, found?: FoundRoute): readonly Write[]
  /** Returns the writes that make the place use a session, and list it among its sessions. */
  writeSwitch(place: ChatPlace, route: Route & { readonly sessionID: string }): readonly Write[]
  /** Returns the writes that list a session among those of the place, which works with it from then on. Takes the messages of `rememberForNextSession`. */
  writeUsed(place: ChatPlace, session: SessionRef): readonly Write[]
  /**
   * Resolves with the writes after which a place no longer works with a session. Empty if it does not work with it, for example
   * because another one has taken it over.
   */
  writesToLeave(place: ChatPlace, session: SessionRef): Promise<readonly Write[]>
  /** Returns the sessions that were used in a place, newest first. */
  usedSessions(place: ChatPlace): Promise<readonly UsedSession[]>
  /** Returns the chats that work with sessions of a server, by the sessions. Without those that use another server by now. */
  workingChats(server: string): Promise<ReadonlyMap<string, ChatPlace>>
  /** Returns the writes that remember the session of messages, for 90 days. */
  writeMessages(place: ChatPlace, messages: readonly MessageRef[], session: SessionRef): readonly Write[]
  /** Keeps messages in memory for the next session of the place: the newest 20. */
  rememberForNextSession(place: ChatPlace, messages: readonly MessageRef[]): void
  /** Returns the write that remembers the author of the prompt that started a run. */
  writeAuthor(promptID: string, author: Author): Write
  /** Returns the author of the prompt that started a run. Undefined if it was sent elsewhere, or more than 90 days ago. */
  authorOf(promptID: string): Promise<Author | undefined>
}

/** The route of a place at some time. */
export interface FoundRoute {
  /** Undefined if the config has no server for the place. */
  readonly route: Route | undefined
  /** What the state had. Undefined for nothing. */
  readonly stored: string | undefined
}

/** An actor of a channel. */
export interface Author {
  readonly channel: string
  readonly actor: Pick<Actor, 'id'>
}

/** Returns `<channel>:<id>`. */
const authorKey = ({ channel, actor }: Author): string => `${channel}:${actor.id}`

/** Returns the key of the chat that works with a session. Any process may read it. */
export function sessionChatKey(server: string, sessionID: string): string {
  return `${sessionChatPrefix(server)}${sessionID}`
}

/** Returns the prefix of `sessionChatKey` for all sessions of a server. */
function sessionChatPrefix(server: string): string {
  return `session-chat/${encodeURIComponent(server)}/`
}

/** How long a reply to a message still finds its session, and a chat lists a session, in ms: 90 days. */
const rememberedMs = 7_776_000_000
/** How long the route of a place is kept without a prompt, in ms: a year. */
const routeMs = 31_536_000_000
/** How many messages are remembered for the next session of a place, and for how many places. */
const mostWaiting = 20
const mostPlaces = 1000

/** Keeps routes and sessions in the state. Its writes are not made until they are committed. */
export function createRoutes(
  options: ChatServers & {
    readonly state: State
    readonly clock: Clock
    readonly mirrors: Mirrors
  },
): Routes {
  const { state, clock, mirrors } = options
  /** By place: messages whose session is not known yet. */
  const waitingMessages = createRecent<readonly { readonly place: ChatPlace; readonly ref: MessageRef }[]>(mostPlaces)
  return {
    routeOf: async (place) => (await findRoute(place)).route,
    findRoute,
    routeOfPrompt,
    writeRoute,
    writeSwitch,
    writeUsed,
    writesToLeave,
    usedSessions,
    workingChats,
    writeMessages,
    rememberForNextSession,
    writeAuthor,
    authorOf,
  }

  /**
   * Finds the stored route of a place, or a new one with only the server. None if the config names no server for it. Ignores a
   * stored route to another server than the one that the config names.
   */
  async function findRoute(place: ChatPlace): Promise<FoundRoute> {
    const stored = await state.read(`route/${mirrors.keyOf(place)}`)
    const server = serverOfChat(options, place)
    const route = stored === undefined ? undefined : toRoute(stored)
    // The config chooses the server. A session on another server is no longer used.
    if (server === undefined) return { route: undefined, stored }
    return { route: route?.server === server ? route : { server }, stored }
  }

  /**
   * Returns the route of the place, but with the session of the message that the prompt replies to, if that is remembered and
   * on the same server.
   */
  async function routeOfPrompt(prompt: ChatPlace & Pick<QueuedPrompt, 'replyTo'>, placeRoute: Route): Promise<Route> {
    const session = prompt.replyTo && (await sessionOfMessage(state, prompt, prompt.replyTo))
    if (!session || session.server !== placeRoute.server) return placeRoute
    return { ...placeRoute, sessionID: session.sessionID, title: undefined }
  }

  /** Returns the writes that store a route. A thread with one counts as one that the bot works in. */
  function writeRoute(...[place, route, found]: Parameters<Routes['writeRoute']>): readonly Write[] {
    const key = placeKey(place)
    const shared = mirrors.keyOf(place)
    const row = { key: `route/${shared}`, value: JSON.stringify(route), expiresInMs: routeMs }
    return [
      found ? { type: 'compare-and-set', expected: found.stored, ...row } : { type: 'put', ...row },
      // A mirrored thread has no route of its own, so a row marks it as one that the bot works in.
      ...(shared === key ? [] : [{ type: 'put', key: `ours/${key}`, value: '', expiresInMs: routeMs } as const]),
    ]
  }

  /**
   * Returns the writes that make a session the place's own and mark it as used. Drops the title, which was for a new
   * session.
   */
  function writeSwitch(place: ChatPlace, route: Route & { readonly sessionID: string }): readonly Write[] {
    return [...writeRoute(place, { ...route, title: undefined }), ...writeUsed(place, route)]
  }

  /**
   * Returns the writes that store a session as used in the place now, the place as the one that works with it, and the session as
   * that of the messages that waited for it. Those messages then wait no longer.
   */
  function writeUsed(place: ChatPlace, { server, sessionID }: SessionRef): readonly Write[] {
    const key = mirrors.keyOf(place)
    const value = JSON.stringify({ server, sessionID, usedAt: clock.now() } satisfies UsedSession)
    const messages = waitingMessages.get(key) ?? []
    waitingMessages.delete(key)
    return [
      { type: 'put', key: `session/${key}/${sessionID}`, value, expiresInMs: rememberedMs },
      {
        type: 'put',
        key: sessionChatKey(server, sessionID),
        value: JSON.stringify({ channel: place.channel, chat: place.chat } satisfies ChatPlace),
        expiresInMs: rememberedMs,
      },
      ...messages.flatMap((one) => writeMessages(one.place, [one.ref], { server, sessionID })),
    ]
  }

  /** Returns the removal of the row that names the place as the one that works with the session, if the row does. */
  async function writesToLeave(place: ChatPlace, { server, sessionID }: SessionRef): Promise<readonly Write[]> {
    const key = sessionChatKey(server, sessionID)
    const stored = await state.read(key)
    const isOwn = stored !== undefined && mirrors.keyOf(toSessionChat(stored)) === mirrors.keyOf(place)
    return isOwn ? [{ type: 'remove', key }] : []
  }

  /** Returns the sessions that a place used, for `/sessions` and `/switch`, the one that was used last first. */
  async function usedSessions(place: ChatPlace): Promise<readonly UsedSession[]> {
    const stored = await state.list(`session/${mirrors.keyOf(place)}/`)
    return stored.map(({ value }) => toUsedSession(value)).toSorted((a, b) => b.usedAt - a.usedAt)
  }

  /** Returns the chats that prompted or switched to sessions of a server last, and have not left them. */
  async function workingChats(server: string): Promise<ReadonlyMap<string, ChatPlace>> {
    const prefix = sessionChatPrefix(server)
    const stored = await state.list(prefix)
    const chats = stored.map(({ key, value }) => [key.slice(prefix.length), toSessionChat(value)] as const)
    return new Map(chats.filter(([, chat]) => serverOfChat(options, chat) === server))
  }

  /** Returns the writes that store the session of messages. */
  function writeMessages(...[place, messages, session]: Parameters<Routes['writeMessages']>): readonly Write[] {
    const value = JSON.stringify({ ...session, usedAt: clock.now(), thread: place.chat.thread } satisfies UsedSession)
    return messages.map(({ id }) => {
      return { type: 'put', key: `message/${chatKey(place)}/${id}`, value, expiresInMs: rememberedMs }
    })
  }

  /** Keeps the newest messages of a place in memory until `writeUsed`, at most `mostWaiting`. */
  function rememberForNextSession(place: ChatPlace, messages: readonly MessageRef[]): void {
    const key = mirrors.keyOf(place)
    const all = [...(waitingMessages.get(key) ?? []), ...messages.map((ref) => ({ place, ref }))].slice(-mostWaiting)
    waitingMessages.set(key, all)
  }

  /** Returns the write that stores the author of a prompt for `rememberedMs`. `/undo` and `/compact` check it. */
  function writeAuthor(promptID: string, author: Author): Write {
    return { type: 'put', key: `author/${promptID}`, value: authorKey(author), expiresInMs: rememberedMs }
  }

  /** Returns who sent a prompt, which `/undo` and `/compact` check. Undefined if that is not stored. */
  async function authorOf(promptID: string): Promise<Author | undefined> {
    const key = await state.read(`author/${promptID}`)
    const end = key?.indexOf(':') ?? -1
    return key === undefined || end === -1
      ? undefined
      : { channel: key.slice(0, end), actor: { id: key.slice(end + 1) } }
  }
}
