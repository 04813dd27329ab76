import { emptyReply, type PostedPrompt, type Reply, reduce } from '@reply/core'
import type { Delivery } from '@reply/sink'
import { ledgerKeyOf } from '@reply/sink/internal'
import type { Execution } from '../registry/execution.ts'
import type { ActiveRun, Shown } from './active-run.ts'
import type { RunContext } from './context.ts'
import { passOn, shownInMirrors } from './shown-by.ts'

/** What closed the messages of a run, and what its own place shows of it. */
export interface Closed {
  readonly reply: Reply
  readonly delivery: Delivery
}

/**
 * Ends what the chats show of a run that can't be followed any more: its messages say the execution's reason then,
 * instead of being at work for ever, and what had come of the answer stays above it. Resolves with undefined if its own place shows nothing of it.
 */
export async function closeShown(
  { state, clock }: Pick<RunContext, 'state' | 'clock'>,
  execution: Execution,
  shows: ActiveRun['shows'],
): Promise<Closed | undefined> {
  const replies = await Promise.all(shows.map(async (shown) => await closeIn(shown)))
  const [reply] = replies
  if (!reply) return undefined
  const delivery = await shows[0].sink.settled()
  await shownInMirrors(shows, clock)
  return { reply, delivery }

  async function closeIn(shown: Shown): Promise<Reply | undefined> {
    const { sessionID, reason = '' } = execution
    const promptID = await promptShownIn(state, execution, shown)
    if (sessionID === undefined || promptID === undefined) return undefined
    const closed = endedReply(sessionID, promptID, { reason, at: clock.now() })
    passOn(shown.sink, { type: 'replyStarted', reply: closed })
    passOn(shown.sink, { type: 'replySettled', outcome: 'failed', reply: closed })
    return closed
  }
}

/** Whether this is a reply that only ends what is shown, and has none of its texts. */
export function isClosing({ error }: Reply): boolean {
  return error?.name === notFollowed
}

const notFollowed = 'NotFollowed'

/** The prompt by which the place knows the run. Undefined if it shows nothing of it. */
async function promptShownIn(
  state: RunContext['state'],
  { posted, sessionID, isSteer, wokenBy }: Execution,
  { channel, chat }: Shown,
): Promise<string | undefined> {
  // Before the post it has no message, and those of its session are earlier ones.
  if ((!posted && wokenBy === undefined) || sessionID === undefined || isSteer) return undefined
  const prefix = `ledger/${channel}/`
  const stored = await state.list(`${prefix}${encodeURIComponent(chat.id)}/`)
  return stored
    .flatMap(({ key }) => ledgerKeyOf(key.slice(prefix.length)) ?? [])
    .filter((one) => one.sessionID === sessionID && one.chat.thread === chat.thread)
    .map((one) => one.promptID)
    .toSorted()
    .find((id) => (posted ? isOf(posted, id) : id === wokenBy))
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
  const error = { name: notFollowed, message: reason, raw: undefined }
  return { ...reduce(opened, { type: 'error', sessionID, at, error }).reply, promptIDs: [promptID] }
}
