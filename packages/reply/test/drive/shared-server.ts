import type { HandClock } from '@reply/testing'
import { type Client, type Clock, connect, type ReplyError } from '../../src/index.ts'

/** A client of a `SharedServer`, as a process of its own. */
export interface SharedClient {
  readonly opencode: Client
  readonly errors: readonly ReplyError[]
  /** Stops the process for that long: nothing of it runs, and what arrives waits. */
  freeze(durationMs: number): void
  /** Breaks its event stream. */
  cut(): void
  /** Ends the process, as a kill does. */
  kill(): void
}

/** Which prompts may be sent, and how long what travels takes, in ms. */
export interface Wire {
  readonly mayPrompt: (client: SharedClient, messageID: string | undefined) => boolean
  /** Called for each request, each response and each frame. */
  readonly delayMs: (what: 'request' | 'response' | 'frame', client: SharedClient, path: string) => number
}

/** An OpenCode server in memory, with many sessions and clients. An answer is the prompt's text after `Answer to `. */
export interface SharedServer {
  readonly directory: string
  connect(): SharedClient
  /** How often each text was taken as a prompt. */
  readonly prompts: readonly string[]
  /** Sends frames of a session that no client knows, so that frames that clients skipped before are forgotten. */
  sendNoise(frames: number): void
}

interface Session {
  readonly id: string
  readonly createdAt: number
  readonly messages: {
    info: { readonly id: string; readonly role: string } & Record<string, unknown>
    parts: object[]
  }[]
  readonly waiting: string[]
  isBusy: boolean
}

const directory = '/shared'
const model = { providerID: 'model', modelID: 'model' }
const noTokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

/**
 * Creates a server that speaks OpenCode 1.18.33's wire on a hand clock. Its events come in the order of the recording `plain`.
 * `stepMs` is how long each step of a run takes.
 */
export function createSharedServer(clock: HandClock, wire: Wire, stepMs: () => number): SharedServer {
  const sessions = new Map<string, Session>()
  const streams = new Set<(frame: string) => void>()
  const prompts: string[] = []
  let ids = 0
  return { directory, connect: connectClient, prompts, sendNoise }

  function nextID(kind: string): string {
    ids += 1
    return `${kind}_${String(ids).padStart(12, '0')}`
  }

  function publish(type: string, properties: object): void {
    const frame = frameOf(type, properties)
    for (const send of streams) send(frame)
  }

  function frameOf(type: string, properties: object): string {
    return `data: ${JSON.stringify({ directory, payload: { id: nextID('evt'), type, properties } })}\n\n`
  }

  function sendNoise(frames: number): void {
    const noise = {
      sessionID: 'ses_noise',
      messageID: 'msg_noise',
      partID: 'prt_noise',
      field: 'text',
      delta: 'Noise.',
    }
    const frame = frameOf('message.part.delta', noise).repeat(frames)
    for (const send of streams) send(frame)
  }

  function connectClient(): SharedClient {
    const errors: ReplyError[] = []
    let frozenUntil = 0
    let isKilled = false
    let cutStream = (): void => {}
    const client: SharedClient = {
      errors,
      freeze: (durationMs) => {
        frozenUntil = clock.now() + durationMs
      },
      cut: () => cutStream(),
      kill: () => {
        isKilled = true
        cutStream()
      },
      get opencode() {
        return opencode
      },
    }
    const opencode = connect({
      url: 'http://shared',
      directory,
      follow: 'own',
      clock: ownClock(),
      random: () => 0,
      onError: (error) => errors.push(error),
      fetch: async (input, init) => await request(new Request(input, init)),
    })
    return client

    /** Runs something when the process runs. Never if it was killed. */
    function whenRunning(run: () => void): void {
      if (isKilled) return
      if (clock.now() >= frozenUntil) run()
      else clock.after(frozenUntil - clock.now(), () => whenRunning(run))
    }

    function ownClock(): Clock {
      return {
        now: clock.now,
        monotonic: clock.monotonic,
        after: (delayMs, run) => {
          let isStopped = false
          const stop = clock.after(delayMs, () => whenRunning(() => isStopped || run()))
          return () => {
            isStopped = true
            stop()
          }
        },
      }
    }

    async function request(asked: Request): Promise<Response> {
      const { pathname, searchParams } = new URL(asked.url)
      const isPost = asked.method === 'POST'
      const body: PostBody = isPost ? JSON.parse((await asked.text()) || '{}') : {}
      if (pathname.endsWith('/prompt_async') && !wire.mayPrompt(client, body.messageID))
        throw new TypeError('This process has lost its lease.')
      return await new Promise<Response>((resolve, reject) => {
        asked.signal.addEventListener('abort', () => reject(asked.signal.reason))
        clock.after(wire.delayMs('request', client, pathname), () => {
          if (pathname === '/global/event') return resolve(openStream(asked.signal))
          const found = isPost ? answerPost(pathname, body) : answerGet(pathname, searchParams)
          const text = JSON.stringify(found ?? { name: 'NotFoundError', data: { message: 'Not found' } })
          const headers = { 'content-type': 'application/json' }
          clock.after(wire.delayMs('response', client, pathname), () =>
            whenRunning(() => resolve(new Response(text, { status: found === undefined ? 404 : 200, headers }))),
          )
        })
      })
    }

    /** Opens an event stream, whose frames arrive in order. */
    function openStream(signal: AbortSignal): Response {
      const encoder = new TextEncoder()
      let arrivesAt = 0
      let isCut = false
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          const send = (frame: string): void => {
            arrivesAt = Math.max(arrivesAt, clock.now() + wire.delayMs('frame', client, ''))
            const at = arrivesAt
            const deliver = (): void => {
              if (isCut) return
              // A frame that was delayed by a freeze must not be overtaken.
              if (clock.now() < frozenUntil) arrivesAt = Math.max(arrivesAt, frozenUntil)
              whenRunning(() => isCut || controller.enqueue(encoder.encode(frame)))
            }
            clock.after(at - clock.now(), deliver)
          }
          cutStream = () => {
            if (isCut) return
            isCut = true
            streams.delete(send)
            controller.error(new TypeError('The stream was cut.'))
          }
          signal.addEventListener('abort', () => cutStream())
          send(frameOf('server.connected', {}))
          streams.add(send)
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
  }

  /** Returns the response to a GET: an empty list for an unknown path. Undefined for what does not exist. */
  function answerGet(pathname: string, searchParams: URLSearchParams): unknown {
    if (pathname === '/global/health') return { healthy: true, version: '1.18.33' }
    if (pathname === '/session/status')
      return Object.fromEntries(
        [...sessions.values()].flatMap(({ id, isBusy }) => (isBusy ? [[id, { type: 'busy' }]] : [])),
      )
    if (pathname === '/config/providers') return { providers: [], default: {} }
    if (pathname === '/path') return { directory, worktree: directory }
    if (pathname === '/session' || pathname === '/experimental/session') return [...sessions.values()].map(infoOf)
    const [, first, id = '', list, messageID] = pathname.split('/')
    if (first !== 'session') return []
    const session = sessions.get(id)
    if (!session) return undefined
    if (list === undefined) return infoOf(session)
    if (list !== 'message') return []
    if (messageID !== undefined) return session.messages.find(({ info }) => info.id === messageID)
    return session.messages.slice(-Number(searchParams.get('limit') ?? session.messages.length))
  }

  function infoOf({ id, createdAt }: Session): object {
    const time = { created: createdAt, updated: createdAt }
    return { id, directory, projectID: 'shared', title: 'Shared', version: '1.18.33', time }
  }

  function answerPost(pathname: string, body: PostBody): unknown {
    const [, first, id = '', action] = pathname.split('/')
    if (first !== 'session') return true
    if (id === '') return createSession()
    const session = sessions.get(id)
    if (!session) return undefined
    if (action === 'prompt_async') takePrompt(session, body)
    return true
  }

  function createSession(): object {
    const session = { id: nextID('ses'), createdAt: clock.now(), messages: [], waiting: [], isBusy: false }
    sessions.set(session.id, session)
    publish('session.created', { sessionID: session.id, info: infoOf(session) })
    return infoOf(session)
  }

  /** Takes a prompt, unless the session has it, and begins it now or after the present run. */
  function takePrompt(session: Session, { messageID: id = nextID('msg'), parts = [] }: PostBody): void {
    const { id: sessionID, messages, waiting } = session
    if (messages.some(({ info }) => info.id === id)) return
    const text = parts.map((part) => part.text ?? '').join('')
    prompts.push(text)
    const info = { id, sessionID, role: 'user', time: { created: clock.now() }, agent: 'build', model }
    const part = { id: nextID('prt'), sessionID, messageID: id, type: 'text', text }
    messages.push({ info, parts: [part] })
    publish('message.updated', { sessionID, info })
    publish('message.part.updated', { sessionID, part, time: clock.now() })
    waiting.push(id)
    if (!session.isBusy) clock.after(stepMs(), () => runNext(session))
  }

  /** Answers the first prompt that waits, and then the next one. */
  function runNext(session: Session): void {
    const { id: sessionID, messages, waiting } = session
    const parentID = session.isBusy ? undefined : waiting.shift()
    if (parentID === undefined) return
    session.isBusy = true
    publish('session.status', { sessionID, status: { type: 'busy' } })
    const prompt = messages.find(({ info }) => info.id === parentID)
    const text = `Answer to ${textOfPart(prompt?.parts[0])}`
    const id = nextID('msg')
    const info = {
      ...{ id, sessionID, role: 'assistant', parentID, ...model, mode: 'build', agent: 'build', cost: 0 },
      ...{ path: { cwd: directory, root: directory }, time: { created: clock.now() }, tokens: noTokens },
    }
    const answer: Session['messages'][number] = { info, parts: [] }
    const place = { sessionID, messageID: id }
    const part = { id: nextID('prt'), ...place, type: 'text', text: '', time: { start: clock.now() } }
    const delta = { sessionID, messageID: id, partID: part.id, field: 'text', delta: text }
    const whole = { ...part, text, time: { start: clock.now(), end: clock.now() } }
    const finish = { id: nextID('prt'), ...place, type: 'step-finish', reason: 'stop', cost: 0, tokens: noTokens }
    const steps = [
      () => {
        messages.push(answer)
        publish('message.updated', { sessionID, info })
      },
      () => {
        answer.parts.push(part)
        publish('message.part.updated', { sessionID, part, time: clock.now() })
      },
      () => publish('message.part.delta', delta),
      () => {
        answer.parts = [whole, finish]
        publish('message.part.updated', { sessionID, part: whole, time: clock.now() })
        publish('message.part.updated', { sessionID, part: finish, time: clock.now() })
      },
      () => {
        answer.info = { ...info, finish: 'stop', time: { ...info.time, completed: clock.now() } }
        publish('message.updated', { sessionID, info: answer.info })
      },
      () => {
        session.isBusy = false
        if (waiting.length > 0) return runNext(session)
        publish('session.status', { sessionID, status: { type: 'idle' } })
        publish('session.idle', { sessionID })
      },
    ]
    const doNext = (at: number): void => {
      steps[at]?.()
      if (at + 1 < steps.length) clock.after(stepMs(), () => doNext(at + 1))
    }
    clock.after(stepMs(), () => doNext(0))
  }
}

/** The body of any POST. */
interface PostBody {
  readonly messageID?: string
  readonly parts?: readonly { readonly text?: string }[]
}

function textOfPart(part: object | undefined): string {
  return part && 'text' in part ? String(part.text) : ''
}
