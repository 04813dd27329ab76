import { emptyReply, type PostedPrompt, type Reply, reduce } from '@reply/core'
import type { Delivery } from '@reply/sink'
import { ledgerKeyOf } from '@reply/sink/internal'
import { BridgeError } from '../error.ts'
import type { Execution } from '../state/execution.ts'
import { plain, texts } from '../texts.ts'
import type { ActiveRun, Shown } from './active-runs.ts'
import type { BridgeContext } from './context.ts'
import { isCutShort, notFollowed, passOn, shownInMirrors, sinksFor } from './show-run.ts'

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
  { state, clock }: Pick<BridgeContext, 'state' | 'clock'>,
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

/** The prompt by which the place knows the run. Undefined if it shows nothing of it. */
async function promptShownIn(
  state: BridgeContext['state'],
  { posted, sessionID, isSteer, startedBy }: Execution,
  { channel, chat }: Shown,
): Promise<string | undefined> {
  // Before the post it has no message, and those of its session are earlier ones.
  if ((!posted && startedBy === undefined) || sessionID === undefined || isSteer) return undefined
  const prefix = `ledger/${channel}/`
  const stored = await state.list(`${prefix}${encodeURIComponent(chat.id)}/`)
  return stored
    .flatMap(({ key }) => ledgerKeyOf(key.slice(prefix.length)) ?? [])
    .filter((one) => one.sessionID === sessionID && one.chat.thread === chat.thread)
    .map((one) => one.promptID)
    .toSorted()
    .find((id) => (posted ? isOf(posted, id) : id === startedBy))
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

/**
 * Ends an execution that can't be followed any more, for its reason: its messages are closed, or its chat is told. A
 * process that ends before has the next one do so.
 */
export async function endUnfollowed(
  context: BridgeContext,
  execution: Execution,
  isStopped: () => boolean,
): Promise<void> {
  const { state, registry, channels, failed, onError } = context
  const { prompt, server, reason = '' } = execution
  const done = registry.write({ ...execution, phase: 'done' })
  if (!channels.has(prompt.channel)) {
    await state.commit([done])
    return onError(new BridgeError('channel', `${execution.id}: ${reason}`))
  }
  const shows = sinksFor(context, execution, { server })
  const closed = await closeShown(context, execution, shows)
  if (isStopped() || (closed && isCutShort(closed.delivery))) return
  const missing = closed ? failed.of(execution, closed.reply, [{ place: shows[0], delivery: closed.delivery }]) : []
  if (closed && missing.length === 0) return void (await state.commit([done]))
  const owed = missing[0] ?? failed.owed(execution, texts.failed(plain(reason)))
  await state.commit([registry.write({ ...execution, phase: 'undelivered' }), ...failed.keep([owed])])
  if (closed) failed.kept([owed])
  else await failed.tell(owed, prompt.messageRef, [done])
}
