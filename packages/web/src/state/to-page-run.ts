import type { Child, Message, Part, Reply, ReplyFailure } from '@reply/core'
import { partChunks } from '@reply/core/internal'
import type { PageAnswer, PageReply, PageRun } from './page-run.ts'

type PageMessage = PageReply['messages'][number]
type PagePart = PageMessage['parts'][number]
type PageChild = PageReply['children'][number]
type PageFailure = NonNullable<PageReply['error']>

const noAnswers: PageRun['answers'] = {}

/**
 * Returns what a page knows of a reply. What did not change since another state of the reply is the same object as in that
 * state's result, and the same reply with the same answers gives the same object.
 */
export function toPageRun(reply: Reply, answers: Readonly<Record<string, PageAnswer>> = noAnswers): PageRun {
  const last = newest.get(reply)
  if (last?.answers === answers) return last
  const run: PageRun = { reply: toPageReply(reply), answers }
  newest.set(reply, run)
  return run
}

const newest = new WeakMap<Reply, PageRun>()

const toPageReply = remember((reply: Reply): PageReply => {
  const { messages, children, error, ...rest } = reply
  return plainFields({
    ...rest,
    messages: toPageMessages(messages),
    children: toPageChildren(children),
    error: error && toPageFailure(error),
  })
})

const toPageMessages = remember((messages: readonly Message[]) => asPlain(messages.map((one) => toPageMessage(one))))

const toPageMessage = remember((message: Message): PageMessage => {
  const { raw: _, parts: _parts, error, ...rest } = message
  const parts = asPlain(partChunks(message).flatMap((chunk) => toPageParts(chunk)))
  return plainFields({ ...rest, parts, error: error && toPageFailure(error) })
})

const toPageParts = remember((parts: readonly Part[]) => asPlain(parts.map((part) => toPagePart(part))))

const toPagePart = remember((part: Part): PagePart => {
  if (part.type === 'retry') {
    const { raw: _, error, ...rest } = part
    return plainFields({ ...rest, error: toPageFailure(error) })
  }
  const { raw: _, ...rest } = part
  return plainFields(rest)
})

const toPageChildren = remember((children: readonly Child[]) => asPlain(children.map((child) => toPageChild(child))))

const toPageChild = remember(
  ({ reply, ...rest }: Child): PageChild => plainFields({ ...rest, reply: toPageReply(reply) }),
)

const toPageFailure = remember(({ raw: _, ...rest }: ReplyFailure): PageFailure => plainFields(rest))

/** Keeps the result of each object as long as the object is there. */
function remember<T extends object, R>(make: (value: T) => R): (value: T) => R {
  const results = new WeakMap<T, R>()
  return (value) => {
    const known = results.get(value)
    if (known !== undefined) return known
    const made = make(value)
    results.set(value, made)
    return made
  }
}

/** How deeply values of tools may be nested. What compares and shows them calls itself for each level. */
const deepest = 200

/** The plain value of each object that was looked at. */
const plainValues = new WeakMap<object, unknown>()

/** Says that the value is plain already, so that it is not looked into again. */
function asPlain<T extends object>(value: T): T {
  plainValues.set(value, value)
  return value
}

/** Returns an object with the plain values of these fields. */
function plainFields<T extends object>(fields: T): T {
  const entries: unknown[][] = Object.entries(fields).flatMap(([key, value]) => {
    const field = plain(value, 0)
    return field === undefined ? [] : [[key, field]]
  })
  return asPlain(Object.fromEntries(entries))
}

/**
 * Returns the value as JSON has it: undefined for what JSON does not have. The value itself if it is plain already. Values
 * below `deepest` levels are left out.
 */
function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  const known = plainValues.get(value)
  if (known !== undefined) return known
  if (depth > deepest) return undefined
  const made = Array.isArray(value) ? plainItems(value, depth) : plainObject(value, depth)
  plainValues.set(value, made)
  return made
}

function plainItems(items: readonly unknown[], depth: number): readonly unknown[] {
  const made = Array.from(items, (item) => plain(item, depth + 1) ?? null)
  return made.some((item, at) => !Object.is(item, items[at])) ? made : items
}

function plainObject(value: object, depth: number): object {
  const entries: (readonly [string, unknown])[] = Object.entries(value)
  const made = entries.flatMap(([key, field]) => {
    const result = plain(field, depth + 1)
    return result === undefined ? [] : [[key, result] as const]
  })
  const isSame = made.length === entries.length && made.every(([, field], at) => Object.is(field, entries[at]?.[1]))
  return isSame ? value : Object.fromEntries(made)
}
