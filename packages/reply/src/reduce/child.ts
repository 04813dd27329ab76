import { isSubagentTool } from '../ask/tool-name.ts'
import type { Ask } from '../ask.ts'
import type { Change } from '../change.ts'
import { same } from '../fields.ts'
import type { Part, ToolPart } from '../part.ts'
import type { Child, Reply } from '../reply.ts'
import { changeOfAsk } from './ask.ts'
import { askIndexOf, withAsk } from './ask-list.ts'
import { messageIndexOf } from './part.ts'
import { emptyReply, replaceAt, withChildren, withFields } from './shape.ts'

/**
 * Index of the child that is this session or contains it: the run with the message if there is one, else the newest
 * run. -1 if there is none.
 */
export function childIndexOf(reply: Reply, sessionID: string, messageID?: string): number {
  const holder =
    messageID === undefined ? -1 : reply.children.findLastIndex((child) => findReply(child.reply, sessionID, messageID))
  return holder === -1 ? reply.children.findLastIndex((child) => findReply(child.reply, sessionID)) : holder
}

/**
 * The newest run of a session in this reply's tree, including the reply itself. With a message, the newest run that
 * contains it as a message or a prompt. Undefined if there is none.
 */
export function findReply(reply: Reply, sessionID: string, messageID?: string): Reply | undefined {
  if (reply.sessionID === sessionID)
    return messageID === undefined || hasMessageOrPrompt(reply, messageID) ? reply : undefined
  for (let at = reply.children.length - 1; at >= 0; at--) {
    const child = reply.children[at]
    const found = child && findReply(child.reply, sessionID, messageID)
    if (found) return found
  }
  return undefined
}

function hasMessageOrPrompt(reply: Reply, messageID: string): boolean {
  return messageIndexOf(reply.messages, messageID) !== -1 || reply.promptIDs.includes(messageID)
}

/** The ids of the reply's session and of all sessions below it. A session with several runs is listed several times. */
export function sessionsIn(reply: Reply): string[] {
  return [reply.sessionID, ...reply.children.flatMap((child) => sessionsIn(child.reply))]
}

export interface ChildStart {
  readonly childID: string
  readonly title?: string | undefined
}

/** Starts a sub-agent's run: its first, or another one after the last has settled. Does nothing while one is open. */
export function startChild(reply: Reply, { childID, title }: ChildStart, at: number, changes: Change[]): Reply {
  const running = reply.children.findLast((child) => child.reply.sessionID === childID)
  if (running && running.reply.phase !== 'settled') return reply
  return addChild(reply, { title, background: false, reply: startedReply(childID, title, at) }, changes)
}

/** The session that a sub-agent's call runs in. Undefined for any other part, and until the server has named it. */
export function childSessionOf(part: Part): string | undefined {
  if (part.type !== 'tool' || !isSubagentTool(part.tool)) return undefined
  const { sessionId, sessionID } = part.state.metadata ?? {}
  const id = sessionId ?? sessionID
  return typeof id === 'string' ? id : undefined
}

/**
 * Connects a sub-agent's call with the run that it started: the one with this call, else the newest without a call.
 * Sets its agent, title and background, and keeps what the call doesn't name. Adds and reports a child that starts at
 * the time `at` if there is no such run. Does nothing if the call names no session, or the reply's own.
 */
export function linkChild(reply: Reply, part: ToolPart, at: number, changes: Change[]): Reply {
  const { input, metadata } = part.state
  const childID = childSessionOf(part)
  if (childID === undefined || childID === reply.sessionID) return reply
  const link = {
    callID: part.callID,
    agent: nonEmptyString(input.subagent_type) ?? nonEmptyString(input.agent),
    title: nonEmptyString(input.description),
    // A call that returns while its sub-agent runs was moved to the background.
    background:
      input.background === true ||
      metadata?.background === true ||
      (part.state.status === 'completed' && metadata?.status === 'running'),
  }
  const linked = childIndexOfCall(reply, childID, part.callID)
  const childIndex = linked === -1 ? childIndexOfCall(reply, childID, undefined) : linked
  const child = reply.children[childIndex]
  if (!child) {
    return addChild(reply, { ...link, reply: startedReply(childID, undefined, at) }, changes)
  }
  const named = { ...child, ...link, agent: link.agent ?? child.agent, title: link.title ?? child.title }
  // No change of its own: the tool part's change in the same step reports it.
  return same({ ...named, reply: 0 }, { ...child, reply: 0 })
    ? reply
    : withChildren(reply, replaceAt(reply.children, childIndex, named))
}

/**
 * The index of the newest run of a session that this call started. Without a call, of the newest run whose call is
 * unknown. -1 if there is none.
 */
function childIndexOfCall(reply: Reply, childID: string, callID: string | undefined): number {
  return reply.children.findLastIndex((child) => child.reply.sessionID === childID && child.callID === callID)
}

/** Appends a child and reports it as started. */
function addChild(reply: Reply, child: Child, changes: Change[]): Reply {
  changes.push({ type: 'childStarted', child })
  return withChildren(reply, [...reply.children, child])
}

/** A child's new reply. `at` is its start, in ms since the epoch. */
function startedReply(sessionID: string, title: string | undefined, at: number): Reply {
  return withFields(emptyReply(sessionID), { title, startedAt: at })
}

/**
 * Puts the next state of a child into the reply, copies its asks into the reply's own, and reports its changes. Takes
 * over its agent if that was unknown. Returns the same reply if the child is the same.
 */
export function applyChildStep(
  reply: Reply,
  childIndex: number,
  step: { readonly reply: Reply; readonly changes: readonly Change[] },
  changes: Change[],
): Reply {
  const before = reply.children[childIndex]
  if (!before || step.reply === before.reply) return reply
  const child: Child = { ...before, agent: before.agent ?? step.reply.agent, reply: step.reply }
  const next = withChildren(reply, replaceAt(reply.children, childIndex, child))
  if (step.changes.length === 0) return next
  for (const change of step.changes) reportChild(child, change, changes)
  return step.reply.asks === before.reply.asks ? next : withChildAsks(next, before.reply.asks, step.reply.asks, changes)
}

/**
 * Reports a child's change to the parent's observers: a grandchild's as it is, its end as `childSettled`, and any other
 * wrapped in `childChanged`. Skips its start, and the asks of grandchildren.
 */
export function reportChild(child: Child, change: Change, changes: Change[]): void {
  if (change.type === 'childChanged') changes.push(change)
  else if (change.type === 'replySettled') changes.push({ type: 'childSettled', child })
  else if (change.type !== 'replyStarted' && !isGrandchildsAsk(child, change))
    changes.push({ type: 'childChanged', child, change })
}

/** Whether the change is about an ask of a sub-agent below the child, which was already reported for that one. */
function isGrandchildsAsk(child: Child, change: Change): boolean {
  return 'ask' in change && change.ask.sessionID !== child.reply.sessionID
}

/**
 * Copies the child's new and changed asks into the reply, with the reply's session at the front of their paths, and
 * reports them. A child's asks are only replaced in place or appended, so an ask in the same place has not changed.
 */
function withChildAsks(reply: Reply, before: readonly Ask[], after: readonly Ask[], changes: Change[]): Reply {
  let next = reply
  for (const [index, ask] of after.entries()) {
    if (before[index] === ask || (before[index]?.requestID !== ask.requestID && before.includes(ask))) continue
    const own: Ask = { ...ask, path: [reply.sessionID, ...ask.path] }
    const ownIndex = askIndexOf(next.asks, ask.requestID)
    const isKnown = next.asks[ownIndex]?.status === 'pending' && own.status === 'pending'
    changes.push(isKnown ? { type: 'askChanged', ask: own } : changeOfAsk(own))
    next = withAsk(next, ownIndex, own)
  }
  return next
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
