import { type Ask, emptyReply, type PostedPrompt, type Reply, reduce } from '@reply/core'
import type { Delivery } from '@reply/sink'
import { ledgerKeyOf } from '@reply/sink/internal'
import { BridgeError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution } from '../state/execution.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import type { ActiveRun, ChatSink } from './active-runs.ts'
import { closedAsks } from './followed-execution.ts'
import type { BridgeServices } from './services.ts'
import { isCutShort, notFollowed, passOn, sinksFor, waitForMirrors } from './show-run.ts'

/** A run whose messages were closed. */
export interface ClosedRun {
  /** The reply that closed them. It has no answer. */
  readonly reply: Reply
  /** The delivery in its own place. */
  readonly delivery: Delivery
}

/**
 * Closes the messages of a run that can no longer be followed, in its own place and in mirrors. They then show the execution's
 * reason instead of a status such as "Writing", below the text that had arrived. Waits until the places show that, but for
 * mirrors only a limited time. Resolves with undefined if its own place shows no message of the run. The messages of `asks`, by
 * default those that were stored, then say that they are over, and have no buttons.
 */
export async function closeShown(
  { state, clock }: Pick<BridgeServices, 'state' | 'clock'>,
  execution: Execution,
  sinks: ActiveRun['sinks'],
  asks: readonly Ask[] = execution.asks ?? [],
): Promise<ClosedRun | undefined> {
  const replies = await Promise.all(sinks.map(async (shown) => await closeInPlace(shown)))
  const [reply] = replies
  if (!reply) return undefined
  const delivery = await sinks[0].sink.settled()
  await waitForMirrors(sinks, clock)
  return { reply, delivery }

  /**
   * Passes a failed reply to the sink of one place, so that it closes the messages of the run, and returns that reply. Does not
   * wait for the sink. Undefined if the place shows no message of the run.
   */
  async function closeInPlace(shown: ChatSink): Promise<Reply | undefined> {
    const { sessionID, reason = '' } = execution
    const promptID = await promptShownIn(state, execution, shown)
    if (sessionID === undefined || promptID === undefined) return undefined
    const failed = failedReply(sessionID, promptID, reason, clock.now())
    const closed = { ...failed, asks: closedAsks(asks, failed, clock.now()) }
    passOn(shown.sink, { type: 'replyStarted', reply: closed })
    passOn(shown.sink, { type: 'replySettled', outcome: 'failed', reply: closed })
    return closed
  }
}

/**
 * Finds the id of the prompt under which a place shows the run, so that its messages can be closed: the first in the ledgers
 * that can be its own. Undefined if the place shows no message of it, for a run that steers another, and before the prompt was
 * posted.
 */
export async function promptShownIn(
  state: BridgeServices['state'],
  { posted, sessionID, isSteer, startedBy }: Execution,
  { channel, chat }: ChatPlace,
): Promise<string | undefined> {
  // Before it is posted it has no messages: those of its session belong to earlier runs.
  if ((!posted && startedBy === undefined) || sessionID === undefined || isSteer) return undefined
  const prefix = `ledger/${channel}/`
  const stored = await state.withRetries(() => state.list(`${prefix}${encodeURIComponent(chat.id)}/`))
  return stored
    .flatMap(({ key }) => ledgerKeyOf(key.slice(prefix.length)) ?? [])
    .filter((one) => one.sessionID === sessionID && one.chat.thread === chat.thread)
    .map((one) => one.promptID)
    .toSorted()
    .find((id) => (posted ? isPromptOf(posted, id) : id === startedBy))
}

/**
 * Whether the id is that of the posted prompt. If the server assigns the ids of prompts, they increase, and each later one than
 * `after` may be it.
 */
export function isPromptOf({ messageID, after = '' }: PostedPrompt, promptID: string): boolean {
  return messageID === undefined ? promptID > after : promptID === messageID
}

/** Returns a reply without text that failed with the reason, so that a sink closes the messages of that prompt. */
function failedReply(sessionID: string, promptID: string, reason: string, at: number): Reply {
  const opened = reduce(emptyReply(sessionID), { type: 'opened', sessionID, at }).reply
  const error = { name: notFollowed, message: reason, raw: undefined }
  return { ...reduce(opened, { type: 'error', sessionID, at, error }).reply, promptIDs: [promptID] }
}

/**
 * Ends an execution that was started elsewhere and whose end is not known. Closes its messages: those of asks say that they are
 * over. Does not wait until the chat shows that, because nothing of its own is missing there. Resolves with false if this process
 * stops first.
 */
export async function closeFollowed(
  services: BridgeServices,
  execution: Execution,
  isStopped: () => boolean,
): Promise<boolean> {
  const { state, registry, channels, notices, clock } = services
  const { prompt, server, sessionID = '', startedBy = '', asks = [] } = execution
  void notices.endAsks(execution)
  if (channels.has(prompt.channel)) {
    const [{ sink }, ...mirrors] = sinksFor(services, execution, { server })
    const opened = reduce(emptyReply(sessionID), { type: 'opened', sessionID, at: clock.now() }).reply
    const closed = closedAsks(asks, opened, clock.now())
    const reply: Reply = {
      ...opened,
      phase: 'settled',
      outcome: 'aborted',
      aborting: 'requested',
      promptIDs: [startedBy],
      asks: closed,
    }
    for (const each of [sink, ...mirrors.map((one) => one.sink)]) {
      passOn(each, { type: 'replyStarted', reply })
      passOn(each, { type: 'replySettled', outcome: 'aborted', reply })
    }
    const delivery = await sink.settled()
    if (isStopped() || isCutShort(delivery)) return false
  }
  const over = { ...execution, phase: 'done', status: 'stopped', reason: texts.aborted, asks: undefined } as const
  await state.withRetries(() => state.commit([registry.writeExecution(over)]))
  return true
}

/**
 * Ends an execution as failed that can no longer be followed, for example because its server left the config. Closes its messages
 * with the reason, or posts the reason if there are none. Stores and sends the notices of its end. Stores and reports a failed
 * delivery if the chat does not show the reason. If the channel no longer exists, only stores the end, with its notices, and reports
 * the reason. Resolves with false if this process stops first. The next one then does this.
 */
export async function endUnfollowed(
  services: BridgeServices,
  before: Execution,
  reason: string,
  isStopped: () => boolean,
): Promise<boolean> {
  const { state, registry, channels, failed, notices, clock, onError } = services
  const execution = { ...before, status: 'error', reason, finishedAt: clock.now() } as const
  const { prompt, server } = execution
  void notices.endAsks(execution)
  const over = { ...execution, phase: 'done' } as const
  const done = [registry.writeExecution(over), ...(await registry.writesAtEnd(over))]
  /** Commits the end with its notices, and sends those. With retries: nothing in this process ends the execution again. */
  const commitEnd = async (writes: readonly Write[]): Promise<boolean> => {
    const told = await notices.writesAtEnd(before, execution, undefined)
    const isStored = await state.withRetries(() => state.commit([...writes, ...told]))
    if (told.length > 0) void notices.send()
    return isStored
  }
  if (!channels.has(prompt.channel)) {
    await commitEnd(done)
    onError(new BridgeError('channel', `${execution.id}: ${reason}`))
    return true
  }
  const sinks = sinksFor(services, execution, { server })
  const closed = await closeShown(services, execution, sinks)
  if (isStopped() || (closed && isCutShort(closed.delivery))) return false
  const missing = closed
    ? failed.findMissing(execution, closed.reply, [{ place: sinks[0], delivery: closed.delivery }])
    : []
  if (closed && missing.length === 0) return await commitEnd(done)
  const pending = missing[0] ?? failed.pendingFor(execution, texts.failed(plain(reason)))
  await commitEnd([registry.writeExecution({ ...execution, phase: 'undelivered' }), ...failed.write([pending])])
  if (closed) failed.reportAll([pending])
  else await failed.replyPending(pending, prompt.messageRef, done)
  return true
}
