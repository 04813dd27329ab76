import { type Ask, type Child, isShownText, type Part, pendingAsks, type Reply } from '@reply/core'
import type { Chunk, CutText } from './chunks.ts'
import { cutText } from './chunks.ts'

type Message = Reply['messages'][number]
type Of<T extends Part['type']> = Extract<Part, { type: T }>

/** One row of the list: what is rendered, or not, by itself. */
export type Row = RowPlace & RowContent

interface RowPlace {
  /** Names the row as long as it exists. */
  readonly key: string
  /** The reply that it belongs to, in `Rows.scopes`. */
  readonly owner: string
  /** How many sub-agents it is inside of. */
  readonly depth: number
}

type RowContent =
  | { readonly type: 'prompt'; readonly prompt: NonNullable<Reply['prompt']>; readonly isJoined: boolean }
  | {
      readonly type: 'text'
      readonly chunk: Chunk
      readonly definitions: string
      readonly isStderr: boolean
      /** Whether words may be missing. */
      readonly hasHole: boolean
      /** Whether it is the first of its text. */
      readonly isFirst: boolean
    }
  | { readonly type: 'reasoning'; readonly part: Of<'reasoning'> }
  | { readonly type: 'tool'; readonly part: Of<'tool'> }
  | { readonly type: 'file'; readonly part: Of<'file'> }
  | { readonly type: 'patch'; readonly part: Of<'patch'> }
  | { readonly type: 'retry'; readonly part: Of<'retry'> }
  | { readonly type: 'failure'; readonly error: NonNullable<Message['error']> }
  | { readonly type: 'compaction'; readonly compaction: NonNullable<Reply['compaction']> }
  /** A sub-agent whose call is not known. */
  | { readonly type: 'agent'; readonly at: number }
  /** An ask that waits, or one whose call is not known. */
  | { readonly type: 'ask'; readonly ask: Ask }
  | { readonly type: 'end' }

/** A reply whose rows are in the list, with what belongs to a call, by the call's id. */
export interface Scope {
  readonly reply: Reply
  readonly asks: ReadonlyMap<string, readonly Ask[]>
  readonly agents: ReadonlyMap<string, readonly Agent[]>
}

/** A sub-agent, with the name of its scope, by which it is opened. */
export interface Agent {
  readonly key: string
  readonly child: Child
}

export interface Rows {
  readonly rows: readonly Row[]
  /** Where the asks are that wait. */
  readonly asks: readonly number[]
  readonly scopes: ReadonlyMap<string, Scope>
}

/** Rows in several lists, one after the other. Rows are only added to the last one. */
type Lists = Row[][]

interface MessageRows {
  readonly parts: readonly Part[]
  readonly rows: Row[]
  /** Where the rows of each part begin. */
  readonly starts: readonly number[]
}

interface TextRows {
  readonly cut: CutText
  readonly rows: readonly Row[]
}

/**
 * Creates what makes rows of a reply. What did not change since the last call keeps its rows, as the same objects: a delta
 * costs the parts behind it. `isOpen` tells which sub-agents are unfolded, by their keys.
 */
export function createRows(): (reply: Reply, isOpen: (key: string) => boolean) => Rows {
  const messages = new Map<string, MessageRows>()
  const texts = new Map<string, TextRows>()
  const known = new Map<string, Row>()
  let scopes = new Map<string, Scope>()

  return (reply, isOpen) => {
    const before = scopes
    scopes = new Map()
    const lists: Lists = [[]]
    addReply(lists, reply, { owner: '', depth: 0 }, before, isOpen)
    const asks = pendingAsks(reply).map((ask) => keep({ ...top, key: `ask:${ask.requestID}`, type: 'ask', ask }))
    const own = lists.flat()
    const rows = own.concat(asks, [endRow])
    return { rows, scopes, asks: asks.map((_, at) => own.length + at) }
  }

  /** Adds the rows of a reply to the last list, and whole lists of rows that exist as they are: they may be long. */
  function addReply(
    lists: Lists,
    reply: Reply,
    place: Omit<RowPlace, 'key'>,
    before: ReadonlyMap<string, Scope>,
    isOpen: (key: string) => boolean,
  ): void {
    const { owner, depth } = place
    const add = (row: Row): void => void lists.at(-1)?.push(row)
    const scope = scopeOf(reply, owner, before.get(owner))
    scopes.set(owner, scope)
    const isAnyOpen = reply.children.some((_, at) => isOpen(agentKey(owner, at)))
    const addAgents = (agents: readonly Agent[]): void => {
      for (const { key, child } of agents)
        if (isOpen(key)) addReply(lists, child.reply, { owner: key, depth: depth + 1 }, before, isOpen)
    }
    const seen = new Set<string>()
    let prompts = 0
    const addPrompts = (until: number): void => {
      for (; prompts < until; prompts++) {
        const id = reply.promptIDs[prompts] ?? ''
        const prompt = prompts === 0 ? reply.prompt : reply.joinedPrompts?.[id]
        if (prompt) add(keep({ ...place, key: `${owner}/prompt:${id}`, type: 'prompt', prompt, isJoined: prompts > 0 }))
      }
    }
    const { compaction, error } = reply
    const addCompaction = (): void => {
      if (compaction) add(keep({ ...place, key: `${owner}/compaction`, type: 'compaction', compaction }))
    }
    addPrompts(Math.min(1, reply.promptIDs.length))
    if (compaction && !reply.messages.some(({ id }) => id === compaction.afterMessageID)) addCompaction()
    for (const message of reply.messages) {
      addPrompts(message.parentID === undefined ? 0 : reply.promptIDs.indexOf(message.parentID) + 1)
      const own = rowsOfMessage(message, place)
      if (scope.agents.size > 0)
        for (const row of own) {
          add(row)
          if (row.type !== 'tool') continue
          seen.add(row.part.callID)
          if (isAnyOpen) addAgents(scope.agents.get(row.part.callID) ?? [])
        }
      else lists.push(own, [])
      const isOwn = message.error !== undefined && message.error.message !== error?.message
      if (message.error && isOwn && message.error.name !== 'MessageAbortedError')
        add(keep({ ...place, key: `${owner}/error:${message.id}`, type: 'failure', error: message.error }))
      if (compaction?.afterMessageID === message.id) addCompaction()
    }
    addPrompts(reply.promptIDs.length)
    reply.children.forEach((child, at) => {
      if (child.callID !== undefined && seen.has(child.callID)) return
      const key = agentKey(owner, at)
      add(keep({ ...place, key: `agent:${key}`, type: 'agent', at }))
      addAgents([{ key, child }])
    })
    // A closed ask is shown with its call. The copies of a sub-agent's asks belong to that sub-agent.
    for (const ask of reply.asks)
      if (ask.status !== 'pending' && ask.sessionID === reply.sessionID && !hasCall(reply, ask))
        add(keep({ ...place, key: `${owner}/closed:${ask.requestID}`, type: 'ask', ask }))
  }

  function rowsOfMessage(message: Message, place: Omit<RowPlace, 'key'>): Row[] {
    const key = `${place.owner}/${message.id}`
    const before = messages.get(key)
    const { parts } = message
    if (before?.parts === parts) return before.rows
    let same = 0
    if (before) while (same < parts.length && parts[same] === before.parts[same]) same++
    const rows = before ? before.rows.slice(0, before.starts[same] ?? before.rows.length) : []
    const starts = before ? before.starts.slice(0, same) : []
    for (let at = same; at < parts.length; at++) {
      starts.push(rows.length)
      const part = parts[at]
      if (part) for (const row of rowsOfPart(part, place)) rows.push(row)
    }
    messages.set(key, { parts, rows, starts })
    return rows
  }

  function rowsOfPart(part: Part, place: Omit<RowPlace, 'key'>): readonly Row[] {
    if (part.status === 'abandoned') return []
    const key = `${place.owner}/${part.id}`
    switch (part.type) {
      case 'text':
        return isShownText(part) ? rowsOfText(part, key, place) : []
      case 'reasoning':
        return part.text.trim() === '' ? [] : [keep({ ...place, key, type: part.type, part })]
      case 'tool':
        return [keep({ ...place, key, type: part.type, part })]
      case 'file':
        return [keep({ ...place, key, type: part.type, part })]
      case 'patch':
        return part.files.length === 0 ? [] : [keep({ ...place, key, type: part.type, part })]
      case 'retry':
        return [keep({ ...place, key, type: part.type, part })]
      case 'step-start':
      case 'step-finish':
      case 'snapshot':
      case 'subtask':
      case 'agent':
      case 'compaction':
      case 'unknown':
        return []
      default:
        return part satisfies never
    }
  }

  function rowsOfText(part: Of<'text'>, key: string, place: Omit<RowPlace, 'key'>): readonly Row[] {
    const before = texts.get(key)
    const cut = cutText(part.text, before?.cut)
    const hasHole = part.holes !== undefined && part.holes.length > 0
    const rows = cut.chunks.map((chunk, at): Row => {
      const old = before?.rows[at]
      const isSame = old?.type === 'text' && old.chunk === chunk && old.definitions === cut.definitions
      if (isSame && old.hasHole === hasHole) return old
      const { definitions } = cut
      const isStderr = part.stream === 'stderr'
      return { ...place, key: `${key}:${at}`, type: 'text', chunk, definitions, isStderr, hasHole, isFirst: at === 0 }
    })
    texts.set(key, { cut, rows })
    return rows
  }

  /** Returns the row as it was if nothing in it changed, so that it isn't rendered again. */
  function keep(row: Row): Row {
    const before = known.get(row.key)
    if (before && isSameRow(before, row)) return before
    known.set(row.key, row)
    return row
  }
}

const top = { owner: '', depth: 0 } as const
const endRow: Row = { ...top, key: 'end', type: 'end' }

export function agentKey(owner: string, at: number): string {
  return `${owner}/${at}`
}

function hasCall({ messages }: Reply, { callID }: Ask): boolean {
  if (callID === undefined) return false
  return messages.some(({ parts }) =>
    parts.some((part) => part.type === 'tool' && part.callID === callID && part.status !== 'abandoned'),
  )
}

function isSameRow(a: Row, b: Row): boolean {
  const before = new Map<string, unknown>(Object.entries(a))
  return Object.entries(b).every(([key, value]) => before.get(key) === value)
}

function scopeOf(reply: Reply, owner: string, before: Scope | undefined): Scope {
  if (before?.reply === reply) return before
  const asks = before?.reply.asks === reply.asks ? before.asks : byCall(reply.asks, ({ callID }) => callID)
  const agents =
    before?.reply.children === reply.children
      ? before.agents
      : byCall(
          reply.children.map((child, at) => ({ key: agentKey(owner, at), child })),
          ({ child }) => child.callID,
        )
  return { reply, asks, agents }
}

function byCall<T>(items: readonly T[], callOf: (item: T) => string | undefined): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>()
  for (const item of items) {
    const call = callOf(item)
    if (call === undefined) continue
    const list = found.get(call)
    if (list) list.push(item)
    else found.set(call, [item])
  }
  return found
}
