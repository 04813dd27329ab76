import { emptyReply, type PostedPrompt, type Reply, reduce } from '@reply/core'
import { ledgerKeyOf } from '@reply/sink/channel'
import type { Execution } from '../registry/execution.ts'
import type { State } from '../state.ts'
import type { Shown } from './active-run.ts'
import { passOn } from './shown-by.ts'

/**
 * Ends what a chat shows of a run that can't be followed any more: its message says the reason then, instead of being at
 * work for ever. Resolves with false if the chat shows nothing of it.
 */
export async function closeShown(
  state: Pick<State, 'list'>,
  execution: Execution,
  { channel, chat, sink }: Shown,
  end: { readonly reason: string; readonly at: number },
): Promise<boolean> {
  const { posted, sessionID, isSteer } = execution
  // Before the post it has no message, and those of its session are earlier ones.
  if (!posted || sessionID === undefined || isSteer) return false
  const prefix = `ledger/${channel}/`
  const stored = await state.list(`${prefix}${encodeURIComponent(chat.id)}/`)
  const promptID = stored
    .flatMap(({ key }) => ledgerKeyOf(key.slice(prefix.length)) ?? [])
    .filter((one) => one.sessionID === sessionID && one.chat.thread === chat.thread)
    .map((one) => one.promptID)
    .toSorted()
    .find((id) => isOf(posted, id))
  if (promptID === undefined) return false
  const reply = endedReply(sessionID, promptID, end)
  passOn(sink, { type: 'replyStarted', reply })
  passOn(sink, { type: 'replySettled', outcome: 'failed', reply })
  await sink.settled()
  return true
}

/** Servers that make the ids make ids that rise. */
function isOf({ messageID, after = '' }: PostedPrompt, promptID: string): boolean {
  return messageID === undefined ? promptID > after : promptID === messageID
}

function endedReply(
  sessionID: string,
  promptID: string,
  { reason, at }: { readonly reason: string; readonly at: number },
): Reply {
  const opened = reduce(emptyReply(sessionID), { type: 'opened', sessionID, at }).reply
  const error = { name: 'NotFollowed', message: reason, raw: undefined }
  return { ...reduce(opened, { type: 'error', sessionID, at, error }).reply, promptIDs: [promptID] }
}
