import type { Client, PostedPrompt, Reply } from '@reply/core'
import { connectSource, type SessionInfo, type Source } from '@reply/core/source'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

/** A session of an earlier process, whose last prompt was cut off by the end of that process. */
export interface EarlierSession {
  readonly posted: PostedPrompt
  /** The sub-agent of its first prompt. */
  readonly childID: string
}

/** Makes such a session with a process of its own. Kills that process. */
export async function makeEarlier(source: Source, directory: string, model: ScriptedModel): Promise<EarlierSession> {
  const client = connectSource(source)
  const { settled } = collectReplies(client, directory)
  const first = await client.prompt({ text: '[scenario:delegate-plain] Go.' }).result
  model.release('parent')
  await settled((replies) => replies.length === 2)
  let posted: PostedPrompt | undefined
  const onPosting = (prompt: PostedPrompt): void => {
    posted = prompt
  }
  client.prompt({ text: '[scenario:slow] Go.', sessionID: first.sessionID }, { onPosting })
  await model.held('slow')
  await client.close()
  const childID = first.children[0]?.reply.sessionID
  if (!posted || childID === undefined) throw new Error(`The earlier session is not complete: ${first.outcome}.`)
  return { posted, childID }
}

/** What a later process finds of the session. */
export interface Found {
  readonly sessionIDs: readonly string[]
  /** The reply to the prompt that was cut off. */
  readonly cut: Reply
  readonly childTexts: readonly string[]
  /** The texts of a copy of the session, up to before that prompt. */
  readonly copied: readonly string[]
}

/** Looks for the session with another process, and copies it. */
export async function findEarlier(
  source: Source,
  directory: string,
  { posted, childID }: EarlierSession,
): Promise<Found> {
  const client: Client = connectSource(source)
  await client.ready
  const sessions = await source.sessions({ directory })
  const resumed = await client.resume(posted)
  if (resumed.type !== 'found') throw new Error(`The prompt is ${resumed.type}.`)
  const cut = await resumed.stream.result
  const place = { sessionID: posted.sessionID, directory }
  const childTexts = await textsOf(source, { ...place, sessionID: childID })
  const copy = await source.fork?.(place, posted.messageID)
  const copied = copy ? await textsOf(source, copy) : []
  await client.close()
  return { sessionIDs: sessions.map(({ sessionID }) => sessionID), cut, childTexts, copied }
}

async function textsOf(source: Source, { sessionID, directory }: SessionInfo) {
  const { messages } = await source.startReading().session({ sessionID, directory }, { messageIDs: [] })
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
}
