import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { TestingError } from '../error.ts'
import { inGeneration } from '../generation.ts'
import { readBody } from '../platform/payload.ts'
import type { ModelAnswer, Script, ScriptStep, Scripts } from '../script.ts'
import { chat } from './chat.ts'
import type { Dialect } from './dialect.ts'
import { gemini } from './gemini.ts'
import { messages } from './messages.ts'
import { isFields, readRequest, type ScriptRequest } from './request.ts'
import { responses } from './responses.ts'
import { streamAnswer } from './speak.ts'

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
  /** Code points per chunk, at least 1, unless the script sets its own. Default 12. */
  readonly chunk?: number
  /**
   * Whether to keep connections open between requests. Default true. Matters if a script breaks one: servers up to
   * 1.14 retry on a reused connection by themselves, unseen by OpenCode.
   */
  readonly keepAlive?: boolean
  /** The generation of the server. OpenCode 2 has other names for some tools. Default 1. */
  readonly generation?: 1 | 2
  /** How many of the newest requests `requests` keeps, so that a long run needs no more memory. Default: all. */
  readonly keepRequests?: number
  /** Port to listen on. Default 0, any free one. */
  readonly port?: number
}

/** A request for an answer, with the script and step that it asks for. */
export interface ModelRequest extends ScriptRequest {
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
  /**
   * The same without a path, for clients that add the version themselves: `ANTHROPIC_BASE_URL`,
   * `GOOGLE_GEMINI_BASE_URL`.
   */
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

const noScriptAnswer: ModelAnswer = [{ type: 'text', text: 'No script was named.' }]

const emptyJsonAnswer: ModelAnswer = [{ type: 'text', text: '{}' }]

/**
 * Returns the answer for this attempt, the last one for further attempts, or that of the first branch that the tool
 * results and later texts choose, else `otherwise`.
 */
const answerOfStep = (step: ScriptStep, scriptRequest: ScriptRequest, attempt: number): ModelAnswer => {
  if ('attempts' in step) return step.attempts[Math.min(attempt, step.attempts.length - 1)] ?? noScriptAnswer
  if ('branches' in step)
    return step.branches.find((each) => scriptRequest.results.includes(each.includes))?.pieces ?? step.otherwise
  return step
}

/**
 * Returns the script's answer to a request for a step, a title or a summary. Titles and summaries have a default. If
 * there is no script, or no further step, the answer states that, so that a test sees it.
 */
const answerTo = (script: Script | undefined, scriptRequest: ScriptRequest, attempt: number): ModelAnswer => {
  if (scriptRequest.kind === 'title') return [{ type: 'text', text: script?.title ?? 'Scripted session' }]
  if (scriptRequest.kind === 'summary')
    return answerOfStep(
      script?.summary ?? [{ type: 'text', text: 'Summary: nothing was done yet.' }],
      scriptRequest,
      attempt,
    )
  if (script === undefined)
    return [{ type: 'text', text: `No script is named ${scriptRequest.scenario ?? '(nothing)'}.` }]
  const step = script.steps[scriptRequest.step]
  return step === undefined
    ? [{ type: 'text', text: `The script ${scriptRequest.scenario} has no step ${scriptRequest.step}.` }]
    : answerOfStep(step, scriptRequest, attempt)
}

/** Throws a `TestingError` for a number of code points below 1, with which no text would ever end, and for NaN. */
const requireChunkSize = (chunk: number): void => {
  if (!(chunk >= 1))
    throw new TestingError(
      'model',
      `A chunk of ${chunk} code points never ends a text: pass a \`chunk\` of at least 1.`,
    )
}

const dialects: readonly Dialect[] = [chat, messages, responses, gemini]

/**
 * Returns the model that a request names, in its body or, as Gemini's clients do, in its path. "m1" if it names none.
 */
const modelIn = (body: unknown, path: string): string =>
  isFields(body) && typeof body.model === 'string' ? body.model : (/models\/([^:/]+):/.exec(path)?.[1] ?? 'm1')

/** Answers with an error of the model's server itself. */
const sendError = (response: ServerResponse, status: number, message: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
}

/**
 * Starts a scripted model on loopback. You can start several. It answers 404 to another path, and 400 to a body that
 * isn't JSON or whose script has a `chunk` below 1. Rejects for such a `chunk` option, and if it can't listen on the
 * port.
 */
export const startModel = async (options: ScriptedModelOptions): Promise<ScriptedModel> => {
  const { chunk = 12 } = options
  requireChunkSize(chunk)
  const requests: ModelRequest[] = []
  const attempts = new Map<string, number>()
  const gates = createGates()
  let calls = 0
  let answers = 0

  /**
   * Logs a request, and answers it from the script that it names, else from the fallback. A request for JSON gets `{}`.
   * Rejects if the body isn't JSON, and with a `TestingError` if a piece's `chunk` is below 1.
   */
  const answerRequest = async (
    dialect: Dialect,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const body: unknown = JSON.parse((await readBody(request)).toString('utf8'))
    const conversation = dialect.readConversation(body)
    const scriptRequest = readRequest(conversation)
    const identity = `${scriptRequest.kind}\u0000${scriptRequest.identity}`
    const attempt = attempts.get(identity) ?? 0
    attempts.set(identity, attempt + 1)
    answers += 1
    requests.push({ ...scriptRequest, attempt, body })
    if (requests.length > (options.keepRequests ?? Number.POSITIVE_INFINITY)) requests.shift()
    const { fallback } = options
    const name = scriptRequest.scenario ?? (typeof fallback === 'function' ? fallback(scriptRequest.prompt) : fallback)
    const script = name === undefined ? undefined : options.scripts[name]
    const pieces = conversation.wantsJSON === true ? emptyJsonAnswer : answerTo(script, scriptRequest, attempt)
    for (const piece of pieces) if ('chunk' in piece && piece.chunk !== undefined) requireChunkSize(piece.chunk)
    await streamAnswer(inGeneration(options.generation ?? 1, pieces), response, {
      dialect,
      isWhole: dialect.isJoinedPath?.(path) ?? false,
      answer: { number: answers, model: modelIn(body, path) },
      chunk,
      chunkDelayMs: options.chunkDelayMs ?? 0,
      nextCallID: () => `call_${String(++calls).padStart(4, '0')}`,
      hold: (name, gone) => gates.waitAt(name, gone),
      results: scriptRequest.results,
    })
  }

  const server = createServer((request, response) => {
    response.shouldKeepAlive = options.keepAlive ?? true
    const { pathname: path } = new URL(request.url ?? '/', 'http://localhost')
    const dialect = request.method === 'POST' ? dialects.find(({ isAnswerPath }) => isAnswerPath(path)) : undefined
    if (dialect === undefined) {
      const known = '/v1/chat/completions, /v1/responses, /v1/messages and /v1beta/models/…:streamGenerateContent'
      sendError(response, 404, `The scripted model only answers POST to ${known}, not ${request.method} ${path}.`)
      return
    }
    answerRequest(dialect, path, request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy()
      else sendError(response, 400, `The scripted model could not answer: ${String(error)}`)
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
    held: gates.arrival,
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
  waitAt(name: string, gone: AbortSignal): Promise<void>
  /** Resolves once a script waits, or has waited, at the gate. */
  arrival(name: string): Promise<void>
  /** Opens the gate for good. */
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

/** A promise, and the function that resolves it. */
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
  /** Returns the gate, which it makes if there is none. */
  const gateNamed = (name: string): Gate => {
    const existing = gates.get(name)
    if (existing !== undefined) return existing
    const gate = { arrived: createSignal(), opened: createSignal() }
    gates.set(name, gate)
    return gate
  }
  return {
    waitAt: async (name, gone) => {
      const gate = gateNamed(name)
      gate.arrived.fire()
      if (gone.aborted) return
      const left = createSignal()
      gone.addEventListener('abort', left.fire, { once: true })
      await Promise.race([gate.opened.promise, left.promise])
      gone.removeEventListener('abort', left.fire)
    },
    arrival: (name) => gateNamed(name).arrived.promise,
    release: (name) => gateNamed(name).opened.fire(),
  }
}
