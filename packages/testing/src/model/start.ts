import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { TestingError } from '../error.ts'
import { inGeneration } from '../generation.ts'
import type { ModelAnswer, Script, ScriptStep, Scripts } from '../script.ts'
import { chat } from './chat.ts'
import type { Dialect } from './dialect.ts'
import { gemini } from './gemini.ts'
import { messages } from './messages.ts'
import { type Asked, askedIn, isFields } from './request.ts'
import { responses } from './responses.ts'
import { speak } from './speak.ts'

/** The scripts of a model, and how it streams. */
export interface ScriptedModelOptions {
  /** The scripts, by name. A prompt selects one with `[scenario:name]`. */
  readonly scripts: Scripts
  /**
   * The script for prompts that name none: one for all, or a function of the prompt's text. By default, the answer
   * states that a script is missing.
   */
  readonly fallback?: string | ((prompt: string) => string)
  /** Pause between two chunks, in ms. Default 0. */
  readonly chunkDelayMs?: number
  /** Code points per chunk, unless the script sets its own. Default 12. */
  readonly chunk?: number
  /**
   * * Whether to keep connections open between requests. Default true. Matters if a script breaks one: servers up to
   * 1.14 retry on a reused connection by themselves, unseen by OpenCode.
   */
  readonly keepAlive?: boolean
  /** The generation of the server. OpenCode 2 has other names for some tools. Default 1. */
  readonly generation?: 1 | 2
  /** How many of the newest requests `requests` keeps. Default: all. */
  readonly keepRequests?: number
  /** Port to listen on. Default 0, any free one. */
  readonly port?: number
}

/** A request for an answer, with the script and step that it asks for. */
export interface ModelRequest extends Asked {
  /** 0 for the first request of a step, 1 for its first repetition, … */
  readonly attempt: number
  /** The request's JSON body, as the server sent it. */
  readonly body: unknown
}

/**
 * A scripted model behind an HTTP server that speaks OpenAI's chat completions and Responses, Anthropic's Messages, and
 * Google's Gemini API, each at its own path.
 */
export interface ScriptedModel {
  /** The base URL for a provider, ending in `/v1`. */
  readonly url: string
  /** The same without a path, for clients that add the version themselves: `ANTHROPIC_BASE_URL`, `GOOGLE_GEMINI_BASE_URL`. */
  readonly origin: string
  /** The requests for answers so far, in order of arrival. All of them, unless you set `keepRequests`. */
  readonly requests: readonly ModelRequest[]
  /** Resolves when a script waits at the hold of this name, or has waited there. */
  held(name: string): Promise<void>
  /** Releases a hold. Later scripts pass it without waiting. */
  release(name: string): void
  /** Breaks open answers and stops listening. */
  close(): Promise<void>
}

const lost: ModelAnswer = [{ type: 'text', text: 'No script was named.' }]

const emptyJSON: ModelAnswer = [{ type: 'text', text: '{}' }]

const piecesOf = (step: ScriptStep, asked: Asked, attempt: number): ModelAnswer => {
  if ('attempts' in step) return step.attempts[Math.min(attempt, step.attempts.length - 1)] ?? lost
  if ('branches' in step)
    return step.branches.find((each) => asked.results.includes(each.includes))?.pieces ?? step.otherwise
  return step
}

/**
 * The script's answer to a request. If the script has no further steps, the answer states that, so that a test sees it.
 */
const answerTo = (script: Script | undefined, asked: Asked, attempt: number): ModelAnswer => {
  if (asked.kind === 'title') return [{ type: 'text', text: script?.title ?? 'Scripted session' }]
  if (asked.kind === 'summary')
    return piecesOf(script?.summary ?? [{ type: 'text', text: 'Summary: nothing was done yet.' }], asked, attempt)
  if (script === undefined) return [{ type: 'text', text: `No script is named ${asked.scenario ?? '(nothing)'}.` }]
  const step = script.steps[asked.step]
  return step === undefined
    ? [{ type: 'text', text: `The script ${asked.scenario} has no step ${asked.step}.` }]
    : piecesOf(step, asked, attempt)
}

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

const dialects: readonly Dialect[] = [chat, messages, responses, gemini]

/** Gemini's clients name the model in the path. */
const modelIn = (body: unknown, path: string): string =>
  isFields(body) && typeof body.model === 'string' ? body.model : (/models\/([^:/]+):/.exec(path)?.[1] ?? 'm1')

const refuse = (response: ServerResponse, status: number, message: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
}

/** Starts a scripted model on loopback. You can start several. */
export const startModel = async (options: ScriptedModelOptions): Promise<ScriptedModel> => {
  const requests: ModelRequest[] = []
  const attempts = new Map<string, number>()
  const gates = createGates()
  let calls = 0
  let answers = 0

  const complete = async (
    { dialect, path }: { readonly dialect: Dialect; readonly path: string },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const body = await readBody(request)
    const conversation = dialect.read(body)
    const asked = askedIn(conversation)
    const identity = `${asked.kind}\u0000${asked.identity}`
    const attempt = attempts.get(identity) ?? 0
    attempts.set(identity, attempt + 1)
    answers += 1
    requests.push({ ...asked, attempt, body })
    if (requests.length > (options.keepRequests ?? Number.POSITIVE_INFINITY)) requests.shift()
    const { fallback } = options
    const name = asked.scenario ?? (typeof fallback === 'function' ? fallback(asked.prompt) : fallback)
    const script = name === undefined ? undefined : options.scripts[name]
    const pieces = conversation.wantsJSON === true ? emptyJSON : answerTo(script, asked, attempt)
    await speak(inGeneration(options.generation ?? 1, pieces), response, {
      dialect,
      isWhole: dialect.isWhole?.(path) ?? false,
      answer: { number: answers, model: modelIn(body, path) },
      chunk: options.chunk ?? 12,
      chunkDelayMs: options.chunkDelayMs ?? 0,
      nextCallID: () => `call_${String(++calls).padStart(4, '0')}`,
      hold: (name, gone) => gates.pass(name, gone),
      results: asked.results,
    })
  }

  const server = createServer((request, response) => {
    response.shouldKeepAlive = options.keepAlive ?? true
    const { pathname: path } = new URL(request.url ?? '/', 'http://localhost')
    const dialect = request.method === 'POST' ? dialects.find(({ takes }) => takes(path)) : undefined
    if (dialect === undefined) {
      const known = '/v1/chat/completions, /v1/responses, /v1/messages and /v1beta/models/…:streamGenerateContent'
      refuse(response, 404, `The scripted model only answers POST to ${known}, not ${request.method} ${path}.`)
      return
    }
    complete({ dialect, path }, request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy()
      else refuse(response, 400, `The scripted model could not read the request: ${String(error)}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new TestingError('model', 'The scripted model could not get a port. Pass one as `port`.')

  const origin = `http://127.0.0.1:${address.port}`
  return {
    url: `${origin}/v1`,
    origin,
    requests,
    held: gates.held,
    release: gates.release,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Gates {
  /** Waits at the gate until it is released or `gone` aborts. */
  pass(name: string, gone: AbortSignal): Promise<void>
  /** Resolves once a script waits, or has waited, at the gate. */
  held(name: string): Promise<void>
  release(name: string): void
}

interface Gate {
  readonly arrived: Signal
  readonly opened: Signal
}

interface Signal {
  readonly promise: Promise<void>
  readonly fire: () => void
}

const createSignal = (): Signal => {
  let fire = (): void => {}
  const promise = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { promise, fire }
}

/** Named gates: a script stops at one until the test releases it, so that nothing depends on timing. */
const createGates = (): Gates => {
  const gates = new Map<string, Gate>()
  const gateOf = (name: string): Gate => {
    const known = gates.get(name)
    if (known !== undefined) return known
    const gate = { arrived: createSignal(), opened: createSignal() }
    gates.set(name, gate)
    return gate
  }
  return {
    pass: async (name, gone) => {
      const gate = gateOf(name)
      gate.arrived.fire()
      if (gone.aborted) return
      const left = createSignal()
      gone.addEventListener('abort', left.fire, { once: true })
      await Promise.race([gate.opened.promise, left.promise])
      gone.removeEventListener('abort', left.fire)
    },
    held: (name) => gateOf(name).arrived.promise,
    release: (name) => gateOf(name).opened.fire(),
  }
}
