import { observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { sessionChatKey } from '../chats/routes.ts'
import type { Mirrors } from '../config/mirrors.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { toError } from '../error.ts'
import type { People } from '../people/people.ts'
import { type ChatPlace, placeNamed } from '../place.ts'
import { toExecution, toRoute, toSessionChat } from '../state/decode.ts'
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
}

/** Where a reply is to be followed. `no-chat`: it waits for an answer, and no chat could show that. */
export type FollowDecision = ({ readonly type: 'chat' } & FollowTarget) | { readonly type: 'no-chat' }

/**
 * Resolves with the chat that follows a reply, the same one in every process: the chat that works with its session, else the
 * server's `homeChat`, else the private chat where its session was prompted last, which has the asks alone. That chat counts only
 * if no other chat mirrors it, and its person has `approve`. `no-chat` without such a chat, if the reply waits for an answer that
 * the server's `follow` would show. Undefined for a reply that a prompt of a chat began, if its chat follows nothing, and while
 * the chat has nothing to show of it.
 */
export type FindFollowTarget = (server: string, reply: Reply) => Promise<FollowDecision | undefined>

/** Creates the look-up, which reads the rows of all shards. */
export function createFindFollowTarget({
  state,
  config,
  people,
  mirrors,
  hasChannel,
}: {
  readonly state: Pick<SharedState, 'read'>
  readonly config: Pick<BridgeConfig, 'servers' | 'router'>
  readonly people: Pick<People, 'personOf'>
  readonly mirrors: Pick<Mirrors, 'keyOf' | 'others'>
  readonly hasChannel: (name: string) => boolean
}): FindFollowTarget {
  return async (server, reply) => {
    const { sessionID } = reply
    const rules = config.servers[server]
    if (!rules || (await isOfChat(server, reply))) return undefined
    // The chat of the session's last run shows it.
    if (isUnprompted(reply) && (await state.read(homeKey(server, sessionID))) !== undefined) return undefined
    const stored = await state.read(sessionChatKey(server, sessionID))
    const working = stored === undefined ? undefined : toSessionChat(stored)
    const home = rules.homeChat === undefined ? undefined : placeNamed(rules.homeChat)
    const place = working ?? home ?? (await privateChatOf(server, sessionID))
    const showsAsks = pendingAsks(reply).length > 0 && config.router.progress.enabled
    if (!place || !hasChannel(place.channel))
      return showsAsks && rules.follow !== 'none' ? { type: 'no-chat' } : undefined
    const route = await state.read(`route/${mirrors.keyOf(place)}`)
    const wanted = (route === undefined ? undefined : toRoute(route).follow) ?? rules.follow ?? 'asks'
    if (wanted === 'none') return undefined
    // A private chat that has left the session works with another one.
    const follows = working || home ? wanted : 'asks'
    if (follows === 'asks' && !showsAsks) return undefined
    return { type: 'chat', place, follows }
  }

  /**
   * Whether a prompt of a chat began the reply. Where the server makes the ids of prompts, their authors are stored when the runs
   * end, so this also looks whether it may be the session's newest run, with its text.
   */
  async function isOfChat(server: string, { sessionID, promptIDs, prompt }: Reply): Promise<boolean> {
    const [promptID] = promptIDs
    if (promptID === undefined) return false
    if ((await state.read(`author/${promptID}`)) !== undefined) return true
    const { posted, finishedAt } = (await newestRunOf(server, sessionID)) ?? {}
    if (!posted || posted.messageID !== undefined || finishedAt !== undefined) return false
    // A plugin of the server may have added to the text.
    return isPromptOf(posted, promptID) && prompt?.text.includes(posted.text?.trim() ?? '') === true
  }

  /** Returns the newest run of a session that a chat began, of any shard. Undefined without one. */
  async function newestRunOf(server: string, sessionID: string): Promise<Execution | undefined> {
    const shard = await state.read(homeKey(server, sessionID))
    const newest = shard === undefined ? undefined : await state.read(newestKeyIn(shard, server, sessionID))
    return newest === undefined ? undefined : toExecution(newest)
  }

  /** Returns the private chat where a session was prompted last. Undefined without one, and if what is said there reaches others. */
  async function privateChatOf(server: string, sessionID: string): Promise<ChatPlace | undefined> {
    const newest = await newestRunOf(server, sessionID)
    if (!newest) return undefined
    const { channel, chat, actor } = newest.prompt
    const place = { channel, chat }
    if (chat.kind !== 'private' || mirrors.others(place).length > 0) return undefined
    return people.personOf(channel, actor)?.may.has('approve') ? place : undefined
  }
}

/**
 * Returns an observer of one reply. It calls `begin` when there may be something to follow: when the prompt is known, and for each
 * new ask. Once that resolves with an observer, passes all later observations on to it. Errors go to `onError`.
 */
export function followObserver(
  begin: (reply: Reply) => Promise<ReplyObserver | undefined>,
  onError: (error: Error) => void,
): ReplyObserver {
  let newest: Reply
  /** What the reply had when `begin` was called the last time. */
  let lookedAt = ''
  let follower: Promise<ReplyObserver | undefined> | undefined
  return observerOf((observation) => {
    newest = observation.reply
    if (!follower) return lookAgain()
    void follower.then((observer) => observer && passOn(observer, observation))
  })

  /** Calls `begin` if the reply has something that it did not have the last time. */
  function lookAgain(): void {
    const signs = signsOf(newest)
    if (signs === '' || signs === lookedAt) return
    lookedAt = signs
    const found = begin(newest).catch((error) => void onError(toError(error)))
    follower = found
    void found.then((observer) => {
      if (observer) return
      follower = undefined
      lookAgain()
    })
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
