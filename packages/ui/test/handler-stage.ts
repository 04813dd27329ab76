import type { Client } from '@reply/core'
import { connectSource, type LocalRun } from '@reply/core/source'
import { onTestFinished } from 'vitest'
import { delegate } from '../../reply/test/source/local-agent.ts'
import { createScriptedAgent } from '../../reply/test/web/scripted-agent.ts'
import { type ChatHandlerOptions, createChatHandler } from '../src/index.ts'

export interface Chunk {
  readonly type: string
  readonly [field: string]: unknown
}

/**
 * A handler before an agent that does what its prompts say: `answer`, `endless`, `question`, `delegate` and
 * `run <command>`. The chat `mine` has the session `ses_1`, and `new` gets one with its first prompt. Other chats are foreign.
 */
export function createStage(options: Partial<ChatHandlerOptions> = {}) {
  const { agent, heard, answers, runs, run, say, permit, question } = createScriptedAgent(act)
  const errors: unknown[] = []
  const real = connectSource(agent.source, { onError: (error) => errors.push(error) })
  const client = countingClient(real)
  const created = new Map<string, string>()
  const handle = createChatHandler(client, {
    sessionOf: (_, chatId) => {
      if (chatId === 'mine') return { sessionID: 'ses_1' }
      if (chatId !== 'new') return undefined
      return { sessionID: created.get(chatId), onCreated: (sessionID) => created.set(chatId, sessionID) }
    },
    mayAnswer: () => true,
    onError: (error) => errors.push(error),
    ...options,
  })
  onTestFinished(() => real.close())
  return { agent, client, handle, heard, answers, runs, errors, created, run }

  function act(run: LocalRun, text: string): void {
    const complete = (): void => run.end({ type: 'completed' })
    if (text === 'endless') return run.write({ type: 'text', delta: 'On and on.', partID: 'endless' })
    if (text === 'question') return question(run, [color], complete)
    if (text === 'delegate') return delegate(run, permit)
    if (text.startsWith('run ')) return permit(run, text.slice(4), complete)
    say(run, 'An answer.')
  }
}

const color = {
  header: 'Color',
  question: 'Which?',
  options: ['Red', 'Blue'].map((label) => ({ label, description: '' })),
  multiple: false,
  custom: false,
}

/** A client that counts its open watches, and those that were begun. */
interface CountingClient extends Client {
  readonly watches: { open: number; begun: number }
  /** Resolves at the next call of `reply` with a function that lets the call go on. */
  holdNextRead(): Promise<() => void>
}

function countingClient(client: Client): CountingClient {
  const watches = { open: 0, begun: 0 }
  let onRead: ((read: () => void) => void) | undefined
  return {
    ...client,
    watches,
    holdNextRead: () =>
      new Promise((resolve) => {
        onRead = resolve
      }),
    reply: async (sessionID) => {
      const held = onRead
      onRead = undefined
      if (held) await new Promise<void>((resolve) => held(resolve))
      return await client.reply(sessionID)
    },
    watch: (target, options) => {
      watches.open += 1
      watches.begun += 1
      const stop = client.watch(target, options)
      return () => {
        watches.open -= 1
        stop()
      }
    },
  }
}

const at = 'https://app.example/api/chat'

/** A POST as `DefaultChatTransport` sends it. */
export function post(body: unknown, init: RequestInit & { readonly duplex?: 'half' } = {}): Request {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Request(at, {
    method: 'POST',
    body: text,
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  })
}

/** The body of a prompt. */
export function prompt(text: string, id = 'mine') {
  const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text }] }
  return { id, messages: [user], trigger: 'submit-message' }
}

export function get(id = 'mine', init: RequestInit = {}): Request {
  return new Request(`${at}/${id}/stream`, init)
}

export function del(id = 'mine'): Request {
  return new Request(`${at}/${id}`, { method: 'DELETE' })
}

/** Reads a response to its end. */
export async function chunksOf(response: Response): Promise<readonly Chunk[]> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  return parseChunks(await response.text())
}

function parseChunks(text: string): readonly Chunk[] {
  const lines = text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
  return lines.map((line): Chunk => JSON.parse(line))
}

/** Reads a response until its chunks fit, and returns them with what ends the reading. */
export async function readUntil(response: Response, fits: (chunks: readonly Chunk[]) => boolean) {
  if (response.status !== 200 || !response.body) throw new Error(`${response.status}: ${await response.text()}`)
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!fits(parseChunks(text))) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`The stream ended before that: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  return { chunks: parseChunks(text), reader, cancel: async () => await reader.cancel() }
}

/** The text that a reader of the chunks has. */
export function textIn(chunks: readonly Chunk[]): string {
  return chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [String(chunk.delta)] : [])).join('')
}
