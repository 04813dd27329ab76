import { observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { sessionChatKey } from '../chats/routes.ts'
import { type ChatServers, serverOfChat } from '../config/chat-server.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { BridgeConfig, FollowMode } from '../config/schema.ts'
import { toError } from '../error.ts'
import type { People } from '../people/people.ts'
import { type ChatPlace, placeNamed } from '../place.ts'
import { type Route, type SessionRef, toExecution, toRoute, toSessionChat } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import { homeKey, newestKeyIn } from '../state/registry.ts'
import type { SharedState } from '../state/state.ts'
import { isPromptOf } from './lost-runs.ts'
import { passOn } from './show-run.ts'
import { isUnprompted } from './unprompted-runs.ts'

/** The chat that follows a run which was started elsewhere, and how much of it that chat shows. */
export interface FollowTarget {
  readonly place: ChatPlace
  readonly follows: 'asks' | 'all'
  /** The person in another chat of this bridge whose prompt began it. Undefined for all other runs. */
  readonly author?: string | undefined
}

/** Where a reply is to be followed. `no-chat`: it waits for an answer, and no chat could show that. */
export type FollowDecision = ({ readonly type: 'chat' } & FollowTarget) | { readonly type: 'no-chat' }

/**
 * Resolves with the chat that follows a reply, the same one in every process: the chat that works with its session, else the
 * server's `homeChat`, else the private chat where its session was prompted last, which has the asks alone. That chat counts only
 * if no other chat mirrors it, and its person has `approve`. A chat whose channel or server the config has no longer is passed over.
 * `no-chat` without such a chat, if the reply waits for an answer that the server's `follow` would show. Undefined if its chat follows
 * nothing, and while the chat has nothing to show of it. A reply that a prompt of a chat began is shown there: another one gets its asks
 * if it has taken the session over since.
 */
export type FindFollowTarget = (server: string, reply: Reply) => Promise<FollowDecision | undefined>

/** What a chat shows of runs that were started elsewhere, for people. */
export interface FollowScope {
  /** What it is to show. */
  readonly follow: FollowMode
  /** Whether the chat still works with its session, or another one has taken it over. `none`: it works with none. */
  readonly session: 'here' | 'elsewhere' | 'none'
  /** Which chat has the runs of sessions that no chat works with. `last`: each private chat has the asks of those it prompted last. */
  readonly others: 'here' | 'elsewhere' | 'last' | 'none'
  /** Whether the config turns requests off, so that only whole runs are shown. */
  readonly hasNoAsks: boolean
}

/** Where the next request of a run that a chat follows is shown. */
export type WhereAsksGo = 'here' | 'elsewhere' | 'nowhere'

/** Decides which chat follows a run that was started elsewhere. */
export interface FollowRules {
  readonly findTarget: FindFollowTarget
  /**
   * Resolves with where the next request of a run is shown that a chat follows: in that chat, in the chat that has the session by now, or
   * in none. `author` as in `FollowTarget`.
   */
  asksGo(place: ChatPlace, session: SessionRef, author: string | undefined): Promise<WhereAsksGo>
  /** Resolves with what `findTarget` decides about a chat with this route. */
  scopeOf(place: ChatPlace, route: Route): Promise<FollowScope>
}

/** Creates the rules, which read the rows of all shards. */
export function createFollowRules({
  state,
  config,
  people,
  mirrors,
  withFirstID,
  hasChannel,
}: {
  readonly state: Pick<SharedState, 'read'>
  readonly config: Pick<BridgeConfig, 'servers' | 'routes' | 'router'>
  readonly people: Pick<People, 'personOf'>
  readonly mirrors: Pick<Mirrors, 'keyOf' | 'others'>
  /** As in `ChatMigrations`. */
  readonly withFirstID?: ((place: ChatPlace) => ChatPlace) | undefined
  readonly hasChannel: (name: string) => boolean
}): FollowRules {
  const chatServers: ChatServers = { servers: Object.keys(config.servers), routes: config.routes, withFirstID }
  const showsAsks = config.router.progress.enabled
  return { findTarget, asksGo, scopeOf }

  /** See `FindFollowTarget`. */
  async function findTarget(...[server, reply]: Parameters<FindFollowTarget>): Promise<FollowDecision | undefined> {
    const { sessionID } = reply
    const rules = config.servers[server]
    if (!rules) return undefined
    const isAsking = pendingAsks(reply).length > 0 && showsAsks
    const ours = await runOfChat(server, reply, isAsking)
    if (ours) return ours.run && isAsking ? await takenOver(server, reply, ours.run) : undefined
    // The chat of the session's last run shows it.
    if (isUnprompted(reply) && (await state.read(homeKey(server, sessionID))) !== undefined) return undefined
    const found = await chatFor(server, sessionID)
    if (!found) return isAsking && rules.follow !== 'none' ? { type: 'no-chat' } : undefined
    const { place, role } = found
    const wanted = await modeOf(place, server)
    if (wanted === 'none') return undefined
    // A private chat that has left the session works with another one.
    const follows = role === 'last' ? 'asks' : wanted
    if (follows === 'asks' && !isAsking) return undefined
    return { type: 'chat', place, follows }
  }

  /** Returns the chat that has taken over the session of a run that waits for an answer, since another chat began it. */
  async function takenOver(server: string, reply: Reply, run: Execution): Promise<FollowDecision | undefined> {
    const found = await chatFor(server, reply.sessionID)
    if (found?.role !== 'session' || mirrors.keyOf(found.place) === mirrors.keyOf(run.prompt)) return undefined
    const isWanted = (await modeOf(found.place, server)) !== 'none'
    return isWanted ? { type: 'chat', place: found.place, follows: 'asks', author: run.prompt.actor.name } : undefined
  }

  /** See `FollowRules`. A run of another chat is followed only where the session was taken over. */
  async function asksGo(...[place, session, author]: Parameters<FollowRules['asksGo']>): Promise<WhereAsksGo> {
    const { server, sessionID } = session
    const found = await chatFor(server, sessionID)
    const isTakenOver = author === undefined || found?.role === 'session'
    if (!found || !isTakenOver || (await modeOf(found.place, server)) === 'none') return 'nowhere'
    return mirrors.keyOf(found.place) === mirrors.keyOf(place) ? 'here' : 'elsewhere'
  }

  /** See `FollowRules`. */
  async function scopeOf(place: ChatPlace, { server, sessionID }: Route): Promise<FollowScope> {
    const isHere = (other: ChatPlace): boolean => mirrors.keyOf(other) === mirrors.keyOf(place)
    const home = homeOf(server)
    const found = sessionID === undefined ? undefined : await chatFor(server, sessionID)
    const isOwnPrivate = place.chat.kind === 'private' && mirrors.others(place).length === 0
    return {
      follow: await modeOf(place, server),
      session: found?.role === 'session' ? (isHere(found.place) ? 'here' : 'elsewhere') : 'none',
      others: home ? (isHere(home) ? 'here' : 'elsewhere') : isOwnPrivate ? 'last' : 'none',
      hasNoAsks: !showsAsks,
    }
  }

  /**
   * Returns the chat for runs of a session, and why it is that one: it works with the session, it is the server's home, or it
   * prompted the session last and has left it. Undefined if no chat can show them.
   */
  async function chatFor(
    server: string,
    sessionID: string,
  ): Promise<{ readonly place: ChatPlace; readonly role: 'session' | 'home' | 'last' } | undefined> {
    const stored = await state.read(sessionChatKey(server, sessionID))
    const working = stored === undefined ? undefined : toSessionChat(stored)
    if (working && isUsable(working, server)) return { place: working, role: 'session' }
    const home = homeOf(server)
    if (home) return { place: home, role: 'home' }
    const last = await privateChatOf(server, sessionID)
    return last && isUsable(last, server) ? { place: last, role: 'last' } : undefined
  }

  /** Returns the server's `homeChat`. Undefined without one. */
  function homeOf(server: string): ChatPlace | undefined {
    const { homeChat } = config.servers[server] ?? {}
    const home = homeChat === undefined ? undefined : placeNamed(homeChat)
    return home && isUsable(home, server) ? home : undefined
  }

  /** Whether the config still has the channel of a chat, and the chat uses that server. */
  function isUsable(place: ChatPlace, server: string): boolean {
    return hasChannel(place.channel) && serverOfChat(chatServers, place) === server
  }

  /** Returns what a chat is to show, by `/follow` there or else by the config. */
  async function modeOf(place: ChatPlace, server: string): Promise<FollowMode> {
    const stored = await state.read(`route/${mirrors.keyOf(place)}`)
    const route = stored === undefined ? undefined : toRoute(stored)
    return (route?.server === server ? route.follow : undefined) ?? config.servers[server]?.follow ?? 'asks'
  }

  /**
   * Whether a prompt of a chat began the reply, and its run if that is the session's newest one. Undefined otherwise. Where the server
   * makes the ids of prompts, their authors are stored when the runs end, so this also looks whether it may be that run, with its text.
   * Leaves out the run of a known prompt unless the reply `isAsking`, because nothing else needs it.
   */
  async function runOfChat(
    server: string,
    { sessionID, promptIDs, prompt }: Reply,
    isAsking: boolean,
  ): Promise<{ readonly run: Execution | undefined } | undefined> {
    const [promptID] = promptIDs
    if (promptID === undefined) return undefined
    const [author, shard] = await Promise.all([
      state.read(`author/${promptID}`),
      state.read(homeKey(server, sessionID)),
    ])
    const isKnown = author !== undefined
    if (isKnown && !isAsking) return { run: undefined }
    const newest = await newestRunIn(shard, server, sessionID)
    const { posted, finishedAt } = newest ?? {}
    const run = posted && isPromptOf(posted, promptID) ? newest : undefined
    if (isKnown) return { run }
    if (!run || posted?.messageID !== undefined || finishedAt !== undefined) return undefined
    // A plugin of the server may have added to the text.
    return prompt?.text.includes(posted?.text?.trim() ?? '') ? { run } : undefined
  }

  /** Returns the newest run of a session that a chat began, from the shard that has it. Undefined without one. */
  async function newestRunIn(
    shard: string | undefined,
    server: string,
    sessionID: string,
  ): Promise<Execution | undefined> {
    const newest = shard === undefined ? undefined : await state.read(newestKeyIn(shard, server, sessionID))
    return newest === undefined ? undefined : toExecution(newest)
  }

  /** Returns the private chat where a session was prompted last. Undefined without one, and if what is said there reaches others. */
  async function privateChatOf(server: string, sessionID: string): Promise<ChatPlace | undefined> {
    const newest = await newestRunIn(await state.read(homeKey(server, sessionID)), server, sessionID)
    if (!newest) return undefined
    const { channel, chat, actor } = newest.prompt
    const place = { channel, chat }
    if (chat.kind !== 'private' || mirrors.others(place).length > 0) return undefined
    return people.personOf(channel, actor)?.may.has('approve') ? place : undefined
  }
}

/** Observes the replies of a watch until they are followed. */
export interface Followers {
  /**
   * Returns an observer of one reply. It calls `begin` when there may be something to follow: when the prompt is known, and for each
   * new ask. Once that resolves with an observer, passes all later observations on to it.
   */
  observe(): ReplyObserver
  /**
   * Calls `begin` again for open replies, because another chat may follow them now: for those of a session, or for all that wait for an
   * answer or that no chat follows.
   */
  lookAgain(sessionID?: string): void
}

/** Creates the followers of a watch. Errors go to `onError`. */
export function createFollowers(
  begin: (reply: Reply) => Promise<ReplyObserver | undefined>,
  onError: (error: Error) => void,
): Followers {
  /** The look-ups of the open replies. */
  const open = new Set<(sessionID: string | undefined) => void>()
  return {
    observe,
    lookAgain: (sessionID) => {
      for (const look of open) look(sessionID)
    },
  }

  /** Returns an observer of one reply. */
  function observe(): ReplyObserver {
    let newest: Reply
    /** What the reply had when `begin` was called the last time. */
    let lookedAt = ''
    /** What the calls of `begin` resolve with. Those that found nothing are removed. */
    const followers = new Set<Promise<ReplyObserver | undefined>>()
    return observerOf((observation) => {
      newest = observation.reply
      if (newest.phase === 'settled') open.delete(lookAgain)
      else open.add(lookAgain)
      if (followers.size === 0) return look()
      for (const follower of followers) void follower.then((observer) => observer && passOn(observer, observation))
    })

    /** Calls `begin` if the reply has something that it did not have the last time. */
    function look(): void {
      const signs = signsOf(newest)
      if (signs === '' || signs === lookedAt) return
      lookedAt = signs
      beginNow()
    }

    /** Calls `begin`. If that finds nothing, looks whether the reply has more by then. */
    function beginNow(): void {
      const found = begin(newest).catch((error) => void onError(toError(error)))
      followers.add(found)
      void found.then((observer) => {
        if (observer) return
        followers.delete(found)
        if (followers.size === 0) look()
      })
    }

    /** See `Followers`. */
    function lookAgain(sessionID: string | undefined): void {
      if (signsOf(newest) === '' || (sessionID !== undefined && sessionID !== newest.sessionID)) return
      if (sessionID !== undefined || followers.size === 0 || pendingAsks(newest).length > 0) beginNow()
      // The look-up that is in progress may have read what was before.
      else lookedAt = ''
    }
  }
}

/** Returns a text that changes when there may be more of a reply to follow. Empty while there is nothing. */
function signsOf(reply: Reply): string {
  const asks = reply.phase === 'settled' ? [] : pendingAsks(reply).map(({ requestID }) => requestID)
  const { promptIDs, prompt } = reply
  return [...(hasContent(reply) ? [`content ${promptIDs[0]} ${prompt?.parts.length}`] : []), ...asks].join(' ')
}

/**
 * Whether a reply has a prompt that its server told, or something of the agent. A prompt without parts is one that this process is
 * about to post, and another client's may overtake it in that reply.
 */
function hasContent(reply: Reply): boolean {
  const { prompt, messages } = reply
  return prompt === undefined ? isUnprompted(reply) === true : prompt.parts.length > 0 || messages.length > 0
}
