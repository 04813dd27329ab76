import { type Ask, type Change, emptyReply, type Part, type Reply } from '@reply/core'
import type { OwnChange } from '../src/change.ts'

/**
 * A reply as known from its changes alone: the fold of all of them. `pictureOf` derives the same from the reply itself,
 * so that the two can be compared.
 */
export interface Picture {
  readonly phase: string
  readonly outcome: string | undefined
  readonly connection: string
  readonly stalled: boolean
  readonly messages: ReadonlySet<string>
  /** Visible parts, by id: their text or a call's status, and whether they are closed. */
  readonly parts: ReadonlyMap<string, string>
  readonly asks: ReadonlyMap<string, string>
  readonly todos: unknown
  readonly usage: unknown
  /** Descendants in order of their start. */
  readonly below: readonly { readonly sessionID: string; readonly picture: Picture }[]
}

export function pictureOf(reply: Reply, isRoot = true): Picture {
  const parts = reply.messages.flatMap((message) => message.parts).filter((part) => part.status !== 'abandoned')
  return {
    phase: reply.phase,
    outcome: reply.outcome,
    connection: reply.connection,
    stalled: reply.stalled,
    messages: new Set(reply.messages.map((message) => message.id)),
    parts: new Map(parts.map((part) => [part.id, tell(part, textIn(part))])),
    // A descendant's ask is reported by the descendant and by the root, not by those between them.
    asks: new Map(
      reply.asks
        .filter(({ path }) => isRoot || path.length === 1)
        .map((ask) => [`${ask.path.join('/')} ${ask.requestID}`, tellAsk(ask)]),
    ),
    todos: reply.todos,
    usage: reply.usage,
    below: reply.children.map((child) => ({
      sessionID: child.reply.sessionID,
      picture: pictureOf(child.reply, false),
    })),
  }
}

/** The picture after one change. Throws if a change doesn't fit the previous ones. */
export function withChange(before: Picture, change: Change): Picture {
  if (before.outcome !== undefined && change.type !== 'replyAmended') {
    // A background sub-agent outlives the reply; its later events belong to the next one.
    throw new Error(`${change.type} after the end`)
  }
  switch (change.type) {
    case 'phaseChanged':
      if (change.before !== before.phase) throw new Error(`the phase was ${before.phase}, not ${change.before}`)
      return { ...before, phase: change.phase }
    case 'messageUpdated':
      return { ...before, messages: new Set([...before.messages, change.message.id]) }
    case 'messageRemoved':
      return { ...before, messages: without(before.messages, change.messageID) }
    case 'partAdded':
      if (before.parts.has(change.part.id)) throw new Error(`${change.part.id} was added twice`)
      return withPart(before, change.part, textIn(change.part))
    case 'partChanged':
      return withPart(before, change.part, grown(before, change.part, change.delta))
    case 'toolProgressed':
    case 'partFinalized':
      return withPart(before, change.part, known(before, change.part))
    case 'partRemoved': {
      known(before, change.part)
      const parts = new Map(before.parts)
      parts.delete(change.part.id)
      return { ...before, parts }
    }
    case 'todosChanged':
      return { ...before, todos: change.todos }
    case 'usageChanged':
      return { ...before, usage: change.usage }
    case 'questionAsked':
    case 'permissionAsked':
    case 'questionReplied':
    case 'questionRejected':
    case 'permissionReplied':
    case 'askWithdrawn': {
      const key = `${change.ask.path.join('/')} ${change.ask.requestID}`
      // The end of an unknown ask may be reported; a closed one gets no further changes.
      if ((before.asks.get(key) ?? 'pending').startsWith('pending') === false) throw new Error(`${key} was not pending`)
      return { ...before, asks: new Map(before.asks).set(key, tellAsk(change.ask)) }
    }
    case 'askChanged': {
      const key = `${change.ask.path.join('/')} ${change.ask.requestID}`
      if (!before.asks.get(key)?.startsWith('pending')) throw new Error(`${key} was changed and is not pending`)
      if (before.asks.get(key) === tellAsk(change.ask)) throw new Error(`${key} was changed to what it was`)
      return { ...before, asks: new Map(before.asks).set(key, tellAsk(change.ask)) }
    }
    case 'childStarted': {
      const { sessionID } = change.child.reply
      return { ...before, below: [...before.below, { sessionID, picture: pictureOf(emptyReply(sessionID)) }] }
    }
    case 'childChanged':
      return withBelow(before, change.child.reply, change.change)
    case 'childSettled':
      return withBelow(before, change.child.reply, {
        type: 'replySettled',
        outcome: change.child.reply.outcome ?? 'lost',
      })
    case 'connectionChanged':
      return { ...before, connection: change.connection }
    case 'stalledChanged':
      return { ...before, stalled: change.stalled }
    case 'replySettled':
      return { ...before, outcome: change.outcome }
    case 'replyStarted':
    case 'stepFinished':
    case 'sessionRetried':
    case 'sessionErrored':
    case 'compactionChanged':
    case 'replyAmended':
      return before
    default:
      return change satisfies never
  }
}

/** The change goes to the newest run of the descendant's session, at any depth. */
function withBelow(before: Picture, reply: Reply, change: OwnChange): Picture {
  const at = before.below.findLastIndex(
    ({ sessionID, picture }) => sessionID === reply.sessionID || hasBelow(picture, reply),
  )
  const child = before.below[at]
  if (!child) throw new Error(`${change.type} of a sub-agent that never began`)
  if (child.sessionID !== reply.sessionID) {
    const picture = withBelow(child.picture, reply, change)
    return { ...before, below: before.below.with(at, { ...child, picture }) }
  }
  const picture = change.type === 'replyAmended' ? pictureOf(reply, false) : withChange(child.picture, change)
  return { ...before, below: before.below.with(at, { ...child, picture }) }
}

function hasBelow(picture: Picture, reply: Reply): boolean {
  return picture.below.some((child) => child.sessionID === reply.sessionID || hasBelow(child.picture, reply))
}

function tellAsk(ask: Ask): string {
  const content = ask.type === 'question' ? ask.questions : [ask.permission, ask.patterns, ask.metadata, ask.call]
  return `${ask.status} ${JSON.stringify(content)}`
}

function withPart(before: Picture, part: Part, text: string): Picture {
  return { ...before, parts: new Map(before.parts).set(part.id, tell(part, text)) }
}

function tell(part: Part, text: string): string {
  return `${part.type} ${part.status} ${part.type === 'tool' ? part.state.status : JSON.stringify(text)}`
}

function textIn(part: Part): string {
  return 'text' in part ? part.text : ''
}

/** The text of the part according to the changes so far. */
function known(before: Picture, part: Part): string {
  const told = before.parts.get(part.id)
  if (told === undefined) throw new Error(`${part.id} was never added`)
  return part.type === 'tool' ? '' : (JSON.parse(told.replace(/^\S+ \S+ /, '')) as string)
}

function grown(before: Picture, part: Part, delta: string | undefined): string {
  const text = known(before, part)
  return delta === undefined ? textIn(part) : text + delta
}

function without<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  return new Set([...set].filter((other) => other !== item))
}
