import { type Clock, type OnError, ReplyError } from '@reply/core'
import { base64, createSseReader, decodeOrKeep, hideValues, nestsDeeper } from '@reply/core/internal'
import type { AgUiAgentOptions, AgUiInput, AgUiOptions, AgUiServerOptions } from './options.ts'

/** The stream of one run. */
export interface RunStream {
  /** Yields its events, unread. Throws if it breaks. */
  readonly events: AsyncIterable<unknown>
}

/** Starts runs of one agent. */
export interface Agent {
  /** Names the agent in errors, without credentials. */
  readonly name: string
  /** Removes the values of headers from a text. */
  readonly redact: (text: string) => string
  /** Checks that something answers at the address. Rejects with `unreachable` otherwise. */
  check(): Promise<void>
  /**
   * Starts a run. Resolves when the agent has taken it. Rejects with `unreachable`, `unauthorized` or `refused`. The stream ends when
   * the signal aborts.
   */
  open(input: AgUiInput, signal: AbortSignal): Promise<RunStream>
}

/** How long `check` waits for a response, in ms. */
const checkMs = 10_000

/** How deeply the values of an event may be nested. What reads and writes JSON fails at some thousands. */
const maxDepth = 1000

/** The longest part of a server's response that an error quotes, in UTF-16 units. */
const maxQuote = 300

/** Creates the agent of these options. Throws `invalid` if the url is not http(s). */
export function createAgent(options: AgUiOptions, clock: Clock, onError: OnError): Agent {
  return options.agent === undefined ? createServer(options, clock, onError) : createOwnAgent(options, clock)
}

function createServer(options: AgUiServerOptions, clock: Clock, onError: OnError): Agent {
  const { headers = {}, responseMs = 25_000, silenceMs = 300_000 } = options
  const { shown, target, authorization, secrets: inUrl } = addressOf(options.url)
  const sent = [...Object.values(headers), ...(authorization === undefined ? [] : [authorization])]
  const secrets = [...sent, ...sent.map((value) => value.replace(/^\S+\s+/, '')), ...inUrl]
  const redact = (text: string): string => {
    const hidden = hideValues(secrets.filter(({ length }) => length > 3))
    return hidden.push(text) + hidden.end()
  }
  return {
    name: shown,
    redact,
    check: async () => {
      const abort = new AbortController()
      // A redirect is an answer, too. Following it would take the headers to another host.
      const init: RequestInit = { method: 'OPTIONS', signal: abort.signal, redirect: 'manual' }
      const response = await request(target, init, checkMs)
      void response.body?.cancel().catch(() => {})
    },
    open: async (input, signal) => {
      const response = await post(target, JSON.stringify(input), signal)
      return { events: readEvents(await requireStream(response), signal) }
    },
  }

  /** Posts the input. Follows redirects to the same origin, because others must not get the headers. */
  async function post(url: string, body: string, signal: AbortSignal): Promise<Response> {
    const init: RequestInit = { method: 'POST', body, signal, redirect: 'manual' }
    const response = await request(url, init, responseMs)
    const location = response.headers.get('location')
    if ((response.status !== 307 && response.status !== 308) || location === null) return response
    void response.body?.cancel().catch(() => {})
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined
    if (next?.origin !== new URL(url).origin) {
      const where = next?.origin ?? 'another place'
      throw new ReplyError('refused', `${shown} redirects to ${where}. Use that address if you trust it.`)
    }
    return await request(next.href, init, responseMs)
  }

  /** Sends a request. Rejects with `unreachable` if no response begins in time. */
  async function request(url: string, init: RequestInit, waitMs: number): Promise<Response> {
    const abort = new AbortController()
    const passOn = (): void => abort.abort(init.signal?.reason)
    if (init.signal?.aborted) passOn()
    init.signal?.addEventListener('abort', passOn, { once: true })
    let isLate = false
    const stop = clock.after(waitMs, () => {
      isLate = true
      abort.abort()
    })
    const all = {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(authorization !== undefined && { authorization }),
      ...headers,
    }
    try {
      const send = options.fetch ?? fetch
      return await send(url, { ...init, headers: all, signal: abort.signal })
    } catch (cause) {
      if (cause instanceof ReplyError) throw cause
      const reason = isLate ? `no response within ${waitMs} ms` : redact(reasonOf(cause))
      const message = `No AG-UI agent at ${shown} (${reason}). Start it, or correct the url.`
      throw new ReplyError('unreachable', message, { cause: stepOf(cause) })
    } finally {
      stop()
    }
  }

  /** Returns the body of an event stream. Rejects with the server's message if it is anything else. */
  async function requireStream(response: Response): Promise<ReadableStream<Uint8Array>> {
    const { status, body } = response
    const type = response.headers.get('content-type') ?? 'no type'
    if (response.ok && body && /^text\/event-stream\b/i.test(type)) return body
    const quoted = await quoteOf(response)
    if (status === 401 || status === 403)
      throw new ReplyError(
        'unauthorized',
        `${shown} refused the credentials (${status})${quoted}. Correct \`headers\`.`,
      )
    if (!response.ok)
      throw new ReplyError(
        'refused',
        `${shown} refused the run (${status})${quoted}. Check the url and the agent's log.`,
      )
    throw new ReplyError(
      'refused',
      `${shown} did not return an event stream (${status}, ${type}), so it is not an AG-UI agent. Correct the url.`,
    )
  }

  /** Returns the beginning of a response for an error, without the headers that it may repeat. */
  async function quoteOf(response: Response): Promise<string> {
    const reader = response.body?.getReader()
    if (!reader) return ''
    let text = ''
    const decoder = new TextDecoder()
    const stop = clock.after(1000, () => void reader.cancel().catch(() => {}))
    try {
      while (text.length < 4 * maxQuote) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value, { stream: true })
      }
    } catch {
      // What came before the break is worth more than why it broke.
    } finally {
      stop()
      void reader.cancel().catch(() => {})
    }
    const line = redact(text).replace(/\s+/g, ' ').trim().slice(0, maxQuote)
    return line === '' ? '' : `: ${line}`
  }

  /** Yields the events of a response. Throws `unreachable` if it breaks, or if nothing comes for `silenceMs`. */
  async function* readEvents(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncIterable<unknown> {
    let events: unknown[] = []
    const sse = createSseReader({
      onData: (data) => {
        try {
          if (nestsDeeper(data, maxDepth)) throw new Error('It is nested too deeply.')
          events.push(JSON.parse(data))
        } catch {
          const shownData = JSON.stringify(redact(data.slice(0, 80)))
          onError(
            new ReplyError(
              'malformed',
              `Skipped an event of ${shown} that is not JSON, or nested too deeply: ${shownData}.`,
            ),
          )
        }
      },
      onError: ({ type }) => {
        const what = type === 'too-large' ? 'an event that is too large' : 'a line that is not a server-sent event'
        onError(new ReplyError(type, `Skipped ${what} in the stream of ${shown}.`))
      },
    })
    const reader = body.getReader()
    const cancel = (): void => void reader.cancel().catch(() => {})
    signal.addEventListener('abort', cancel, { once: true })
    try {
      while (!signal.aborted) {
        let isSilent = false
        const stop = clock.after(silenceMs, () => {
          isSilent = true
          cancel()
        })
        const { done, value } = await reader.read().finally(stop)
        if (isSilent) throw new Error(`nothing was sent for ${silenceMs} ms`)
        // The last frame may lack its blank line.
        if (done) sse.push('\n\n')
        else sse.push(value)
        yield* events
        events = []
        if (done) return
      }
    } catch (cause) {
      const reason = redact(reasonOf(cause))
      throw new ReplyError('unreachable', `The stream of ${shown} broke before the run's end (${reason}).`)
    } finally {
      signal.removeEventListener('abort', cancel)
      cancel()
    }
  }
}

/** Returns the address to show, the one to call, the value of `authorization` for credentials in the url, and its secrets. */
function addressOf(url: string) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    const shown = JSON.stringify(url.replace(/^.*@/, '***@').replace(/\?.*$/, ''))
    throw new ReplyError(
      'invalid',
      `The url ${shown} is not an http(s) address. Pass one like "http://127.0.0.1:8000/".`,
    )
  }
  const [username, password] = [decodeOrKeep(parsed.username), decodeOrKeep(parsed.password)]
  const written = parsed.password
  parsed.username = ''
  parsed.password = ''
  const authorization = password === '' ? undefined : `Basic ${base64(`${username}:${password}`)}`
  // Keys in a query are long. Short values are words, and hiding those would spoil the errors.
  const keys = [...parsed.searchParams.values()].filter(({ length }) => length >= 8)
  const secrets = [password, written, ...keys, ...keys.map(encodeURIComponent)]
  return { shown: `${parsed.protocol}//${parsed.host}${parsed.pathname}`, target: parsed.href, authorization, secrets }
}

/** Returns an error's innermost reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof Error) return reasonOf(cause)
  const code: unknown = Reflect.get(error, 'code')
  return error.message || (typeof code === 'string' ? code : error.name)
}

/**
 * Returns what an error tells about the step that failed, by which the core knows whether a request was sent. Without its message
 * and its own causes, which may quote the headers. Undefined if it tells nothing.
 */
function stepOf(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof AggregateError) return new AggregateError(error.errors.map(stepOf))
  const code: unknown = Reflect.get(error, 'code')
  const syscall: unknown = Reflect.get(error, 'syscall')
  if (code === undefined && syscall === undefined) return stepOf(error.cause)
  return Object.assign(new Error(String(code ?? syscall)), { code, syscall })
}

function createOwnAgent({ agent, silenceMs }: AgUiAgentOptions, clock: Clock): Agent {
  const name = 'The AG-UI agent'
  return {
    name,
    redact: (text) => text,
    check: async () => {},
    open: async (input, signal) => {
      try {
        const stream = await agent.run(input, { signal })
        return { events: readOwn(stream, signal) }
      } catch (cause) {
        throw new ReplyError('refused', `${name} did not start the run: ${reasonOf(cause)}`, { cause })
      }
    },
  }

  /** Yields the events of a stream until the signal aborts. Throws `unreachable` if it fails. */
  async function* readOwn(stream: Awaited<ReturnType<typeof agent.run>>, signal: AbortSignal): AsyncIterable<unknown> {
    let waiting: unknown[] = []
    const ended: { how: 'open' | 'done' | { readonly error: unknown } } = { how: 'open' }
    let wake = (): void => {}
    const push = (event: unknown): void => {
      waiting.push(event)
      wake()
    }
    const finish = (how: typeof ended.how): void => {
      if (ended.how === 'open') ended.how = how
      wake()
    }
    const stop = follow(stream, push, finish)
    const abort = (): void => finish('done')
    signal.addEventListener('abort', abort, { once: true })
    try {
      while (!signal.aborted) {
        const events = waiting
        waiting = []
        yield* events
        if (waiting.length > 0) continue
        if (ended.how !== 'open') break
        const stopTimer =
          silenceMs === undefined
            ? () => {}
            : clock.after(silenceMs, () => finish({ error: new Error(`nothing was sent for ${silenceMs} ms`) }))
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        stopTimer()
      }
      const { how } = ended
      if (typeof how === 'object')
        throw new ReplyError('unreachable', `${name} broke off the run: ${reasonOf(how.error)}`, { cause: how.error })
    } finally {
      signal.removeEventListener('abort', abort)
      stop()
    }
  }
}

/** Passes on the events of an observable or an iterable. Returns a function that stops it. */
function follow(
  stream: Awaited<ReturnType<AgUiAgentOptions['agent']['run']>>,
  push: (event: unknown) => void,
  finish: (how: 'done' | { readonly error: unknown }) => void,
): () => void {
  const fail = (error: unknown): void => finish({ error })
  if ('subscribe' in stream) {
    const subscription = stream.subscribe({ next: push, error: fail, complete: () => finish('done') })
    return () => subscription.unsubscribe()
  }
  const iterator = stream[Symbol.asyncIterator]()
  const pump = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return finish('done')
      push(value)
    }
  }
  pump().catch(fail)
  return () => void Promise.resolve(iterator.return?.()).catch(() => {})
}
