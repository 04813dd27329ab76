import type { Message, Part, Session, Todo } from '@opencode-ai/sdk/v2'
import type { OpencodeServer } from '@reply/testing'
import { type Part as OurPart, type Reply, type ReplyError, textOf } from '../../src/index.ts'
import type { Heard } from '../recorded/picture.ts'
import type { Told } from '../recorded.ts'
import { ourMessage, toldMessage, toldMessages } from '../truth.ts'

/** The server's REST response, read without the proxy. */
export async function ask<T>(server: Pick<OpencodeServer, 'url' | 'directory'>, path: string): Promise<T> {
  const url = `${server.url}${path}?directory=${encodeURIComponent(server.directory)}`
  // The first request on a kept-alive socket fails once after a restart.
  const response = await fetch(url).catch(() => fetch(url))
  return (await response.json()) as T
}

export async function tellSession(server: Pick<OpencodeServer, 'url' | 'directory'>, id: string): Promise<Told> {
  const [info, messages, todos, children] = await Promise.all([
    ask<Session>(server, `/session/${id}`),
    ask<{ info: Message; parts: Part[] }[]>(server, `/session/${id}/message`),
    ask<Todo[]>(server, `/session/${id}/todo`),
    ask<Session[]>(server, `/session/${id}/children`),
  ])
  return { id, info, messages, todos, children: children.map((child) => child.id) }
}

/** A reply without what differs from run to run: ids, times, hashes. */
export function timelessPicture(reply: Reply): unknown {
  return JSON.parse(JSON.stringify(picture(reply)).replaceAll(/\b(ses|msg|prt|call|que|per)_\w+/g, '$1_'))
}

function picture(reply: Reply): unknown {
  return {
    outcome: reply.outcome,
    phase: reply.phase,
    finish: reply.finish,
    text: textOf(reply),
    error: reply.error?.name,
    prompts: reply.promptIDs.length,
    steps: reply.usage.steps,
    todos: reply.todos.map(({ content, status }) => [content, status]),
    asks: reply.asks.map(({ type, status }) => [type, status]),
    messages: reply.messages.map(({ finish, parts }) => ({ finish, parts: parts.map(picturePart) })),
    children: reply.children.map((child) => [child.agent, child.title, picture(child.reply)]),
  }
}

function picturePart(part: OurPart): unknown {
  const { type, status } = part
  const hole = part.holes ? ['hole'] : []
  if (part.type === 'tool') {
    const { input, output, error, title } = part.state
    return [type, status, part.tool, part.state.status, input, output, error, title, ...hole]
  }
  return [type, status, 'text' in part ? part.text : undefined, ...hole]
}

/**
 * Where our messages differ from the server's; empty if nowhere. For a run that died with its server, compares only
 * sealed parts.
 */
export async function differences(server: Pick<OpencodeServer, 'url' | 'directory'>, reply: Reply): Promise<string[]> {
  const told = await tellSession(server, reply.sessionID)
  const theirs = toldMessages(told).map(({ head, parts }) => toldMessage(head, parts))
  const ours = reply.messages.map(ourMessage)
  const found: string[] = []
  if (theirs.length !== ours.length) found.push(`${ours.length} messages, the server has ${theirs.length}`)
  for (const [index, message] of theirs.entries()) {
    const mine = JSON.stringify(sorted(ours[index]))
    const server = JSON.stringify(sorted(message))
    if (mine !== server && reply.outcome !== 'lost') found.push(`message ${index} is ${mine}, the server has ${server}`)
  }
  const children = reply.children.map((child) => differences(server, child.reply))
  return [...found, ...(await Promise.all(children)).flat()]
}

/** Independent of the order of keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]))
}

export interface Judged {
  readonly reply: Reply
  /** What the prompt's observer and the watcher received. */
  readonly heard: readonly Heard[]
  /** How many ends the iterator saw. */
  readonly ends: number
  readonly errors: readonly ReplyError[]
  /** Prompts that reached the server. */
  readonly posts: number
}

/** Problems of a run, besides its own test's checks; empty if there are none. */
export async function judge(
  server: Pick<OpencodeServer, 'url' | 'directory'>,
  { reply, heard, ends, errors, posts }: Judged,
): Promise<string[]> {
  const found: string[] = []
  if (posts !== 1) found.push(`${posts} prompts were posted`)
  if (ends !== 1) found.push(`the iterator saw ${ends} ends`)
  if (heard.length !== 2) found.push('the watcher was told nothing')
  for (const [index, each] of heard.entries()) {
    const who = index === 0 ? 'the observer' : 'the watcher'
    if (each.settled !== 1) found.push(`${who} heard ${each.settled} ends`)
    found.push(...each.problems.map((problem) => `${who}: ${problem}`))
  }
  const odd = errors.filter(({ type }) => !['unreachable', 'refused', 'not-opencode'].includes(type))
  found.push(...odd.map((error) => `told: ${error.type} ${error.message}`))
  found.push(...(await differences(server, reply)))
  const pending = await Promise.all([ask<unknown[]>(server, '/permission'), ask<unknown[]>(server, '/question')])
  if (pending.flat().length > 0) found.push(`pending: ${JSON.stringify(pending)}`)
  return found
}
